"""What a study with training shows: one table, and a picture a measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgen.evaluation.scoring.panels import baseline_levels, bound_rows, score_measure
from retgen.evaluation.scoring.scores import in_order
from retgen.evaluation.scoring.summary import against
from retgen.results.measurements import Measurement
from retgen.results.page import Page, Section
from retgen.results.panel import Column, Panel
from retgen.results.pictures import Level, Line, Lines
from retgen.studies import Study

if TYPE_CHECKING:
    from retgen.evaluation.scoring.result import Evaluation
    from retgen.evaluation.training.result import Training
    from retgen.evaluation.training.scored_set import ScoredSet

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

    @property
    def swept(self) -> bool:
        """Whether there are several dimensions."""
        return len({dim for _, dim in self.trained}) > 1

    def before(self, scored: ScoredSet) -> dict[str, float]:
        """The scores without training."""
        return scored.scores(self.first.trained, "before")

    def after(self, at: int, measure: str) -> dict[tuple[str, int | None], dict[str, float]]:
        """Scores of each training on the set at a place: the best training set first, its
        dimensions together, the largest of them first.
        """
        scores = {
            key: one.scored_sets[at].scores(one.trained, "after")
            for key, one in self.trained.items()
        }
        best: dict[str, float] = {}
        for (on, _), of in scores.items():
            best[on] = max(best.get(on, 0.0), of[measure])
        order = sorted(scores, key=lambda key: (-best[key[0]], key[0], -(key[1] or 0)))
        return {key: scores[key] for key in order}

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
    """A row a training, below what was not trained, the best reachable, the baselines. `at`: the
    place of the scored set; what stands `beside` is of the first.
    """
    scored = result.first.scored_sets[at]
    names, measure = scored.measures.names, scored.primary
    systems = [(on, str(dim or ""), of) for (on, dim), of in result.after(at, measure).items()]
    systems.append((f"{result.first.model}, not trained", "", result.before(scored)))
    beside = result.beside.datasets[0].scores if result.beside and not at else []
    systems += [(s.model, str(s.dim or ""), s.metrics) for s in in_order(beside, measure)]
    rows = [
        Measurement(on, name, {"dim": dim}, of[name]) for on, dim, of in systems for name in names
    ]
    bounds = bound_rows(scored.ceiling, scored.baselines, names)
    return Panel(
        "",
        [*rows, *bounds],
        [Column(name, score_measure(name)) for name in names],
        ["system", "dim"],
        ["trained on", "dim"],
        whole="",
        baselines=frozenset(one.system for one in bounds),
    )


def summary_sentences(result: Trainings) -> list[str]:
    """The summary of the page: each training set at its best dimension, against what else is."""
    scored = result.first.scored_sets[0]
    measure = scored.primary
    after = result.after(0, measure)
    best: dict[str, tuple[float, int | None]] = {}
    for (on, dim), of in after.items():
        if on not in best or of[measure] > best[on][0]:
            best[on] = of[measure], dim
    lines = (
        f"{value:.4f} on {on}" + f" ({dim} dimensions)" * bool(dim)
        for on, (value, dim) in best.items()
    )
    top = max(value for value, _ in best.values())
    text = [
        f"{measure} of {result.first.model} after training"
        f"{', at the best dimension' * result.swept}: {', '.join(lines)}; "
        f"{result.before(scored)[measure]:.4f} without training.",
        f"The best of them is {against(scored.baselines, scored.ceiling, measure, top)}.",
    ]
    text += [
        f"Trained on {on}, a model has seen pairs of the test set: its scores measure memory, not "
        "retrieval."
        for on in best
        if any(one.shared for (o, _), one in result.trained.items() if o == on)
    ]
    if result.failures:
        text.append(f"Not scored: {', '.join(result.failures)}.")
    return text


def page_of(result: Trainings) -> Page:
    """All that is shown."""
    first, *others = result.first.scored_sets
    of_set = {on: one for (on, _), one in reversed(result.trained.items())}  # the first of each
    notes = [f"trained on {on}: {n}" for on in reversed(of_set) for n in of_set[on].notes()[:1]]
    projected = " with a projection to each dimension," * result.swept
    pictures = [_picture(result, name) for name in first.measures.names[:_PANELS]]
    sections = [
        Section(
            "Scores by what was trained on",
            [
                f"{result.first.model}{projected} fine-tuned and scored on "
                f"{first.collection.name}: {first.collection.documents:,} documents, "
                f"{len(first.collection.queries):,} queries."
            ],
            [_scores(result)],
            pictures if result.swept else [],
            notes,
        ),
        *(
            Section(f"The same on {scored.collection.name}", tables=[_scores(result, at)])
            for at, scored in enumerate(others, start=1)
        ),
    ]
    summary = summary_sentences(result)
    return Page(result.study.study, "retgen study", result.about, summary, sections, result.command)


def _picture(result: Trainings, measure: str) -> Lines:
    """A curve a training set over the dimensions, a level for what was not trained."""
    scored, after = result.first.scored_sets[0], result.after(0, measure)
    curves = []
    for on in dict.fromkeys(on for on, _ in result.trained):
        of = sorted((dim or 0, values[measure]) for (o, dim), values in after.items() if o == on)
        curves.append(Line(f"trained on {on}", [float(x) for x, _ in of], [y for _, y in of]))
    levels = [Level(f"{result.first.model}, not trained", result.before(scored)[measure])]
    if result.beside:
        levels += [Level(s.label, s.metrics[measure]) for s in result.beside.datasets[0].scores]
    return Lines(
        file=measure.replace("@", "-at-"),
        title=f"{measure} by dimension and training set",
        curves=curves,
        levels=[*levels, *baseline_levels(scored.baselines, measure)],
        x="dimensions of the projection",
        y=measure,
        log_x=True,
        fraction=True,
        caption=f"{measure} after training, by what was trained on.",
    )
