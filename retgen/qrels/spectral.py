"""Spectral lower bounds on sign-rank, with certified norms: rounding cannot make a claim false.

Forster (2002): a sign matrix S of m x n has sign-rank at least sqrt(m n) / ||S||_2.
Alon, Moran, Yehudayoff (2016), Theorem 5: if A is 0/1, n x n, with D <= n/2 ones in every row and
column, the sign-rank of 2A - 1 is at least D / sigma_2(A).

Both need an upper bound of a norm. The Gram matrices here hold integers below 2**53, so float64
matrix products are exact; that their largest eigenvalue is at most mu is then verified by a
Cholesky factorisation of mu I - G that leaves room for its own rounding (Rump, "Verification of
positive definiteness", BIT 46, 2006). Bounds are compared as exact fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from retgen.qrels.matrix import QrelMatrix

__all__ = ["LARGEST", "alon_moran_yehudayoff", "eigenvalue_at_most", "forster"]

LARGEST = 4096  # smaller side of a matrix whose norm is certified; a minute's work beyond


def forster(matrix: QrelMatrix) -> tuple[int, Fraction]:
    """(lower bound of the sign-rank of 2A - 1, certified upper bound of ||2A - 1||_2 squared)."""
    signs = 2.0 * matrix.dense() - 1.0
    if signs.shape[0] > signs.shape[1]:
        signs = signs.T
    mu = eigenvalue_at_most(signs @ signs.T)
    return _least_integer(Fraction(matrix.queries * matrix.documents), mu), mu


def alon_moran_yehudayoff(matrix: QrelMatrix) -> tuple[int, Fraction] | None:
    """(lower bound of the sign-rank of 2A - 1, certified upper bound of sigma_2(A) squared).

    None where A is not square and regular with degree D <= n/2. The all-ones vector belongs to the
    singular value D, so sigma_2**2 is the largest eigenvalue of A A^T - (D**2 / n) J, and n times
    that matrix holds integers.
    """
    n = matrix.documents
    degrees = np.concatenate([matrix.row_sums, matrix.column_sums])
    degree = int(degrees[0]) if len(degrees) else 0
    if matrix.queries != n or not degree or bool((degrees != degree).any()) or 2 * degree > n:
        return None
    full = matrix.dense().astype(np.float64)
    mu = eigenvalue_at_most(n * (full @ full.T) - float(degree**2)) / n
    return _least_integer(Fraction(degree**2), mu), mu


def eigenvalue_at_most(gram: NDArray[np.float64]) -> Fraction:
    """A certified upper bound of the largest eigenvalue of a symmetric integer matrix (n, n)."""
    # the largest row sum of absolute values always bounds it, and is exact for a multiple of I
    bound = Fraction(int(np.abs(gram).sum(axis=1).max(initial=0.0)))
    near = _rayleigh(gram)
    if near >= bound:
        return bound
    for slack in (1e-7, 1e-5, 1e-3, 1e-2, 1e-1):
        # few bits, so that mu - G[i, i] is exact in float64
        step = 2.0 ** (math.frexp(near)[1] - 40)
        mu = math.ceil(near * (1 + slack) / step) * step
        if mu < bound and _positive_definite(mu, gram):
            return Fraction(mu)
    return bound


def _rayleigh(gram: NDArray[np.float64]) -> float:
    """A lower bound, usually close, of the largest eigenvalue: power iteration from two starts."""
    n = len(gram)
    best = 0.0
    for start in (np.ones(n), np.cos(np.arange(n) * 2.399963) + 0.01):
        vector = start / np.linalg.norm(start)
        for _ in range(60):
            image = gram @ vector
            size = float(np.linalg.norm(image))
            if size == 0.0:
                break
            vector = image / size
        best = max(best, float(vector @ (gram @ vector)))
    return best


def _positive_definite(mu: float, gram: NDArray[np.float64]) -> bool:
    """Whether mu I - G is certainly positive definite.

    If the floating-point Cholesky factorisation of B - c I succeeds with
    c >= gamma / (1 - gamma) * trace(B), gamma = (n + 1) u / (1 - (n + 1) u), then B is positive
    definite whatever the order of the operations. The bound is taken eight times over, which
    covers the rounding of c and of the shifted diagonal.
    """
    n = len(gram)
    shifted = -gram
    diagonal = mu - np.diag(gram)
    if diagonal.min() <= 0:
        return False
    unit = (n + 1) * 2.0**-53
    gamma = unit / (1 - unit)
    room = 8 * gamma / (1 - gamma) * float(diagonal.sum()) + 8 * 2.0**-53 * float(diagonal.max())
    np.fill_diagonal(shifted, diagonal - room)
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def _least_integer(numerator: Fraction, mu: Fraction) -> int:
    """ceil(sqrt(numerator / mu)), exactly; 1 where mu is 0."""
    if mu <= 0:
        return 1
    quotient = numerator / mu
    root = math.isqrt(quotient.numerator // quotient.denominator)
    while root * root < quotient:
        root += 1
    return root
