"""Upper bounds from an order of the documents in which every query's documents form few runs.

Line. Put the documents at t_1 < t_2 < ... on a line, those that no query asks for at one point
behind the last. A row that changes between relevant and not at most s times is the sign pattern of
a polynomial of degree <= s with its roots between the documents of each change. Its value without
the constant term is a linear function of (t, ..., t**s), and the constant shifts a row as a whole:
s dimensions suffice in row order. A row of k of n documents changes at most 2 min(k, n - k) times
in any order, which is the moment-curve bound.

Circle. The changes of a row around a circle are even, 2r, and a trigonometric polynomial of degree
r with its zeros there does the same in (cos t, sin t, ..., cos rt, sin rt): 2r dimensions, and all
documents of equal norm. Cutting the circle open anywhere gives a line with no more changes, so this
says nothing new, except for documents that no query asks for, which may find no place on the line.
For r = 1 they can stand at the centre: documents at equal spacing, a query in the middle of its arc
of k of n documents scores them cos(pi (k - 1)/n) or more and all others less, and the centre 0, so
2 dimensions suffice as long as 2 (k - 1) < n.

One dimension, decided exactly. On a line each row, or its complement, begins at an end. Turn the
rows round so that none holds a certain document c; then all are ends of the line that do not reach
c, and they form two chains (sets of one chain contain one another) such that sets of different
chains are disjoint. Conversely, two such chains give an order. The largest row begins the first
chain, and every other row belongs to the first chain if it lies within it and else to the second,
so a look at each is enough. Where it fails, some two or three rows already need two dimensions: two
that cross (all four combinations of relevant and not occur), or three disjoint sets, each of which
would have to begin at one of two ends.

Plane graphs. Where no query has more than two documents, call the pairs edges. If this graph is
planar, three dimensions suffice: add edges and documents until it is a triangulation; by Steinitz's
theorem it is the graph of a convex polytope, whose corners and edges are cut off by planes from all
other corners and from a point inside, where all documents without a query stand. A graph is
planar if each connected part has at most two edges more than corners, as the subdivisions of K5 and
K3,3 have five and three more (Kuratowski).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retgen.qrels.matrix import QrelMatrix, components

_VISITS = 2_000_000  # queries looked at by a walk: about half a second
_BITS = 50_000_000  # of the rows as bit sets


def few_changes(matrix: QrelMatrix, others: bool) -> tuple[int, str]:
    """(dimensions that suffice, how): the best of the orders tried, each verified by counting.

    `matrix`: relevant documents only. `others`: the corpus holds some without a positive too.
    """
    orders = {"as given": np.arange(matrix.documents)}
    if can_walk(matrix):
        orders["by a walk"] = walk(matrix)
    bounds = []
    for name, order in orders.items():
        line, runs = changes(matrix, order, others)
        bounds.append((line, f"line of the documents {name}"))
        if runs <= 1 and bool((2 * (matrix.row_sums - 1) < matrix.documents).all()):
            bounds.append((2, f"circle of the documents {name}"))
    return min(bounds, key=lambda bound: bound[0])


def changes(matrix: QrelMatrix, order: NDArray[np.int64], others: bool) -> tuple[int, int]:
    """(most changes of a row along the line, most runs of a row around the circle).

    The line ends with a document without a positive if there are `others`.
    """
    n = matrix.documents
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    rows = np.repeat(np.arange(matrix.queries), matrix.row_sums)
    where = place[matrix.indices]
    sorting = np.lexsort((where, rows))
    rows, where = rows[sorting], where[sorting]
    begins = np.ones(len(rows), bool)
    begins[1:] = (rows[1:] != rows[:-1]) | (where[1:] != where[:-1] + 1)
    runs = np.bincount(rows[begins], minlength=matrix.queries)
    at_start = np.bincount(rows[where == 0], minlength=matrix.queries)
    at_end = np.bincount(rows[where == n - 1], minlength=matrix.queries)
    line = 2 * runs - at_start - (0 if others else at_end)
    around = runs - (at_start & at_end & (runs > 1))
    return int(line.max(initial=0)), int(around.max(initial=0))


def can_walk(matrix: QrelMatrix) -> bool:
    """Whether `walk` takes a second at most."""
    return int((matrix.column_sums**2).sum()) <= _VISITS


def walk(matrix: QrelMatrix) -> NDArray[np.int64]:
    """Documents in the order in which a walk from query to neighbouring query meets them.

    A walk begins at a query with the fewest neighbours and goes on to one that shares a document
    with the last. Of a query's documents those shared with the next one come last, those shared
    with others still to come (where a ring will close) first. Exact for paths and rings.
    """
    indptr, by_document = matrix.columns()
    holders = [by_document[indptr[j] : indptr[j + 1]].tolist() for j in range(matrix.documents)]
    members = [matrix.row(i).tolist() for i in range(matrix.queries)]
    degree = matrix.column_sums
    neighbours = [int(degree[row].sum()) - len(row) for row in members]
    starts = iter(sorted(range(matrix.queries), key=lambda i: (neighbours[i], i)))
    visited = [False] * matrix.queries
    order: dict[int, None] = {}
    query = next(starts, None)
    while query is not None:
        visited[query] = True
        following, place = _next(query, members, holders, visited)
        fresh = [document for document in members[query] if document not in order]
        order |= dict.fromkeys(sorted(fresh, key=place.__getitem__))
        query = following
        if query is None:
            query = next((start for start in starts if not visited[start]), None)
    rest = (document for document in range(matrix.documents) if document not in order)
    return np.array([*order, *rest], np.int64)


def _next(
    query: int, members: list[list[int]], holders: list[list[int]], visited: list[bool]
) -> tuple[int | None, dict[int, int]]:
    """(an unvisited query that shares most documents with `query`, the place of its documents).

    Place 0: shared with another query to come, 1: with none, 2: with the one that is next.
    """
    common: dict[int, int] = {}
    place: dict[int, int] = {}
    for document in members[query]:
        place[document] = 1
        for other in holders[document]:
            if not visited[other]:
                place[document] = 0
                common[other] = common.get(other, 0) + 1
    if not common:
        return None, place
    best = max(common, key=lambda other: (common[other], -other))
    return best, place | dict.fromkeys(set(members[best]) & set(members[query]), 2)


def fits_a_line(matrix: QrelMatrix, others: bool) -> NDArray[np.int64] | list[int] | None:
    """Whether one dimension is enough. `matrix` is a reduced one with a row.

    It is: the order of the documents, in which `matrix.documents` stands for those without a
    positive. It is not: two or three rows that show it. None: too large to say.
    """
    points = matrix.documents + others
    rows = min(matrix.queries, 64)  # nearly always enough to show that it is not
    result = _two_chains(_bit_sets(matrix, points, rows))
    if isinstance(result, list):
        return result
    if rows < matrix.queries:
        if matrix.queries * points > _BITS:
            return None
        result = _two_chains(_bit_sets(matrix, points, matrix.queries))
        if isinstance(result, list):
            return result
    depth = np.zeros(points, np.int64)
    for sign, chain in zip((-1, 1), result, strict=True):
        for mask in chain:
            raw = np.frombuffer(mask.to_bytes((points + 7) // 8, "little"), np.uint8)
            depth += sign * np.unpackbits(raw, count=points, bitorder="little").astype(np.int64)
    return np.argsort(depth, kind="stable")


def _bit_sets(matrix: QrelMatrix, points: int, rows: int) -> list[tuple[int, int]]:
    """(bit set, row), largest first, of the first rows, or of the complement of those that hold
    the last document.
    """
    sets = []
    for i in range(rows):
        bits = np.zeros(points, np.uint8)
        bits[matrix.row(i)] = 1
        bits ^= bits[-1]
        mask = int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
        sets.append((mask, i))
    return sorted(sets, key=lambda item: (-item[0].bit_count(), item[1]))


def _two_chains(sets: list[tuple[int, int]]) -> tuple[list[int], list[int]] | list[int]:
    """The two chains, or the rows that show that there are none."""
    chains: tuple[list[int], list[int]] = ([], [])
    rows: tuple[list[int], list[int]] = ([], [])
    for mask, i in sets:
        side = 0 if not chains[0] or mask & chains[0][0] else 1
        if chains[0] and mask & chains[0][0] and mask & ~chains[0][0]:
            return [
                rows[0][0],
                i,
            ]  # they cross: neither holds the last document, and this is smaller
        if chains[side]:
            last = chains[side][-1]
            if not mask & last:
                return [rows[0][0], rows[side][-1], i]  # two in a third's complement or outside it
            if mask & ~last:
                return [rows[side][-1], i]
        chains[side].append(mask)
        rows[side].append(i)
    return chains


def is_surely_planar(matrix: QrelMatrix) -> bool:
    """Whether the rows, of two documents at most, are known to be the edges of a planar graph.

    False says nothing.
    """
    if int(matrix.row_sums.max(initial=0)) > 2:
        return False
    edges, corners = components(matrix)
    pairs = edges[matrix.row_sums == 2]
    size = matrix.queries + matrix.documents
    surplus = np.bincount(pairs, minlength=size) - np.bincount(corners, minlength=size)
    return bool((surplus <= 2).all())
