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

from retgen.qrels.matrix import QrelMatrix

LARGEST = 3072  # smaller side of a matrix whose norm is certified: some seconds, 250 MB
_AT_ONCE = 256  # rows of a matrix


@dataclass(frozen=True)
class SpectralBound:
    """sign-rank >= `square` ** (1/2), or that + 1 where there is no `shift`.

    `kind`: "forster", "alon-moran-yehudayoff" or "shifted". `norm`: certified upper bound of the
    squared norm used: of 2A - 1, of sigma_2(A), of A - t J. `shift`: t, None where the best one for
    equal row and column sums is irrational.
    """

    kind: str
    square: Fraction
    norm: Fraction
    shift: Fraction | None = None

    @property
    def sign_rank(self) -> int:
        return least_root(self.square) + (self.shift is None)


def affordable(matrix: QrelMatrix) -> bool:
    """Whether the norms of a matrix are certified within seconds."""
    small = min(matrix.queries, matrix.documents)
    return 0 < small <= LARGEST and _wide(matrix).overlap_cost() <= 1


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
    bounds = [SpectralBound("forster", size / signs, signs, Fraction(1, 2))]
    if 2 * a > n:
        a, b = n - a, m - b
    elif m == n and second:
        bounds.append(
            SpectralBound("alon-moran-yehudayoff", a * b / second, second, Fraction(a, n))
        )
    # s1 + s2 <= sqrt(m n) / 2, squared twice
    room = size / 4 - a * b - second
    if second and room >= 0 and room**2 >= 4 * a * b * second:
        bounds.append(SpectralBound("shifted", a * b / second, second))
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
        return SpectralBound(kind, t.numerator**2 * m * n / norm, shown, t)

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


def overlaps(wide: QrelMatrix) -> NDArray[np.float64]:
    """A A^T: columns that two rows share, (rows, rows) of whole numbers."""
    result = np.zeros((wide.queries, wide.queries))
    for one, two, common in wide.overlaps():
        result[one, two] = result[two, one] = common
    np.fill_diagonal(result, wide.row_sums)
    return result


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
