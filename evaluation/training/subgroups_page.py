"""The dilemma report: tables and pictures of `gen train --by`."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from retgen.evaluation.scoring.significance import difference_between
from retgen.evaluation.search.base import slug
from retgen.evaluation.training.variants import BEFORE, BM25, IDF, label
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Section
from retgen.results.panel import Column, Panel
from retgen.results.pictures import Bars

if TYPE_CHECKING:
    from retgen.evaluation.training.result import Training
    from retgen.evaluation.training.scored_set import ScoredSet
    from retgen.evaluation.training.subgroups import Subgroups


_DRAWN = 8  # values of the column, those of the most queries
_CHARACTERS = 63  # that fit below the plot


def subgroups_section(result: Training) -> Section:
    """The part of the page."""
    split = [(scored, scored.subgroups) for scored in result.scored_sets if scored.subgroups]
    column = split[0][1].column
    return Section(
        f"What each subgroup gains and loses, by {column}",
        [
            f"The queries of each value of {column} are scored as a set of their own. Differences "
            "are paired, with 95% intervals that reckon with what its queries share; BM25 is for "
            "comparison.",
        ],
        [_panel(result, scored, subgroups) for scored, subgroups in split],
        [_picture(result, scored, subgroups) for scored, subgroups in split],
    )


def _panel(result: Training, scored: ScoredSet, subgroups: Subgroups) -> Panel:
    """A row a system on each subgroup: its score, and its differences to others."""
    measure, reference = subgroups.measure, result.variants[0].name
    systems = {
        name: label(name)
        for name in (BEFORE, IDF, *(variant.name for variant in result.variants), BM25)
        if name in subgroups.subgroups[0].means
    }
    others = {name: label(name) for name in (BEFORE, IDF) if name in systems}
    others |= {reference: reference} if len(result.variants) > 1 else {}
    rows = []
    for subgroup in subgroups.subgroups:
        for name, system in systems.items():
            by = {"side": subgroup.value, "queries": f"{subgroup.queries:,}"}
            rows.append(Measurement(system, measure, by, subgroup.means[name][measure]))
            for other, words in others.items():
                change = difference_between(subgroup.comparisons, name, other, measure)
                shown = name not in (BM25, BEFORE, other) and (name, other) != (IDF, reference)
                if shown and change is not None:
                    rows.append(Measurement(system, "change", {**by, "against": words}, *change))
    changed = Measure("change", signed=True, better="")
    changes = [Column(f"against {words}", changed, {"against": words})
               for words in others.values()]  # fmt: skip
    return Panel(
        "", rows, [Column(measure, Measure(measure)), *changes], ["side", "queries", "system"],
        [f"{scored.label}: {subgroups.column}", "queries", "model"], missing="", interval="inside",
        terminal_interval="inside", baselines=frozenset({"BM25"}), best_within="side",
    )  # fmt: skip


def _broken(value: str, width: int) -> str:
    """In two lines at most; what is not ASCII may be as wide as two letters."""
    width = width if value.isascii() else width // 2
    return "\n".join(wrap(value, max(width, 2), max_lines=2, placeholder="…"))


def _picture(result: Training, scored: ScoredSet, subgroups: Subgroups) -> Bars:
    measure = subgroups.measure
    words = {variant.name: variant.words for variant in result.variants}
    labels = {
        name: words.get(name, label(name))
        for name in (BEFORE, IDF, *words, BM25)
        if name in subgroups.subgroups[0].means
    }
    shown = [*subgroups.subgroups[:-1][:_DRAWN], subgroups.subgroups[-1]]
    width = _CHARACTERS // len(shown)
    part = f"; the {_DRAWN} largest of its values" if len(subgroups.subgroups) > _DRAWN + 1 else ""
    series: dict[str, list[Measurement | None]] = {}
    for name, system in labels.items():
        for subgroup in shown:
            low, high = subgroup.intervals.get(name, {}).get(measure, (None, None))
            value = subgroup.means[name][measure]
            one = Measurement(system, measure, {"side": subgroup.value}, value, low, high)
            series.setdefault(system, []).append(one)
    return Bars(
        file=f"sides_{slug(scored.label)}", y=measure, series=series,
        groups=[f"{_broken(subgroup.value, width)}\n{subgroup.queries:,}" for subgroup in shown],
        title=f"{scored.label}: {measure} by {subgroups.column} (and number of queries)",
        caption=f"{scored.label}, with 95% intervals{part}.",
    )  # fmt: skip
