"""Confidence intervals and paired comparisons by a bootstrap that respects what queries share.

Queries that share relevant documents do not vary independently: LIMIT's 1,000 queries are pairs of
46 documents. Where the queries fall into many groups that share nothing, whole groups are drawn
with replacement (the cluster bootstrap). Where they hang together, the documents are drawn: a query
counts as often as the product of the draws of its relevant documents says (the pigeonhole bootstrap
of A. B. Owen, Annals of Applied Statistics 1 (2007), for data crossed in several factors; it errs
on the side of wide intervals). Models are compared on the same draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.collection import Collection
from retgen.qrels.matrix import QrelMatrix
from retgen.qrels.reduction import components
from retgen.streams import Stream

__all__ = ["Bootstrap", "Comparison", "relevance_matrix"]

_FEW = 20  # groups; below, drawing groups says little
_CELLS = 50_000_000  # replicates x queries held in memory
_WIDEST = 8  # relevant documents a query; above, a product of their draws is all noise


class Comparison(NamedTuple):
    """Two systems on one measure: mean difference first - second, its 95% interval, p-value.

    `p` is two-sided, from the bootstrap; `adjusted` after Holm's correction over all comparisons
    of the measure.
    """

    first: str
    second: str
    measure: str
    difference: float
    low: float
    high: float
    p: float
    adjusted: float


class Bootstrap:
    """Replicates of a collection's queries: weights that are the same for every system."""

    def __init__(self, collection: Collection, replicates: int = 5000, seed: int = 42) -> None:
        matrix = relevance_matrix(collection)
        labels = components(matrix)[0]
        _, group = np.unique(labels, return_inverse=True)
        groups = int(group.max()) + 1
        largest = int(np.bincount(group).max())
        stream = Stream(seed, "evaluation/bootstrap")
        # groups are the clusters where they are many, and none of them is much of the data
        if groups >= _FEW and 5 * largest <= matrix.queries:
            self.clusters, unit = groups, "{:,} groups of queries that share relevant documents"
        elif int(matrix.row_sums.max()) <= _WIDEST:
            self.clusters, unit = matrix.documents, "{:,} relevant documents"
        else:
            group = np.arange(matrix.queries)
            self.clusters = matrix.queries
            unit = "{:,} queries, as if independent (each shares many documents with others)"
        self.unit = unit.format(self.clusters)  # what is drawn, in words
        by_documents = unit == "{:,} relevant documents"
        replicates = max(1000, min(replicates, _CELLS // matrix.queries))
        self._weights = np.empty((replicates, matrix.queries), np.float32)
        for replicate in range(replicates):
            drawn = stream.integers(self.clusters, self.clusters)
            counts = np.bincount(drawn, minlength=self.clusters)
            if by_documents:
                self._weights[replicate] = _products(matrix, counts)
            else:
                self._weights[replicate] = counts[group]
        self._sums = self._weights.sum(axis=1, dtype=np.float64)
        self._weights = self._weights[self._sums > 0]  # tiny sets may draw nothing at all
        self._sums = self._sums[self._sums > 0]
        self.replicates = len(self._sums)

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Replicates of the means: values (queries, measures) -> (replicates, measures)."""
        sums = (self._weights @ values.astype(np.float32)).astype(np.float64)
        means: NDArray[np.float64] = sums / self._sums[:, None]
        return means

    def interval(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """95% percentile intervals (measures, 2) of the means of values (queries, measures)."""
        if not len(self._weights):
            return np.tile(values.mean(axis=0)[:, None], (1, 2))
        spans: NDArray[np.float64] = np.quantile(self.means(values), [0.025, 0.975], axis=0).T
        return spans

    def compare(
        self, values: Mapping[str, NDArray[np.float64]], measures: Sequence[str]
    ) -> list[Comparison]:
        """Every pair of systems on every measure. `values`: name -> (queries, measures)."""
        names = list(values)
        replicates = {name: self.means(values[name]) for name in names}
        found: list[Comparison] = []
        for column, measure in enumerate(measures):
            rows = []
            for i, first in enumerate(names):
                for second in names[i + 1 :]:
                    change = replicates[first][:, column] - replicates[second][:, column]
                    low, high = np.quantile(change, [0.025, 0.975]) if len(change) else (0.0, 0.0)
                    tail = min(int((change <= 0).sum()), int((change >= 0).sum()))
                    # never 0: no more is known than the replicates show
                    p = min(1.0, 2 * (tail + 1) / (len(change) + 1))
                    mean = float((values[first] - values[second])[:, column].mean())
                    rows.append((first, second, measure, mean, float(low), float(high), p))
            found += _holm(rows)
        return found


def _holm(rows: list[tuple[str, str, str, float, float, float, float]]) -> list[Comparison]:
    order = sorted(range(len(rows)), key=lambda i: rows[i][-1])
    adjusted = [0.0] * len(rows)
    worst = 0.0
    for rank, i in enumerate(order):
        worst = max(worst, min(1.0, rows[i][-1] * (len(rows) - rank)))
        adjusted[i] = worst
    return [Comparison(*row, adjusted=adjusted[i]) for i, row in enumerate(rows)]


def relevance_matrix(collection: Collection) -> QrelMatrix:
    """The qrel matrix of a collection; columns are the documents with a positive."""
    columns: dict[str, int] = {}
    rows = [
        [
            columns.setdefault(doc, len(columns))
            for doc, relevance in collection.qrels[query.query_id].items()
            if relevance > 0
        ]
        for query in collection.queries
    ]
    return QrelMatrix.from_rows(rows, len(columns))


def _products(matrix: QrelMatrix, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each query the product of the draws of its documents, (queries,)."""
    product: NDArray[np.float64] = np.multiply.reduceat(
        counts[matrix.indices].astype(np.float64), matrix.indptr[:-1]
    )
    return product
