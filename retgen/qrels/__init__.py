"""The latent structure: qrel matrices, their patterns, densities and certificates."""

from retgen.qrels.certificate import Bound, Certificate, certificate
from retgen.qrels.density import Densities, densities
from retgen.qrels.matrix import QrelMatrix

__all__ = ["Bound", "Certificate", "Densities", "QrelMatrix", "certificate", "densities"]
