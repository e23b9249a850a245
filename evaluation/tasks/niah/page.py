"""What `gen eval` shows of haystacks: curves by length, places, categories, cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from retgen.evaluation.tasks.niah.cells import SystemCells, too_few
from retgen.evaluation.tasks.niah.compare import CHUNKS
from retgen.evaluation.tasks.niah.panels import (
    DIFFERENCES,
    HaystackRow,
    by_category,
    by_length,
    by_order,
    by_place,
    differences,
    has_values,
    reading,
    rows_of,
    side_by_side,
    wordings,
)
from retgen.evaluation.tasks.niah.sentences import caption, near_notes, not_drawn, of_controls
from retgen.evaluation.tasks.task import SystemResult, by_label
from retgen.results.page import Fold, Section
from retgen.results.panel import Panel
from retgen.results.pictures import CHANCE, HeatMap, Level, Line, Lines
from retgen.search.base import slug

_CURVES = 6  # rows in a picture
_MAPS = 3  # rows with a picture by place
_TOKENS = "tokens of the haystack"
_AUC = "AUC within the question"


def sections(results: Sequence[SystemResult[SystemCells]]) -> Iterable[Section]:
    """The sections of the page."""
    rows = rows_of(by_label(results))
    scored = [row for row in rows if any(c.measure == "auc" for c in row.cells.values)]
    if scored:
        yield _by_length(scored)
    yield _against_controls(rows, scored)
    if panels := side_by_side(scored):
        yield Section(
            "Variants of haystacks side by side",
            [
                "A row a variant: the AUC, and how far it is from that of the first variant, "
                "paired over questions."
            ],
            panels,
            notes=near_notes(scored),
        )
    if compared := differences(scored):
        yield Section(
            DIFFERENCES,
            ["Differences of a question weigh the same."],
            [compared],
        )
    if scored:
        yield _places(scored)
        yield from _wordings(scored)
        yield _orders_and_categories(scored)


def _by_length(rows: Sequence[HaystackRow]) -> Section:
    questions = max(len(row.cells.questions) for row in rows)
    means = f"Means over {questions} questions, with 95% intervals over questions."
    if warning := too_few(questions):
        means = f"Means over questions; {warning}."
    cut = any(reach.truncated for row in rows for reach in row.cells.reach.values())
    notes = [
        "* and dots: not every haystack is read whole. What a system would score if it read on is "
        "not measured",
    ] * cut
    notes += [
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
        [one for one in (by_length(rows, "auc"), reading(rows)) if one is not None],
        [_curves(rows, "auc", _AUC, [CHANCE])],
        notes,
    )


def _chunked(row: HaystackRow) -> bool:
    return row.name.split(" · ")[0].endswith(CHUNKS)


def _against_controls(rows: Sequence[HaystackRow], scored: Sequence[HaystackRow]) -> Section:
    both = has_values(rows, "ratio, neutral")
    best = "ratio, neutral" if both else "ratio"
    pictures = [_curves(rows, best, "comparative ratio", [CHANCE])]
    panels: list[Panel] = [by_length(rows, best)]
    folded = []
    if scored:
        pictures.append(_curves(scored, "normalised", "normalised similarity", []))
        panels.append(by_length(scored, best.replace("ratio", "gain")))
        other = ("ratio", "gain") if both else ()
        further = (*other, "effect", "similarity", "normalised")
        more = [by_length(scored, name) for name in further if has_values(scored, name)]
        folded = [Fold(one.title, [one], printed=True) for one in more]
    text = (
        "The comparative ratio is the share of haystacks that score above their control, a tie "
        "half; the separation how far the scores of the two lie apart. Scores of different systems "
        "are not comparable with each other."
    )
    return Section(
        "Similarity, comparative ratio, separation",
        [text, of_controls(rows)],
        panels,
        pictures,
        folded=folded,
    )


def _curves(rows: Sequence[HaystackRow], measure: str, y: str, levels: Sequence[Level]) -> Lines:
    shown = [row for row in plainest_first(rows) if curve(row, measure).x]
    return Lines(
        file=f"haystacks_{measure.split(',')[0]}",
        title=f"{y[0].upper()}{y[1:]} by length",
        curves=[curve(row, measure) for row in shown[:_CURVES]],
        levels=levels,
        x=_TOKENS,
        y=y,
        log_x=True,
        caption=caption(shown[:_CURVES], shown[_CURVES:], ", with the share truncated"),
    )


def curve(row: HaystackRow, measure: str, name: str = "") -> Line:
    """A measure by length, dotted where haystacks are truncated."""
    points = zip(row.lengths, row.course(measure), strict=True)
    known = [(length, one) for length, one in points if one.value is not None]
    cut = [row.cells.reach[row.variant, length].truncated for length, _ in known]
    beside = [f"{share:.0%} cut" if share else "" for share in cut]
    line = Line.of(name or row.name, ((float(n), one) for n, one in known))
    return line._replace(beside=beside)


def plainest_first(rows: Sequence[HaystackRow]) -> list[HaystackRow]:
    """The first make of every system, then the second: where not all are drawn, all systems are."""
    return sorted(rows, key=lambda row: row.cells.variants.index(row.variant))


def _places(rows: Sequence[HaystackRow]) -> Section:
    rows = plainest_first(rows)
    pictures = []
    for row in rows[:_MAPS]:
        places = sorted(
            {int(p) for n in row.lengths for p in row.cells.parts("auc by place", row.variant, n)}
        )
        pictures.append(
            HeatMap(
                file=f"haystacks_places_{slug(row.name)}",
                title=f"AUC by place of the needle: {row.name}",
                columns=_marked(row),
                rows=[str(place + 1) for place in places],
                values=[
                    [row.cells.mean(row.cell("auc by place", n, str(p))) for n in row.lengths]
                    for p in places
                ],
                x=_TOKENS,
                y="place, from the beginning",
                caption="Place 1 is the beginning, the last the end; *: not read whole.",
            )
        )
    return Section(
        "The place of the needle",
        [
            "The AUC by place, and the correlation and slope of the score with the needle's depth, "
            "within the question (slope: the change of the score from first to last place)."
        ],
        pictures=pictures,
        notes=[not_drawn(rows[_MAPS:], "eval.json")] * (len(rows) > _MAPS),
        folded=[Fold(row.name, [by_place(row)]) for row in rows],
    )


def _marked(row: HaystackRow) -> list[str]:
    """Lengths, with a star where not every haystack is read whole."""
    return [f"{n:,}{row.mark(n)}" for n in row.lengths]


def _wordings(rows: Sequence[HaystackRow]) -> Iterable[Section]:
    each = wordings(rows)
    if each:
        # every system with and without terms, before its chunks, other variants and more terms
        queries = list(dict.fromkeys(row.query for row in each))
        drawn = plainest_first(sorted(each, key=lambda row: queries.index(row.query)))
        drawn.sort(key=_chunked)
        title = "AUC by terms added to the question"
        yield Section(
            "Query expansion",
            ["The AUC where related terms are added to the question, and where none are."],
            [by_length(each, "auc", title)],
            [
                Lines(
                    file="haystacks_expansion",
                    title=title,
                    levels=[CHANCE],
                    curves=[curve(row, "auc") for row in drawn[:_CURVES]],
                    x=_TOKENS,
                    y=_AUC,
                    log_x=True,
                    caption=caption(drawn[:_CURVES], drawn[_CURVES:]),
                )
            ],
        )


def _orders_and_categories(rows: Sequence[HaystackRow]) -> Section:
    folded = [Fold(f"By order of the needle: {row.name}", [by_order(row)]) for row in rows]
    folded += [Fold(f"By category: {row.name}", [by_category(row)]) for row in rows]
    return Section(
        "Order and category",
        [
            "A category holds a few questions, so it has no interval: what differs between "
            "categories may be a single question.",
        ],
        pictures=[_categories(rows[0], others=len(rows) > 1)],
        folded=folded,
    )


def _categories(row: HaystackRow, *, others: bool) -> HeatMap:
    cells = row.cells
    names = list(dict.fromkeys(cells.categories))
    text = "In brackets the number of questions; *: not read whole."
    return HeatMap(
        file="haystacks_categories",
        title=f"AUC by category: {row.name}",
        x=_TOKENS,
        rows=[f"{one} ({cells.categories.count(one)})" for one in names],
        columns=_marked(row),
        values=[[cells.mean(row.cell("auc", n), one) for n in row.lengths] for one in names],
        caption=f"{text} All other rows stand in the folds below." if others else text,
    )
