"""Densities of a qrel matrix as a graph (LIMIT, Appendix F), exactly.

Two graphs are in use and differ: the appendix defines density on documents (an edge where two
documents are relevant to a common query); the figure printed in the paper's Table 2 is that of the
graph on queries (an edge where two queries share a document). Both are given, named.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retgen.qrels.matrix import QrelMatrix

__all__ = ["Densities", "densities"]

# multiply-adds; beyond, an exact figure would take minutes and is left out, never estimated
_BUDGET = 400_000_000_000
_BLOCK = 2048  # rows of a Gram matrix computed at a time


@dataclass(frozen=True)
class Densities:
    """Densities in [0, 1]; None where the exact figure was too expensive.

    `documents`: columns with a positive, `queries`: rows with one. `average_query_strength`: mean
    over queries of the sum of Jaccard similarities to all others.
    """

    documents: int
    queries: int
    document_graph_density: float | None
    query_graph_density: float | None
    average_query_strength: float | None


def densities(matrix: QrelMatrix) -> Densities:
    """The densities of the documents and queries in play."""
    play = matrix.positives_only()[0]
    m, n = play.queries, play.documents
    documents = queries = strength = None
    if _affordable(n, m):
        edges, _ = _gram_sums(_transposed(play), None)
        documents = edges / max(1, n * (n - 1) // 2)
    if _affordable(m, n):
        edges, total = _gram_sums(play, play.row_sums)
        queries = edges / max(1, m * (m - 1) // 2)
        strength = 2 * total / max(1, m)
    return Densities(n, m, documents, queries, strength)


def _affordable(rows: int, columns: int) -> bool:
    return rows * rows * columns <= _BUDGET


def _transposed(matrix: QrelMatrix) -> QrelMatrix:
    indptr, rows = matrix.columns()
    return QrelMatrix(indptr, rows.astype(np.int32), matrix.queries)


def _gram_sums(matrix: QrelMatrix, sizes: NDArray[np.int64] | None) -> tuple[int, float]:
    """(pairs of rows that share a column, sum of their Jaccard similarities).

    Blocks of the Gram matrix in float32, whose integers are exact below 2**24. Jaccard
    similarities are summed by (shared, union) counts, so that the order of rows changes nothing.
    """
    edges, similarities = 0, 0.0
    for low in range(0, matrix.queries, _BLOCK):
        high = min(low + _BLOCK, matrix.queries)
        left = _rows(matrix, low, high)
        for first in range(low, matrix.queries, _BLOCK):
            last = min(first + _BLOCK, matrix.queries)
            shared = left @ _rows(matrix, first, last).T
            if first == low:
                shared = np.triu(shared, 1)
            i, j = np.nonzero(shared)
            edges += len(i)
            if sizes is not None and len(i):
                common = shared[i, j].astype(np.int64)
                union = sizes[low + i] + sizes[first + j] - common
                width = int(union.max()) + 1
                kinds, counts = np.unique(common * width + union, return_counts=True)
                similarities += float(np.sum(counts * (kinds // width) / (kinds % width)))
    return edges, similarities


def _rows(matrix: QrelMatrix, low: int, high: int) -> NDArray[np.float32]:
    full = np.zeros((high - low, matrix.documents), np.float32)
    counts = matrix.row_sums[low:high]
    index = matrix.indices[matrix.indptr[low] : matrix.indptr[high]]
    full[np.repeat(np.arange(high - low), counts), index] = 1
    return full
