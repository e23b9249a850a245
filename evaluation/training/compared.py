"""Which negatives win: the table, the picture and the sentence of `gen train --compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retgen.evaluation import plots as draw
from retgen.evaluation.scoring.tables import primary_of
from retgen.evaluation.training.arms import ARMS
from retgen.evaluation.training.result import BEFORE
from retgen.pages import Figure, Section, TableView

if TYPE_CHECKING:
    from retgen.evaluation.training.result import Training, View


def _measure(view: View) -> str:
    return primary_of(view.measures.names, view.collection)


def compared_table(result: Training) -> TableView:
    """A row an arm on each data set: its score, and its differences to reference and untrained."""
    reference = result.arms[0].name
    rows = []
    for view in result.views:
        measure = _measure(view)
        for arm in result.arms:
            against = "" if arm.name == reference else _change(view, arm.name, reference)
            rows.append([
                view.label, arm.name, measure, f"{arm.scores(view)[measure]:.4f}", against,
                _change(view, arm.name, BEFORE),
            ])  # fmt: skip
    beside = [f"against {reference}", "against untrained"]
    return TableView(["data set", "negatives", "measure", "score", *beside], rows, names=3)


def _change(view: View, first: str, second: str) -> str:
    found = view.difference(first, second, _measure(view))
    return "" if found is None else "{:+.4f} ({:+.3f} to {:+.3f})".format(*found)


def sentence(result: Training) -> str:
    """Which arm won on which data set: its interval against every other is above 0; or none did."""
    told = "; ".join(_winner(result, view) for view in result.views)
    return f"{told[0].upper()}{told[1:]}."


def _winner(result: Training, view: View) -> str:
    measure, where = _measure(view), view.label
    if view.role == "test":
        where = f"the test view {view.collection.name}"
    order = sorted(result.arms, key=lambda arm: -arm.scores(view)[measure])
    best, others = order[0].name, [arm.name for arm in order[1:]]
    open_, parts = [], []
    for other in others:
        found = view.difference(best, other, measure)
        if found is None or found[1] <= 0:
            open_.append(other)
        else:
            parts.append("{} by {:+.4f} ({:+.3f} to {:+.3f})".format(other, *found))
    if open_:
        found = view.difference(best, open_[0], measure)
        low, high = found[1:] if found else (0.0, 0.0)
        return (
            f"on {where} no negatives win by {measure} (the 95% interval of {best} − {open_[0]}, "
            f"{low:+.3f} to {high:+.3f}, includes 0)"
        )
    if not others:
        return f"on {where} there is nothing beside {best}"
    return f"on {where} {best} wins by {measure}: over {' and '.join(parts)}"


def compared_section(result: Training) -> Section:
    """The part of the page."""
    scores: dict[str, list[float | None]] = {
        BEFORE: [view.scores(result.trained, BEFORE)[_measure(view)] for view in result.views]
    }
    for arm in result.arms:
        scores[arm.name] = [arm.scores(view)[_measure(view)] for view in result.views]
    spans = {
        name: [view.intervals.get(name, {}).get(_measure(view)) for view in result.views]
        for name in scores
    }
    groups = [f"{view.label}\n{_measure(view)}" for view in result.views]
    svg = draw.bars(
        result.folder / "figures" / "compared", groups, scores, spans, [],
        title="Scores by the negatives trained on", y="score",
    )  # fmt: skip
    what = ", ".join(f"{arm.name}: {ARMS[arm.name]}" for arm in result.arms)
    return Section(
        "Which negatives win",
        [
            f"The same model, pairs, steps and seeds ({what}). {sentence(result)}",
            "Differences are paired, with 95% intervals over the same draws of what queries share.",
        ],
        [compared_table(result)],
        [Figure(svg, "Before training, and after it with each kind of negatives; 95% intervals.")],
    )  # fmt: skip
