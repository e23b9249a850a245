"""Twins: does a score follow a fact that changes, more than words that change?

A data set without their metadata holds none, and nothing here looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from retgen.evaluation.tasks.task import SystemResult, Task, by_domain, estimate_json
from retgen.evaluation.tasks.twins.changes import CHANGES, SHARES, Changes
from retgen.evaluation.tasks.twins.page import sections, sentences
from retgen.evaluation.tasks.twins.triples import FACTORS, KEYS, TripleData
from retgen.results.page import Section
from retgen.search.collection import Collection

__all__ = ["Twins"]


class Twins(Task[Changes]):
    """Changes of a score where one fact changes, against where only the words do."""

    name = "twins"
    title = "Twins"
    item = "triple"
    keys = KEYS
    models = ("bm25",)
    aside = (
        "Of each answer the corpus has a twin that lacks one fact: what such a set is for stands "
        "above."
    )

    def read(self, collection: Collection) -> TripleData:
        return TripleData(collection)

    def summary(self, result: SystemResult[Changes]) -> dict[str, Any]:
        """By measure {value, low, high}: `SHARES` of queries and `CHANGES` in gaps; `gap`: in
        scores; `by`: factor -> value -> the same. Of several data sets by `domains`.
        """
        return by_domain(result, _summary)

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
    return {measure: estimate_json(estimate) for measure, estimate in found.items()}
