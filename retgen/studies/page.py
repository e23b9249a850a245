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
    """A row a training, the best training set first; below what was not trained, the best
    reachable, the baselines. `at`: the place of the scored set, what stands `beside` is of the
    first.
    """
    first = next(iter(result.trained.values()))
    scored = first.scored_sets[at]
    names, measure = scored.measures.names, scored.primary
    after = _after(result, at)
    systems = [(on, str(dim or ""), after[on, dim]) for on, dim in _in_order(result, measure, at)]
    systems.append((f"{first.model}, not trained", "", scored.scores(first.trained, "before")))
    beside = result.beside.datasets[0].scores if result.beside and not at else []
    for score in in_order(beside, measure):
        systems.append((score.model, str(score.dim or ""), score.metrics))
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


def _after(result: Trainings, at: int = 0) -> dict[tuple[str, int | None], dict[str, float]]:
    return {
        key: one.scored_sets[at].scores(one.trained, "after") for key, one in result.trained.items()
    }


def _in_order(result: Trainings, measure: str, at: int = 0) -> list[tuple[str, int | None]]:
    """The best training set first, its dimensions together, the largest of them first."""
    best: dict[str, float] = {}
    for (on, _), scores in _after(result, at).items():
        best[on] = max(best.get(on, 0.0), scores[measure])
    return sorted(result.trained, key=lambda key: (-best[key[0]], key[0], -(key[1] or 0)))


def summary_sentences(result: Trainings) -> list[str]:
    """The summary of the page: each training set at its best dimension, against what else is."""
    first = next(iter(result.trained.values()))
    scored = first.scored_sets[0]
    measure = scored.primary
    after = _after(result)
    sets = list(dict.fromkeys(on for on, _ in _in_order(result, measure)))
    lines = []
    for on in sets:
        dim = max((d for o, d in after if o == on), key=lambda d: after[on, d][measure])
        lines.append(f"{after[on, dim][measure]:.4f} on {on}" + f" ({dim} dimensions)" * bool(dim))
    before = scored.scores(first.trained, "before")[measure]
    top = max(scores[measure] for scores in after.values())
    text = [
        f"{measure} of {first.model} after training{', at the best dimension' * _swept(result)}: "
        f"{', '.join(lines)}; "
        f"{before:.4f} without training.",
        f"The best of them is {against(scored.baselines, scored.ceiling, measure, top)}.",
    ]
    for on in sets:
        one = next(one for (o, _), one in result.trained.items() if o == on)
        if one.shared:
            text.append(
                f"Trained on {on}, a model has seen pairs of the test set: its scores measure "
                "memory, not retrieval."
            )
    if result.failures:
        text.append(f"Not scored: {', '.join(result.failures)}.")
    return text


def _swept(result: Trainings) -> bool:
    """Whether there are several dimensions."""
    return len({dim for _, dim in result.trained}) > 1


def terminal_text(result: Trainings) -> str:
    """For a terminal."""
    return page_of(result).terminal(result.folder / "study.html")


def write_page(result: Trainings) -> None:
    """figures/, study.md and study.html."""
    page_of(result).write(result.folder, "study")


def page_of(result: Trainings) -> Page:
    """All that is shown."""
    first = next(iter(result.trained.values()))
    collection = first.scored_sets[0].collection
    notes = [
        f"trained on {on}: {note}"
        for on in dict.fromkeys(on for on, _ in result.trained)
        for note in next(one for (o, _), one in result.trained.items() if o == on).notes()[:1]
    ]
    projected = " with a projection to each dimension," * _swept(result)
    pictures = [_picture(result, name) for name in first.scored_sets[0].measures.names[:_PANELS]]
    sections = [
        Section(
            "Scores by what was trained on",
            [
                f"{first.model}{projected} fine-tuned and scored on "
                f"{collection.name}: {collection.documents:,} documents, "
                f"{len(collection.queries):,} queries."
            ],
            [_scores(result)],
            pictures if _swept(result) else [],
            notes,
        ),
        *(
            Section(f"The same on {scored.collection.name}", tables=[_scores(result, at)])
            for at, scored in enumerate(first.scored_sets[1:], start=1)
        ),
    ]
    return Page(
        result.study.study,
        "retgen study",
        result.about,
        summary_sentences(result),
        sections,
        result.command,
    )


def _picture(result: Trainings, measure: str) -> Lines:
    first = next(iter(result.trained.values()))
    scored = first.scored_sets[0]
    curves = []
    for on in dict.fromkeys(on for on, _ in result.trained):
        of = {d or 0: one for (o, d), one in result.trained.items() if o == on}
        values = [one.scored_sets[0].scores(one.trained, "after")[measure] for one in of.values()]
        curves.append(Line(f"trained on {on}", [*map(float, of)], values))
    levels = [Level(f"{first.model}, not trained", scored.scores(first.trained, "before")[measure])]
    if result.beside:
        levels += [
            Level(score.label, score.metrics[measure]) for score in result.beside.datasets[0].scores
        ]
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
