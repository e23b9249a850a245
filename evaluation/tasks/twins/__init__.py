"""Twins: does a score follow a fact that changes, more than words that change?

A data set without their metadata holds none, and nothing here looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from retgen.data import Dataset
from retgen.evaluation.collection import Collection
from retgen.evaluation.tasks.task import SystemResult, Task
from retgen.evaluation.tasks.twins.changes import CHANGES, SHARES, Changes
from retgen.evaluation.tasks.twins.page import sections, sentences
from retgen.evaluation.tasks.twins.triples import FACTORS, TripleData, holds_triples
from retgen.results.page import Section
from retgen.statistics.clustered import Estimate

__all__ = ["Twins"]


class Twins(Task[Changes]):
    """Changes of a score where one fact changes, against where only the words do."""

    name = "twins"
    title = "Twins"
    item = "triple"
    models = ("bm25",)
    aside = (
        "Of each answer the corpus has a twin that lacks one fact: what such a set is for stands "
        "above."
    )

    def holds(self, dataset: Dataset) -> bool:
        return holds_triples(dataset)

    def read(self, collection: Collection) -> TripleData:
        return TripleData(collection)

    def summary(self, result: SystemResult[Changes]) -> dict[str, Any]:
        """By measure {value, low, high}: `SHARES` of queries and `CHANGES` in gaps; `gap`: in
        scores; `by`: factor -> value -> the same. Of several data sets by `domains`.
        """
        each = {name: _summary(one) for name, one in result.domains.items()}
        return next(iter(each.values())) if len(each) == 1 else {"domains": each}

    def sections(self, results: Sequence[SystemResult[Changes]]) -> Iterable[Section]:
        return sections(results)

    def sentences(self, results: Sequence[SystemResult[Changes]]) -> Sequence[str]:
        return sentences(results)


def _summary(one: Changes) -> dict[str, Any]:
    return {
        "triples": one.count,
        "queries": len(one.gap),
        "gap": float(one.gap.mean()),
        **_measures(one),
        "by": {
            factor: {level: _measures(one, **{factor: level}) for level in one.levels(factor)}
            for factor in FACTORS
        },
    }


def _measures(one: Changes, **only: str) -> dict[str, Any]:
    found = {measure: one.estimate(measure, **only) for measure in (*SHARES, *CHANGES)}
    return {measure: _json(estimate) for measure, estimate in found.items()}


def _json(estimate: Estimate | None) -> dict[str, float | None] | None:
    return estimate._asdict() if estimate else None
