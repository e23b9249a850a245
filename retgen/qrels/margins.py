"""What no margin can exceed, for unit vectors of queries and documents, in any embedding.

The margin of an embedding is the least, over all queries, of the score of the worst relevant
document minus that of the best other one. A matrix that few dimensions embed may still force
margins that a model's noise or a number format's rounding exceeds: this is the robust side of the
question. m queries q_i, n documents d_j, k_i relevant to query i.

Norm. In any number of dimensions

    margin <= ||nA - k 1^T||_2 sqrt(mn) / sum_i k_i (n - k_i).

Proof. Summed over the pairs of a relevant j and another l, <q_i, d_j - d_l> >= margin gives
<q_i, n sum_R d_j - k_i sum_all d_l> >= margin k_i (n - k_i). Summed over i the left is
trace(Q^T (nA - k 1^T) D), at most the norm times |Q|_F |D|_F = sqrt(m) sqrt(n). The Gram matrix
(nA - k 1^T)(nA - k 1^T)^T = n^2 A A^T - n k k^T holds integers, so its largest eigenvalue is
certified (`spectral`). For all pairs of n documents it is n / sqrt(2 (n - 1) (n - 2)), which the
corners of a regular simplex reach.

Packing. In d dimensions, for M queries none of whose sets holds another's (as those of equal size),

    margin <= 2 (sqrt(pi) (d - 1) G((d - 1)/2) / (M G(d/2)))^(1/(d - 1)),   G the gamma function.

Proof. Two of these queries ask for j and not l, and for l and not j:
<q - q', d_j - d_l> >= 2 margin, and |d_j - d_l| <= 2, so |q - q'| >= margin. Caps of
angular radius a, 2 sin a = margin, around the queries are disjoint. A cap is the share
G(d/2) / (sqrt(pi) G((d - 1)/2)) times the integral of sin^(d - 2) up to a, which is
at least sin^(d - 1) a / (d - 1), of the sphere, and M of them are at most all of it. The same holds
for documents none of which is relevant to all queries of another.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from retgen.qrels.matrix import QrelMatrix, ReducedMatrix
from retgen.qrels.spectral import affordable, eigenvalue_at_most, overlaps


class MarginCaps(NamedTuple):
    """`norm`: no margin is above it in any dimension; None where it was too large to compute.

    `apart`: so many queries, or documents, are pairwise at least a margin apart.
    """

    norm: float | None
    apart: int

    def at(self, dimension: int) -> float:
        """No margin is above this in so many dimensions."""
        return min(2.0, self.norm or 2.0, self._packing(dimension))

    def lowest(self, margin: float) -> int | None:
        """No fewer dimensions reach this margin; None where no number of them does.

        Raises ValueError for a margin that is not positive.
        """
        if not margin > 0:
            raise ValueError(f"a margin to reach is positive, not {margin}")
        if margin > min(2.0, self.norm or 2.0):
            return None
        d = 1
        while self._packing(d) < margin:
            d += 1
        return d

    def _packing(self, d: int) -> float:
        if self.apart < 2:
            return 2.0
        if d == 1:  # two points
            return 2.0 if self.apart == 2 else 0.0
        share = math.lgamma((d - 1) / 2) - math.lgamma(d / 2) + math.log(math.pi) / 2
        log = (share + math.log((d - 1) / self.apart)) / (d - 1)
        return _up(2.0 * math.exp(min(log, 0.0)))


def margin_caps(reduced: ReducedMatrix) -> MarginCaps:
    """Of the matrix that `reduce` leaves, the document that no query asks for included."""
    matrix = reduced.matrix
    whole = QrelMatrix(matrix.indptr, matrix.indices, reduced.points)
    sums = [np.unique(s, return_counts=True)[1].max() for s in (whole.row_sums, whole.column_sums)]
    norms = [_norm(m) for m in ((matrix, whole) if reduced.others else (matrix,))]
    known = [norm for norm in norms if norm is not None]
    return MarginCaps(min(known) if known else None, int(max(sums)))


def _norm(matrix: QrelMatrix) -> float | None:
    """The first bound; None for a matrix too large, or one with rows that tell nothing apart."""
    m, n = matrix.queries, matrix.documents
    sums = matrix.row_sums
    weight = int((sums * (n - sums)).sum())
    if not affordable(matrix) or weight == 0:
        return None
    k = sums.astype(np.float64)
    if m <= n:
        gram = n * n * overlaps(matrix) - n * k[:, None] * k
    else:
        one = k @ matrix.dense().astype(np.float64)
        gram = n * n * overlaps(matrix.transpose()) - n * (one[:, None] + one) + float(k @ k)
    if float(np.abs(gram).max()) >= 2.0**52:
        return None
    return _up(math.sqrt(eigenvalue_at_most(gram)) * math.sqrt(m * n) / weight)


def _up(value: float) -> float:
    """To six decimals, not below."""
    return math.ceil(value * 1e6 + 1e-6) / 1e6
