"""Embeddings as whole numbers: what is claimed about them is checked without rounding.

A found embedding is scaled and rounded to integers so small that every score, a sum of products, is
exact in 64 bits. In row order the length of a vector does not matter, so the integers are an
embedding by themselves: if each query's scores of its relevant documents exceed all others as
integers, the qrel matrix has been embedded, whatever made the vectors.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from retgen.qrels import QrelMatrix

_BLOCK = 16_000_000  # scores at a time


def whole_numbers(vectors: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n, d) real vectors to integers of at most 2^b, d 2^(2b) < 2^62, the scale being one for all.

    Raises ValueError for values that are not finite, or all zero.
    """
    largest = float(np.abs(vectors).max(initial=0))
    if not 0 < largest < math.inf:
        raise ValueError("vectors must be finite and not all zero")
    bits = (62 - math.ceil(math.log2(vectors.shape[1] + 1))) // 2
    return np.rint(vectors * (2.0**bits / largest)).astype(np.int64)


def smallest_gap(
    matrix: QrelMatrix, queries: NDArray[np.int64], documents: NDArray[np.int64]
) -> int:
    """Over all queries the least of: worst relevant score minus best other score, exactly.

    queries (matrix.queries, d), documents (matrix.documents, d). The embedding serves the matrix in
    row order iff the result is positive. Queries for which all or no documents are relevant are
    passed over; with none left the result is 0. Raises ValueError for shapes that do not fit, or
    integers so large that a sum could leave 64 bits.
    """
    d = documents.shape[1]
    if queries.shape != (matrix.queries, d) or len(documents) != matrix.documents:
        raise ValueError(
            f"{queries.shape} and {documents.shape} do not embed "
            f"{matrix.queries} x {matrix.documents}"
        )
    # int() first: the absolute value of the least 64-bit integer is none
    reach = [
        max(abs(int(v.max(initial=0))), abs(int(v.min(initial=0)))) for v in (queries, documents)
    ]
    if d * reach[0] * reach[1] >= 2**62:
        raise ValueError("a score of these integers may leave 64 bits")
    least: int | None = None
    rows = max(1, _BLOCK // max(matrix.documents, 1))
    for start in range(0, matrix.queries, rows):
        part = matrix.take_rows(np.arange(start, min(start + rows, matrix.queries)))
        relevant = part.dense().astype(bool)
        message = relevant.any(1) & ~relevant.all(1)
        scores = queries[start : start + rows] @ documents.T
        high = np.where(relevant, np.iinfo(np.int64).max, scores)
        worst = np.where(relevant, scores, 2**62).min(1)
        best = np.where(relevant, -(2**62), high).max(1)
        if bool(message.any()):
            result = int((worst - best)[message].min())
            least = result if least is None else min(least, result)
    return least or 0
