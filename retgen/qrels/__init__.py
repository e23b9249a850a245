"""The latent structure: qrel matrices, their patterns, densities and certificates."""

from retgen.qrels.certificate import certificate as certificate
from retgen.qrels.density import densities as densities
from retgen.qrels.matrix import QrelMatrix as QrelMatrix
