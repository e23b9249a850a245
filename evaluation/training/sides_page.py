"""The dilemma report: tables and pictures of `gen train --by`."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from retgen.evaluation.scoring.significance import between
from retgen.evaluation.search.names import slug
from retgen.evaluation.training.arms import BEFORE, BM25
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Section
from retgen.results.panel import Column, Panel
from retgen.results.pictures import Bars

if TYPE_CHECKING:
    from retgen.evaluation.training.result import ScoredSet, Training
    from retgen.evaluation.training.sides import Sides


_DRAWN = 8  # values of the column, those of the most queries
_CHARACTERS = 63  # that fit below the plot


def sides_section(result: Training) -> Section:
    """The part of the page."""
    split = [(scored, scored.sides) for scored in result.scored_sets if scored.sides]
    column = split[0][1].column
    return Section(
        f"What each side gains and loses, by {column}",
        [
            f"The queries of each value of {column} are scored as a set of their own. Differences "
            "are paired, with 95% intervals that reckon with what its queries share; BM25 is for "
            "comparison.",
        ],
        [_panel(result, scored, sides) for scored, sides in split],
        [_picture(result, scored, sides) for scored, sides in split],
    )


def _panel(result: Training, scored: ScoredSet, sides: Sides) -> Panel:
    """A row a system on each side: its score, and its differences to others."""
    measure, reference = sides.measure, result.arms[0].name
    systems = {BEFORE: "untrained", **{arm.name: arm.name for arm in result.arms}, BM25: "BM25"}
    others = {BEFORE: "untrained", **({reference: reference} if len(result.arms) > 1 else {})}
    rows = []
    for side in sides.sides:
        for name, label in systems.items():
            by = {"side": side.value, "queries": f"{side.queries:,}"}
            rows.append(Measurement(label, measure, by, side.means[name][measure]))
            for other, words in others.items():
                change = between(side.comparisons, name, other, measure)
                if name not in (BM25, BEFORE, other) and change is not None:
                    rows.append(Measurement(label, "change", {**by, "against": words}, *change))
    changed = Measure("change", signed=True, better="")
    changes = [Column(f"against {words}", changed, {"against": words})
               for words in others.values()]  # fmt: skip
    return Panel(
        "", rows, [Column(measure, Measure(measure)), *changes], ["side", "queries", "system"],
        [f"{scored.label}: {sides.column}", "queries", "model"], missing="", interval="inside",
        terminal_interval="inside", baselines=frozenset({"BM25"}), best_within="side",
    )  # fmt: skip


def _broken(value: str, width: int) -> str:
    """In two lines at most; what is not ASCII may be as wide as two letters."""
    width = width if value.isascii() else width // 2
    return "\n".join(wrap(value, max(width, 2), max_lines=2, placeholder="…"))


def _picture(result: Training, scored: ScoredSet, sides: Sides) -> Bars:
    measure = sides.measure
    labels = {BEFORE: "untrained", **{arm.name: arm.words for arm in result.arms}, BM25: "BM25"}
    shown = [*sides.sides[:-1][:_DRAWN], sides.sides[-1]]
    width = _CHARACTERS // len(shown)
    part = f"; the {_DRAWN} largest of its values" if len(sides.sides) > _DRAWN + 1 else ""
    series: dict[str, list[Measurement | None]] = {}
    for name, label in labels.items():
        for side in shown:
            low, high = side.intervals.get(name, {}).get(measure, (None, None))
            value = side.means[name][measure]
            one = Measurement(label, measure, {"side": side.value}, value, low, high)
            series.setdefault(label, []).append(one)
    return Bars(
        file=f"sides_{slug(scored.label)}", y=measure, series=series,
        groups=[f"{_broken(side.value, width)}\n{side.queries:,}" for side in shown],
        title=f"{scored.label}: {measure} by {sides.column} (and number of queries)",
        caption=f"{scored.label}, with 95% intervals{part}.",
    )  # fmt: skip
