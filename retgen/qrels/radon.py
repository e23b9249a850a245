"""Affine dependencies of documents: a lower bound from all k-subsets, an upper one from a split.

A dependency is l != 0 with sum l_j v_j = 0 and sum l_j = 0; it has positive and negative entries. A
query that puts a set R strictly above the rest excludes every dependency that is positive within R
only and negative outside only: sum l_j <u, v_j> would be above 0, and is 0.

Lower bound. If every k-subset of some t documents is a query, 2k - 1 <= t <= 2k + 1, and there is
one more document (that none of these queries asks for), an embedding in row order has at least
t - 1 dimensions.

Proof. Let v_0 be the further document and v_1..v_t the t, in R^d with d <= t - 2. Their affine
dependencies form a space of at least (t + 1) - (d + 1) >= 2 dimensions. Take one with l_0 = 0 and
turn it within a plane, l(s) for 0 <= s <= pi with l(pi) = -l(0), in the sense in which l_0 <= 0
throughout. P and N are the indices from 1 on where l is positive and negative: |P| + |N| <= t.
Wanted is an s with |P| <= k and |N| <= t - k: some k-subset R then has P within and N outside, and
0 is outside too. At s = 0, -l may stand for l as well. If there |P| <= k and |N| <= k, one of them
is at most t - k, since otherwise |P| + |N| >= 2(t - k + 1) > t; so l or -l is as wanted. Else one
is above k and the other below t - k <= k + 1, so |P|, which is |N(0)| at s = pi, is above k at one
end and at most k at the other. Come from the first to where |P| <= k for the first time. What is
positive or negative there was so just before, when |P| > k and thus |N| < t - k. QED.

No position of the documents is excluded. The same with linear dependencies, of which d <= t - 1
leave two, and half-spaces through the origin gives a sign-rank of at least t.

For k = 2: the pairs of five documents need four dimensions beside any other document; alone (four
and a fifth) three. Where no query has more than k documents, 2k dimensions suffice.

Upper bound. If the n documents (all that no query asks for are one) can be split into two parts
that no query tells apart exactly so, n - 2 dimensions suffice.

Proof. Let l_j be 1/|A| on one part A of that split and -1/|B| on the other. The scores f with
sum l_j f_j = 0 form a space of n - 1 dimensions that holds the constants, which rank nothing: n - 2
dimensions give the rest. (The documents are the corners of two simplices that cross in one point:
where A is a single document, a point within a simplex.) For a query with the documents S take
f = c_j > 0 on S and -c_j elsewhere. l_j f_j has both signs unless S is A or B, so the sum over the
positive ones can be scaled to that over the others. QED.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from retgen.qrels.matrix import QrelMatrix

_LOOKUPS = 1_000_000  # k-subsets looked up before the search gives up
_CORE = 64  # documents searched: those that stand in most rows
_ROWS = 200_000  # rows searched


def complete_subset(matrix: QrelMatrix, points: int) -> tuple[int, list[int]] | None:
    """Documents, fewer than `points`, of which every k-subset is a row: 2k - 1 to 2k + 1 of them.

    Returns (k, the documents), the most there are, or None. A bounded search: None proves nothing.
    """
    sums = matrix.row_sums
    for k in np.unique(sums[sums > 0])[::-1].tolist():
        for size in (2 * k + 1, 2 * k, 2 * k - 1):
            if 2 < size < points and (result := _search(matrix, k, size)) is not None:
                return k, result
    return None


def unasked_split(matrix: QrelMatrix, others: bool) -> tuple[int, ...] | None:
    """The smaller part of a split of the documents that no row makes, None where all are made.

    `matrix`: of distinct rows. The part never holds the documents without a positive, `others`.
    """
    n, sums = matrix.documents, matrix.row_sums
    for size in range(1, n + 1 if others else n // 2 + 1):
        made = {tuple(matrix.row(i).tolist()) for i in np.flatnonzero(sums == size).tolist()}
        if not others:
            for i in np.flatnonzero(sums == n - size).tolist():
                made.add(tuple(sorted(set(range(n)).difference(matrix.row(i).tolist()))))
        for part in combinations(range(n), size):
            if part not in made:
                return part
    return None


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
                result = extend([*chosen, document], rest[index + 1 :])
                if result is not None:
                    return result
        return None

    return extend([], candidates)
