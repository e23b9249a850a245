"""The dilemma report: tables and pictures of `gen train --by`."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from retgen.evaluation import plots as draw
from retgen.evaluation.search.names import slug
from retgen.evaluation.training.arms import BEFORE, BM25
from retgen.pages import Figure, Place, Section, TableView, best_places

if TYPE_CHECKING:
    from retgen.evaluation.training.result import ScoredSet, Training
    from retgen.evaluation.training.sides import Sides


_DRAWN = 8  # values of the column, those of the most queries
_CHARACTERS = 63  # that fit below the plot


def side_tables(result: Training) -> list[TableView]:
    """Of each data set with sides, a row a system on each side."""
    return [_table(result, scored, scored.sides) for scored in result.scored_sets if scored.sides]


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
        side_tables(result),
        [
            Figure(
                _picture(result, scored, sides),
                f"{scored.label}, with 95% intervals{_part(sides)}.",
            )
            for scored, sides in split
        ],
    )


def _table(result: Training, scored: ScoredSet, sides: Sides) -> TableView:
    measure, reference = sides.measure, result.arms[0].name
    systems = {BEFORE: "untrained", **{arm.name: arm.name for arm in result.arms}, BM25: "BM25"}
    rows: list[list[str]] = []
    best: set[Place] = set()
    faint: list[int] = []
    for side in sides.sides:
        first = len(rows)
        scores = [side.means[name][measure] for name in systems]
        for name, score in zip(systems, scores, strict=True):
            trained = name not in (BM25, BEFORE)
            against = [side.change(name, BEFORE, measure) if trained else ""]
            if len(result.arms) > 1:
                other = trained and name != reference
                against.append(side.change(name, reference, measure) if other else "")
            rows.append([side.value, f"{side.queries:,}", systems[name], f"{score:.4f}", *against])
        best |= {(first + row, column) for row, column in best_places({3: scores[:-1]})}
        faint.append(len(rows) - 1)
    head = [f"{scored.label}: {sides.column}", "queries", "model", measure, "against untrained"]
    if len(result.arms) > 1:
        head.append(f"against {reference}")
    return TableView(head, rows, names=3, best=best, faint=faint)


def _part(sides: Sides) -> str:
    return f"; the {_DRAWN} largest of its values" if len(sides.sides) > _DRAWN + 1 else ""


def _broken(value: str, width: int) -> str:
    """In two lines at most; what is not ASCII may be as wide as two letters."""
    width = width if value.isascii() else width // 2
    return "\n".join(wrap(value, max(width, 2), max_lines=2, placeholder="…"))


def _picture(result: Training, scored: ScoredSet, sides: Sides) -> str:
    measure = sides.measure
    labels = {BEFORE: "untrained", **{arm.name: arm.words for arm in result.arms}, BM25: "BM25"}
    shown = [*sides.sides[:-1][:_DRAWN], sides.sides[-1]]
    width = _CHARACTERS // len(shown)
    groups = [f"{_broken(side.value, width)}\n{side.queries:,}" for side in shown]
    return draw.bars(
        result.folder / "figures" / f"sides_{slug(scored.label)}",
        groups,
        {label: [side.means[name][measure] for side in shown]
         for name, label in labels.items()},
        {label: [side.intervals.get(name, {}).get(measure) for side in shown]
         for name, label in labels.items()},
        [],
        title=f"{scored.label}: {measure} by {sides.column} (and number of queries)", y=measure,
    )  # fmt: skip
