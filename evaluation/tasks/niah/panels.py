"""Panels of needles in haystacks: a row a system and variant of haystacks, a column a length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from retgen.evaluation.tasks.niah.cells import CellKey, SystemCells
from retgen.evaluation.tasks.niah.haystacks import QUESTION, HaystackVariant, terms
from retgen.results.measurements import Measure, Measurement
from retgen.results.panel import Column, Panel, columns_by
from retgen.statistics.clustered import Estimate

# what stands instead of the needle in a control, by its kind
CONTROL = {"none": "its filler without needle", "neutral": "its filler with a neutral sentence"}
AUC = Measure("auc", 3, chance=0.5)
_RATIO, _GAIN = Measure("ratio", 3, chance=0.5), Measure("gain", 4, chance=0.0)
# (measure, head of the first column, title)
SHOWN = {
    "auc": (AUC, "AUC", "AUC within the question, by tokens of the haystack (* not read whole)"),
    "ratio, neutral": (_RATIO, "ratio", "Comparative ratio: a haystack above {}"),
    "ratio": (_RATIO, "ratio", "Comparative ratio: a haystack above {}"),
    "gain, neutral": (_GAIN, "separation", "Separation: score of a haystack less that of {}"),
    "gain": (_GAIN, "separation", "Separation: score of a haystack less that of {}"),
    "effect": (
        Measure("effect", 2, chance=0.0),
        "effect size",
        "Effect size: haystacks against all texts without needle (Cohen's d)",
    ),
    "similarity": (Measure("similarity", 3), "score", "Score of question and haystack"),
    "normalised": (
        Measure("normalised", 2),
        "normalised",
        "Normalised: divided by the score of question and needle alone",
    ),
}
ORDERED = ("auc", "ratio", "normalised")  # measures that stand by order of the needle too
DIFFERENCES = "Less the first system, paired over questions, with 95% intervals"
_COMPARED = {"auc": "AUC", "ratio": "ratio"}
_DIFFERENCE = Measure("difference", 3, signed=True)


class HaystackRow(NamedTuple):
    """A system on haystacks of one variant, under one wording of the questions."""

    name: str
    cells: SystemCells
    variant: HaystackVariant
    query: str = QUESTION

    def cell(self, measure: str, length: int, part: str = "") -> CellKey:
        """A measure of its own."""
        return CellKey(measure, self.query, self.variant, length, part)

    @property
    def lengths(self) -> list[int]:
        """In rising order."""
        return self.cells.lengths(self.variant)

    def mark(self, length: int) -> str:
        """A star where not every haystack of a length is read whole."""
        return "*" if self.cells.reach[self.variant, length].truncated else ""

    def measured(self, measure: str, length: int, part: str = "", **by: str) -> Measurement:
        """One measure at one length."""
        estimate = self.cells.estimate(self.cell(measure, length, part))
        star = self.mark(length) if estimate else ""
        by = {"length": f"{length:,}", **by}
        return Measurement.of(self.name, measure, estimate, by, note=star)

    def course(self, measure: str) -> list[Measurement]:
        """One measure at every length."""
        return [self.measured(measure, length) for length in self.lengths]


def rows_of(systems: dict[str, SystemCells]) -> list[HaystackRow]:
    """Every system on every variant of haystacks."""
    return [
        HaystackRow(
            " · ".join([label, *variant_words(variant, cells.variants).values()]), cells, variant
        )
        for label, cells in systems.items()
        for variant in cells.variants
    ]


def variant_words(variant: HaystackVariant, variants: Sequence[HaystackVariant]) -> dict[str, str]:
    """What a variant has that not all variants have, in words."""
    each = {one: _words(one) for one in variants}
    return {
        what: text
        for what, text in _words(variant).items()
        if len({words[what] for words in each.values()}) > 1
    }


def _words(variant: HaystackVariant) -> dict[str, str]:
    filler, filtered, number = variant.around
    return {
        "needle": variant.needle.replace("_", "-"),
        "filler": filler,
        "lexical-leak filter": "filtered" if filtered else "unfiltered",
        "near-answers": f"{number} near-answer{'' if number == 1 else 's'}",
    }


def has_values(rows: Sequence[HaystackRow], measure: str) -> bool:
    """Whether any of the systems has a number of a measure."""
    return any(
        cell.measure == measure and not np.isnan(values).all()
        for row in rows
        for cell, values in row.cells.values.items()
    )


def lengths_of(rows: Sequence[HaystackRow]) -> list[int]:
    """All lengths, in rising order."""
    return sorted({length for row in rows for length in row.lengths})


def columns_of(rows: Sequence[HaystackRow], measure: Measure) -> list[Column]:
    """A column a length."""
    return columns_by(measure, "length", [f"{length:,}" for length in lengths_of(rows)])


def by_length(rows: Sequence[HaystackRow], name: str, title: str = "") -> Panel:
    """A measure by length; below a ratio how far the fillers of haystack and control differ."""
    measure, head, words = SHOWN[name]
    measure = replace(measure, name=name)
    kinds = {name.partition(", ")[2] or row.cells.kinds[0] for row in rows}
    return Panel(
        title or words.format(" or ".join(CONTROL[one] for one in sorted(kinds))),
        [one for row in rows for one in row.course(name)],
        columns_of(rows, measure),
        heads=[head],
        chance="chance" if measure.chance is not None else "",
        best=False,
        below=_differing(rows, name) if name.startswith("ratio") else [],
    )


def _differing(rows: Sequence[HaystackRow], name: str) -> list[list[str]]:
    """The share of the controls' filler that is not that of the haystack; nothing if not known."""
    shares: dict[int, list[float]] = {}
    for row in rows:
        kind = name.partition(", ")[2] or row.cells.kinds[0]
        for length in row.lengths:
            if make := row.cells.makes.get((row.variant, length)):
                shares.setdefault(length, []).append(make.differs[kind])
    every = [shares.get(length) for length in lengths_of(rows)]
    if not any(every):
        return []
    means = [f"{sum(each) / len(each):.0%}" if each else "–" for each in every]
    return [["filler of the control that differs", *means]]


def reading(rows: Sequence[HaystackRow]) -> Panel | None:
    """What systems read of the haystacks; None where all read all."""
    share = Measure("share", 0, percent=True, sign="%")
    measured = []
    for row in rows:
        if not any(row.mark(length) for length in row.lengths):
            continue
        for length in row.lengths:
            reach = row.cells.reach[row.variant, length]
            for of, value in (("truncated", reach.truncated), ("needle read", reach.seen)):
                by = {"of": of, "length": f"{length:,}"}
                if value is not None:
                    measured.append(Measurement(row.name, share.name, by, value))
    if not measured:
        return None
    return Panel(
        "What is read of the haystacks: how many are truncated, and whose needle is read",
        measured,
        columns_of(rows, share),
        rows=["system", "of"],
        heads=["system", ""],
        missing="",
        best=False,
    )


def differences(rows: Sequence[HaystackRow]) -> Panel | None:
    """Each system less the first on the same haystacks; None for one system."""
    measured = []
    for row in rows:
        first = next(one for one in rows if _comparable(one, row))
        if first is row:
            continue
        less = first.cells.paired(row.cells)
        for measure, words in _COMPARED.items():
            each = {n: less.estimate(row.cell(measure, n)) for n in lengths_of(rows)}
            measured += [
                Measurement.of(row.name, "difference", one, {"length": f"{n:,}", "of": words})
                for n, one in each.items()
                if any(each.values())
            ]
    if not measured:
        return None
    heads = [f"less {rows[0].name.split(' · ')[0]}", "measure"]
    return Panel(
        DIFFERENCES,
        measured,
        columns_of(rows, _DIFFERENCE),
        ["system", "of"],
        heads,
        interval="inside",
        terminal_interval="inside",
        best=False,
    )


def _comparable(one: HaystackRow, other: HaystackRow) -> bool:
    """Whether two rows are of the same haystacks and questions."""
    same = (one.cells.dataset, one.variant, one.query) == (
        other.cells.dataset,
        other.variant,
        other.query,
    )
    return same and list(one.cells.questions) == list(other.cells.questions)


def side_by_side(rows: Sequence[HaystackRow]) -> list[Panel]:
    """Variants of haystacks: their AUC, and what it is less that of the first variant, paired over
    questions. Nothing for a single variant.
    """
    rows = [row for row in rows if len(row.cells.variants) > 1]
    if not has_values(rows, "auc"):
        return []
    factors = list(
        dict.fromkeys(c for row in rows for c in variant_words(row.variant, row.cells.variants))
    )
    plain: list[Measurement] = []
    less: list[Measurement] = []
    for row in rows:
        words = variant_words(row.variant, row.cells.variants)
        by = {factor: words.get(factor, "–") for factor in factors}
        short = row._replace(name=row.name.split(" · ")[0])
        for length in row.lengths:
            own, first = (
                row.cell("auc", length),
                CellKey("auc", row.query, row.cells.variants[0], length),
            )
            plain.append(short.measured("auc", length, **by))
            if row.variant != first.variant:
                change: Estimate | None = row.cells.difference(own, first)
                at = {"length": f"{length:,}", **by}
                less.append(Measurement.of(short.name, "difference", change, at))
    factors = ["system", *factors]
    return [
        Panel(
            "Side by side: AUC by variant of the haystacks",
            plain,
            columns_of(rows, AUC),
            factors,
            ["AUC", *factors[1:]],
            best=False,
        ),
        Panel(
            "The same less the first variant",
            less,
            columns_of(rows, _DIFFERENCE),
            factors,
            ["AUC", *factors[1:]],
            interval="inside",
            terminal_interval="inside",
            best=False,
        ),
    ]


def wordings(rows: Sequence[HaystackRow]) -> list[HaystackRow]:
    """Every system under every wording of the questions; nothing where there is but one."""

    def name(row: HaystackRow, query: str) -> str:
        cut = row.cells.cut.get(query)
        more = f", {cut:.0%} of the queries cut" if cut else ""
        return f"{row.name} · {terms(query) or 'no'} terms{more}"

    return [
        row._replace(name=name(row, query), query=query)
        for row in rows
        if len(row.cells.queries) > 1
        for query in row.cells.queries
    ]


def by_place(row: HaystackRow) -> Panel:
    """Correlation and slope of the score with depth."""
    measured = []
    columns = []
    for head, name in (("Pearson", "pearson"), ("slope", "slope")):
        columns.append(Column(head, Measure(name, 3)))
        measured += [row.measured(name, n)._replace(note="") for n in row.lengths]
    return Panel("", measured, columns, ["length"], ["tokens"], interval="inside", best=False)


def by_order(row: HaystackRow) -> Panel:
    """AUC, ratio and normalised score by the order of needle and filler."""
    measured = [
        row.measured(name, n, order, of=name, order=order)._replace(measure="value", note="")
        for name in ORDERED
        for order in row.cells.parts("auc", row.variant, row.lengths[0])
        for n in row.lengths
    ]
    columns = columns_of([row], Measure("value", 3))
    return Panel(
        "", measured, columns, ["of", "order"], ["measure", "order"], interval="inside", best=False
    )


def by_category(row: HaystackRow) -> Panel:
    """The AUC of each category of questions, and how many there are."""
    questions = Measure("questions", 0)
    measured = []
    for category in dict.fromkeys(row.cells.categories):
        count = row.cells.categories.count(category)
        measured.append(Measurement(row.name, "questions", {"category": category}, count))
        for n in row.lengths:
            mean = row.cells.mean(row.cell("auc", n), category)
            by = {"category": category, "length": f"{n:,}"}
            measured.append(Measurement(row.name, "auc", by, mean, n=count))
    columns = [Column("questions", questions), *columns_of([row], AUC)]
    return Panel("", measured, columns, ["category"], ["AUC"], best=False)
