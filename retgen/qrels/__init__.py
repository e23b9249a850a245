"""The latent structure: qrel matrices, their patterns, densities and certificates."""

from retgen.qrels.certificate import DimensionBound, DimensionCertificate, certificate
from retgen.qrels.density import Densities, densities
from retgen.qrels.matrix import QrelMatrix

__all__ = [
    "Densities",
    "DimensionBound",
    "DimensionCertificate",
    "QrelMatrix",
    "certificate",
    "densities",
]
