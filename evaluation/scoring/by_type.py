"""Scores by the values of a column of the queries, and each system against BM25 query by query.

CapRetrieval (arXiv 2506.08592), Table 3: the shares of queries on which a system scores higher,
lower and similar. The paper does not say how near similar is; here it is less than `TOLERANCE`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.evaluation.scoring.columns import NONE
from retgen.evaluation.scoring.panels import score_measure
from retgen.evaluation.scoring.scores import Score, in_order
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Section
from retgen.results.panel import Column, Panel
from retgen.results.pictures import Bars
from retgen.search.base import slug
from retgen.search.collection import Collection
from retgen.statistics.clustered import FEWEST, Units

DEPTH = 10

Shares = NDArray[np.float64]  # (queries,), NaN where a query has no hard negative


def shares(collection: Collection, documents: NDArray[np.int64]) -> Shares | None:
    """Of every query, the share of its first `DEPTH` documents that are hard negatives.

    `documents` (queries, depth): a ranking. None where the data set has none, or where what is not
    judged is not known.
    """
    if not collection.complete:
        return None
    result = np.full(len(collection.queries), np.nan)
    judged = [
        [doc for doc, relevance in collection.qrels[query.query_id].items() if relevance == 0]
        for query in collection.queries
    ]
    place = collection.places(doc for docs in judged for doc in docs)
    for row, (query, docs) in enumerate(zip(collection.queries, judged, strict=True)):
        if docs:
            known = [place[doc] for doc in docs if doc in place]
            found = np.isin(documents[row, :DEPTH], known).sum()
            facts = query.metadata if isinstance(query.metadata, dict) else {}
            stated = facts.get("hard_negatives")
            there = stated if isinstance(stated, int) else len(docs)
            result[row] = min(1.0, found * max(1.0, there / len(docs)) / DEPTH)
    return None if np.isnan(result).all() else result


def mean_share(values: Shares, rows: NDArray[np.int64]) -> float | None:
    """The mean over some queries; None where none of them has a hard negative."""
    known = values[rows][~np.isnan(values[rows])]
    return float(known.mean()) if len(known) else None


TOLERANCE = 0.01  # two scores of a query that are less apart are equal
ALL = "all queries"
_MOST = 50  # values of a column
_HARD = f"hard_negatives@{DEPTH}"
_GROUPS, _SERIES = 10, 6  # values and systems in a picture
_BM25 = ("bm25", "bm25-capretrieval", "rank-bm25", "bm25-capretrieval-characters")


class SubgroupScore(NamedTuple):
    """One system on the queries of one value. `shares`: of these queries, those on which it is
    `better`, `worse` and `equal` against BM25, unless it is that; of their first documents the hard
    negatives, where that is known.
    """

    value: str
    score: Score
    shares: dict[str, float]


class Breakdown(NamedTuple):
    """All systems by the values of `column`. `reference`: the BM25 compared with, by `measure`."""

    column: str
    measure: str
    reference: str | None
    cells: list[SubgroupScore]

    def to_json(self) -> dict[str, Any]:
        """The value of a column under `by` in eval.json."""
        return {
            "measure": self.measure,
            "reference": self.reference,
            "tolerance": TOLERANCE,
            "results": [self._row(cell) for cell in self.cells],
        }

    def _row(self, cell: SubgroupScore) -> dict[str, Any]:
        score = cell.score
        spans = None if np.isnan(score.intervals).any() else score.intervals.tolist()
        return {
            "value": cell.value,
            "queries": len(score.values),
            "model": score.model,
            "dim": score.dim,
            "metrics": score.metrics,
            "intervals": spans and dict(zip(score.names, spans, strict=True)),
        } | cell.shares

    def _states(self, what: str) -> bool:
        """Whether some system has such a share."""
        return any(what in cell.shares for cell in self.cells)

    def section(self, name: str) -> Section:
        """The tables, with what they mean. `name`: the data set's."""
        text = [
            f"The same means over the queries of each {self.column}, with 95% intervals where "
            f"{FEWEST} groups of queries and more share nothing."
        ]
        if self._states(_HARD):
            text.append(
                f"hard negatives@{DEPTH}: the share of a query's first {DEPTH} documents that are "
                "its hard negatives, such as those that meet what the query rules out; estimated "
                "where not all of them are judged. The lower, the better."
            )
        panels = [self._scores()]
        if self._states("better"):
            text.append(
                f"Below: the shares of queries on which a system has a higher, lower or equal "
                f"{self.measure} than {self.reference}. Equal means less than {TOLERANCE} apart."
            )
            panels.append(self._against())
        return Section(f"Scores by {self.column}", text, panels, self._pictures(name))

    def measurements(self) -> list[Measurement]:
        """Every measure of every system by the values of the column."""
        rows = []
        for value, score, shares in self.cells:
            by, n = {self.column: value}, len(score.values)
            rows += [score.measured(name, by)._replace(n=n) for name in score.names]
            rows += [
                Measurement(score.label, what, by, share, n=n) for what, share in shares.items()
            ]
        return rows

    def _pictures(self, name: str) -> list[Bars]:
        """A group of bars a value, a bar a system; none of more values than can be named."""
        values = list(dict.fromkeys(c.value for c in self.cells if c.value != ALL))
        labels = list(dict.fromkeys(c.score.label for c in self.cells))[:_SERIES]
        if not 1 < len(values) <= _GROUPS:
            return []
        rows = {
            (one.system, one.by[self.column]): one
            for one in self.measurements()
            if one.measure == self.measure
        }
        file = f"{slug(name)}_by_{slug(self.column)}"
        return [
            Bars(
                file=file,
                title=f"{self.measure} by {self.column}: {name}",
                y=self.measure,
                groups=values,
                series={one: [rows[one, v] for v in values] for one in labels},
                caption=f"With 95% intervals: figures/{file}.svg.",
            )
        ]

    def _panel(self, rows: Sequence[Measurement], columns: Sequence[Column]) -> Panel:
        queries = Column("queries", columns[0].measure, count=True)
        return Panel(
            "",
            rows,
            [queries, *columns],
            rows=[self.column, "system"],
            between="–",
            missing="",
            best_within=self.column,
        )

    def _scores(self) -> Panel:
        rows = [one for one in self.measurements() if one.by[self.column] != ALL]
        columns = [Column(name, score_measure(name)) for name in self.cells[0].score.names]
        if self._states(_HARD):
            columns.append(Column(f"hard negatives@{DEPTH}", Measure(_HARD, better="")))
        return self._panel(rows, columns)

    def _against(self) -> Panel:
        heads = [f"{self.measure} > {self.reference}", "<", f"= (within {TOLERANCE})"]
        columns = [
            Column(head, Measure(what, 0, percent=True, better="", sign="%"))
            for head, what in zip(heads, ("better", "worse", "equal"), strict=True)
        ]
        return self._panel(self.measurements(), columns)


def rows_by(
    column: str, values: Mapping[str, str], collection: Collection, most: int
) -> dict[str, NDArray[np.int64]]:
    """The places of a collection's queries by their value, and of all queries at the end.

    `values`: query id -> value. Values come by their number of queries, the largest first, and
    those without one last. Raises `UsageError` where they are more than `most`.
    """
    of = [values[query.query_id] for query in collection.queries]
    counts = Counter(of)
    if len(counts) > most:
        raise UsageError(
            f"--by {column}: the {len(of):,} queries have {len(counts):,} different values there; "
            f"a breakdown takes up to {most}"
        )
    figures = all(value.isdecimal() for value in counts if value != NONE)  # 2 before 10

    def place(value: str) -> tuple[bool, int, int, str]:
        return value == NONE, -counts[value], len(value) if figures else 0, value

    order = sorted(counts, key=place)
    rows = {value: np.array([v == value for v in of]).nonzero()[0] for value in order}
    return rows | {ALL: np.arange(len(of))}


def break_down(
    column: str,
    values: Mapping[str, str],
    collection: Collection,
    scores: Sequence[Score],
    units: Units,
    measure: str,
    negatives: Mapping[str, Shares] | None = None,
) -> Breakdown:
    """Every system by the values of a column. `values`: query id -> value. `negatives`: by label of
    a system, the share of hard negatives among each query's first documents.

    Raises `UsageError` for a column that tells nearly every query apart.
    """
    rows = rows_by(column, values, collection, _MOST)
    systems = in_order(scores, measure)
    reference = next((s for s in scores if s.model in _BM25), None)
    cells = [
        _cell(value, mine, score, units, reference, measure, (negatives or {}).get(score.label))
        for value, mine in rows.items()
        for score in systems
    ]
    return Breakdown(column, measure, reference.label if reference else None, cells)


def _cell(
    value: str,
    rows: NDArray[np.int64],
    score: Score,
    units: Units,
    reference: Score | None,
    measure: str,
    negatives: Shares | None,
) -> SubgroupScore:
    of = score.within(rows, units)
    shares = {}
    if reference is not None and score is not reference:
        at = score.names.index(measure)
        change = of.values[:, at] - reference.values[rows, at]
        # what is TOLERANCE apart but for the digits of its floats is not equal
        apart = np.abs(change) >= TOLERANCE - 1e-12
        shares = {
            "better": float(np.mean(apart & (change > 0))),
            "worse": float(np.mean(apart & (change < 0))),
            "equal": float(np.mean(~apart)),
        }
    share = None if negatives is None else mean_share(negatives, rows)
    return SubgroupScore(value, of, shares if share is None else shares | {_HARD: share})
