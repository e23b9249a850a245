"""A lower bound from all k-subsets of few documents: t - 2 dimensions for t = 2k + 1 or 2k + 2.

Theorem. If every k-subset of some t documents is asked for, t = 2k + 1 or 2k + 2 (a query's other
relevant documents, outside the t, do not matter), an embedding in row order has at least t - 2
dimensions.

Proof. Let v_1..v_t in R^d with d <= t - 3. Their affine dependencies (sum l_j v_j = 0,
sum l_j = 0) form a space of at least t - (d + 1) >= 2 dimensions. Call P and N the indices
with l_j > 0 and l_j < 0 of a dependency l != 0; neither is empty. If |P| <= k and |N| <= t - k,
there is a k-subset R with P in R and N outside; a query u that puts R strictly above the rest would
give sum_P l_j <u, v_j> > sum_N |l_j| <u, v_j>, though both sides are equal by the dependency (both
weights sum to the same). The same holds with P and N exchanged, as -l is a dependency too. It
remains to find such an l.

Turn l by an angle s through a plane of dependencies, l(s) = a cos s + b sin s. M <= t of the
coordinates are not identically zero, and l(s + pi) = -l(s), so |P| runs from some p to M - p. Start
where none of these coordinates vanishes and p >= M/2. If p = M/2 <= k, then l(s) itself serves.
Otherwise turn on: where p > M/2, to the zero after which |P| <= M/2 for the first time; where
p = M/2 = k + 1 (and t = 2k + 2), to the first zero. Let x coordinates leave P there and y leave N,
x + y >= 1. Case p > M/2: before the zero |N| < M/2, so |N| <= k there and at the zero; and at the
zero |P| = |P after it| - y <= M/2 <= t/2, so |P| <= t - k. Case p = k + 1: at the zero
|P| = k + 1 - x and |N| = k + 1 - y, so one of them is at most k and the other at most k + 1. Both
are as wanted. QED. No position of the documents is excluded.

The same with linear dependencies, of which d <= t - 2 leave two, and half-spaces through the origin
(every term of sum l_j <u, v_j> = 0 would be positive) gives a sign-rank of at least t - 1.

For k = 2: the pairs of any six documents need four dimensions, those of five need three. Where no
query has more than k documents, 2k dimensions suffice, so 2k + 2 documents close the bracket.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from retgen.qrels.matrix import QrelMatrix

__all__ = ["complete_subset"]

_LOOKUPS = 1_000_000  # k-subsets looked up before the search gives up
_CORE = 64  # documents searched: those that stand in most rows
_ROWS = 200_000  # rows searched


def complete_subset(matrix: QrelMatrix) -> tuple[int, list[int]] | None:
    """The documents of a size 2k + 2 or 2k + 1 all of whose k-subsets are rows, found for most.

    Returns (k, the documents), or None. A bounded search: None proves nothing.
    """
    sums = matrix.row_sums
    best: tuple[int, list[int]] | None = None
    for k in np.unique(sums[sums > 0])[::-1].tolist():
        if best is not None and 2 * k <= len(best[1]) - 2:
            break
        for size in (2 * k + 2, 2 * k + 1):
            if best is not None and size <= len(best[1]):
                break
            found = _search(matrix, k, size)
            if found is not None:
                best = k, found
    return best


def _search(matrix: QrelMatrix, k: int, size: int) -> list[int] | None:
    """Depth first over documents that stand in enough of the rows, most frequent first."""
    rows = np.flatnonzero(matrix.row_sums == k)
    needed = math.comb(size - 1, k - 1)  # rows that hold a given one of the documents
    if k > 20 or math.comb(size, k) > len(rows):
        return None
    table = matrix.indices[matrix.indptr[rows][:, None] + np.arange(k)].astype(np.int64)
    while True:  # drop documents in too few rows, and rows with such a document
        degree = np.bincount(table.reshape(-1), minlength=matrix.documents)
        kept = (degree >= needed)[table].all(axis=1)
        if bool(kept.all()):
            break
        table = table[kept]
    frequent = np.argsort(-degree, kind="stable")[: max(_CORE, size)]
    core = np.zeros(matrix.documents, bool)
    core[frequent[degree[frequent] >= needed]] = True
    table = table[core[table].all(axis=1)][:_ROWS]
    if len(table) < math.comb(size, k):
        return None
    sets = {frozenset(row) for row in table.tolist()}
    candidates = [document for document in frequent.tolist() if core[document]]
    lookups = 0

    def extend(chosen: list[int], rest: list[int]) -> list[int] | None:
        nonlocal lookups
        if len(chosen) == size:
            return chosen
        for index, document in enumerate(rest):
            if len(chosen) + len(rest) - index < size or lookups > _LOOKUPS:
                return None
            lookups += math.comb(len(chosen), k - 1)
            if all(
                frozenset((*others, document)) in sets for others in combinations(chosen, k - 1)
            ):
                found = extend([*chosen, document], rest[index + 1 :])
                if found is not None:
                    return found
        return None

    return extend([], candidates)
