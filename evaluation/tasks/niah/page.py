"""What `gen eval` shows of haystacks: curves by length, places, categories, cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from retgen.evaluation import plots as draw
from retgen.evaluation.search.names import slug
from retgen.evaluation.tasks.niah.cells import Cells, too_few
from retgen.evaluation.tasks.niah.compare import CHUNKS, THIRDS
from retgen.evaluation.tasks.niah.notes import caption, near_notes, not_drawn, of_controls
from retgen.evaluation.tasks.niah.summary import Undefined, effective, psi
from retgen.evaluation.tasks.niah.tables import (
    TITLES,
    Row,
    by_length,
    differences,
    effective_texts,
    lengths_of,
    named,
    readings,
    rows_of,
    side_by_side,
    there,
    title,
    with_span,
    wordings,
)
from retgen.evaluation.tasks.task import SystemResult
from retgen.pages import Figure, Fold, Section, TableView
from retgen.statistics.clustered import Estimate

_CURVES = 6  # rows in a picture
_MAPS = 3  # rows with a picture by place
_TOKENS = "tokens of the haystack"
_AUC = "AUC within the question"
_CHANCE = draw.Level("chance", 0.5, True)


def sections(results: Sequence[SystemResult[Cells]], folder: Path) -> Iterable[Section]:
    """The sections of the page; pictures go to `folder`."""
    reads = readings(results)
    rows = rows_of(reads)
    scored = [row for row in rows if any(c.measure == "auc" for c in row.cells.values)]
    if scored:
        yield _by_length(scored, folder)
    yield _against_controls(rows, scored, folder)
    if makes := side_by_side(scored):
        yield Section(
            "Makes of haystacks side by side",
            [
                "A row a make: the AUC, and in small print how far it is from the first make, "
                "paired over questions."
            ],
            [makes],
            notes=near_notes(scored),
        )
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


def _by_length(rows: Sequence[Row], folder: Path) -> Section:
    questions = max(len(row.cells.questions) for row in rows)
    means = f"Means over {questions} questions, with 95% intervals over questions."
    if warning := too_few(questions):
        means = f"Means over questions; {warning}."
    cut = any(reach.truncated for row in rows for reach in row.cells.reach.values())
    notes = [
        "* and dots: not every haystack is read whole. The shares stand below the system: what is "
        "truncated, and whose needle is in what it reads. What it would score if it read on is not "
        "measured",
    ] * cut
    notes += [
        "effective length: the longest up to which a score keeps 85% of its best at 250, 500 or "
        "1,000 tokens (the nearest lengths), of lengths read whole; ≥: of these none is longer. "
        "There is none (–) where the best is not above chance by its interval, which is widened "
        "for the choice among up to three, or where 85% of that interval reaches down to chance",
        *near_notes(rows),
    ]
    if any(_chunked(row) for row in rows):
        notes.append(
            f"{CHUNKS}: the haystack cut into chunks of what the model reads, between words and "
            "without overlap; the highest score of a chunk is the haystack's"
        )
    return Section(
        "Needles in haystacks: by length",
        [
            "The AUC within the question: how often a haystack scores above a text of the same "
            f"length without needle (the controls of all questions), a tie half; 0.5 is chance. "
            f"{means}",
        ],
        [by_length(rows, "auc")],
        [_curves(rows, "auc", _AUC, folder, [_CHANCE])],
        notes,
    )


def _chunked(row: Row) -> bool:
    return row.name.split(" · ")[0].endswith(CHUNKS)


def _against_controls(rows: Sequence[Row], scored: Sequence[Row], folder: Path) -> Section:
    both = there(rows, "ratio, neutral")
    best = "ratio, neutral" if both else "ratio"
    figures = [_curves(rows, best, "comparative ratio", folder, [_CHANCE])]
    tables = [by_length(rows, best)]
    titles = [title(best, rows)]
    folded = []
    if scored:
        figures.append(_curves(scored, "normalised", "normalised similarity", folder, []))
        separation = best.replace("ratio", "gain")
        tables.append(by_length(scored, separation))
        titles.append(title(separation, scored))
        other = ("ratio", "gain") if both else ()
        further = (*other, "effect", "similarity", "normalised")
        folded = [Fold(title(m, scored), [by_length(scored, m)]) for m in further
                  if there(scored, m)]  # fmt: skip
    text = (
        "The comparative ratio is the share of haystacks that score above their control, a tie "
        "half; the separation how far the scores of the two lie apart. Scores of different systems "
        "are not comparable with each other."
    )
    return Section(
        "Similarity, comparative ratio, separation",
        [text, of_controls(rows), f"First below: {'; then: '.join(titles)}."],
        tables,
        figures,
        folded=folded,
    )


def _curves(
    rows: Sequence[Row], measure: str, y: str, folder: Path, levels: Sequence[draw.Level]
) -> Figure:
    shown = [row for row in plainest_first(rows) if curve(row, measure).x]
    curves = [curve(row, measure) for row in shown[:_CURVES]]
    svg = draw.lines(
        folder / f"haystacks_{measure.split(',')[0]}", curves, levels,
        title=f"{y[0].upper()}{y[1:]} by length", x=_TOKENS, y=y, log_x=True,
    )  # fmt: skip
    return Figure(svg, caption(shown[:_CURVES], shown[_CURVES:], ", with the share truncated"))


def curve(row: Row, measure: str, name: str = "") -> draw.Line:
    """A measure by length, dotted where haystacks are truncated."""
    points: list[tuple[int, Estimate]] = []
    for length in row.cells.lengths(row.arm):
        estimate = row.cells.estimate(row.cell(measure, length))
        if estimate:
            points.append((length, estimate))
    cut = [row.cells.reach[row.arm, length].truncated for length, _ in points]
    low, high = _band([estimate for _, estimate in points])
    return draw.Line(
        name or row.name,
        [float(length) for length, _ in points],
        [e.value for _, e in points],
        low,
        high,
        beside=[f"{share:.0%} cut" if share else "" for share in cut],
    )


def _band(
    estimates: Sequence[Estimate],
) -> tuple[list[float], list[float]] | tuple[None, None]:
    """Intervals as a picture takes them, nothing wide where there is none."""
    if all(one.low is None for one in estimates):
        return None, None
    lows = [one.value if one.low is None else one.low for one in estimates]
    return lows, [one.value if one.high is None else one.high for one in estimates]


def plainest_first(rows: Sequence[Row]) -> list[Row]:
    """The first make of every system, then the second: where not all are drawn, all systems are."""
    return sorted(rows, key=lambda row: row.cells.arms.index(row.arm))


def _places(rows: Sequence[Row], folder: Path) -> Section:
    figures = []
    rows = plainest_first(rows)
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
        notes=[not_drawn(rows[_MAPS:], "the folds below by thirds of the text, and in eval.json")]
        * (len(rows) > _MAPS),
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
        every = (*measures, psi(cells, row.arm, length))
        texts = ["–" if one is None else with_span(one) for one in every]
        shown = [f"{value:.3f}" if value is not None else "–" for value in thirds]
        lines.append([marked, *texts, *shown])
    head = ["tokens", "Pearson", "Spearman", "slope", "PSI", *(f"AUC: {third}" for third in THIRDS)]
    return TableView(head, lines)


def _wordings(rows: Sequence[Row], folder: Path) -> Iterable[Section]:
    each = wordings(rows)
    if each:
        # every system with and without terms, before its chunks, other makes and more terms
        queries = list(dict.fromkeys(row.query for row in each))
        drawn = plainest_first(sorted(each, key=lambda row: queries.index(row.query)))
        drawn.sort(key=_chunked)
        svg = draw.lines(
            folder / "haystacks_expansion", [curve(row, "auc") for row in drawn[:_CURVES]],
            [_CHANCE], title="AUC by terms added to the question",
            x=_TOKENS, y=_AUC, log_x=True,
        )  # fmt: skip
        yield Section(
            "Query expansion",
            ["The AUC where related terms are added to the question, and where none are."],
            [by_length(each, "auc")],
            [Figure(svg, caption(drawn[:_CURVES], drawn[_CURVES:]))],
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
        figures=[_categories(rows[0], folder, others=len(rows) > 1)],
        folded=folded,
    )


def _by_order(row: Row) -> TableView:
    lengths = row.cells.lengths(row.arm)
    lines = []
    for measure in ("auc", "ratio", "normalised"):
        for order in _parts(row, "auc", lengths[0]):
            every = [row.cells.estimate(row.cell(measure, n, order)) for n in lengths]
            cells = [with_span(e) if e else "–" for e in every]
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


def _categories(row: Row, folder: Path, *, others: bool) -> Figure:
    cells, lengths = row.cells, row.cells.lengths(row.arm)
    names = list(dict.fromkeys(cells.categories))
    values = [[cells.mean(row.cell("auc", n), one) for n in lengths] for one in names]
    labels = [f"{one} ({cells.categories.count(one)})" for one in names]
    svg = draw.heat_map(
        folder / "haystacks_categories", labels, _marked(row), values,
        title=f"AUC by category: {row.name}", x=_TOKENS, y="",
    )  # fmt: skip
    text = "In brackets the number of questions; *: not read whole."
    return Figure(svg, f"{text} All other rows stand in the folds below." if others else text)


def _cards(rows: Sequence[Row], folder: Path) -> Section:
    """A picture for each model: its curve, and that of its chunks."""
    figures = []
    chunked = {row.name: row for row in rows}
    first = rows[0].cells.arms[0]
    for row in rows:
        label = row.name.split(" · ")[0]
        if row.arm != first or _chunked(row):
            continue
        lines = [curve(row, "auc", "read as it is")]
        other = chunked.get(row.name.replace(label, f"{label}, {CHUNKS}", 1))
        if other:
            lines.append(curve(other, "auc", CHUNKS))
        reached = effective(row.cells, row.arm)
        known = f" (effective length {effective_texts(reached)[0]})"
        known = "" if isinstance(reached, Undefined) else known
        svg = draw.lines(
            folder / f"card_{slug(label)}", lines, [_CHANCE],
            title=f"{label}: needles found by length{known}", x=_TOKENS,
            y=_AUC, log_x=True,
        )  # fmt: skip
        figures.append(Figure(svg, f"For the card of {label}: figures/card_{slug(label)}.png."))
    count = len(lengths_of(rows))
    make = " · ".join(named(first, rows[0].cells.arms))
    makes = f", on the first make of haystacks ({make})" if make else ""
    return Section(
        "Pictures for model cards",
        [f"A picture a model, of {count} lengths{makes}; SVG and PNG stand in figures/."],
        figures=figures,
    )
