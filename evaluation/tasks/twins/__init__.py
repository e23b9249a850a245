"""Twins: does a score follow a fact that changes, more than words that change?

A data set without their metadata holds none, and nothing here looks at it. A change is counted in
*gaps*: 1 is the mean difference of a system between what a query asks for (base and control) and
documents about something else, so that systems compare. Triples are the units of intervals: the
queries of one ask about the same documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from retgen.evaluation.tasks.task import (
    SystemResult,
    Task,
    about_each,
    by_domain,
    by_label,
    estimate_json,
)
from retgen.evaluation.tasks.twins.triples import (
    FACTORS,
    GAP,
    KEYS,
    MEASURES,
    TripleData,
    load_triples,
)
from retgen.results.page import Fold, Section
from retgen.results.panel import Column, Slice, columns_by, pivot
from retgen.results.pictures import CHANCE, Bars
from retgen.results.rows import Results
from retgen.search.collection import Collection

__all__ = ["Twins"]

_CONTROL = next(one for one in MEASURES if one.name == "control")
_WORDS = {"slot_type": "type of the changed fact", "length": "facts a document"}
_ORDER = "literal paraphrase entailed category place year date number person relation".split()
_SERIES = 6  # systems in a picture


class Twins(Task):
    """Changes of a score where one fact changes, against where only the words do."""

    name = "twins"
    item = "triple"
    keys = KEYS
    models = ("bm25",)
    aside = (
        "Of each answer the corpus has a twin that lacks one fact: what such a set is for stands "
        "above."
    )

    def read(self, collection: Collection) -> TripleData:
        return TripleData(collection.name, load_triples(collection))

    def summary(self, result: SystemResult) -> dict[str, Any]:
        """By measure {value, low, high}; `gap`: in scores; `by`: factor -> value -> the same. Of
        several data sets by `domains`.
        """
        return by_domain(result, _summary)

    def sections(self, results: Sequence[SystemResult]) -> Iterable[Section]:
        """The sections of the page."""
        slices = [Slice(label, one) for label, one in by_label(results).items()]
        first = slices[0].results
        yield Section(
            "Twins: facts or words",
            [
                f"{first.units:,} triples: a base; its twin, the same words with one fact changed; "
                "and its control, the same facts in other words and another order. Queries ask for "
                "facts of the base, the changed one among them, so base and control are right and "
                "the twin is not. A system that goes by facts scores both above the twin.",
                "base > twin, control > twin: shares of queries, a tie half; twin last: it is "
                "strictly below both. Changes are counted in gaps: 1 is how far a system scores "
                "base and control above documents about something else, on average. Change of a "
                "fact: base less twin. Change of words: the size of base less control. "
                "Sensitivity: the change under the twin less that under the control, so the score "
                "of the control less that of the twin. Intervals are over triples.",
            ],
            [
                pivot(
                    "Twins: shares of queries (%), and changes in gaps",
                    slices,
                    [Column(one.head, one) for one in MEASURES],
                    ["wording"],
                    total=True,
                    chance="chance",
                    best=False,
                )
            ],
            [_picture(slices)],
        )
        for factor, words in _WORDS.items():
            panels = {
                one.name: pivot(
                    f"{one.title}, by {words}",
                    slices,
                    columns_by(one, factor, _levels(first, factor)),
                    ["wording"],
                    best=False,
                )
                for one in MEASURES
                if one.title
            }
            control = panels.pop(_CONTROL.name)
            yield Section(
                f"By {words}",
                [
                    "By wording too, since names of persons and of other entities are never "
                    "entailed: how often the control scores above the twin."
                ],
                [control],
                folded=[Fold(one.title, [one], printed=True) for one in panels.values()],
            )

    def sentences(self, results: Sequence[SystemResult]) -> Sequence[str]:
        return about_each(by_label(results), _facts_or_words)


def _levels(results: Results, factor: str) -> list[str]:
    """The levels of a factor: lengths in rising order, others in a fixed one."""
    found = results.levels(factor, GAP.name)
    return sorted(found, key=int if factor == "length" else _ORDER.index)


def _summary(results: Results) -> dict[str, Any]:
    def measures(**only: str) -> dict[str, Any]:
        return {one.name: estimate_json(results.mean(one, **only)) for one in MEASURES}

    return {
        "triples": results.units,
        "queries": results.count(GAP.name),
        "gap": results.value(GAP),
        **measures(),
        "by": {
            factor: {level: measures(**{factor: level}) for level in _levels(results, factor)}
            for factor in FACTORS
        },
    }


def _facts_or_words(label: str, results: Results) -> Iterable[str]:
    shares = {w: results.value(_CONTROL, wording=w) for w in _levels(results, "wording")}
    listed = ", ".join(f"{share:.0%} ({wording})" for wording, share in shares.items())
    yield (
        f"{label}: the right facts in other words score above the same words with a wrong fact "
        f"in {listed} of queries; chance is 50%."
    )


def _picture(slices: Sequence[Slice]) -> Bars:
    """Shares of queries whose control is above the twin."""
    levels = _levels(slices[0].results, "wording")
    return Bars(
        file="twins_wording",
        caption="A tie is half. figures/twins_wording.svg.",
        title="Control above twin, by wording of the query",
        y="share of queries",
        groups=levels,
        levels=[CHANCE],
        series={one.name: one.series(_CONTROL, "wording", levels) for one in slices[:_SERIES]},
    )
