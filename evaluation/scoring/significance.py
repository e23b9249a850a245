"""Confidence intervals and paired comparisons that respect what queries share.

Queries that share relevant documents do not vary independently: LIMIT's 1,000 queries are pairs of
46 documents. Where the queries fall into enough groups that share nothing, groups are the units of
`statistics.clustered`. Where they hang together, the documents are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retgen.qrels.matrix import QrelMatrix, components
from retgen.search.collection import Collection
from retgen.statistics.clustered import CHANGE, Units

Row: TypeAlias = tuple[str, str, str, float, float | None, float | None, float | None]


class PairedDifference(NamedTuple):
    """Two systems on one measure: mean difference first - second, its 95% interval, p-value.

    `p` is two-sided; `adjusted` after Holm's correction over all comparisons of the measure. None:
    too few units, or (but for p) no query differs.
    """

    first: str
    second: str
    measure: str
    difference: float
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None


def difference_between(
    comparisons: Sequence[PairedDifference], first: str, second: str, measure: str
) -> tuple[float, float, float] | None:
    """Mean of first - second and its 95% interval, three zeros where no query differs.

    None where they were not compared, or units are too few.
    """
    for c in comparisons:
        sign = 1 if (c.first, c.second) == (first, second) else -1
        if {c.first, c.second} != {first, second} or c.measure != measure or c.p is None:
            continue
        if c.low is None or c.high is None:
            return 0.0, 0.0, 0.0
        low, high = sorted((sign * c.low, sign * c.high))
        return sign * c.difference, low, high
    return None


def change_text(change: tuple[float, float, float]) -> str:
    """A difference and its 95% interval."""
    if not any(change):
        return "+0.0000 (no query differs)"
    return "{:+.4f} ({:+.3f} to {:+.3f})".format(*change)


def units_of(collection: Collection) -> Units:
    """What the queries of a collection vary by.

    Questions that people asked are drawn one by one, and the pages are all there are.
    """
    if collection.pages is not None:
        count = len(collection.queries)
        return Units(np.arange(count), np.arange(count), f"{count:,} questions")
    matrix = relevance_matrix(collection)
    _, group = np.unique(components(matrix)[0], return_inverse=True)
    name = f"{int(group.max()) + 1:,} groups of queries that share relevant documents"
    groups = Units(np.arange(matrix.queries), group, name)
    of = np.repeat(np.arange(matrix.queries), matrix.row_sums)
    documents = Units(of, matrix.indices, f"{matrix.documents:,} relevant documents")
    # groups always vary by themselves; of too few of them documents may tell more
    return groups if not groups.note or documents.note else documents


def compare(
    units: Units, values: Mapping[str, NDArray[np.float64]], measures: Sequence[str]
) -> list[PairedDifference]:
    """Every pair of systems on every measure. `values`: name -> (queries, measures)."""
    names = list(values)
    rows: list[list[Row]] = [[] for _ in measures]
    for i, first in enumerate(names[:-1]):
        others = names[i + 1 :]
        changes = np.concatenate([values[first] - values[other] for other in others], axis=1)
        means = changes.mean(axis=0).tolist()
        spans = units.interval(changes, CHANGE).tolist()
        p_values = units.p_value(changes).tolist()
        for at, (mean, (low, high), p) in enumerate(zip(means, spans, p_values, strict=True)):
            other, column = divmod(at, len(measures))
            known = (None if math.isnan(number) else number for number in (low, high, p))
            rows[column].append((first, others[other], measures[column], mean, *known))
    return [one for of_measure in rows for one in holm(of_measure)]


def holm(rows: Sequence[Row]) -> list[PairedDifference]:
    """The differences of rows that lack the last value: Holm's correction over all of them."""
    known = {i: p for i, row in enumerate(rows) if (p := row[-1]) is not None}
    adjusted: dict[int, float] = {}
    worst = 0.0
    for rank, i in enumerate(sorted(known, key=known.__getitem__)):
        worst = max(worst, min(1.0, known[i] * (len(known) - rank)))
        adjusted[i] = worst
    return [PairedDifference(*row, adjusted=adjusted.get(i)) for i, row in enumerate(rows)]


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


def p_value(p: float | None) -> str:
    """Three digits, and no more certainty than they hold; "" where there is none."""
    if p is None:
        return ""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def signed_interval(low: float | None, high: float | None) -> str:
    """A 95% interval of a difference; "" where there is none."""
    return "" if low is None or high is None else f"{low:+.4f} to {high:+.4f}"
