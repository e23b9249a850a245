"""Which negatives or pairs win: the table and the picture of `gen train --compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retgen.evaluation.training.arms import BEFORE
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Section
from retgen.results.panel import Column, Panel
from retgen.results.pictures import Bars

if TYPE_CHECKING:
    from retgen.evaluation.training.result import Training

_CHANGE = Measure("change", signed=True)


def _panel(result: Training) -> Panel:
    """A row an arm on each data set: its score, and its differences to reference and untrained."""
    reference = result.arms[0].name
    others = {reference: f"against {reference}", BEFORE: "against untrained"}
    rows = []
    for scored in result.scored_sets:
        for arm in result.arms:
            by = {"data set": scored.label, "of": scored.primary}
            rows.append(Measurement(arm.name, "score", by, arm.scores(scored)[scored.primary]))
            for other in others:
                change = scored.difference(arm.name, other, scored.primary)
                if arm.name != other and change is not None:
                    rows.append(Measurement(arm.name, "change", {**by, "against": other}, *change))
    columns = [Column("score", Measure("score"))]
    columns += [Column(head, _CHANGE, {"against": one}) for one, head in others.items()]
    heads = ["data set", result.noun, "measure"]
    return Panel(
        "", rows, columns, ["data set", "system", "of"], heads, missing="", interval="inside",
        terminal_interval="inside", best=False,
    )  # fmt: skip


def compared_section(result: Training) -> Section:
    """The part of the page."""
    scored_sets = result.scored_sets
    series: dict[str, list[Measurement | None]] = {}
    for name in (BEFORE, *(arm.name for arm in result.arms)):
        arm = next((arm for arm in result.arms if arm.name == name), None)
        for scored in scored_sets:
            scores = arm.scores(scored) if arm else scored.scores(result.trained, BEFORE)
            low, high = scored.intervals.get(name, {}).get(scored.primary, (None, None))
            by = {"data set": scored.label}
            one = Measurement(name, scored.primary, by, scores[scored.primary], low, high)
            series.setdefault(name, []).append(one)
    if result.noun == "negatives":
        text = "pairs, steps and seeds ({})."
        parts = [f"{arm.name}: {arm.words}" for arm in result.arms]
    else:
        text = "steps, batch and seeds on other pairs ({})."
        parts = [f"{arm.name}: {len(arm.pairs):,}" for arm in result.arms]
    return Section(
        f"Which {result.noun} win",
        [
            f"The same model, {text.format(', '.join(parts))}",
            "Differences are paired, with 95% intervals that reckon with what queries share.",
        ],
        [_panel(result)],
        [
            Bars(
                file="compared", title=f"Scores by the {result.noun} trained on", y="score",
                groups=[f"{scored.label}\n{scored.primary}" for scored in scored_sets],
                series=series,
                caption=f"Before training, and after it with each of these {result.noun}.",
            )
        ],
    )  # fmt: skip
