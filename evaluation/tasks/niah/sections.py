"""What `gen eval` shows of haystacks: sections, a row a system and variant, a column a length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from retgen.evaluation.tasks.niah.compare import too_few
from retgen.evaluation.tasks.niah.haystacks import QUESTION, HaystackVariant, terms
from retgen.evaluation.tasks.niah.measures import (
    AUC,
    CUT,
    DIFFERS,
    GAIN,
    MEASURES,
    NEAR,
    NORMALISED,
    OF_PLACE,
    RATIO,
    SEEN,
    TRUNCATED,
    HaystackMeasure,
    named,
)
from retgen.evaluation.tasks.task import SystemResult, about_each, by_label
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Fold, Section
from retgen.results.panel import Column, Panel, columns_by
from retgen.results.pictures import CHANCE, HeatMap, Level, Line, Lines
from retgen.results.rows import Results, level_text
from retgen.search.base import slug

_CURVES = 6  # rows in a picture
_MAPS = 3  # rows with a picture by place
_LISTED = 6  # rows that are named as not drawn
_NEAR = 0.25  # share of near-answers in the words from which on a haystack is mostly these
_TOKENS = "tokens of the haystack"
_NAMES = {"auc": "AUC within the question", "ratio": "comparative ratio"}
# what stands instead of the needle in a control, by its kind
_CONTROL = {"none": "its filler without needle", "neutral": "its filler with a neutral sentence"}
_CHANGE = Measure("difference", 3, signed=True)
_DIFFERENCES = "Differences, paired over questions, with 95% intervals"


class HaystackRow(NamedTuple):
    """A system on haystacks of one variant, under one wording of the questions."""

    name: str
    system: str
    results: Results
    variant: HaystackVariant
    query: str = QUESTION

    @property
    def lengths(self) -> list[int]:
        """In rising order."""
        return lengths_of(self.results, self.variant)

    @property
    def at(self) -> dict[str, Any]:
        """The levels of its rows."""
        return {"variant": self.variant, "query": self.query}

    def cut(self, length: int) -> float | None:
        """The share of the haystacks of a length that are not read whole; None: not known."""
        return self.results.value(TRUNCATED, variant=self.variant, length=length)

    def mark(self, length: int) -> str:
        """A star where not every haystack of a length is read whole."""
        return "*" if self.cut(length) else ""

    def rows(
        self,
        measure: Measure,
        by: Sequence[str] = (),
        *,
        star: bool = True,
        more: Mapping[str, str] | None = None,
    ) -> list[Measurement]:
        """One measure at every length."""
        return self.results.rows(
            self.name,
            measure,
            (*by, "length"),
            note=(lambda at: self.mark(at["length"])) if star else None,
            more=more,
            **self.at,
        )

    def without(self, measure: Measure) -> Measurement:
        """A row of a measure that has no value."""
        return Measurement(self.name, measure.name, {"length": level_text(self.lengths[0])}, None)


def lengths_of(results: Results, variant: HaystackVariant) -> list[int]:
    """The lengths of haystacks of a variant, in rising order."""
    return sorted(results.levels("length", "haystacks", variant=variant))


def kinds_of(results: Results) -> list[str]:
    """What stands in controls instead of the needle, the main kind first."""
    return results.levels("control", DIFFERS.name)


def rows_of(systems: Mapping[str, Results]) -> list[HaystackRow]:
    """Every system on every variant of haystacks."""
    return [
        HaystackRow(
            " · ".join([label, *_variant_words(results, variant).values()]), label, results, variant
        )
        for label, results in systems.items()
        for variant in results.levels("variant", "haystacks")
    ]


def _variant_words(results: Results, variant: HaystackVariant) -> dict[str, str]:
    """What a variant has that not all variants have, in words."""
    each = [_words(one) for one in results.levels("variant", "haystacks")]
    return {
        what: text
        for what, text in _words(variant).items()
        if len({words[what] for words in each}) > 1
    }


def _words(variant: HaystackVariant) -> dict[str, str]:
    filler, filtered, number = variant.around
    return {
        "needle": variant.needle.replace("_", "-"),
        "filler": filler,
        "lexical-leak filter": "filtered" if filtered else "unfiltered",
        "near-answers": f"{number} near-answer{'' if number == 1 else 's'}",
    }


def sections(results: Sequence[SystemResult]) -> Iterable[Section]:
    """The sections of the page."""
    rows = rows_of(by_label(results))
    scored = [row for row in rows if row.results.select(AUC.name)]
    if scored:
        yield _by_length(scored)
    yield _against_controls(rows, scored)
    if compared := _differences(scored):
        text = (
            "Each system less the first one, and each variant of the haystacks less the first one."
        )
        yield Section(_DIFFERENCES, [text], [compared])
    if scored:
        yield _places(scored)
        yield from _wordings(scored)
        yield _orders_and_categories(scored)


def _columns(rows: Sequence[HaystackRow], measure: Measure) -> list[Column]:
    lengths = sorted({length for row in rows for length in row.lengths})
    return columns_by(measure, "length", map(level_text, lengths))


def _panel(rows: Sequence[HaystackRow], measure: HaystackMeasure, title: str = "") -> Panel:
    """A measure by length."""
    kind = measure.name.partition(", ")[2]
    kinds = {kind or kinds_of(row.results)[0] for row in rows}
    return Panel(
        title or measure.title.format(" or ".join(_CONTROL[one] for one in sorted(kinds))),
        [one for row in rows for one in row.rows(measure) or [row.without(measure)]],
        _columns(rows, measure),
        heads=[measure.head],
        chance="chance" if measure.chance is not None else "",
        best=False,
    )


def _by_length(rows: Sequence[HaystackRow]) -> Section:
    questions = max(row.results.units for row in rows)
    means = f"Means over {questions} questions, with 95% intervals over questions."
    if warning := too_few(questions):
        means = f"Means over questions; {warning}."
    read = [
        one
        for row in rows
        if any(map(row.mark, row.lengths))
        for measure in (TRUNCATED, SEEN)
        for one in row.results.rows(
            row.name, measure, ("length",), more={"of": measure.name}, variant=row.variant
        )
    ]
    panels = [_panel(rows, AUC)]
    notes = []
    if read:
        share = named(TRUNCATED, "share")
        panels.append(
            Panel(
                "What is read of the haystacks: how many are truncated, and whose needle is read",
                [one._replace(measure="share", low=None, high=None) for one in read],
                _columns(rows, share),
                rows=["system", "of"],
                heads=["system", ""],
                missing="",
                best=False,
            )
        )
        notes.append(
            "* and dots: not every haystack is read whole. What a system would score if it read on "
            "is not measured"
        )
    notes += _near_notes(rows)
    return Section(
        "Needles in haystacks: by length",
        [
            "The AUC within the question: how often a haystack scores above a text of the same "
            f"length without needle (the controls of all questions), a tie half; 0.5 is chance. "
            f"{means}",
        ],
        panels,
        [_curves(_plainest_first(rows), AUC, _NAMES["auc"], [CHANCE])],
        notes,
    )


def _against_controls(rows: Sequence[HaystackRow], scored: Sequence[HaystackRow]) -> Section:
    """The closest controls first; every further measure stands in a fold."""
    kinds = list(dict.fromkeys(kind for row in rows for kind in kinds_of(row.results)))
    closest = "neutral" if any(r.results.select(f"{RATIO.name}, neutral") for r in rows) else ""
    ratio, gain = (one.of_kind(closest, "") for one in (RATIO, GAIN))
    plain = _plainest_first(rows)
    pictures = [_curves(plain, ratio, _NAMES["ratio"], [CHANCE])]
    panels, folded = [_panel(rows, ratio)], []
    if scored:
        pictures.append(_curves(_plainest_first(scored), NORMALISED, "normalised similarity", []))
        panels.append(_panel(scored, gain))
        for measure in MEASURES:
            shown = measure.title and measure not in (AUC, ratio, gain)
            if shown and any(row.results.select(measure.name) for row in scored):
                one = _panel(scored, measure)
                folded.append(Fold(one.title, [one], printed=True))
    text = (
        "The comparative ratio is the share of haystacks that score above their control, a tie "
        "half; the separation how far the scores of the two lie apart. Scores of different systems "
        "are not comparable with each other."
    )
    return Section(
        "Similarity, comparative ratio, separation",
        [text, _of_controls(rows, kinds)],
        panels,
        pictures,
        folded=folded,
    )


def _curves(
    rows: Sequence[HaystackRow],
    measure: Measure,
    y: str,
    levels: Sequence[Level],
    file: str = "",
    title: str = "",
) -> Lines:
    """A curve a row, dotted where haystacks are truncated; what has no room is named."""
    curves = [_curve(row, measure) for row in rows]
    shown = [(row, line) for row, line in zip(rows, curves, strict=True) if line.x]
    drawn, left = shown[:_CURVES], [row for row, _ in shown[_CURVES:]]
    parts = ["bands are 95% intervals"] * (not all(row.results.few for row, _ in drawn))
    if any(row.cut(n) for row, _ in drawn for n in row.lengths):
        parts.append("dots: not read whole" + ", with the share truncated" * (not file))
    text = "; ".join(parts)
    text = text[:1].upper() + text[1:] + "." * bool(text)
    return Lines(
        file=file or f"haystacks_{measure.name.split(',')[0]}",
        title=title or f"{y[0].upper()}{y[1:]} by length",
        curves=[line for _, line in drawn],
        levels=levels,
        x=_TOKENS,
        y=y,
        log_x=True,
        caption=" ".join(filter(None, [text, _not_drawn(left)])),
    )


def _curve(row: HaystackRow, measure: Measure) -> Line:
    known = [
        (n, one)
        for n in row.lengths
        for one in row.results.rows(row.name, measure, ("length",), **{**row.at, "length": n})
    ]
    beside = [f"{share:.0%} cut" if (share := row.cut(n)) else "" for n, _ in known]
    return Line.of(row.name, ((float(n), one) for n, one in known))._replace(beside=beside)


def _not_drawn(rows: Sequence[HaystackRow], where: str = "the table") -> str:
    """Which rows are not drawn; "" where all are."""
    if not rows:
        return ""
    names = [row.name for row in rows[:_LISTED]]
    more = f" and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
    return f"Not drawn, for want of room: {'; '.join(names)}{more}. Their numbers are in {where}."


def _plainest_first(rows: Sequence[HaystackRow]) -> list[HaystackRow]:
    """The first make of every system, then the second: where not all are drawn, all systems are."""
    return sorted(
        rows, key=lambda row: row.results.levels("variant", "haystacks").index(row.variant)
    )


def _near_notes(rows: Sequence[HaystackRow]) -> list[str]:
    """A warning where near-answers are much of a haystack."""
    shares = {
        (row.variant.around.distractors, length): min(share, 1.0)
        for row in rows
        for length in row.lengths
        if (share := row.results.value(NEAR, variant=row.variant, length=length) or 0.0) >= _NEAR
    }
    if not shares:
        return []
    each = [
        f"{share:.0%} of the words ({number} of them, {length:,} tokens)"
        for (number, length), share in sorted(shares.items())
    ]
    return [
        f"near-answers make up about {', '.join(each)}: such a haystack is a handful of candidates "
        "rather than prose, and what is measured there is the choice among them"
    ]


def _of_controls(rows: Sequence[HaystackRow], kinds: Sequence[str]) -> str:
    """What the controls of these data sets are, and how far they are the same text."""
    parts = []
    for kind in kinds:
        by = ("variant", "length")
        shares = [
            one.value or 0.0
            for row in rows
            for one in row.results.rows("", DIFFERS, by, control=kind)
        ]
        parts.append(f"{_CONTROL[kind]} differs from it in {min(shares):.0%} to {max(shares):.0%}")
    more = (
        " The neutral sentence is as long as the needle, so these controls are the closer ones and "
        "stand first; the others are in the folds."
        if len(kinds) > 1
        else ""
    )
    return (
        "A control is made of the same filler; its last sentences are others, which make up for "
        "the tokens of a needle that is not there, or is longer or shorter. By words around the "
        f"needle {', '.join(parts)}, the less the longer the haystack is.{more}"
    )


def _differences(rows: Sequence[HaystackRow]) -> Panel | None:
    """Each system less the first on the same haystacks, and the AUC of each variant less that of
    the system's first, both paired over questions.
    """
    measured: list[Measurement] = []
    for row in rows:
        same = [r for r in rows if (r.variant, r.results.names) == (row.variant, row.results.names)]
        if same[0] is not row:
            less = row.results.minus(same[0].results)
            for measure in (AUC, RATIO):
                more = {"of": measure.head, "less": same[0].system}
                measured += less.rows(row.name, measure, ("length",), more=more, **row.at)
        first = {**row.at, "variant": row.results.levels("variant", "haystacks")[0]}
        for n in row.lengths if first != row.at else ():
            change = row.results.difference(AUC, {**row.at, "length": n}, {**first, "length": n})
            variant = " · ".join(_variant_words(row.results, first["variant"]).values())
            at = {"length": level_text(n), "of": AUC.head, "less": variant}
            measured.append(Measurement.of(row.name, AUC.name, change, at))
    if not measured:
        return None
    return Panel(
        _DIFFERENCES,
        [one._replace(measure=_CHANGE.name) for one in measured],
        _columns(rows, _CHANGE),
        ["system", "less", "of"],
        ["system", "less", "measure"],
        interval="inside",
        terminal_interval="inside",
        best=False,
    )


def _places(rows: Sequence[HaystackRow]) -> Section:
    rows = _plainest_first(rows)
    place = named(AUC, "auc by place")
    folded = []
    for row in rows:
        measured = [one for measure in OF_PLACE for one in row.rows(measure, star=False)]
        columns = [
            Column(head, one) for head, one in zip(("Pearson", "slope"), OF_PLACE, strict=True)
        ]
        panel = Panel("", measured, columns, ["length"], ["tokens"], interval="inside", best=False)
        folded.append(Fold(row.name, [panel]))
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
        notes=[_not_drawn(rows[_MAPS:], "eval.json")] * (len(rows) > _MAPS),
        folded=folded,
    )


def _map(row: HaystackRow, measure: Measure, factor: str, **picture: str) -> HeatMap:
    """The levels of a factor by length."""
    levels = row.results.levels(factor, measure.name, **row.at)
    if factor == "place":
        levels.sort(key=int)
        names = [str(int(level) + 1) for level in levels]
    else:
        names = [f"{one} ({_questions(row, one)})" for one in levels]
    return HeatMap(
        rows=names,
        columns=[f"{n:,}{row.mark(n)}" for n in row.lengths],
        values=[
            [row.results.value(measure, **{**row.at, factor: one}, length=n) for n in row.lengths]
            for one in levels
        ],
        x=_TOKENS,
        **picture,
    )


def _questions(row: HaystackRow, category: str) -> int:
    """How many questions a category has."""
    at = {**row.at, "category": category, "length": row.lengths[0]}
    return row.results.count("auc by category", **at)


def _wordings(rows: Sequence[HaystackRow]) -> Iterable[Section]:
    """Every system under every wording of the questions; nothing where there is but one."""
    each = []
    for row in rows:
        queries = row.results.levels("query", AUC.name)
        for query in queries if len(queries) > 1 else ():
            cut = row.results.value(CUT, query=query)
            more = f", {cut:.0%} of the queries cut" if cut else ""
            name = f"{row.name} · {terms(query) or 'no'} terms{more}"
            each.append(row._replace(name=name, query=query))
    if each:
        # every system with and without terms, before other variants and more terms
        queries = list(dict.fromkeys(row.query for row in each))
        drawn = _plainest_first(sorted(each, key=lambda row: queries.index(row.query)))
        title = "AUC by terms added to the question"
        yield Section(
            "Query expansion",
            ["The AUC where related terms are added to the question, and where none are."],
            [_panel(each, AUC, title)],
            [_curves(drawn, AUC, _NAMES["auc"], [CHANCE], "haystacks_expansion", title)],
        )


def _orders_and_categories(rows: Sequence[HaystackRow]) -> Section:
    folded = []
    value = Measure("value", 3)
    for row in rows:
        measured = [
            one._replace(measure="value")
            for measure in MEASURES
            if "order" in measure.by and measure.name != "similarity"
            for one in row.rows(
                named(measure, f"{measure.name} by order"),
                ("order",),
                star=False,
                more={"of": measure.name},
            )
        ]
        columns, heads = _columns([row], value), ["measure", "order"]
        panel = Panel("", measured, columns, ["of", "order"], heads, interval="inside", best=False)
        folded.append(Fold(f"By order of the needle: {row.name}", [panel]))
    by_category, count = named(AUC, "auc by category"), Measure("questions", 0)
    for row in rows:
        names = row.results.levels("category", by_category.name)
        measured = [
            Measurement(row.name, count.name, {"category": one}, _questions(row, one))
            for one in names
        ]
        measured += [
            one._replace(low=None, high=None)
            for one in row.rows(by_category, ("category",), star=False)
        ]
        columns = [Column("questions", count), *_columns([row], by_category)]
        panel = Panel("", measured, columns, ["category"], ["AUC"], best=False)
        folded.append(Fold(f"By category: {row.name}", [panel]))
    text = "In brackets the number of questions; *: not read whole."
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
                caption=text + " All other rows stand in the folds below." * (len(rows) > 1),
            )
        ],
        folded=folded,
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
    """The AUC, or the ratio of what has none, at the first and last length that is read whole."""
    results = row.results
    measure = next((one for one in (AUC, RATIO) if results.select(one.name)), None)
    if measure is None:
        return ""
    whole = [{**row.at, "length": n} for n in row.lengths if not row.cut(n)]
    found = [(at, one) for at in whole if (one := results.mean(measure, **at)) is not None]
    if not found:
        return ""
    (first, start), (last, end) = found[0], found[-1]
    text = f"{row.name}: the {_NAMES[measure.name]} is {measure.spanned(start)}"
    text += f" at {first['length']:,} tokens"
    if len(found) == 1:
        return f"{text}, the only length that it reads whole."
    final = f"{measure.spanned(end)} at {last['length']:,}"
    change = results.difference(measure, first, last)
    if change is None or results.few:
        return f"{text}, and {final}."
    way = "falls" if change.above(0) else "rises" if change.below(0) else "does not clearly change"
    chance = "" if end.above(measure.chance or 0.0) else ", not clearly above chance"
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
