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


@dataclass(frozen=True)
class Trainings:
    """What a study with `train` found: `trained` by (trained on, dimension)."""

    study: Study
    folder: Path
    trained: dict[tuple[str, int], Training]
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


def _scores(result: Trainings) -> Panel:
    """A row a training, the best training set first; below what was not trained, the best
    reachable, the baselines.
    """
    first = next(iter(result.trained.values()))
    scored = first.scored_sets[0]
    names, measure = scored.measures.names, scored.primary
    after = _after(result)
    systems = [(on, str(dim), after[on, dim]) for on, dim in _in_order(result, measure)]
    systems.append((f"{first.model}, not trained", "", scored.scores(first.trained, "before")))
    for score in in_order(result.beside.datasets[0].scores, measure) if result.beside else []:
        systems.append((score.model, str(score.dim or ""), score.metrics))
    rows = [
        Measurement(on, name, {"dim": dim}, of[name]) for on, dim, of in systems for name in names
    ]
    bounds = bound_rows(scored.ceiling, scored.baselines, names)
    return Panel(
        "", [*rows, *bounds], [Column(name, score_measure(name)) for name in names],
        ["system", "dim"], ["trained on", "dim"], whole="",
        baselines=frozenset(one.system for one in bounds),
    )  # fmt: skip


def _after(result: Trainings) -> dict[tuple[str, int], dict[str, float]]:
    return {
        key: one.scored_sets[0].scores(one.trained, "after") for key, one in result.trained.items()
    }


def _in_order(result: Trainings, measure: str) -> list[tuple[str, int]]:
    """The best training set first, its dimensions together, the largest of them first."""
    best: dict[str, float] = {}
    for (on, _), scores in _after(result).items():
        best[on] = max(best.get(on, 0.0), scores[measure])
    return sorted(result.trained, key=lambda key: (-best[key[0]], key[0], -key[1]))


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
        lines.append(f"{after[on, dim][measure]:.4f} on {on} ({dim} dimensions)")
    before = scored.scores(first.trained, "before")[measure]
    top = max(scores[measure] for scores in after.values())
    text = [
        f"{measure} of {first.model} after training, at the best dimension: {', '.join(lines)}; "
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
    section = Section(
        "Scores by what was trained on",
        [
            f"{first.model} with a projection to each dimension, fine-tuned and scored on "
            f"{collection.name}: {collection.documents:,} documents, {len(collection.queries):,} "
            "queries. If domain shift were what makes the task hard, training on other words of "
            "the same form would help as training on the test pairs does."
        ],
        [_scores(result)],
        [_picture(result, name) for name in first.scored_sets[0].measures.names[:_PANELS]],
        notes,
    )
    about = result.about
    return Page(
        result.study.study,
        "retgen study",
        about,
        summary_sentences(result),
        [section],
        result.command,
    )


def _picture(result: Trainings, measure: str) -> Lines:
    first = next(iter(result.trained.values()))
    scored = first.scored_sets[0]
    curves = []
    for on in dict.fromkeys(on for on, _ in result.trained):
        of = {d: one for (o, d), one in result.trained.items() if o == on}
        values = [one.scored_sets[0].scores(one.trained, "after")[measure] for one in of.values()]
        curves.append(Line(f"trained on {on}", [*map(float, of)], values))
    levels = [Level(f"{first.model}, not trained", scored.scores(first.trained, "before")[measure])]
    if result.beside:
        levels += [
            Level(score.label, score.metrics[measure]) for score in result.beside.datasets[0].scores
        ]
    return Lines(
        file=measure.replace("@", "-at-"), title=f"{measure} by dimension and training set",
        curves=curves, levels=[*levels, *baseline_levels(scored.baselines, measure)],
        x="dimensions of the projection", y=measure, log_x=True, fraction=True,
        caption=f"{measure} after training, by what was trained on.",
    )  # fmt: skip
