"""The smallest matrix that needs as many dimensions as the whole corpus.

Equal columns can stand at one point and equal rows share one vector, so dropping repetitions
changes nothing: the rest is a submatrix (no more dimensions), and copying its vectors serves the
whole (no fewer). The same holds for rows that do not tell documents apart. All documents that no
query asks for are equal columns: however many, they are one point more, told by `others`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retgen.qrels.matrix import QrelMatrix


@dataclass(frozen=True)
class Reduced:
    """Distinct rows over distinct columns of relevant documents.

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


def reduce(matrix: QrelMatrix, total: int) -> Reduced:
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
    return Reduced(distinct, columns[first], others, row_of, column_of)


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
