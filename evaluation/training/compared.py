"""Which negatives or pairs win: the table and the picture of `gen train --compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retgen.evaluation import plots as draw
from retgen.evaluation.training.arms import BEFORE
from retgen.pages import Figure, Section, TableView

if TYPE_CHECKING:
    from retgen.evaluation.training.result import Training


def compared_table(result: Training) -> TableView:
    """A row an arm on each data set: its score, and its differences to reference and untrained."""
    reference = result.arms[0].name
    rows = []
    for scored in result.scored_sets:
        measure = scored.primary
        for arm in result.arms:
            against = "" if arm.name == reference else scored.change(arm.name, reference)
            rows.append([
                scored.label, arm.name, measure, f"{arm.scores(scored)[measure]:.4f}", against,
                scored.change(arm.name, BEFORE),
            ])  # fmt: skip
    beside = [f"against {reference}", "against untrained"]
    return TableView(["data set", result.noun, "measure", "score", *beside], rows, names=3)


def compared_section(result: Training) -> Section:
    """The part of the page."""
    scored_sets = result.scored_sets
    scores: dict[str, list[float | None]] = {
        BEFORE: [scored.scores(result.trained, BEFORE)[scored.primary] for scored in scored_sets]
    }
    for arm in result.arms:
        scores[arm.name] = [arm.scores(scored)[scored.primary] for scored in scored_sets]
    spans = {
        name: [scored.intervals.get(name, {}).get(scored.primary) for scored in scored_sets]
        for name in scores
    }
    groups = [f"{scored.label}\n{scored.primary}" for scored in scored_sets]
    svg = draw.bars(
        result.folder / "figures" / "compared", groups, scores, spans, [],
        title=f"Scores by the {result.noun} trained on", y="score",
    )  # fmt: skip
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
        [compared_table(result)],
        [Figure(svg, f"Before training, and after it with each of these {result.noun}.")],
    )  # fmt: skip
