"""Scores by the values of a column of the queries, and each system against BM25 query by query.

CapRetrieval (arXiv 2506.08592), Table 3: the shares of queries on which a system scores higher,
lower and similar. The paper does not say how near similar is; here it is less than `TOLERANCE`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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

TOLERANCE = 0.01  # two scores of a query that are less apart are equal
ALL = "all queries"
_MOST = 50  # values of a column
_GROUPS, _SERIES = 10, 6  # values and systems in a picture
_BM25 = ("bm25", "bm25-capretrieval", "rank-bm25", "bm25-capretrieval-characters")


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
) -> tuple[dict[str, Any], Section]:
    """Every system by the values of a column: what eval.json has under `by`, and the tables.

    `values`: query id -> value. Raises `UsageError` for a column that tells nearly every query
    apart.
    """
    groups = rows_by(column, values, collection, _MOST)
    reference = next((s for s in scores if s.model in _BM25), None)
    results, rows = [], list[Measurement]()
    for value, places in groups.items():
        for score in in_order(scores, measure):
            of = score.within(places, units)
            more = dict(_shares(of, score, reference, places, measure))
            spans = None if np.isnan(of.intervals).any() else of.intervals.tolist()
            results.append(
                {
                    "value": value,
                    "queries": len(places),
                    "model": score.model,
                    "dim": score.dim,
                    "metrics": of.metrics,
                    "intervals": spans and dict(zip(of.names, spans, strict=True)),
                    **more,
                }
            )
            by, n = {column: value}, len(places)
            rows += [of.measured(name, by)._replace(n=n) for name in of.names]
            rows += [Measurement(of.label, what, by, share, n=n) for what, share in more.items()]
    keys = {
        "measure": measure,
        "reference": reference.label if reference else None,
        "tolerance": TOLERANCE,
        "results": results,
    }
    label = reference.label if reference else ""
    pictures = _pictures(column, groups, measure, rows, collection.name)
    return keys, _section(column, scores[0].names, measure, label, rows, pictures)


def _shares(
    of: Score,
    score: Score,
    reference: Score | None,
    places: NDArray[np.int64],
    measure: str,
) -> Iterator[tuple[str, float]]:
    """Of these queries, those on which a system is better, worse and equal against BM25, unless it
    is that.
    """
    if reference is not None and score is not reference:
        at = score.names.index(measure)
        change = of.values[:, at] - reference.values[places, at]
        # what is TOLERANCE apart but for the digits of its floats is not equal
        apart = np.abs(change) >= TOLERANCE - 1e-12
        yield "better", float(np.mean(apart & (change > 0)))
        yield "worse", float(np.mean(apart & (change < 0)))
        yield "equal", float(np.mean(~apart))


def _section(
    column: str,
    names: Sequence[str],
    measure: str,
    reference: str,
    rows: Sequence[Measurement],
    pictures: Sequence[Bars],
) -> Section:
    stated = {one.measure for one in rows}

    def panel(rows: Sequence[Measurement], columns: Sequence[Column]) -> Panel:
        return Panel(
            "",
            rows,
            [Column("queries", columns[0].measure, count=True), *columns],
            rows=[column, "system"],
            between="–",
            missing="",
            best_within=column,
        )

    text = [
        f"The same means over the queries of each {column}, with 95% intervals where {FEWEST} "
        "groups of queries and more share nothing."
    ]
    columns = [Column(name, score_measure(name)) for name in names]
    panels = [panel([one for one in rows if one.by[column] != ALL], columns)]
    if "better" in stated:
        text.append(
            "Below: the shares of queries on which a system has a higher, lower or equal "
            f"{measure} than {reference}. Equal means less than {TOLERANCE} apart."
        )
        heads = {
            "better": f"{measure} > {reference}",
            "worse": "<",
            "equal": f"= (within {TOLERANCE})",
        }
        columns = [
            Column(head, Measure(what, 0, percent=True, better="", sign="%"))
            for what, head in heads.items()
        ]
        panels.append(panel(rows, columns))
    return Section(f"Scores by {column}", text, panels, pictures)


def _pictures(
    column: str,
    groups: Mapping[str, object],
    measure: str,
    rows: Sequence[Measurement],
    name: str,
) -> list[Bars]:
    """A group of bars a value, a bar a system; none of more values than can be named."""
    values = [value for value in groups if value != ALL]
    if not 1 < len(values) <= _GROUPS:
        return []
    known = {(one.system, one.by[column]): one for one in rows if one.measure == measure}
    labels = list(dict.fromkeys(one.system for one in rows))[:_SERIES]
    file = f"{slug(name)}_by_{slug(column)}"
    return [
        Bars(
            file=file,
            title=f"{measure} by {column}: {name}",
            y=measure,
            groups=values,
            series={one: [known[one, value] for value in values] for one in labels},
            caption=f"With 95% intervals: figures/{file}.svg.",
        )
    ]
