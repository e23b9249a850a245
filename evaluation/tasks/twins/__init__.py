"""Twins: does a score follow a fact that changes, more than words that change?

A data set without their metadata holds none, and nothing here looks at it. A change is counted in
*gaps*: 1 is the mean difference of a system between what a query asks for (base and control) and
documents about something else, so that systems compare. Triples are the units of intervals: the
queries of one ask about the same documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from retgen.evaluation.tasks.task import (
    SystemResult,
    Task,
    about_each,
    by_domain,
    by_label,
    estimate_json,
)
from retgen.evaluation.tasks.twins.measures import GAP, MEASURES
from retgen.evaluation.tasks.twins.triples import FACTORS, KEYS, TripleData
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Fold, Section
from retgen.results.panel import Column, Panel, columns_by
from retgen.results.pictures import CHANCE, Bars
from retgen.results.rows import Results
from retgen.search.collection import Collection

__all__ = ["Twins"]

Systems = Mapping[str, Results]


_CONTROL = next(one for one in MEASURES if one.name == "control")
_WORDS = {"slot_type": "type of the changed fact", "length": "facts a document"}
_ORDER = "literal paraphrase entailed category place year date number person relation".split()
_SERIES = 6  # systems in a picture


class Twins(Task):
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

    def summary(self, result: SystemResult) -> dict[str, Any]:
        """By measure {value, low, high}; `gap`: in scores; `by`: factor -> value -> the same. Of
        several data sets by `domains`.
        """
        return by_domain(result, _summary)

    def sections(self, results: Sequence[SystemResult]) -> Iterable[Section]:
        """The sections of the page."""
        systems = by_label(results)
        rows = _measurements(systems)
        first = next(iter(systems.values()))
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
                Panel(
                    "Twins: shares of queries (%), and changes in gaps",
                    rows,
                    [Column(one.head, one) for one in MEASURES],
                    rows=["system", "wording"],
                    chance="chance",
                    best=False,
                )
            ],
            [_picture(rows, systems, "wording", "")],
        )
        for factor, words in _WORDS.items():
            panels = {one.name: _panel(rows, systems, one, factor) for one in MEASURES if one.title}
            control = panels.pop(_CONTROL.name)
            yield Section(
                f"By {words}",
                [
                    "By wording too, since names of persons and of other entities are never "
                    "entailed: how often the control scores above the twin."
                ],
                [control],
                [_picture(rows, systems, factor, wording) for wording in _levels(first, "wording")],
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


def _measurements(systems: Systems) -> list[Measurement]:
    """Every measure of every system: over all, by wording, and by wording and another factor."""
    result = []
    for label, one in systems.items():
        wordings = [{"wording": wording} for wording in _levels(one, "wording")]
        levels: list[dict[str, str]] = [{}]
        for at in wordings:
            levels.append(at)
            levels += [{**at, f: level} for f in _WORDS for level in _levels(one, f)]
        result += [
            Measurement.of(label, measure.name, one.mean(measure, **by), by)
            for by in levels
            for measure in MEASURES
        ]
    return result


def _panel(rows: Sequence[Measurement], systems: Systems, measure: Measure, factor: str) -> Panel:
    """A row a system and wording, a column a level of the factor."""
    levels = dict.fromkeys(level for one in systems.values() for level in _levels(one, factor))
    return Panel(
        f"{measure.title}, by {_WORDS[factor]}",
        rows,
        columns_by(measure, factor, levels),
        rows=["system", "wording"],
        best=False,
    )


def _picture(rows: Sequence[Measurement], systems: Systems, factor: str, wording: str) -> Bars:
    """Shares of queries whose control is above the twin."""
    known = {
        (one.system, one.by[factor]): one
        for one in rows
        if one.measure == _CONTROL.name
        and one.value is not None
        and one.by == {**({"wording": wording} if wording else {}), factor: one.by.get(factor)}
    }
    shown = list(systems)[:_SERIES]
    levels = [
        level
        for level in _levels(next(iter(systems.values())), factor)
        if any((label, level) in known for label in shown)
    ]
    file = "_".join(filter(None, ("twins", factor, wording)))
    words = {"wording": "wording of the query", **_WORDS}[factor]
    return Bars(
        file=file,
        caption=f"A tie is half. figures/{file}.svg.",
        title=f"Control above twin, by {words}{f', {wording} queries' if wording else ''}",
        y="share of queries",
        groups=levels,
        levels=[CHANCE],
        series={label: [known.get((label, level)) for level in levels] for label in shown},
    )
