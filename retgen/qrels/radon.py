"""An exact lower bound: all k-subsets of 2k + 2 documents cannot be served in 2k - 1 dimensions.

Proof. Let v_1..v_{2k+2} in R^d with d <= 2k - 1. Their affine dependencies (sum l_j v_j = 0,
sum l_j = 0) form a space of at least (2k + 2) - (d + 1) >= 2 dimensions. Call P and N the indices
with l_j > 0 and l_j < 0 of a dependency l != 0. If |P| <= k and |N| <= k + 2, there is a k-subset R
with P in R and N outside; a query u that puts R strictly above the rest would give
sum_P l_j <u, v_j> > sum_N |l_j| <u, v_j>, though both sides are equal by the dependency (both
weights sum to the same). The same holds with P and N exchanged, as -l is a dependency too. It
remains to find such an l.

Turn l by an angle t through a plane of dependencies, l(t) = a cos t + b sin t. M <= 2k + 2 of the
coordinates are not identically zero, and l(t + pi) = -l(t), so |P| runs from some p to M - p. Start
where none of these coordinates vanishes and p >= M/2. If p = M/2 <= k, then l(t) itself serves.
Otherwise turn on: where p > M/2, to the zero after which |P| <= M/2 for the first time; where
p = M/2 = k + 1, to the first zero. Let x coordinates leave P there and y leave N, x + y >= 1.
Case p > M/2: before the zero |P| > M/2, so |N| < M/2 and |N| <= k, at the zero too; and there
|P| = |P after it| - y <= M/2 <= k + 1. Case p = k + 1: at the zero |P| = k + 1 - x and
|N| = k + 1 - y, so one of them is at most k and the other at most k + 1. Both are as wanted. QED.
No position of the documents is excluded.

For k = 2: the pairs of any six documents need four dimensions. By the moment curve 2k dimensions
always suffice, so the bound is exact.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from retgen.qrels.matrix import QrelMatrix

__all__ = ["complete_subset"]

_STEPS = 20_000  # partial subsets looked at before the search gives up


def complete_subset(matrix: QrelMatrix) -> tuple[int, list[int]] | None:
    """The largest k found for which all k-subsets of some 2k + 2 documents are rows.

    Returns (k, the documents), or None. A bounded search: None proves nothing.
    """
    sums = matrix.row_sums
    for k in sorted({int(size) for size in np.unique(sums) if size > 0}, reverse=True):
        rows = np.flatnonzero(sums == k)
        if k > 20 or math.comb(2 * k + 2, k) > len(rows):
            continue
        sets = {frozenset(matrix.row(int(i)).tolist()) for i in rows}
        found = _search(sets, k)
        if found is not None:
            return k, found
    return None


def _search(sets: set[frozenset[int]], k: int) -> list[int] | None:
    """Depth first over documents that stand in enough of the sets, most frequent first."""
    size = 2 * k + 2
    degree: dict[int, int] = {}
    for members in sets:
        for document in members:
            degree[document] = degree.get(document, 0) + 1
    needed = math.comb(size - 1, k - 1)
    candidates = sorted((d for d in degree if degree[d] >= needed), key=lambda d: (-degree[d], d))
    steps = 0

    def extend(chosen: list[int], rest: list[int]) -> list[int] | None:
        nonlocal steps
        if len(chosen) == size:
            return chosen
        for index, document in enumerate(rest):
            if len(chosen) + len(rest) - index < size or steps > _STEPS:
                return None
            steps += 1
            if all(
                frozenset((*others, document)) in sets for others in combinations(chosen, k - 1)
            ):
                found = extend([*chosen, document], rest[index + 1 :])
                if found is not None:
                    return found
        return None

    return extend([], candidates)
