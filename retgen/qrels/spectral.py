"""Spectral lower bounds on sign-rank, with certified norms: rounding cannot make a claim false.

Theorem (Forster 2002; for real matrices Forster, Krause, Lokam, Mubarakzjanov, Schmitt and Simon,
FSTTCS 2001). A real m x n matrix M without zeros has sign-rank at least min |M_ij| sqrt(mn)/||M||.

Proof. Sign-rank d gives unit vectors x_i, y_j in R^d with the signs of M as their inner products;
Forster shows that the y_j can be chosen with sum y_j y_j^T = (n/d) I. So the sum over i, j of
|<x_i, y_j>| is at least that of <x_i, y_j>**2, which is mn/d. And min |M_ij| times the former is at
most the sum of M_ij <x_i, y_j> = trace(X^T M Y) <= ||M|| sqrt(m) sqrt(n).

It is used for M = A - t J with 0 < t <= 1/2, J all ones: M has the signs of 2A - 1 and no entry
below t in absolute value, so sign-rank >= t sqrt(mn) / ||A - t J||. Three choices of t:

- t = 1/2 is Forster's bound sqrt(mn) / ||2A - 1||.
- Where every row has the sum a and every column the sum b, a <= n/2: the all-ones vectors belong to
  the singular value s1 = sqrt(ab) of A, so ||A - t J|| is the larger of |s1 - t sqrt(mn)| and the
  second singular value s2. t = a/n gives s1/s2; for m = n that is D/sigma_2(A), the bound of Alon,
  Moran and Yehudayoff (2016).
- Among these t the best is that with t sqrt(mn) = s1 + s2, if it is at most 1/2. It gives
  s1/s2 + 1, one more than Alon, Moran and Yehudayoff.

a > n/2 is turned round first: 1 - A has the same sign-rank and the same s2.

Certified norms. The Gram matrices G hold integers. Floating point only finds a matrix K of integers
with K K^T close to mu I - 4**e G. The rest R = mu I - 4**e G - K K^T is then computed in integers
below 2**53, where float64 is exact whatever the order of a sum. No eigenvalue of -K K^T is positive
and none of -R exceeds the largest absolute row sum of R, so none of 4**e G exceeds mu plus that
sum. Bounds are compared as exact fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from retgen.qrels.matrix import QrelMatrix, ReducedMatrix

LARGEST = 3072  # smaller side of a matrix whose norm is certified: some seconds, 250 MB
_LISTED = 20_000_000  # pairs of a Gram matrix listed one by one
_AT_ONCE = 256  # rows of a matrix
_PRODUCT = 40_000_000  # entries of a matrix that is written out for its Gram matrix


@dataclass(frozen=True)
class SpectralBound:
    """sign-rank >= `sign_rank`, the least integer that `square` ** (1/2) does not exceed.

    `kind`: "forster", "alon-moran-yehudayoff" or "shifted". `norm`: certified upper bound of the
    squared norm used: of 2A - 1, of sigma_2(A), of A - t J. `shift`: t, None where the best one for
    equal row and column sums is irrational.
    """

    kind: str
    sign_rank: int
    square: Fraction
    norm: Fraction
    shift: Fraction | None = None


def affordable(matrix: QrelMatrix) -> bool:
    """Whether the norms of a matrix are certified within seconds."""
    small = min(matrix.queries, matrix.documents)
    return 0 < small <= LARGEST and (
        _pairs(_wide(matrix)) <= _LISTED or matrix.queries * matrix.documents <= _PRODUCT
    )


def spectral_bounds(matrix: QrelMatrix) -> list[SpectralBound]:
    """Lower bounds of the sign-rank of 2A - 1: Forster's, and those of other shifts that apply.

    The matrix must have an entry and be `affordable`.
    """
    wide = _wide(matrix)
    result = _equal_sums(wide)
    return result if result is not None else _unequal_sums(wide)


def _equal_sums(wide: QrelMatrix) -> list[SpectralBound] | None:
    """Where all rows have the same sum, and all columns, else None."""
    m, n = wide.queries, wide.documents
    a, b = int(wide.row_sums[0]), int(wide.column_sums[0])
    if bool((wide.row_sums != a).any()) or bool((wide.column_sums != b).any()) or a == n:
        return None
    # s2**2 is the largest eigenvalue of A A^T - (a**2 / n) J, n times which holds integers
    gram = overlaps(wide)
    gram *= n
    gram -= float(a * a)
    second = eigenvalue_at_most(gram) / n
    size = Fraction(m * n)
    signs = max(4 * second, Fraction((n - 2 * a) ** 2 * m, n))
    bounds = [_bound("forster", size / signs, signs, Fraction(1, 2))]
    if 2 * a > n:
        a, b = n - a, m - b
    elif m == n and second:
        bounds.append(_bound("alon-moran-yehudayoff", a * b / second, second, Fraction(a, n)))
    # s1 + s2 <= sqrt(m n) / 2, squared twice
    room = size / 4 - a * b - second
    if second and room >= 0 and room**2 >= 4 * a * b * second:
        quotient = a * b / second
        bounds.append(SpectralBound("shifted", least_root(quotient) + 1, quotient, second))
    return bounds


def _unequal_sums(wide: QrelMatrix) -> list[SpectralBound]:
    m, n = wide.queries, wide.documents
    shared = overlaps(wide)
    sums = wide.row_sums.astype(np.float64)

    def gram(t: Fraction) -> NDArray[np.float64]:
        """M M^T for M = q A - p J, t = p/q: integers."""
        p, q = t.numerator, t.denominator
        return q * q * shared - p * q * (sums[:, None] + sums) + float(p * p * n)

    def bound(kind: str, t: Fraction) -> SpectralBound:
        norm = eigenvalue_at_most(gram(t))  # of q A - p J
        shown = norm if kind == "forster" else norm / t.denominator**2
        return _bound(kind, t.numerator**2 * m * n / norm, shown, t)

    half = Fraction(1, 2)
    bounds = [bound("forster", half)]
    # for equal sums the best t is density + s2 / sqrt(m n), and s2 some sqrt(nnz / longer side)
    density, step = wide.nnz / (m * n), math.sqrt(wide.nnz / n / (m * n))
    multiples = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0) if m <= 1024 else (1.0,)  # each takes a while
    shifts = {Fraction(density + x * step).limit_denominator(256) for x in multiples}
    shifts = {t for t in shifts if 0 < t < half}
    if shifts:
        norms = {t: _largest(gram(t)) / t.numerator**2 for t in sorted(shifts)}
        bounds.append(bound("shifted", min(norms, key=lambda t: norms[t])))
    return bounds


def _bound(kind: str, square: Fraction, norm: Fraction, shift: Fraction) -> SpectralBound:
    return SpectralBound(kind, least_root(square), square, norm, shift)


def least_root(square: Fraction) -> int:
    """ceil(sqrt(square)), exactly."""
    root = math.isqrt(square.numerator // square.denominator)
    while root * root < square:
        root += 1
    return root


# --- Gram matrices ------------------------------------------------------------------------------


def _wide(matrix: QrelMatrix) -> QrelMatrix:
    """The matrix or its transpose, so that there are no more rows than columns."""
    return matrix if matrix.queries <= matrix.documents else matrix.transpose()


def _pairs(wide: QrelMatrix) -> int:
    return int((wide.column_sums**2).sum())


def overlaps(wide: QrelMatrix) -> NDArray[np.float64]:
    """A A^T: columns that two rows share, (rows, rows) of whole numbers."""
    m = wide.queries
    if _pairs(wide) > _LISTED:
        full = wide.dense().astype(np.float32)  # counts below 2**24 are exact
        return (full @ full.T).astype(np.float64)
    indptr, rows = wide.columns()
    degree = np.repeat(np.diff(indptr), np.diff(indptr))
    start = np.repeat(indptr[:-1], np.diff(indptr))
    inside = np.arange(int(degree.sum())) - np.repeat(np.cumsum(degree) - degree, degree)
    codes = np.repeat(rows, degree) * m + rows[np.repeat(start, degree) + inside]
    result = np.zeros(m * m)
    np.add.at(result, codes, 1.0)
    return result.reshape(m, m)


# --- certified eigenvalues ----------------------------------------------------------------------


def eigenvalue_at_most(gram: NDArray[np.float64]) -> Fraction:
    """A certified upper bound of the largest eigenvalue of a Gram matrix of integers (n, n), which
    is overwritten: such matrices are large.

    Entries must be below 2**52. The bound is some 1e-5 above the eigenvalue, relatively.
    """
    n = len(gram)
    # the largest row sum of absolute values always bounds it, and is exact for a multiple of I
    bound = Fraction(sum_of_absolutes(gram))
    near = _largest(gram)
    if bound <= 0 or near >= float(bound) * (1 - 1e-9):
        return bound
    power = (51 - math.frexp(near)[1]) // 2  # so that everything stays below 2**52
    if power < 0:
        return bound
    scale = 4**power
    gram *= -float(scale)
    diagonal = gram.diagonal().copy()
    for slack in (1e-8 * n, 1e-6 * n, 1e-3, 1e-1):
        mu = math.ceil(near * (1 + slack) * scale)
        if mu >= 2**52:
            break
        np.fill_diagonal(gram, diagonal + mu)
        try:
            factor = np.linalg.cholesky(gram)
        except np.linalg.LinAlgError:  # mu is below the eigenvalue, or too close
            continue
        np.rint(factor, out=factor)
        # no partial sum of K K^T exceeds the largest squared row of K
        if float(np.einsum("ij,ij->i", factor, factor).max()) > 2.0**52:
            continue
        for low in range(0, n, _AT_ONCE):
            gram[low : low + _AT_ONCE] -= factor[low : low + _AT_ONCE] @ factor.T
        return min(bound, Fraction(mu + sum_of_absolutes(gram), scale))
    return bound


def sum_of_absolutes(matrix: NDArray[np.float64]) -> int:
    """The largest row sum of absolute values of a matrix of integers, exactly."""
    if not len(matrix):
        return 0
    parts = [matrix[low : low + _AT_ONCE] for low in range(0, len(matrix), _AT_ONCE)]
    if max(float(np.abs(part).max()) for part in parts) * len(matrix) < 2.0**62:
        return max(int(np.abs(part).astype(np.int64).sum(axis=1).max()) for part in parts)
    return max(sum(int(abs(x)) for x in row) for part in parts for row in part.tolist())


def _largest(gram: NDArray[np.float64]) -> float:
    """About the largest eigenvalue; certifies nothing. Lanczos with full reorthogonalisation."""
    n = len(gram)
    if n <= 200:
        return float(np.linalg.eigvalsh(gram)[-1]) if n else 0.0
    vector = np.cos(np.arange(n) * 2.399963) + 0.1
    basis = np.zeros((48, n))
    projected = np.zeros((48, 48))
    for step in range(48):
        size = float(np.linalg.norm(vector))
        if step and size <= 1e-9 * abs(projected).max():
            return float(np.linalg.eigvalsh(projected[:step, :step])[-1])
        basis[step] = vector / size
        vector = gram @ basis[step]
        for _ in range(2):
            part = basis[: step + 1] @ vector
            projected[: step + 1, step] += part
            vector -= part @ basis[: step + 1]
        projected[step, : step + 1] = projected[: step + 1, step]
    return float(np.linalg.eigvalsh(projected)[-1])


# --- margins ------------------------------------------------------------------------------------


def margin_ceiling(reduced: ReducedMatrix) -> float | None:
    """Return a margin that no unit vectors exceed, in any dimension; None where it is not known.

    The margin of an embedding is the least, over all queries, of the score of the worst relevant
    document minus that of the best other one. For m queries, n documents and k_i of them relevant
    to query i

        margin <= ||nA - k 1^T||_2 sqrt(mn) / sum_i k_i (n - k_i).

    Proof. Summed over the pairs of a relevant j and another l, <q_i, d_j - d_l> >= margin gives
    <q_i, n sum_R d_j - k_i sum_all d_l> >= margin k_i (n - k_i). Summed over i the left is
    trace(Q^T (nA - k 1^T) D), at most the norm times |Q|_F |D|_F = sqrt(m) sqrt(n). The Gram matrix
    (nA - k 1^T)(nA - k 1^T)^T = n^2 A A^T - n k k^T holds integers, so its largest eigenvalue is
    certified. For all k-subsets of n documents it is n / sqrt(k (n - 1) (n - k)), as in
    arXiv 2601.20844.
    """
    matrix = reduced.matrix
    whole = QrelMatrix(matrix.indptr, matrix.indices, reduced.points)
    found = [_ceiling(one) for one in ((matrix, whole) if reduced.others else (matrix,))]
    return min((one for one in found if one is not None), default=None)


def _ceiling(matrix: QrelMatrix) -> float | None:
    """The bound for one matrix; None for one too large, or with rows that tell nothing apart."""
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
    value = math.sqrt(eigenvalue_at_most(gram)) * math.sqrt(m * n) / weight
    return min(2.0, math.ceil(value * 1e6 + 1e-6) / 1e6)  # to six decimals, not below
