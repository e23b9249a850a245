"""The qrel matrix A: rows are queries, columns documents, A[i, j] = 1 iff j is relevant to i."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

LISTED = 100_000_000  # pairs of rows that are listed column by column in some 5 s
PRODUCT = 200_000_000_000  # multiply-adds of a Gram matrix in some 5 s
BLOCK = 4_000_000  # pairs, or entries of the Gram matrix, held at a time
Overlaps = Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]


@dataclass(frozen=True)
class QrelMatrix:
    """A sparse 0/1 matrix by rows.

    Row i holds the columns `indices[indptr[i]:indptr[i + 1]]`, ascending. `indptr` int64
    (queries + 1,), `indices` int32 (nnz,), `documents` is the number of columns.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    documents: int

    @classmethod
    def from_pairs(
        cls,
        query_index: NDArray[np.int64],
        document_index: NDArray[np.int64],
        queries: int,
        documents: int,
    ) -> Self:
        """From (row, column) pairs in any order.

        Raises ValueError for a pair given twice or an index outside the matrix.
        """
        order = np.lexsort((document_index, query_index))
        rows, columns = query_index[order], document_index[order]
        for index, bound in ((rows, queries), (columns, documents)):
            if len(index) and not 0 <= int(index.min()) <= int(index.max()) < bound:
                raise ValueError(f"an index is outside 0..{bound - 1}")
        if len(rows) and bool(((rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])).any()):
            raise ValueError("a (query, document) pair is given twice")
        indptr = np.zeros(queries + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=queries), out=indptr[1:])
        return cls(indptr, columns.astype(np.int32), documents)

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]], documents: int) -> Self:
        """From the columns of each row."""
        lengths = [len(row) for row in rows]
        flat = np.array([column for row in rows for column in row], np.int64)
        index = np.repeat(np.arange(len(rows)), lengths)
        return cls.from_pairs(index, flat, len(rows), documents)

    @property
    def queries(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """Number of relevant pairs."""
        return len(self.indices)

    @property
    def row_sums(self) -> NDArray[np.int64]:
        """Relevant documents of each query: (queries,)."""
        return np.diff(self.indptr)

    @property
    def column_sums(self) -> NDArray[np.int64]:
        """Queries that each document is relevant to: (documents,)."""
        return np.bincount(self.indices, minlength=self.documents).astype(np.int64)

    def row(self, i: int) -> NDArray[np.int32]:
        """Columns of row i, ascending."""
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same by columns: (indptr (documents + 1,), query indices (nnz,))."""
        rows = np.repeat(np.arange(self.queries), self.row_sums)
        order = np.argsort(self.indices, kind="stable")
        indptr = np.zeros(self.documents + 1, np.int64)
        np.cumsum(self.column_sums, out=indptr[1:])
        return indptr, rows[order]

    def transpose(self) -> QrelMatrix:
        """Documents as rows, queries as columns."""
        indptr, rows = self.columns()
        return QrelMatrix(indptr, rows.astype(np.int32), self.queries)

    def row_classes(self) -> NDArray[np.int64]:
        """Which rows are equal: int64 (queries,), classes numbered by first appearance."""
        data, ends = self.indices.tobytes(), (self.indptr * self.indices.itemsize).tolist()
        seen: dict[bytes, int] = {}
        pieces = (data[low:high] for low, high in pairwise(ends))
        labels = [seen.setdefault(piece, len(seen)) for piece in pieces]
        return np.array(labels, np.int64)

    def take_rows(self, rows: NDArray[np.int64]) -> QrelMatrix:
        """The rows named, in that order; all columns."""
        sums = self.row_sums[rows]
        indptr = np.concatenate([[0], np.cumsum(sums)]).astype(np.int64)
        inside = np.arange(int(indptr[-1])) - np.repeat(indptr[:-1], sums)
        return QrelMatrix(
            indptr, self.indices[np.repeat(self.indptr[rows], sums) + inside], self.documents
        )

    def dense(self) -> NDArray[np.uint8]:
        """The whole matrix, uint8 (queries, documents)."""
        full = np.zeros((self.queries, self.documents), np.uint8)
        full[np.repeat(np.arange(self.queries), self.row_sums), self.indices] = 1
        return full

    def overlap_cost(self) -> float:
        """Time that `overlaps` takes, in units of some 5 s."""
        product = self.queries**2 * self.documents
        return min(int((self.column_sums**2).sum()) / LISTED, product / PRODUCT)

    def overlaps(self) -> Overlaps:
        """Blocks of (row, later row, columns in common) of all pairs with such a column.

        Pairs are listed column by column or, where that costs more, read off the Gram matrix A A^T.
        """
        if self.overlap_cost() < self.queries**2 * self.documents / PRODUCT:
            yield from self._listed_overlaps()
            return
        step = max(1, min(2048, 16 * BLOCK // max(self.documents, 1)))
        starts = range(0, self.queries, step)
        for low in starts:
            left = self._float_rows(low, low + step)
            for first in starts[low // step :]:
                common = left @ self._float_rows(first, first + step).T
                i, j = np.nonzero(np.triu(common, 1) if first == low else common)
                yield i + low, j + first, common[i, j].astype(np.int64)

    def _float_rows(self, low: int, high: int) -> NDArray[np.floating]:
        """Rows low..high-1, dense; float32 counts exactly up to 2**24."""
        rows = np.arange(low, min(high, self.queries))
        exact = np.float32 if self.documents <= 1 << 24 else np.float64
        return self.take_rows(rows).dense().astype(exact)

    def _listed_overlaps(self) -> Overlaps:
        indptr, by_column = self.columns()
        degrees = np.diff(indptr)
        m = self.queries
        # others listed for each entry of the matrix, and for all entries of the rows before
        others = degrees[self.indices]
        before = np.concatenate([[0], np.cumsum(others)])[self.indptr]
        low = 0
        while low < m:
            high = max(low + 1, int(np.searchsorted(before, before[low] + BLOCK, side="right")) - 1)
            entries = slice(int(self.indptr[low]), int(self.indptr[high]))
            count = others[entries]
            starts = indptr[self.indices[entries]]
            inside = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
            other = by_column[np.repeat(starts, count) + inside]
            row = np.repeat(np.arange(low, high), before[low + 1 : high + 1] - before[low:high])
            later = other > row
            codes = (row[later] - low) * m + other[later]
            pairs, common = np.unique(codes, return_counts=True)
            yield pairs // m + low, pairs % m, common
            low = high

    def positives_only(self) -> tuple[QrelMatrix, NDArray[np.int64], NDArray[np.int64]]:
        """Without columns that have no positive and rows that have none.

        Returns (matrix, kept columns, kept rows), indices into this one, ascending.
        """
        kept_columns, indices = np.unique(self.indices, return_inverse=True)
        sums = self.row_sums
        kept_rows = np.flatnonzero(sums)
        indptr = np.concatenate([[0], np.cumsum(sums[kept_rows])]).astype(np.int64)
        matrix = QrelMatrix(indptr, indices.astype(np.int32), len(kept_columns))
        return matrix, kept_columns.astype(np.int64), kept_rows.astype(np.int64)


@dataclass(frozen=True)
class ReducedMatrix:
    """The smallest matrix that needs as many dimensions as the whole corpus: distinct rows over
    distinct columns of relevant documents.

    Equal columns can stand at one point and equal rows share one vector, so dropping repetitions
    changes nothing: the rest is a submatrix (no more dimensions), and copying its vectors serves
    the whole (no fewer). The same holds for rows that do not tell documents apart. All documents
    that no query asks for are equal columns: however many, they are one point more.

    `columns` (documents,): where each column stood.

    `others`: the corpus holds documents without a positive too (a column of zeros, not listed).
    `row_of` (rows of the original,): the row that each equals, -1 where it tells nothing apart;
    `column_of` (columns of the original,): the column, `matrix.documents` for one of zeros.
    """

    matrix: QrelMatrix
    columns: NDArray[np.int64]
    others: bool
    row_of: NDArray[np.int64]
    column_of: NDArray[np.int64]

    @property
    def points(self) -> int:
        """Columns with the one of zeros."""
        return self.matrix.documents + self.others


def reduce(matrix: QrelMatrix, total: int) -> ReducedMatrix:
    """Of a matrix in a corpus of `total` documents."""
    play, columns, rows = matrix.positives_only()
    others = total > play.documents
    if not others:  # a query for which all documents are relevant
        some = np.flatnonzero(play.row_sums < play.documents)
        play, kept, _ = play.take_rows(some).positives_only()
        others = len(kept) < len(columns)
        columns, rows = columns[kept], rows[some]
    # classes are numbered by first appearance: a class is the index of its row from here on
    row_class = play.row_classes()
    by_column = play.take_rows(np.unique(row_class, return_index=True)[1]).transpose()
    column_class = by_column.row_classes()
    first = np.unique(column_class, return_index=True)[1]
    distinct = by_column.take_rows(first).transpose()
    row_of = np.full(matrix.queries, -1)
    row_of[rows] = row_class
    column_of = np.full(matrix.documents, distinct.documents)
    column_of[columns] = column_class
    return ReducedMatrix(distinct, columns[first], others, row_of, column_of)


def components(matrix: QrelMatrix) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Labels of the connected parts: (of rows (queries,), of columns (documents,)).

    Labels spread along the entries, and jump to the label of their label, until all agree.
    """
    m = matrix.queries
    label = np.arange(m + matrix.documents)
    one = np.repeat(np.arange(m), matrix.row_sums)
    two = matrix.indices.astype(np.int64) + m
    while True:
        a, b = label[one], label[two]
        if bool((a == b).all()):
            return label[:m], label[m:]
        least = np.minimum(a, b)
        for at in (a, b, one, two):
            np.minimum.at(label, at, least)
        while bool((label[label] != label).any()):
            label = label[label]
