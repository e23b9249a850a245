"""A column of the queries, by whose values scores are broken down.

It is a key of the queries' `metadata`, or of their rows. CapRetrieval's published folder keeps the
types of its queries beside them, as types.json ({type: [texts of queries]}): its column `type`.

Beside the scores by value stands each system against BM25 query by query (CapRetrieval, arXiv
2506.08592, Table 3): the shares of queries on which it scores higher, lower and similar. The paper
does not say how near similar is; here it is less than `TOLERANCE`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.data import Dataset, Query, query_of
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.scoring.result import Score, in_order, score_measure
from retgen.messages import did_you_mean
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Section
from retgen.results.panel import Column, Panel
from retgen.results.pictures import Bars
from retgen.search.base import slug
from retgen.search.collection import Collection
from retgen.statistics.clustered import FEWEST, Units

NONE = "(none)"  # the value of a query that has none
_TYPES = "types.json"
_OWN = frozenset({"_id", "id", "text", "query", "title", "metadata", "positives"})


def values_of(dataset: Dataset, column: str, path: Path) -> dict[str, str]:
    """Query id -> value. Raises `UsageError`, naming `path`, where no query has the column."""
    result: dict[str, str] = {}
    known: set[str] = set()
    texts: dict[str, str] = {}
    for row in dataset.queries:
        if not isinstance(query := query_of(row), Query):
            continue
        cells = {key: value for key, value in row.items() if key not in _OWN}
        cells |= query.metadata if isinstance(query.metadata, dict) else {}
        known.update(cells)
        texts[query.query_id] = query.text
        if (value := cells.get(column)) is not None:
            result[query.query_id] = _text(value, column, query, path)
    types = _types(dataset.root)
    if types:
        known.add("type")
    if column == "type" and types and not result:
        result = {q: types[key] for q, text in texts.items() if (key := _key(text)) in types}
    if not result:
        here = f" Columns: {', '.join(sorted(known))}" if known else " They have none at all."
        raise UsageError(
            f"--by {column}: no query of {path} has such a column"
            f"{did_you_mean(column, sorted(known)) or '.'}{here}"
        )
    return {query_id: result.get(query_id, NONE) for query_id in texts}


def _text(value: Any, column: str, query: Query, path: Path) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return " ".join(str(value).split()) or NONE
    raise UsageError(
        f"--by {column}: query {query.query_id} of {path} has a {type(value).__name__} there; a "
        "breakdown is by texts or numbers"
    )


def _types(root: Path) -> dict[str, str]:
    """Types by the folded text of their queries; nothing where the file is not there."""
    path = root / _TYPES
    try:
        types = orjson.loads(path.read_bytes())
    except OSError:
        return {}
    except ValueError as error:
        raise DatasetError(f"{path}: is not JSON: {error}") from error
    if not isinstance(types, dict) or not all(isinstance(t, list) for t in types.values()):
        raise DatasetError(f"{path}: is not of the form {{type: [texts of queries]}}")
    return {_key(str(text)): str(name) for name, texts in types.items() for text in texts}


def _key(text: str) -> str:
    """As the published types have it: what is "A B" among the queries is "A+B" there."""
    return " ".join(text.replace("+", " ").split())


# --- scores by its values -------------------------------------------------------------------------


TOLERANCE = 0.01  # two scores of a query that are less apart are equal
ALL = "all queries"
_MOST = 50  # values of a column
_GROUPS, _SERIES = 10, 6  # values and systems in a picture
_BM25 = ("bm25", "bm25-capretrieval", "rank-bm25", "bm25-capretrieval-characters")


def _places_by(
    column: str, values: Mapping[str, str], collection: Collection
) -> dict[str, NDArray[np.int64]]:
    """The places of a collection's queries by their value, and of all queries at the end.

    Values come by their number of queries, the largest first, and those without one last. Raises
    `UsageError` where they are too many.
    """
    of = [values[query.query_id] for query in collection.queries]
    counts = Counter(of)
    if len(counts) > _MOST:
        raise UsageError(
            f"--by {column}: the {len(of):,} queries have {len(counts):,} different values there; "
            f"a breakdown takes up to {_MOST}"
        )
    figures = all(value.isdecimal() for value in counts if value != NONE)  # 2 before 10

    def place(value: str) -> tuple[bool, int, int, str]:
        return value == NONE, -counts[value], len(value) if figures else 0, value

    rows = {value: np.flatnonzero(np.array(of) == value) for value in sorted(counts, key=place)}
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
    groups = _places_by(column, values, collection)
    reference = next((s for s in scores if s.model in _BM25), None)
    results, rows = [], list[Measurement]()
    for value, places in groups.items():
        for score in in_order(scores, measure):
            of = score.within(places, units)
            shares = {}
            if reference is not None and score is not reference:
                at = score.names.index(measure)
                shares = _shares(of.values[:, at] - reference.values[places, at])
            stated, by, n = of.to_json(), {column: value}, len(places)
            if np.isnan(of.intervals).any():
                stated["intervals"] = None
            keys = ("model", "dim", "metrics", "intervals")
            results.append({"value": value, "queries": n, **{k: stated[k] for k in keys}, **shares})
            rows += [of.measured(name, by)._replace(n=n) for name in of.names]
            rows += [Measurement(of.label, what, by, share, n=n) for what, share in shares.items()]
    name = reference.label if reference else None
    content = {"measure": measure, "reference": name, "tolerance": TOLERANCE, "results": results}
    text = [
        f"The same means over the queries of each {column}, with 95% intervals where {FEWEST} "
        "groups of queries and more share nothing."
    ]
    of_values = [one for one in rows if one.by[column] != ALL]
    panels = [_panel(column, of_values, {one: score_measure(one) for one in scores[0].names})]
    if any(one.measure == "better" for one in rows):
        text.append(
            "Below: the shares of queries on which a system has a higher, lower or equal "
            f"{measure} than {name}. Equal means less than {TOLERANCE} apart."
        )
        heads = (f"{measure} > {name}", "<", f"= (within {TOLERANCE})")
        each = zip(heads, ("better", "worse", "equal"), strict=True)
        share = Measure("", 0, percent=True, better="", sign="%")
        panels.append(_panel(column, rows, {head: replace(share, name=one) for head, one in each}))
    shown = [value for value in groups if value != ALL]
    pictures = []
    if 1 < len(shown) <= _GROUPS:
        pictures.append(_picture(column, shown, measure, rows, collection.name))
    return content, Section(f"Scores by {column}", text, panels, pictures)


def _shares(change: NDArray[np.float64]) -> dict[str, float]:
    """Of queries by how their scores differ, those that are better, worse and equal."""
    # what is TOLERANCE apart but for the digits of its floats is not equal
    apart = np.abs(change) >= TOLERANCE - 1e-12
    return {
        "better": float(np.mean(apart & (change > 0))),
        "worse": float(np.mean(apart & (change < 0))),
        "equal": float(np.mean(~apart)),
    }


def _panel(column: str, rows: Sequence[Measurement], measures: Mapping[str, Measure]) -> Panel:
    """A row a value and system; `measures` by the heads of their columns."""
    columns = [Column(head, measure) for head, measure in measures.items()]
    return Panel(
        "",
        rows,
        [Column("queries", columns[0].measure, count=True), *columns],
        rows=[column, "system"],
        between="–",
        missing="",
        best_within=column,
    )


def _picture(
    column: str, values: Sequence[str], measure: str, rows: Sequence[Measurement], name: str
) -> Bars:
    """A group of bars a value, a bar a system."""
    known = {(one.system, one.by[column]): one for one in rows if one.measure == measure}
    labels = list(dict.fromkeys(one.system for one in rows))[:_SERIES]
    file = f"{slug(name)}_by_{slug(column)}"
    return Bars(
        file=file,
        title=f"{measure} by {column}: {name}",
        y=measure,
        groups=values,
        series={one: [known[one, value] for value in values] for one in labels},
        caption=f"With 95% intervals: figures/{file}.svg.",
    )
