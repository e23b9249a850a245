"""What a study with training shows: one table, and a picture a measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgen.evaluation.scoring.page import baseline_levels, bound_rows
from retgen.evaluation.scoring.result import in_order, score_measure
from retgen.evaluation.scoring.summary import against
from retgen.results.measurements import Measurement
from retgen.results.page import Page, Section
from retgen.results.panel import Column, Panel
from retgen.results.pictures import Level, Line, Lines
from retgen.studies import Study

if TYPE_CHECKING:
    from retgen.evaluation.scoring.result import Evaluation
    from retgen.evaluation.training.result import Training

_PANELS = 3


@dataclass
class Trainings:
    """What a study with `train` found: `trained` by (trained on, dimension of the projection, None
    without one).
    """

    study: Study
    folder: Path
    trained: dict[tuple[str, int | None], Training]
    beside: Evaluation | None
    about: str
    command: str
    failures: dict[str, str]

    @property
    def first(self) -> Training:
        """The first training; every one has the same model and scored sets."""
        return next(iter(self.trained.values()))

    def rows(self, at: int = 0) -> list[Measurement]:
        """Scores of each training on the set at a place, the best training set first; below them
        those without training, and of the first set those of the models `beside`.
        """
        scored, first = self.first.scored_sets[at], self.first
        before = (f"{first.model}, not trained", None, scored.scores(first.trained, "before"))
        after = [
            (on, dim, one.scored_sets[at].scores(one.trained, "after"))
            for (on, dim), one in self.trained.items()
        ]
        best: dict[str, float] = {}
        for on, _, of in after:
            best[on] = max(best.get(on, 0.0), of[scored.primary])
        after.sort(key=lambda one: (-best[one[0]], one[0], -(one[1] or 0)))
        beside = self.beside.datasets[0].scores if self.beside and not at else []
        others = [(s.model, s.dim, s.metrics) for s in in_order(beside, scored.primary)]
        return [
            Measurement(name, measure, {"dim": str(dim or "")}, of[measure])
            for name, dim, of in (*after, before, *others)
            for measure in scored.measures.names
        ]

    def to_json(self) -> dict[str, Any]:
        """What `gen eval STUDY --json` prints."""
        return {
            "study": self.study.study,
            "trained": [
                {"on": on, "dim": dim, **one.to_json()} for (on, dim), one in self.trained.items()
            ],
            "beside": self.beside.to_json() if self.beside else None,
        }


def _scores(result: Trainings, at: int = 0) -> Panel:
    """A row a training, below what was not trained, the best reachable, the baselines."""
    scored = result.first.scored_sets[at]
    names = scored.measures.names
    bounds = bound_rows(scored.ceiling, scored.baselines, names)
    return Panel(
        "",
        [*result.rows(at), *bounds],
        [Column(name, score_measure(name)) for name in names],
        ["system", "dim"],
        ["trained on", "dim"],
        whole="",
        baselines=frozenset(one.system for one in bounds),
    )


def _summary(result: Trainings) -> list[str]:
    """Each training set at its best dimension, against what else is."""
    scored = result.first.scored_sets[0]
    measure, trained = scored.primary, {on for on, _ in result.trained}
    rows = [one for one in result.rows() if one.measure == measure]
    best: dict[str, float] = {}
    for one in rows:
        best[one.system] = max(best.get(one.system, 0.0), one.value or 0.0)
    lines = [f"{value:.4f} on {on}" for on, value in best.items() if on in trained]
    top = max(best[on] for on in trained)
    text = [
        f"{measure} of {result.first.model} after training, at the best dimension: "
        f"{', '.join(lines)}; {best[f'{result.first.model}, not trained']:.4f} without training.",
        f"The best of them is {against(scored.baselines, scored.ceiling, measure, top)}.",
    ]
    return text + [f"Not scored: {', '.join(result.failures)}."] * bool(result.failures)


def page_of(result: Trainings) -> Page:
    """All that is shown."""
    first, *others = result.first.scored_sets
    swept = len({dim for _, dim in result.trained}) > 1
    notes = dict.fromkeys(
        f"trained on {on}: {note}"
        for (on, _), one in result.trained.items()
        for note in one.notes()[:1]
    )
    sections = [
        Section(
            "Scores by what was trained on",
            [
                f"{result.first.model} fine-tuned and scored on {first.collection.name}: "
                f"{first.collection.documents:,} documents, {len(first.collection.queries):,} "
                "queries. dim: of a projection."
            ],
            [_scores(result)],
            [_picture(result, name) for name in first.measures.names[:_PANELS] if swept],
            [*notes],
        ),
        *(
            Section(f"The same on {scored.collection.name}", tables=[_scores(result, at)])
            for at, scored in enumerate(others, start=1)
        ),
    ]
    name, about = result.study.study, result.about
    return Page(name, "retgen study", about, _summary(result), sections, result.command)


def _picture(result: Trainings, measure: str) -> Lines:
    """A curve a training set over the dimensions, a level for what was not trained."""
    rows = [one for one in result.rows() if one.measure == measure]
    trained = dict.fromkeys(on for on, _ in result.trained)
    points = {
        on: sorted((float(one.by["dim"] or 0), one) for one in rows if one.system == on)
        for on in trained
    }
    levels = [
        Level(" ".join(filter(None, [one.system, one.by["dim"]])), one.value or 0.0)
        for one in rows
        if one.system not in trained
    ]
    baselines = baseline_levels(result.first.scored_sets[0].baselines, measure)
    return Lines(
        file=measure.replace("@", "-at-"),
        title=f"{measure} by dimension and training set",
        curves=[Line.of(f"trained on {on}", of) for on, of in points.items()],
        levels=[*levels, *baselines],
        x="dimensions of the projection",
        y=measure,
        log_x=True,
        fraction=True,
        caption=f"{measure} after training, by what was trained on.",
    )
