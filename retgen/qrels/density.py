"""Densities of a qrel matrix as a graph (LIMIT, Appendix F), exactly.

Two graphs are in use and differ: the appendix defines density on documents (an edge where two
documents are relevant to a common query); the figure printed in the paper's Table 2 is that of the
graph on queries (an edge where two queries share a document). Both are given, named.

Equal rows are counted once, with their multiplicity: 100,000 pairs of 46 documents are at most
1,035 different rows. Where all rows left have the same small size k, inclusion and exclusion over
their subsets counts them (rows x 2^k <= 3e7), else `QrelMatrix.overlaps`. Neither estimates; a
figure that would take more than some 5 s is left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from retgen.qrels.matrix import QrelMatrix

SUBSETS = 30_000_000  # subsets of rows, for inclusion and exclusion


@dataclass(frozen=True)
class Densities:
    """Densities in [0, 1]; None where the exact figure was too expensive, `left_out` says why.

    `documents`: columns with a positive, `queries`: rows with one. `average_query_strength`: mean
    over queries of the sum of Jaccard similarities to all others.
    """

    documents: int
    queries: int
    document_graph_density: float | None
    query_graph_density: float | None
    average_query_strength: float | None
    left_out: dict[str, str] = field(default_factory=dict)


def densities(matrix: QrelMatrix) -> Densities:
    """The densities of the queries, and the documents, with at least one positive."""
    play = matrix.positives_only()[0]
    m, n = play.queries, play.documents
    left_out: dict[str, str] = {}
    documents = queries = strength = None
    shared = _shared_pairs(play.transpose())
    if shared is None:
        left_out["document graph density"] = _reason(n, m)
    else:
        documents = sum(shared.values()) / max(1, comb(n, 2))
    shared = _shared_pairs(play)
    if shared is None:
        left_out["query graph density"] = _reason(m, n)
        left_out["average query strength"] = _reason(m, n)
    else:
        queries = sum(shared.values()) / max(1, comb(m, 2))
        total = sum((count * Fraction(*kind) for kind, count in shared.items()), Fraction(0))
        strength = float(2 * total / max(1, m))
    return Densities(n, m, documents, queries, strength, left_out)


def _reason(rows: int, columns: int) -> str:
    return f"{rows:,} x {columns:,}: the exact count would take too long, and is not estimated"


Shared = Counter[tuple[int, int]]  # pairs of rows, by (columns they share, columns of either)


def _shared_pairs(matrix: QrelMatrix) -> Shared | None:
    """Pairs of rows that share a column, None if too many. Every row must have one."""
    if not matrix.queries:
        return Counter()
    labels = matrix.row_classes()
    _, first, copies = np.unique(labels, return_index=True, return_counts=True)
    distinct = matrix.take_rows(first)
    sizes = distinct.row_sums
    result: Shared = Counter()
    for size in np.unique(sizes).tolist():  # two equal rows share all they have
        among = copies[sizes == size]
        equal = int((among * (among - 1) // 2).sum())
        if equal:
            result[size, size] += equal
    listed = int((distinct.column_sums**2).sum())
    k = int(sizes.max(initial=0))
    if k <= 20 and bool((sizes == k).all()) and distinct.queries << k <= min(listed, SUBSETS):
        return result + _by_subsets(distinct, copies)
    if distinct.overlap_cost() > 1:
        return None
    for one, two, common in distinct.overlaps():
        either = sizes[one] + sizes[two] - common
        width = int(either.max(initial=0)) + 1
        kinds, inverse = np.unique(common * width + either, return_inverse=True)
        counts = np.zeros(len(kinds), np.int64)
        np.add.at(counts, inverse, copies[one] * copies[two])
        for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            result[divmod(kind, width)] += count
    return result


def _by_subsets(matrix: QrelMatrix, copies: NDArray[np.int64]) -> Shared:
    """The same for distinct rows of k columns each, of which there are so many copies.

    A pair that shares exactly s columns shares C(s, j) subsets of j columns. So the pairs counted
    once for each j-subset that they share, N_j = sum over j-subsets of the pairs of rows with it,
    give by binomial inversion X_s = sum over j >= s of (-1)**(j - s) C(j, s) N_j.
    """
    k = int(matrix.row_sums[0])
    table = matrix.indices.reshape(matrix.queries, k).astype(np.int64)
    counted = [0] * (k + 1)
    for j in range(1, k + 1):
        rows = np.concatenate([table[:, list(some)] for some in combinations(range(k), j)])
        code = np.zeros(len(rows), np.int64)
        for c in range(j):
            code = np.unique(code * matrix.documents + rows[:, c], return_inverse=True)[1]
        weights = np.tile(copies, len(rows) // len(copies))
        total, squares = np.zeros((2, int(code.max()) + 1), np.int64)
        np.add.at(total, code, weights)
        np.add.at(squares, code, weights**2)
        counted[j] = sum(((total**2 - squares) // 2).tolist())
    result: Shared = Counter()
    for s in range(1, k + 1):
        exactly = sum((-1) ** (j - s) * comb(j, s) * counted[j] for j in range(s, k + 1))
        if exactly:
            result[s, 2 * k - s] += exactly
    return result
