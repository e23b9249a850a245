"""What `gen eval` shows of twins: shares and changes over all, by wording, slot type and length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from retgen.evaluation.tasks.task import SystemResult, about_each, by_label
from retgen.evaluation.tasks.twins.changes import CHANGES, SHARES, Changes
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Fold, Section
from retgen.results.panel import Column, Panel, columns_by
from retgen.results.pictures import CHANCE, Bars

MEASURES = [
    *(
        Measure(name, digits=1, percent=True, chance=chance)
        for name, chance in zip(SHARES, (0.5, 0.5, 1 / 3), strict=True)
    ),
    *(Measure(name, digits=3) for name in CHANGES),
]
_HEADS = {
    "base": "base > twin",
    "control": "control > twin",
    "last": "twin last",
    "fact": "change of a fact",
    "rewording": "change of words",
    "sensitivity": "sensitivity",
}
_TITLES = {
    "base": "Base above twin (%)",
    "control": "Control above twin (%)",
    "sensitivity": "Sensitivity: control less twin, in gaps",
}
_FACTORS = {"slot_type": "type of the changed fact", "length": "facts a document"}
_SERIES = 6  # systems in a picture


def measurements(systems: Mapping[str, Changes]) -> list[Measurement]:
    """Every measure of every system: over all, by wording, and by wording and another factor."""
    result = []
    for label, one in systems.items():
        levels: list[dict[str, str]] = [{}]
        for wording in one.levels("wording"):
            levels.append({"wording": wording})
            levels += [
                {"wording": wording, factor: level}
                for factor in _FACTORS
                for level in one.levels(factor)
            ]
        result += [
            Measurement.of(label, measure.name, one.estimate(measure.name, **by), by)
            for by in levels
            for measure in MEASURES
        ]
    return result


def sections(results: Sequence[SystemResult[Changes]]) -> Iterable[Section]:
    """The sections of the page."""
    systems = by_label(results)
    rows = measurements(systems)
    first = next(iter(systems.values()))
    yield Section(
        "Twins: facts or words",
        [
            f"{first.count:,} triples: a base; its twin, the same words with one fact changed; and "
            "its control, the same facts in other words and another order. Queries ask for facts "
            "of the base, the changed one among them, so base and control are right and the twin "
            "is not. A system that goes by facts scores both above the twin.",
            "base > twin, control > twin: shares of queries, a tie half; twin last: it is strictly "
            "below both. Changes are counted in gaps: 1 is how far a system scores base and "
            "control above documents about something else, on average. Change of a fact: base "
            "less twin. Change of words: the size of base less control. Sensitivity: the change "
            "under the twin less that under the control, so the score of the control less that of "
            "the twin. Intervals are over triples.",
        ],
        [
            Panel(
                "Twins: shares of queries (%), and changes in gaps",
                rows,
                [Column(_HEADS[measure.name], measure) for measure in MEASURES],
                rows=["system", "wording"],
                chance="chance",
                best=False,
            )
        ],
        [_picture(rows, systems, "wording", "")],
    )
    for factor, words in _FACTORS.items():
        panels = {measure: _panel(rows, systems, measure, factor) for measure in _TITLES}
        yield Section(
            f"By {words}",
            [
                "By wording too, since names of persons and of other entities are never "
                "entailed: how often the control scores above the twin."
            ],
            [panels["control"]],
            [_picture(rows, systems, factor, wording) for wording in first.levels("wording")],
            folded=[
                Fold(panels[one].title, [panels[one]], printed=True)
                for one in ("base", "sensitivity")
            ],
        )


def sentences(results: Sequence[SystemResult[Changes]]) -> list[str]:
    """The summary of a page."""
    return about_each(by_label(results), _facts_or_words)


def _facts_or_words(label: str, one: Changes) -> Iterable[str]:
    shares = {w: one.estimate("control", wording=w) for w in one.levels("wording")}
    listed = ", ".join(f"{e.value:.0%} ({wording})" for wording, e in shares.items() if e)
    yield (
        f"{label}: the right facts in other words score above the same words with a wrong fact "
        f"in {listed} of queries; chance is 50%."
    )


def _panel(
    rows: Sequence[Measurement], systems: Mapping[str, Changes], name: str, factor: str
) -> Panel:
    """A row a system and wording, a column a level of the factor."""
    measure = next(one for one in MEASURES if one.name == name)
    levels = dict.fromkeys(level for one in systems.values() for level in one.levels(factor))
    return Panel(
        f"{_TITLES[name]}, by {_FACTORS[factor]}",
        rows,
        columns_by(measure, factor, levels),
        rows=["system", "wording"],
        best=False,
    )


def _picture(
    rows: Sequence[Measurement], systems: Mapping[str, Changes], factor: str, wording: str
) -> Bars:
    """Shares of queries whose control is above the twin."""
    others = {"wording": wording} if wording else {}
    known = {
        (one.system, one.by[factor]): one
        for one in rows
        if one.measure == "control"
        and one.value is not None
        and one.by == {**others, factor: one.by.get(factor)}
    }
    shown = list(systems)[:_SERIES]
    levels = [
        level
        for level in next(iter(systems.values())).levels(factor)
        if any((label, level) in known for label in shown)
    ]
    file = "_".join(filter(None, ("twins", factor, wording)))
    words = {"wording": "wording of the query", **_FACTORS}[factor]
    return Bars(
        file=file,
        caption=f"A tie is half. figures/{file}.svg.",
        title=f"Control above twin, by {words}{f', {wording} queries' if wording else ''}",
        y="share of queries",
        groups=levels,
        levels=[CHANCE],
        series={label: [known.get((label, level)) for level in levels] for label in shown},
    )
