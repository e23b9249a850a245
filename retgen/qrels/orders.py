"""Upper bounds from an order of the documents in which every query's documents form few runs.

Linear. Put the documents at t_1 < t_2 < ... on a line, those that no query asks for at one point
behind the last. A row that changes between relevant and not at most s times is the sign pattern of
a polynomial of degree <= s with its roots at the changes. Its value without the constant term is a
linear function of (t, ..., t**s), and the constant shifts a row as a whole: s dimensions suffice in
row order.

Cyclic. On a circle the number of changes of a row is even, 2r, and a trigonometric polynomial of
degree r with its zeros there does the same in (cos t, sin t, ..., cos rt, sin rt): 2r dimensions.
Documents that no query asks for cannot stand on the circle where every gap lies within some row.
For r = 1 they are put at its centre: with equal spacing an arc of k of n documents is cut off by a
line that leaves the centre on the other side as long as k - 1 < n/2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retgen.qrels.matrix import QrelMatrix

__all__ = ["changes", "few_changes", "walk"]


def few_changes(matrix: QrelMatrix, distractors: bool) -> tuple[int, str]:
    """(dimensions that suffice, how): the best of the orders tried, each verified by counting.

    `matrix`: documents in play only. `distractors`: the corpus holds others too.
    """
    bounds = []
    for name, order in (("as given", np.arange(matrix.documents)), ("by a walk", walk(matrix))):
        linear, runs = changes(matrix, order, distractors)
        bounds.append((linear, f"linear order of the documents {name}"))
        small = bool((2 * (matrix.row_sums - 1) < matrix.documents).all())
        if runs <= 1 and (small or not distractors):
            bounds.append((2, f"cyclic order of the documents {name}"))
        elif not distractors:
            bounds.append((2 * runs, f"cyclic order of the documents {name}"))
    return min(bounds, key=lambda bound: bound[0])


def changes(matrix: QrelMatrix, order: NDArray[np.int64], distractors: bool) -> tuple[int, int]:
    """(most changes of a row along the line, most runs of a row around the circle)."""
    n = matrix.documents
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    rows = np.repeat(np.arange(matrix.queries), matrix.row_sums)
    where = place[matrix.indices]
    sorting = np.lexsort((where, rows))
    rows, where = rows[sorting], where[sorting]
    first = np.r_[True, rows[1:] != rows[:-1]] if len(rows) else np.empty(0, bool)
    begins = first | np.r_[True, where[1:] != where[:-1] + 1] if len(rows) else first
    runs = np.bincount(rows[begins], minlength=matrix.queries)
    at_start = np.bincount(rows[where == 0], minlength=matrix.queries)
    at_end = np.bincount(rows[where == n - 1], minlength=matrix.queries)
    line = 2 * runs - at_start - (0 if distractors else at_end)
    around = runs - (at_start & at_end & (runs > 1))
    return int(line.max(initial=0)), int(around.max(initial=0))


def walk(matrix: QrelMatrix) -> NDArray[np.int64]:
    """Documents in the order in which a walk from query to neighbouring query meets them.

    A walk begins at a query with the fewest neighbours and goes on to one that shares a document
    with the last. Of a query's documents those shared with the next one come last, those shared
    with others still to come (where a ring will close) first. Exact for paths and rings.
    """
    indptr, by_document = matrix.columns()
    members = [matrix.row(i).tolist() for i in range(matrix.queries)]
    degree = matrix.column_sums
    neighbours = [int(degree[row].sum()) - len(row) for row in members]
    unvisited = dict.fromkeys(sorted(range(matrix.queries), key=lambda i: (neighbours[i], i)))
    order: dict[int, None] = {}
    query: int | None = None
    while unvisited:
        if query is None:
            query = next(iter(unvisited))
        del unvisited[query]
        following, rank = _next(query, members, indptr, by_document, unvisited)
        fresh = [document for document in members[query] if document not in order]
        order |= dict.fromkeys(sorted(fresh, key=rank.__getitem__))
        query = following
    rest = (document for document in range(matrix.documents) if document not in order)
    return np.array([*order, *rest], np.int64)


def _next(
    query: int,
    members: list[list[int]],
    indptr: NDArray[np.int64],
    by_document: NDArray[np.int64],
    unvisited: dict[int, None],
) -> tuple[int | None, dict[int, int]]:
    """(an unvisited query that shares most documents with `query`, the place of its documents).

    Place 0: shared with another query to come, 1: with none, 2: with the one that is next.
    """
    common: dict[int, int] = {}
    rank: dict[int, int] = {}
    for document in members[query]:
        asking = by_document[indptr[document] : indptr[document + 1]].tolist()
        coming = [other for other in asking if other in unvisited]
        rank[document] = 0 if coming else 1
        for other in coming:
            common[other] = common.get(other, 0) + 1
    if not common:
        return None, rank
    best = max(common, key=lambda other: (common[other], -other))
    rank |= dict.fromkeys(set(members[best]) & set(members[query]), 2)
    return best, rank
