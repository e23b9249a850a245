"""A lower bound from shattered documents: dimension >= VC dimension - 1.

Documents are *shattered* when the queries cut every subset out of them: for each of the 2^v subsets
of v documents some query has exactly that subset of them relevant. The VC dimension of a matrix is
the largest such v. Half-spaces of R^d shatter at most d + 1 points (Radon), and in row order
a query cuts its relevant documents off by one, so d >= v - 1. Half-spaces through the origin
shatter at most d vectors, so the sign-rank is at least v; as it is that of the transposed matrix
too, queries shattered by documents count the same (the dual VC dimension).

The search is depth first and bounded; what it finds is shattered, and `complete` says whether
nothing larger exists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retgen.qrels.matrix import QrelMatrix

CELLS = 8_000_000  # of a matrix that is searched
_WORK = 6_000_000_000  # additions before the search gives up: some seconds
_STEP = 200_000  # additions that take as long as a step's overhead


@dataclass(frozen=True)
class Shattered:
    """`columns`: as many as found. `complete`: no more can be shattered."""

    columns: list[int]
    complete: bool


def shattered(matrix: QrelMatrix) -> Shattered:
    """The most columns found that the rows shatter.

    Raises ValueError for a matrix of more than CELLS cells.
    """
    if matrix.queries * matrix.documents > CELLS:
        raise ValueError(f"{matrix.queries} x {matrix.documents} is too large to search")
    table = np.unique(matrix.dense(), axis=0).astype(np.float32)
    rows = len(table)
    if not rows:
        return Shattered([], True)
    # one row holds all of the columns, one none, and half of the 2^v hold each
    most = min(rows.bit_length() - 1, int(matrix.row_sums.max()))
    best: list[int] = []
    work = 0

    def extend(chosen: list[int], code: NDArray[np.int64], allowed: NDArray[np.int64]) -> bool:
        """False when the search ended early. `code`: which of the subsets each row cuts out."""
        nonlocal best, work
        if len(chosen) > len(best):
            best = chosen
        if len(best) == most:
            return True
        classes = 1 << len(chosen)
        work += classes * rows * len(allowed) + _STEP
        if work > _WORK:
            return False
        size = np.bincount(code, minlength=classes)
        member = np.zeros((classes, rows), np.float32)
        member[code, np.arange(rows)] = 1
        inside = member @ table[:, allowed]  # counts below 2^24: exact
        splits = ((inside > 0) & (inside < size[:, None])).all(0)
        further = allowed[splits]
        for place, column in enumerate(further.tolist()):
            if len(chosen) + len(further) - place <= len(best):
                break
            longer = 2 * code + table[:, column].astype(np.int64)
            if not extend([*chosen, column], longer, further[place + 1 :]):
                return False
            if len(best) == most:
                return True
        return True

    # columns that halve the rows best first
    order = np.argsort(np.abs(table.mean(0) - 0.5), kind="stable").astype(np.int64)
    complete = extend([], np.zeros(rows, np.int64), order)
    return Shattered(sorted(best), complete)
