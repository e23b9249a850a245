"""Scores by the values of a column of the queries, and each system against BM25 query by query.

CapRetrieval (arXiv 2506.08592), Table 3: the shares of queries on which a system scores higher,
lower and similar. The paper does not say how near similar is; here it is less than `TOLERANCE`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.evaluation import plots as draw
from retgen.evaluation.collection import Collection
from retgen.evaluation.scoring.columns import NONE
from retgen.evaluation.scoring.negatives import DEPTH, Shares, mean_share
from retgen.evaluation.scoring.scores import Score
from retgen.evaluation.scoring.tables import in_order, interval_text
from retgen.evaluation.search.names import slug
from retgen.pages import Figure, Place, Section, TableView, best_places
from retgen.statistics.clustered import FEWEST, Units

TOLERANCE = 0.01  # two scores of a query that are less apart are equal
ALL = "all queries"
_MOST = 50  # values of a column
_GROUPS, _SERIES = 10, 6  # values and systems in a picture
_BM25 = ("bm25", "bm25-capretrieval", "rank-bm25", "bm25-capretrieval-characters")


class Cell(NamedTuple):
    """One system on the queries of one value. `intervals`: (measures, 2), None of too few units.

    `better`, `worse`, `equal`: shares of the queries, against BM25; None without it and of itself.
    `negatives`: the share of hard negatives among the first documents; None where that is unknown.
    """

    value: str
    queries: int
    score: Score
    metrics: dict[str, float]
    intervals: NDArray[np.float64] | None
    better: float | None = None
    worse: float | None = None
    equal: float | None = None
    negatives: float | None = None


class Breakdown(NamedTuple):
    """All systems by the values of `column`. `reference`: the BM25 compared with, by `measure`."""

    column: str
    measure: str
    reference: str | None
    cells: list[Cell]

    def to_json(self) -> dict[str, Any]:
        """The value of a column under `by` in eval.json."""
        return {
            "measure": self.measure,
            "reference": self.reference,
            "tolerance": TOLERANCE,
            "results": [self._row(cell) for cell in self.cells],
        }

    def _row(self, cell: Cell) -> dict[str, Any]:
        names, spans = cell.score.names, cell.intervals
        row: dict[str, Any] = {"value": cell.value, "queries": cell.queries}
        row |= {"model": cell.score.model, "dim": cell.score.dim, "metrics": cell.metrics}
        row["intervals"] = None if spans is None else dict(zip(names, spans.tolist(), strict=True))
        if cell.better is not None:
            row |= {"better": cell.better, "worse": cell.worse, "equal": cell.equal}
        if cell.negatives is not None:
            row[f"hard_negatives@{DEPTH}"] = cell.negatives
        return row

    def section(self, name: str, folder: Path) -> Section:
        """The tables, with what they mean. `name`: the data set's; its picture goes to `folder`."""
        text = [
            f"The same means over the queries of each {self.column}, with 95% intervals where "
            f"{FEWEST} groups of queries and more share nothing."
        ]
        if any(cell.negatives is not None for cell in self.cells):
            text.append(
                f"hard negatives@{DEPTH}: the share of a query's first {DEPTH} documents that are "
                "its hard negatives, such as those that meet what the query rules out; estimated "
                "where not all of them are judged. The lower, the better."
            )
        tables = [self._scores()]
        if self.reference is not None and any(cell.better is not None for cell in self.cells):
            text.append(
                f"Below: the shares of queries on which a system has a higher, lower or equal "
                f"{self.measure} than {self.reference}. Equal means less than {TOLERANCE} apart."
            )
            tables.append(self._against())
        return Section(f"Scores by {self.column}", text, tables, self._picture(name, folder))

    def _picture(self, name: str, folder: Path) -> list[Figure]:
        """A group of bars a value, a bar a system; none of more values than can be named."""
        values = list(dict.fromkeys(c.value for c in self.cells if c.value != ALL))
        labels = list(dict.fromkeys(c.score.label for c in self.cells))[:_SERIES]
        if not 1 < len(values) <= _GROUPS:
            return []
        at = self.cells[0].score.names.index(self.measure)
        of = {(c.score.label, c.value): c for c in self.cells}
        spans = {key: c.intervals[at].tolist() for key, c in of.items() if c.intervals is not None}
        file = f"{slug(name)}_by_{slug(self.column)}"
        svg = draw.bars(
            folder / file,
            values,
            {one: [of[one, value].metrics[self.measure] for value in values] for one in labels},
            {one: [spans.get((one, value)) for value in values] for one in labels},
            [],
            title=f"{self.measure} by {self.column}: {name}",
            y=self.measure,
        )
        return [Figure(svg, f"With 95% intervals: {file}.png in {folder.name}.")]

    def _scores(self) -> TableView:
        cells = [cell for cell in self.cells if cell.value != ALL]
        names = cells[0].score.names
        best: set[Place] = set()
        for value in dict.fromkeys(cell.value for cell in cells):
            mine = [row for row, cell in enumerate(cells) if cell.value == value]
            columns = {
                place: [cells[row].metrics[name] for row in mine]
                for place, name in enumerate(names, start=3)
            }
            best |= {(mine[row], column) for row, column in best_places(columns)}
        known = any(cell.negatives is not None for cell in cells)
        return TableView(
            [self.column, "system", "queries", *names, *[f"hard negatives@{DEPTH}"] * known],
            [
                [c.value, c.score.label, f"{c.queries:,}"]
                + [f"{c.metrics[name]:.4f}" for name in names]
                + ["" if c.negatives is None else f"{c.negatives:.4f}"] * known
                for c in cells
            ],
            names=2,
            best=best,
            beside={
                (row, column): interval_text(cell.intervals[column - 3].tolist())
                for row, cell in enumerate(cells)
                if cell.intervals is not None
                for column in range(3, 3 + len(names))
            },
        )

    def _against(self) -> TableView:
        rows = [
            [c.value, c.score.label, f"{c.queries:,}", *map(_percent, (c.better, c.worse, c.equal))]
            for c in self.cells
            if c.better is not None
        ]
        head = [f"{self.measure} > {self.reference}", "<", f"= (within {TOLERANCE})"]
        return TableView([self.column, "system", "queries", *head], rows, names=2)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


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
) -> Cell:
    means = map(float, score.values[rows].mean(axis=0))
    metrics = dict(zip(score.names, means, strict=True))
    of = units.within(rows)
    spans = None if of.note else of.interval(score.values[rows])
    cell = Cell(value, len(rows), score, metrics, spans)
    if negatives is not None:
        cell = cell._replace(negatives=mean_share(negatives, rows))
    if reference is None or score is reference:
        return cell
    at = score.names.index(measure)
    change = score.values[rows, at] - reference.values[rows, at]
    # what is TOLERANCE apart but for the digits of its floats is not equal
    apart = np.abs(change) >= TOLERANCE - 1e-12
    return cell._replace(
        better=float(np.mean(apart & (change > 0))),
        worse=float(np.mean(apart & (change < 0))),
        equal=float(np.mean(~apart)),
    )
