"""What `gen eval` shows of haystacks: sections, a row a system and variant, a column a length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retgen.evaluation.tasks.niah.haystacks import QUESTION, HaystackVariant, terms, too_few
from retgen.evaluation.tasks.niah.measures import (
    AUC,
    CONTROLS,
    CUT,
    GAIN,
    HAYSTACKS,
    MEASURES,
    NORMALISED,
    OF_PLACE,
    RATIO,
    SEEN,
    TRUNCATED,
    broken_down,
)
from retgen.evaluation.tasks.task import SystemResult, about_each, by_label
from retgen.results.measurements import Measure
from retgen.results.numbers import listed
from retgen.results.page import Fold, Section
from retgen.results.panel import Column, Panel, Slice, columns_by, pivot
from retgen.results.pictures import CHANCE, HeatMap, Line, Lines
from retgen.results.rows import Results
from retgen.search.base import slug

_CURVES = 6  # rows in a picture
_MAPS = 3  # rows with a picture by place
_TOKENS = "tokens of the haystack"
_NAMES = {"auc": "AUC within the question", "ratio": "comparative ratio"}
# what stands instead of the needle in a control, by its kind
_CONTROL = {"none": "its filler without needle", "neutral": "its filler with a neutral sentence"}


@dataclass(frozen=True)
class HaystackRow(Slice):
    """A system on haystacks of one variant, under one wording of the questions."""

    system: str = ""

    @property
    def variant(self) -> HaystackVariant:
        result: HaystackVariant = self.where["variant"]
        return result

    @property
    def lengths(self) -> list[int]:
        """In rising order."""
        return lengths_of(self.results, self.variant)

    def cut(self, length: int) -> float | None:
        """The share of the haystacks of a length that are not read whole; None: not known."""
        return self.results.value(TRUNCATED, variant=self.variant, length=length)

    @property
    def is_cut(self) -> bool:
        """Whether not all haystacks are read whole, as far as is known."""
        return any(map(self.cut, self.lengths))

    def note(self, at: Mapping[str, Any]) -> str:
        """A star where not every haystack of a length is read whole."""
        return "*" if self.cut(at["length"]) else ""


def lengths_of(results: Results, variant: HaystackVariant) -> list[int]:
    """The lengths of haystacks of a variant, in rising order."""
    return sorted(results.levels("length", HAYSTACKS.name, variant=variant))


def kinds_of(results: Results) -> list[str]:
    """What stands in controls instead of the needle, the main kind first."""
    return results.levels("control", CONTROLS.name)


def rows_of(systems: Mapping[str, Results]) -> list[HaystackRow]:
    """Every system on every variant of haystacks."""
    return [
        HaystackRow(
            " · ".join([label, *_variant_words(results, variant)]),
            results,
            {"variant": variant, "query": QUESTION},
            system=label,
        )
        for label, results in systems.items()
        for variant in results.levels("variant", HAYSTACKS.name)
    ]


def _variant_words(results: Results, variant: HaystackVariant) -> list[str]:
    """What a variant has that not all variants have, in words."""

    def words(one: HaystackVariant) -> tuple[str, ...]:
        count = f"{one.distractors} near-answer{'s' * (one.distractors != 1)}"
        leaks = "filtered" if one.filtered else "unfiltered"
        return one.needle.replace("_", "-"), one.filler, leaks, count

    every = [words(one) for one in results.levels("variant", HAYSTACKS.name)]
    own = words(variant)
    return [text for i, text in enumerate(own) if len({other[i] for other in every}) > 1]


def sections(results: Sequence[SystemResult]) -> Iterable[Section]:
    """The sections of the page."""
    rows = rows_of(by_label(results))
    yield _by_length(rows)
    yield _against_controls(rows)
    if compared := _differences(rows):
        yield Section(
            "Differences, paired over questions, with 95% intervals",
            ["Each system less the first one, and each variant of the haystacks less the first."],
            compared,
        )
    yield _places(rows)
    yield from _wordings(rows)
    yield _orders_and_categories(rows)


def _panel(
    rows: Sequence[HaystackRow],
    measure: Measure,
    title: str = "",
    by: Sequence[str] = (),
    first: Sequence[Column] = (),
    **style: Any,
) -> Panel:
    """A measure by length."""
    if "{}" in measure.title and not title:
        kind = measure.name.partition(", ")[2]
        kinds = sorted({kind or kinds_of(row.results)[0] for row in rows})
        title = measure.title.format(" or ".join(_CONTROL[one] for one in kinds))
    lengths = sorted({length for row in rows for length in row.lengths})
    return pivot(
        title or measure.title,
        rows,
        [*first, *columns_by(measure, "length", lengths)],
        by,
        heads=[measure.head or "system", *by],
        chance="chance" if measure.chance is not None else "",
        best=False,
        **style,
    )


def _by_length(rows: Sequence[HaystackRow]) -> Section:
    questions = max(row.results.units for row in rows)
    means = f"Means over {questions} questions, with 95% intervals over questions."
    if warning := too_few(questions):
        means = f"Means over questions; {warning}."
    panels, notes = [_panel(rows, AUC)], []
    # of what is read, all wordings of the questions are alike
    cut = [replace(row, where={"variant": row.variant}) for row in rows if row.is_cut]
    if cut:
        panels += [_panel(cut, one, interval="") for one in (TRUNCATED, SEEN)]
        notes.append(
            "* and dots: not every haystack is read whole. What a system would score if it read on "
            "is not measured"
        )
    return Section(
        "Needles in haystacks: by length",
        [
            "The AUC within the question: how often a haystack scores above a text of the same "
            f"length without needle (the controls of all questions), a tie half; 0.5 is chance. "
            f"{means}",
        ],
        panels,
        [_curves(rows, AUC, _NAMES["auc"])],
        notes,
    )


def _against_controls(rows: Sequence[HaystackRow]) -> Section:
    """The closest controls first; every further measure stands in a fold."""
    closest = "neutral" if any(r.results.select(f"{RATIO.name}, neutral") for r in rows) else ""
    ratio, gain = (one.of_kind(closest, "") for one in (RATIO, GAIN))
    further = [
        _panel(rows, one)
        for one in MEASURES
        if one.title
        and one not in (AUC, ratio, gain)
        and any(row.results.select(one.name) for row in rows)
    ]
    text = (
        "The comparative ratio is the share of haystacks that score above their control, a tie "
        "half; the separation how far the scores of the two lie apart. Scores of different systems "
        "are not comparable with each other. A control is made of the same filler; its last "
        "sentences are others, which make up for the tokens of a needle that is not there, or is "
        "longer or shorter."
    )
    neutral = (
        "A neutral sentence is as long as the needle, so these controls are the closer ones and "
        "stand first; the others are in the folds."
    )
    return Section(
        "Similarity, comparative ratio, separation",
        [text, neutral] if closest else [text],
        [_panel(rows, ratio), _panel(rows, gain)],
        [
            _curves(rows, ratio, _NAMES["ratio"]),
            _curves(rows, NORMALISED, "normalised similarity"),
        ],
        folded=[Fold(one.title, [one], printed=True) for one in further],
    )


def _curves(
    rows: Iterable[HaystackRow], measure: Measure, y: str, file: str = "", title: str = ""
) -> Lines:
    """A curve a row, dotted where haystacks are truncated; what has no room is named."""
    each = [(row, _curve(row, measure)) for row in _plainest_first(rows)]
    shown = [(row, line) for row, line in each if line.x]
    drawn, left = shown[:_CURVES], [row.name for row, _ in shown[_CURVES:]]
    parts = ["Bands are 95% intervals."] * (not all(row.results.few for row, _ in drawn))
    if any(row.is_cut for row, _ in drawn):
        parts.append("Dots: not read whole, with the share truncated.")
    return Lines(
        file=file or f"haystacks_{measure.name.split(',')[0]}",
        title=title or f"{y[0].upper()}{y[1:]} by length",
        curves=[line for _, line in drawn],
        levels=[CHANCE] if measure.chance == CHANCE.y else [],
        x=_TOKENS,
        y=y,
        log_x=True,
        caption=" ".join([*parts, *_not_drawn(left)]),
    )


def _curve(row: HaystackRow, measure: Measure) -> Line:
    values = zip(row.lengths, row.series(measure, "length", row.lengths), strict=True)
    known = [(n, one) for n, one in values if one and one.value is not None]
    beside = [f"{share:.0%} cut" if (share := row.cut(n)) else "" for n, _ in known]
    return Line.of(row.name, ((float(n), one) for n, one in known))._replace(beside=beside)


def _not_drawn(names: Sequence[str]) -> list[str]:
    """Which rows are not drawn."""
    listed_names = listed(names).replace(", ", "; ")
    return [f"Not drawn, for want of room: {listed_names}."] if names else []


def _plainest_first(rows: Iterable[HaystackRow]) -> list[HaystackRow]:
    """The first make of every system, then the second: where not all are drawn, all systems are."""
    return sorted(
        rows, key=lambda row: row.results.levels("variant", HAYSTACKS.name).index(row.variant)
    )


def _differences(rows: Sequence[HaystackRow]) -> list[Panel]:
    """Each system less the first on the same haystacks, and each variant less the system's first,
    paired over questions.
    """
    compared: list[HaystackRow] = []
    for row in rows:
        same = [r for r in rows if (r.variant, r.results.names) == (row.variant, row.results.names)]
        if same[0] is not row:
            less = row.results.minus(same[0].results)
            compared.append(replace(row, name=f"{row.name} less {same[0].system}", results=less))
        first = row.results.levels("variant", HAYSTACKS.name)[0]
        if first != row.variant:
            words = " · ".join(_variant_words(row.results, first))
            compared.append(replace(row, name=f"{row.name} less {words}", less={"variant": first}))
    style: dict[str, Any] = {"interval": "inside", "terminal_interval": "inside"}
    changes = [replace(one, signed=True, chance=None) for one in (AUC, RATIO)]
    return [
        _panel(compared, one, f"Difference in {_NAMES[one.name]}", **style)
        for one in (changes if compared else ())
    ]


def _places(rows: Sequence[HaystackRow]) -> Section:
    place = broken_down("place")["auc"]
    rows = _plainest_first(rows)
    return Section(
        "The place of the needle",
        [
            "The AUC by place, and the correlation and slope of the score with the needle's depth, "
            "within the question (slope: the change of the score from first to last place)."
        ],
        pictures=[
            _map(
                row,
                place,
                "place",
                file=f"haystacks_places_{slug(row.name)}",
                title=f"AUC by place of the needle: {row.name}",
                y="place, from the beginning",
                caption="Place 1 is the beginning, the last the end; *: not read whole.",
            )
            for row in rows[:_MAPS]
        ],
        notes=_not_drawn([row.name for row in rows[_MAPS:]]),
        folded=[Fold(one.title, [_panel(rows, one)]) for one in OF_PLACE],
    )


def _map(row: HaystackRow, measure: Measure, factor: str, **picture: str) -> HeatMap:
    """The levels of a factor by length."""
    at = dict(row.where)
    levels = names = row.results.levels(factor, measure.name, **at)
    if factor == "place":
        levels.sort(key=int)
        names = [str(int(level) + 1) for level in levels]
    return HeatMap(
        rows=names,
        columns=[f"{n:,}{row.note({'length': n})}" for n in row.lengths],
        values=[
            [
                row.results.value(measure, **{**row.where, factor: one}, length=n)
                for n in row.lengths
            ]
            for one in levels
        ],
        x=_TOKENS,
        **picture,
    )


def _wordings(rows: Sequence[HaystackRow]) -> Iterable[Section]:
    """Every system under every wording of the questions; nothing where there is but one."""
    each = []
    for row in rows:
        queries = row.results.levels("query", AUC.name)
        for query in queries if len(queries) > 1 else ():
            cut = row.results.value(CUT, query=query)
            more = f", {cut:.0%} of the queries cut" if cut else ""
            name = f"{row.name} · {terms(query) or 'no'} terms{more}"
            each.append(replace(row, name=name, where={**row.where, "query": query}))
    if each:
        # every system with and without terms, before other variants and more terms
        queries = list(dict.fromkeys(row.where["query"] for row in each))
        each.sort(key=lambda row: queries.index(row.where["query"]))
        title = "AUC by terms added to the question"
        yield Section(
            "Query expansion",
            ["The AUC where related terms are added to the question, and where none are."],
            [_panel(each, AUC, title)],
            [_curves(each, AUC, _NAMES["auc"], "haystacks_expansion", title)],
        )


def _orders_and_categories(rows: Sequence[HaystackRow]) -> Section:
    folded = []
    for name, measure in broken_down("order").items():
        if name != "similarity":
            title = f"{measure.head}, by order of the needle"
            panel = _panel(rows, measure, title, ["order"], interval="inside")
            folded.append(Fold(title, [panel]))
    by_category = broken_down("category")["auc"]
    count = Column("questions", by_category, {"length": rows[0].lengths[0]}, count=True)
    title = "AUC by category"
    panel = _panel(rows, by_category, title, ["category"], [count], interval="")
    return Section(
        "Order and category",
        [
            "A category holds a few questions, so it has no interval: what differs between "
            "categories may be a single question.",
        ],
        pictures=[
            _map(
                rows[0],
                by_category,
                "category",
                file="haystacks_categories",
                title=f"AUC by category: {rows[0].name}",
                caption="*: not read whole." + " Others are in the fold." * (len(rows) > 1),
            )
        ],
        folded=[*folded, Fold(title, [panel])],
    )


# --- sentences ------------------------------------------------------------------------------------


def sentences(systems: Mapping[str, Results]) -> list[str]:
    """The summary of a page, of systems by their labels, on the first variant of haystacks."""
    # of the data set with the fewest questions
    warning = too_few(min(results.units for results in systems.values()))
    rows = {row.system: row for row in reversed(rows_of(systems))}  # the first variant of each
    found = about_each(systems, lambda label, _: (_course(rows[label]), _unread(rows[label])))
    return [sentence for sentence in ([f"{warning}."] if warning else []) + found if sentence]


def _course(row: HaystackRow) -> str:
    """The AUC at the first and last length that is read whole."""
    results = row.results
    whole = [{**row.where, "length": n} for n in row.lengths if not row.cut(n)]
    found = [(at, one) for at in whole if (one := results.mean(AUC, **at)) is not None]
    if not found:
        return ""
    (first, start), (last, end) = found[0], found[-1]
    text = f"{row.name}: the {_NAMES['auc']} is {AUC.spanned(start)}"
    text += f" at {first['length']:,} tokens"
    if len(found) == 1:
        return f"{text}, the only length that it reads whole."
    final = f"{AUC.spanned(end)} at {last['length']:,}"
    change = results.difference(AUC, first, last)
    if change is None or results.few:
        return f"{text}, and {final}."
    way = "falls" if change.above(0) else "rises" if change.below(0) else "does not clearly change"
    chance = "" if end.above(AUC.chance or 0.0) else ", not clearly above chance"
    return f"{text} and {way}: {final}{chance}."


def _unread(row: HaystackRow) -> str:
    """What truncation hides beyond the lengths that are read whole."""
    if not row.results.select(TRUNCATED.name):
        return (
            f"How much of a haystack {row.name} reads is not known: what falls may be truncation."
        )
    cut = [n for n in row.lengths if row.cut(n)]
    if not cut:
        return ""
    seen = row.results.value(SEEN, variant=row.variant, length=cut[-1]) or 0.0
    return (
        f"From {cut[0]:,} tokens on {row.name} does not read haystacks whole: at {cut[-1]:,} the "
        f"needle is in what it reads in {seen:.0%}, so a fall there is one of what is cut off."
    )
