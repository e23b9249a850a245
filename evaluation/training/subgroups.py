"""Subgroups of queries: those of each value of a column are scored as a set of their own.

CapRetrieval (arXiv 2506.08592, section 4.2) calls it the granularity dilemma: what trains an
embedder on the entities of a text may cost it the text as a whole. So training on keywords (set
KW), on summaries (set SM) and on both is scored on the queries of either set.

Nothing is encoded for it: the values of a subgroup are rows of those of all queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.evaluation.scoring.by_type import ALL, rows_by
from retgen.evaluation.scoring.columns import NONE, values_of
from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.scoring.scores import primary_of
from retgen.evaluation.scoring.significance import (
    PairedDifference,
    change_text,
    compare,
    difference_between,
    units_of,
)
from retgen.evaluation.training.variants import BEFORE
from retgen.search.collection import Collection

_MOST = 20  # values of a column
SIDE, NONLEXICAL = "side", "nonlexical"  # a key of a query's metadata, and its value
_Change = tuple[float, float, float]


class QuerySplit(NamedTuple):
    """`rows`: value of the column -> places of its queries; all queries come last."""

    column: str
    rows: dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Subgroup:
    """The queries of one value. `means`: system -> measure -> score, as are `intervals` (95%).

    `comparisons`: of the variants, idf alone and the model before, paired; `against`: with BM25 and
    fusions with it. `note`: why there are none, or "".
    """

    value: str
    queries: int
    means: dict[str, dict[str, float]]
    intervals: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)
    comparisons: list[PairedDifference] = field(default_factory=list)
    against: list[PairedDifference] = field(default_factory=list)
    note: str = ""

    @property
    def words(self) -> str:
        """Its queries in a sentence."""
        return self.value if self.value == ALL else f"{self.value} queries"


@dataclass(frozen=True)
class Subgroups:
    """A data set by the values of `column`, all queries last. Judged by `measure`."""

    column: str
    measure: str
    subgroups: list[Subgroup]

    @property
    def nonlexical(self) -> bool:
        """Whether they are the queries without a shared word, which nobody asked to be split."""
        return [one.value for one in self.subgroups] == [NONLEXICAL, ALL]

    def to_json(self) -> dict[str, Any]:
        """What train.json has of them."""
        results = [
            {
                "value": subgroup.value,
                "queries": subgroup.queries,
                "scores": subgroup.means,
                "intervals": subgroup.intervals,
                "comparisons": [one._asdict() for one in subgroup.comparisons],
                "against": [one._asdict() for one in subgroup.against],
                "note": subgroup.note or None,
            }
            for subgroup in self.subgroups
        ]
        return {"column": self.column, "measure": self.measure, "results": results}

    def found(self, where: str, variants: Mapping[str, str]) -> str:
        """Whether what is gained on one subgroup is lost on another. `variants`: name -> words.

        A difference counts if its 95% interval leaves out 0.
        """
        shown = [
            subgroup
            for subgroup in self.subgroups
            if subgroup.value not in (ALL, NONE) and subgroup.comparisons
        ]
        where = f"{where[0].upper()}{where[1:]}"
        if len(shown) < 2:
            return (
                f"{where} there is no dilemma to be seen: fewer than two values of {self.column} "
                f"have queries enough for intervals."
            )
        changes = {
            words: [
                (subgroup, change)
                for subgroup in shown
                if (change := self._of(subgroup, variant, BEFORE))
            ]
            for variant, words in variants.items()
        }
        torn = [
            f"trained with {words} the model changes by {ends}, against the untrained model"
            for words, of in changes.items()
            if (ends := _both_ways(of))
        ]
        if torn:
            text = f"{where} there is a dilemma by {self.measure}: {'; '.join(torn)}."
        else:
            words, subgroup, lowest = min(
                (
                    (words, subgroup, change)
                    for words, of in changes.items()
                    for subgroup, change in of
                ),
                key=lambda entry: entry[2][0],
            )
            if lowest[2] < 0:
                rest = ": a loss that no other subgroup makes up for"
            else:
                rest = ", which includes 0" if lowest[1] <= 0 else ""
            text = (
                f"{where} no dilemma was found by {self.measure}: no training gains on one "
                "subgroup and loses on another, against the untrained model. The lowest change is "
                f"that with {words} on {subgroup.words}, {change_text(lowest)}{rest}."
            )
        return text + self._between_variants(shown, list(variants))

    def _of(self, subgroup: Subgroup, first: str, second: str) -> _Change | None:
        return difference_between(subgroup.comparisons, first, second, self.measure)

    def _between_variants(self, shown: list[Subgroup], variants: list[str]) -> str:
        swaps, below = [], set()
        for i, first in enumerate(variants):
            for second in variants[i + 1 :]:
                of = [
                    (subgroup, change)
                    for subgroup in shown
                    if (change := self._of(subgroup, first, second))
                ]
                below |= {second for _, change in of if change[1] > 0}
                below |= {first for _, change in of if change[2] < 0}
                if ends := _both_ways(of):
                    swaps.append(f"{first} against {second} {ends}")
        if not swaps:
            return ""
        text = f" What is better to train with depends on the subgroup: {'; '.join(swaps)}."
        if level := [variant for variant in variants if variant not in below]:
            verb = "is" if len(level) == 1 else "are"
            text += f" {' and '.join(level)} {verb} below no other on any subgroup for sure."
        return text


def _both_ways(changes: list[tuple[Subgroup, _Change]]) -> str:
    """The highest and the lowest in words, where they are above and below 0; else empty."""
    up = max((one for one in changes if one[1][1] > 0), key=lambda one: one[1][0], default=None)
    down = min((one for one in changes if one[1][2] < 0), key=lambda one: one[1][0], default=None)
    if up is None or down is None:
        return ""
    return f"{change_text(up[1])} on {up[0].words} and {change_text(down[1])} on {down[0].words}"


def split_by(column: str | None, collection: Collection, needed: bool) -> QuerySplit | None:
    """The subgroups of a data set by a column; None where it has none that is not needed."""
    if column is None:
        return None
    try:
        values = values_of(collection.dataset, column, collection.path)
    except UsageError:
        if needed:
            raise
        return None
    return QuerySplit(column, rows_by(column, values, collection, _MOST))


def split_nonlexical(collection: Collection) -> QuerySplit | None:
    """The queries that share no content word with their document, where they are enough.

    A data set says so of a query: `metadata.side` is "nonlexical". Enough are those whose mean has
    an interval.
    """
    rows = [
        row
        for row, query in enumerate(collection.queries)
        if isinstance(query.metadata, dict) and query.metadata.get(SIDE) == NONLEXICAL
    ]
    if not rows or units_of(_part(collection, np.array(rows))).note:
        return None
    return QuerySplit(SIDE, {NONLEXICAL: np.array(rows), ALL: np.arange(len(collection.queries))})


def subgroups_of(
    split: QuerySplit,
    collection: Collection,
    measures: Measures,
    values: Mapping[str, NDArray[np.float64]],
    beside: Mapping[str, NDArray[np.float64]],
) -> Subgroups:
    """Every subgroup scored. `values`, `beside`: system -> (queries, measures)."""
    names = measures.names
    subgroups = []
    for value, rows in split.rows.items():
        mine, others = ({name: of[rows] for name, of in all_.items()} for all_ in (values, beside))
        means = {
            name: dict(zip(names, of.mean(axis=0).tolist(), strict=True))
            for name, of in (mine | others).items()
        }
        part = _part(collection, rows)
        subgroups.append(
            Subgroup(value, len(rows), means, **paired_differences(part, names, mine, others))
        )
    return Subgroups(split.column, primary_of(names, collection), subgroups)


def paired_differences(
    collection: Collection,
    measures: list[str],
    values: Mapping[str, NDArray[np.float64]],
    beside: Mapping[str, NDArray[np.float64]],
) -> dict[str, Any]:
    """`comparisons` of all systems, `intervals` by system and measure, `against`: `comparisons`
    with and among the systems `beside`.

    Where units are too few only `note`, the reason.
    """
    units = units_of(collection)
    if units.note:
        return {"note": units.note}
    every = {**values, **beside}
    return {
        "comparisons": compare(units, values, measures),
        "against": [
            one for one in compare(units, every, measures) if {one.first, one.second} & {*beside}
        ],
        "intervals": {
            name: {
                measure: (low, high)
                for measure, (low, high) in zip(measures, units.interval(of).tolist(), strict=True)
            }
            for name, of in every.items()
        },
    }


def _part(collection: Collection, rows: NDArray[np.int64]) -> Collection:
    """The same with some of its queries."""
    queries = [collection.queries[row] for row in rows.tolist()]
    return replace(
        collection,
        queries=queries,
        qrels={q.query_id: collection.qrels[q.query_id] for q in queries},
    )
