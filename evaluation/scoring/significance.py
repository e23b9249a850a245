"""Confidence intervals and paired comparisons by a bootstrap that respects what queries share.

Queries that share relevant documents do not vary independently: LIMIT's 1,000 queries are pairs of
46 documents. Where the queries fall into many groups that share nothing, whole groups are drawn
with replacement (the cluster bootstrap). Where they hang together, the documents are drawn: a query
counts as often as the product of the draws of its relevant documents says (the pigeonhole bootstrap
of A. B. Owen, Annals of Applied Statistics 1 (2007), for data crossed in several factors; it errs
on the side of wide intervals). Models are compared on the same draws.

A p-value from R replicates is at least 2 / (R + 1), and Holm's correction multiplies the smallest
by the number of comparisons. So the replicates of comparisons follow their number, 100 for each
(at least those of the intervals): the smallest corrected p-value is 0.02, however many systems
there are. They are drawn and counted in blocks, and never held together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.collection import Collection
from retgen.qrels.matrix import QrelMatrix
from retgen.qrels.reduction import components
from retgen.streams import Stream

_FEW = 20  # groups; below, drawing groups says little
_CELLS = 50_000_000  # replicates x queries held in memory
_BLOCK = 4_000_000  # numbers of a block of replicates
_EACH = 100  # replicates a comparison
_DRAWN = 1_000_000_000  # replicates x queries drawn for comparisons at most: some ten seconds
_WIDEST = 8  # relevant documents a query; above, a product of their draws is all noise


class Difference(NamedTuple):
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


def between(
    comparisons: Sequence[Difference], first: str, second: str, measure: str
) -> tuple[float, float, float] | None:
    """Mean of first - second and its 95% interval; None where they were not compared."""
    for c in comparisons:
        if (c.first, c.second, c.measure) == (first, second, measure):
            return c.difference, c.low, c.high
        if (c.second, c.first, c.measure) == (first, second, measure):
            return -c.difference, -c.high, -c.low
    return None


class Bootstrap:
    """Replicates of a collection's queries: weights that are the same for every system."""

    def __init__(self, collection: Collection, replicates: int = 5000, seed: int = 42) -> None:
        matrix = relevance_matrix(collection)
        labels = components(matrix)[0]
        _, group = np.unique(labels, return_inverse=True)
        groups = int(group.max()) + 1
        largest = int(np.bincount(group).max())
        self._seed, self._matrix = seed, matrix
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
        self._group = None if unit == "{:,} relevant documents" else group
        replicates = max(1000, min(replicates, _CELLS // matrix.queries))
        drawn = list(self._draw(Stream(seed, "evaluation/bootstrap"), replicates))
        self._weights = np.concatenate(drawn)
        self._sums = self._weights.sum(axis=1, dtype=np.float64)
        self.replicates = len(self._sums)
        self.compared = 0  # replicates of the last comparison

    def _draw(self, stream: Stream, replicates: int) -> Iterator[NDArray[np.float32]]:
        """Weights (r, queries) in blocks; tiny sets may draw nothing at all, which is left out."""
        matrix = self._matrix
        block = max(1, _BLOCK // max(self.clusters, matrix.queries, matrix.nnz))
        for first in range(0, replicates, block):
            rows = min(block, replicates - first)
            drawn = stream.integers(self.clusters, rows * self.clusters).reshape(rows, -1)
            drawn = drawn + np.arange(rows)[:, None] * self.clusters
            counts = np.bincount(drawn.reshape(-1), minlength=rows * self.clusters)
            counts = counts.reshape(rows, self.clusters).astype(np.float32)
            if self._group is None:  # a query as often as the product of its documents' draws
                weights = np.multiply.reduceat(
                    counts[:, matrix.indices], matrix.indptr[:-1], axis=1
                )
            else:
                weights = counts[:, self._group]
            yield weights[weights.any(axis=1)]

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

    def interval_within(
        self, values: NDArray[np.float64], rows: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """The same of the means over the queries in `rows`; None where hardly any draw has one."""
        weights = self._weights[:, rows]
        sums = weights.sum(axis=1, dtype=np.float64)
        drawn = sums > 0
        if 2 * np.count_nonzero(drawn) < len(sums) or not len(sums):
            return None
        means = (weights[drawn] @ values[rows].astype(np.float32)) / sums[drawn, None]
        spans: NDArray[np.float64] = np.quantile(means, [0.025, 0.975], axis=0).T
        return spans

    def compare(
        self, values: Mapping[str, NDArray[np.float64]], measures: Sequence[str]
    ) -> list[Difference]:
        """Every pair of systems on every measure. `values`: name -> (queries, measures)."""
        names = list(values)
        pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
        means = [self.means(values[name]) for name in names]
        below, above, count = self._tails(values, len(pairs))
        self.compared = count
        result: list[Difference] = []
        for column, measure in enumerate(measures):
            rows = []
            for place, (i, j) in enumerate(pairs):
                change = means[i][:, column] - means[j][:, column]
                low, high = np.quantile(change, [0.025, 0.975]) if len(change) else (0.0, 0.0)
                tail = min(int(below[place, column]), int(above[place, column]))
                # never 0: no more is known than the replicates show
                p = min(1.0, 2 * (tail + 1) / (count + 1))
                mean = float((values[names[i]] - values[names[j]])[:, column].mean())
                rows.append((names[i], names[j], measure, mean, float(low), float(high), p))
            result += holm(rows)
        return result

    def _tails(
        self, values: Mapping[str, NDArray[np.float64]], pairs: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Replicates in which the first of a pair is not above, and not below, the second.

        Both (pairs, measures), in the order of pairs of systems, and how many there were.
        """
        wanted = min(_EACH * pairs, _DRAWN // self._matrix.queries)
        more = self._draw(Stream(self._seed, "evaluation/comparisons"), wanted - self.replicates)
        systems = [one.astype(np.float32) for one in values.values()]
        measures = systems[0].shape[1] if systems else 0
        below, above = np.zeros((2, pairs, measures), np.int64)
        count = 0
        for weights in itertools.chain([self._weights], more):
            count += len(weights)
            sums = [np.ascontiguousarray((weights @ one).T) for one in systems]  # (measures, r)
            place = 0
            for i in range(len(systems) - 1):
                for second in sums[i + 1 :]:
                    # the weights of both are the same, so the sums tell as the means would
                    below[place] += np.count_nonzero(sums[i] <= second, axis=1)
                    above[place] += np.count_nonzero(sums[i] >= second, axis=1)
                    place += 1
        return below, above, count


def holm(rows: list[tuple[str, str, str, float, float, float, float]]) -> list[Difference]:
    """Rows of a `Difference` less its last value, which is Holm's correction over all of them."""
    order = sorted(range(len(rows)), key=lambda i: rows[i][-1])
    adjusted = [0.0] * len(rows)
    worst = 0.0
    for rank, i in enumerate(order):
        worst = max(worst, min(1.0, rows[i][-1] * (len(rows) - rank)))
        adjusted[i] = worst
    return [Difference(*row, adjusted=adjusted[i]) for i, row in enumerate(rows)]


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
