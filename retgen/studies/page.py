"""What a study with training shows: one table, and a picture a measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retgen.evaluation import plots as draw
from retgen.evaluation.scoring.page import bound_rows, floor_levels
from retgen.markdown import markdown_table
from retgen.pages import Figure, Section, TableView, result_page, text_table
from retgen.write import write_file

if TYPE_CHECKING:
    from retgen.studies.result import Trainings


_PANELS = 3


def scores_table(found: Trainings) -> TableView:
    """A row a training; below what was not trained, the best reachable, the floors."""
    first = next(iter(found.trained.values()))
    view = first.views[0]
    names = view.measures.names
    rows = []
    for (on, dim), one in found.trained.items():
        scores = one.views[0].scores(one.trained, "after")
        rows.append([on, str(dim), *(f"{scores[name]:.4f}" for name in names)])
    scores = view.scores(first.trained, "before")
    rows.append([f"{first.model}, not trained", "", *(f"{scores[name]:.4f}" for name in names)])
    for score in found.beside.datasets[0].scores if found.beside else []:
        cells = [f"{score.metrics[name]:.4f}" for name in names]
        rows.append([score.model, str(score.dim or ""), *cells])
    begin = len(rows)
    rows += [[label, "", *cells] for label, cells in bound_rows(view.ceiling, view.floors, names)]
    return TableView(["trained on", "dim", *names], rows, faint=range(begin, len(rows)))


def text(found: Trainings) -> str:
    """For a terminal."""
    return f"{text_table(scores_table(found))}\npage: {found.folder / 'study.html'}"


def write_page(found: Trainings) -> None:
    """figures/, study.md and study.html."""
    view = scores_table(found)
    write_file(found.folder / "study.md", markdown_table(view.head, view.rows, view.names))
    first = next(iter(found.trained.values()))
    collection = first.views[0].collection
    notes = [
        f"trained on {on}: {note}"
        for on in dict.fromkeys(on for on, _ in found.trained)
        for note in next(one for (o, _), one in found.trained.items() if o == on).notes()[:1]
    ]
    section = Section(
        "Scores by what was trained on",
        [
            f"{first.model} with a projection to each dimension, fine-tuned and scored on "
            f"{collection.name}: {collection.documents:,} documents, {len(collection.queries):,} "
            "queries. If domain shift were what makes the task hard, training on other words of "
            "the same form would help as training on the test pairs does."
        ],
        [view],
        [_picture(found, name) for name in first.views[0].measures.names[:_PANELS]],
        notes,
    )
    page = result_page(
        found.study.study, "retgen study", found.about,
        [section], found.command,
    )  # fmt: skip
    write_file(found.folder / "study.html", page)


def _picture(found: Trainings, measure: str) -> Figure:
    first = next(iter(found.trained.values()))
    view = first.views[0]
    curves = []
    for on in dict.fromkeys(on for on, _ in found.trained):
        of = {d: one for (o, d), one in found.trained.items() if o == on}
        values = [one.views[0].scores(one.trained, "after")[measure] for one in of.values()]
        curves.append(draw.Line(f"trained on {on}", [*map(float, of)], values))
    levels = [
        draw.Level(f"{first.model}, not trained", view.scores(first.trained, "before")[measure])
    ]
    if found.beside:
        levels += [
            draw.Level(score.label, score.metrics[measure])
            for score in found.beside.datasets[0].scores
        ]
    svg = draw.lines(
        found.folder / "figures" / measure.replace("@", "-at-"), curves,
        [*levels, *floor_levels(view.floors, measure)],
        title=f"{measure} by dimension and training set", x="dimensions of the projection",
        y=measure, log_x=True, fraction=True,
    )  # fmt: skip
    return Figure(svg, f"{measure} after training, by what was trained on.")
