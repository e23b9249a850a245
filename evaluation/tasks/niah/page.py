"""What `gen eval` shows of haystacks: curves by length, places, categories, cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from retgen.evaluation import plots as draw
from retgen.evaluation.search.names import slug
from retgen.evaluation.tasks.niah.cells import Cells, Estimate
from retgen.evaluation.tasks.niah.compare import CHUNKS, THIRDS
from retgen.evaluation.tasks.niah.summary import effective, psi
from retgen.evaluation.tasks.niah.tables import (
    TITLES,
    Row,
    by_length,
    differences,
    effective_text,
    lengths_of,
    readings,
    rows_of,
    there,
    wordings,
)
from retgen.evaluation.tasks.task import SystemResult
from retgen.pages import Figure, Fold, Section, TableView

_CURVES = 6  # rows in a picture
_MAPS = 3  # systems with a picture by place
_TOKENS = "tokens of the haystack"
_AUC = "AUC within the question"
_CHANCE = draw.Level("chance", 0.5, True)


def sections(results: Sequence[SystemResult[Cells]], folder: Path) -> Iterable[Section]:
    """The sections of the page; pictures go to `folder`."""
    reads = readings(results)
    rows = rows_of(reads)
    scored = [row for row in rows if any(c.measure == "auc" for c in row.cells.values)]
    questions = max(len(cells.questions) for cells in reads.values())
    if scored:
        yield _by_length(scored, questions, folder)
    yield _against_controls(rows, scored, folder)
    if compared := differences(scored):
        yield Section(
            TITLES["differences"],
            [
                "Differences of a question weigh the same; the slope is that of the score from "
                "first to last place, which compares where two systems score on one scale, as a "
                "model before and after training does."
            ],
            [compared],
        )
    if scored:
        yield _places(scored, folder)
        yield from _wordings(scored, folder)
        yield _makes(scored, folder)
        yield _cards(scored, folder)


def _by_length(rows: Sequence[Row], questions: int, folder: Path) -> Section:
    cut = any(reach.truncated for row in rows for reach in row.cells.reach.values())
    notes = [
        "* and dots: not every haystack is read whole. The shares stand below the system: what is "
        "truncated, and whose needle is in what it reads. As if it read on is not measured",
    ] * cut
    notes += [
        "effective length: the longest up to which a score keeps 85% of its best at 250, 500 or "
        "1,000 tokens (the nearest lengths), of lengths read whole; ≥: nothing longer is read "
        "whole; –: the best is no better than chance",
    ]
    if any(row.name.split(" · ")[0].endswith(CHUNKS) for row in rows):
        notes.append(
            f"{CHUNKS}: the haystack cut into chunks of what the model reads, between words and "
            "without overlap; the highest score of a chunk is the haystack's"
        )
    return Section(
        "Needles in haystacks: by length",
        [
            "The AUC within the question: how often a haystack scores above a text of the same "
            "length without needle (the controls of all questions), a tie half; 0.5 is chance. "
            f"Means over {questions} questions, with 95% intervals of a bootstrap over questions.",
        ],
        [by_length(rows, "auc")],
        [_curves(rows, "auc", _AUC, folder, [_CHANCE])],
        notes,
    )


def _against_controls(rows: Sequence[Row], scored: Sequence[Row], folder: Path) -> Section:
    figures = [_curves(rows, "ratio", "comparative ratio", folder, [_CHANCE])]
    tables = [by_length(rows, "ratio")]
    folded = []
    if scored:
        figures.append(_curves(scored, "normalised", "normalised similarity", folder, []))
        tables.append(by_length(scored, "gain"))
        further = ("ratio, neutral", "effect", "similarity", "normalised")
        folded = [Fold(TITLES[m], [by_length(scored, m)]) for m in further if there(scored, m)]
    return Section(
        "Similarity, comparative ratio, separation",
        [
            "The comparative ratio is the share of haystacks that score above the very same text "
            "without needle, a tie half; the separation how far the scores "
            "of the two lie apart. Scores of different systems are not comparable with each other.",
        ],
        tables,
        figures,
        folded=folded,
    )


def _curves(
    rows: Sequence[Row], measure: str, y: str, folder: Path, levels: Sequence[draw.Level]
) -> Figure:
    curves = [one for one in (curve(row, measure) for row in rows) if one.x][:_CURVES]
    svg = draw.lines(
        folder / f"haystacks_{measure}", curves, levels, title=f"{y[0].upper()}{y[1:]} by length",
        x=_TOKENS, y=y, log_x=True,
    )  # fmt: skip
    return Figure(
        svg, "Bands are 95% intervals; dots: not read whole, with the share that is truncated."
    )


def curve(row: Row, measure: str, name: str = "") -> draw.Line:
    """A measure by length, dotted where haystacks are truncated."""
    points: list[tuple[int, Estimate]] = []
    for length in row.cells.lengths(row.arm):
        estimate = row.cells.estimate(row.cell(measure, length))
        if estimate:
            points.append((length, estimate))
    cut = [row.cells.reach[row.arm, length].truncated for length, _ in points]
    return draw.Line(
        name or row.name,
        [float(length) for length, _ in points],
        [e.value for _, e in points],
        [e.low for _, e in points],
        [e.high for _, e in points],
        beside=[f"{share:.0%} cut" if share else "" for share in cut],
    )


def _places(rows: Sequence[Row], folder: Path) -> Section:
    figures = []
    for row in rows[:_MAPS]:
        lengths = row.cells.lengths(row.arm)
        places = sorted({int(p) for n in lengths for p in _parts(row, "auc by place", n)})
        values = [
            [row.cells.mean(row.cell("auc by place", n, str(place))) for n in lengths]
            for place in places
        ]
        svg = draw.heat_map(
            folder / f"haystacks_places_{slug(row.name)}", [str(place + 1) for place in places],
            _marked(row), values, title=f"AUC by place of the needle: {row.name}",
            x=_TOKENS, y="place, from the beginning",
        )  # fmt: skip
        figures.append(
            Figure(svg, "Place 1 is the beginning, the last the end; *: not read whole.")
        )
    return Section(
        "The place of the needle",
        [
            "Correlation and slope of the score with the needle's depth, within the question "
            "(slope: the change of the score from first to last place), the AUC by thirds of the "
            "text, and the position sensitivity index of these three, 1 - min / max: 0 where the "
            "place does not matter. Since it takes extremes, noise alone makes it larger than 0.",
        ],
        figures=figures,
        folded=[Fold(row.name, [_by_place(row)]) for row in rows],
    )


def _marked(row: Row) -> list[str]:
    """Lengths, with a star where not every haystack is read whole."""
    return [
        f"{n:,}{'*' if row.cells.reach[row.arm, n].truncated else ''}"
        for n in row.cells.lengths(row.arm)
    ]


def _parts(row: Row, measure: str, length: int) -> list[str]:
    return row.cells.parts(measure, row.arm, length)


def _by_place(row: Row) -> TableView:
    cells, lines = row.cells, []
    for length, marked in zip(cells.lengths(row.arm), _marked(row), strict=True):
        measures = [cells.estimate(row.cell(m, length))
                    for m in ("pearson", "spearman", "slope")]  # fmt: skip
        thirds = [cells.mean(row.cell("auc by third", length, t)) for t in THIRDS]
        texts = [_spanned(one) for one in (*measures, psi(cells, row.arm, length))]
        shown = [f"{value:.3f}" if value is not None else "–" for value in thirds]
        lines.append([marked, *texts, *shown])
    head = ["tokens", "Pearson", "Spearman", "slope", "PSI", *(f"AUC: {third}" for third in THIRDS)]
    return TableView(head, lines)


def _spanned(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _wordings(rows: Sequence[Row], folder: Path) -> Iterable[Section]:
    each = wordings(rows)
    if each:
        svg = draw.lines(
            folder / "haystacks_expansion", [curve(row, "auc") for row in each[:_CURVES]],
            [_CHANCE], title="AUC by terms added to the question",
            x=_TOKENS, y=_AUC, log_x=True,
        )  # fmt: skip
        yield Section(
            "Query expansion",
            ["The AUC where related terms are added to the question, and where none are."],
            [by_length(each, "auc")],
            [Figure(svg, "Bands are 95% intervals; dots: not read whole.")],
        )


def _makes(rows: Sequence[Row], folder: Path) -> Section:
    folded = [Fold(f"By order of the needle: {row.name}", [_by_order(row)]) for row in rows]
    folded += [Fold(f"By category: {row.name}", [_by_category(row)]) for row in rows]
    return Section(
        "Order and category",
        [
            "A category holds a few questions, so it has no interval: what differs between "
            "categories may be a single question.",
        ],
        figures=[_categories(rows[0], folder)],
        folded=folded,
    )


def _by_order(row: Row) -> TableView:
    lengths = row.cells.lengths(row.arm)
    lines = []
    for measure in ("auc", "ratio", "normalised"):
        for order in _parts(row, "auc", lengths[0]):
            every = [row.cells.estimate(row.cell(measure, n, order)) for n in lengths]
            cells = [f"{e.value:.3f} ({e.low:.2f} to {e.high:.2f})" if e else "–" for e in every]
            lines.append([measure, order, *cells])
    return TableView(["measure", "order", *(f"{n:,}" for n in lengths)], lines, names=2)


def _by_category(row: Row) -> TableView:
    cells, lengths = row.cells, row.cells.lengths(row.arm)
    lines = []
    for category in dict.fromkeys(cells.categories):
        values = [cells.mean(row.cell("auc", n), category) for n in lengths]
        shown = [f"{value:.3f}" if value is not None else "–" for value in values]
        lines.append([category, str(cells.categories.count(category)), *shown])
    return TableView(["AUC", "questions", *(f"{n:,}" for n in lengths)], lines)


def _categories(row: Row, folder: Path) -> Figure:
    cells, lengths = row.cells, row.cells.lengths(row.arm)
    names = list(dict.fromkeys(cells.categories))
    values = [[cells.mean(row.cell("auc", n), one) for n in lengths] for one in names]
    labels = [f"{one} ({cells.categories.count(one)})" for one in names]
    svg = draw.heat_map(
        folder / "haystacks_categories", labels, _marked(row), values,
        title=f"AUC by category: {row.name}", x=_TOKENS, y="",
    )  # fmt: skip
    return Figure(svg, "In brackets the number of questions; *: not read whole.")


def _cards(rows: Sequence[Row], folder: Path) -> Section:
    """A picture for each model: its curve, and that of its chunks."""
    figures = []
    chunked = {row.name: row for row in rows}
    first = rows[0].cells.arms[0]
    for row in rows:
        label = row.name.split(" · ")[0]
        if row.arm != first or label.endswith(CHUNKS):
            continue
        lines = [curve(row, "auc", "read as it is")]
        other = chunked.get(row.name.replace(label, f"{label}, {CHUNKS}", 1))
        if other:
            lines.append(curve(other, "auc", CHUNKS))
        reached = effective_text(effective(row.cells, row.arm))
        known = "" if reached == "–" else f" (effective length {reached})"
        svg = draw.lines(
            folder / f"card_{slug(label)}", lines, [_CHANCE],
            title=f"{label}: needles found by length{known}", x=_TOKENS,
            y=_AUC, log_x=True,
        )  # fmt: skip
        figures.append(Figure(svg, f"For the card of {label}: figures/card_{slug(label)}.png."))
    count = len(lengths_of(rows))
    return Section(
        "Pictures for model cards",
        [f"A picture a model, of {count} lengths; SVG and PNG stand in figures/."],
        figures=figures,
    )
