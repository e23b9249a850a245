"""Tables of needles in haystacks: a row a system and make of haystacks, a column a length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from retgen.evaluation.tasks.niah.cells import Cell, Cells
from retgen.evaluation.tasks.niah.haystacks import QUESTION, Arm, terms
from retgen.evaluation.tasks.niah.summary import Reached, Undefined, effective, psi
from retgen.evaluation.tasks.task import SystemResult
from retgen.pages import TableView
from retgen.statistics.clustered import Estimate

# what stands instead of the needle in a control, by its kind
CONTROL = {"none": "its filler without needle", "neutral": "its filler with a neutral sentence"}
TITLES = {
    "auc": "AUC within the question, by tokens of the haystack (* not read whole)",
    "ratio": "Comparative ratio: a haystack above {}",
    "ratio, neutral": "Comparative ratio: a haystack above {}",
    "gain": "Separation: score of a haystack less that of {}",
    "gain, neutral": "Separation: score of a haystack less that of {}",
    "effect": "Effect size: haystacks against all texts without needle (Cohen's d)",
    "similarity": "Score of question and haystack",
    "normalised": "Normalised: divided by the score of question and needle alone",
    "psi": "Position sensitivity: 1 - min / max of the AUC over the thirds of the text",
    "expansion": "AUC by terms added to the question",
    "differences": "Less the first system, paired over questions, with 95% intervals",
    "arms": "Side by side: AUC by make of the haystacks (beside it: less the first make)",
}
_SHORT = {
    "auc": "AUC", "ratio, neutral": "ratio", "ratio": "ratio", "gain, neutral": "separation",
    "gain": "separation", "effect": "effect size", "similarity": "score",
    "normalised": "normalised",
}  # fmt: skip
_CHANCE = {
    "auc": "0.500", "ratio": "0.500", "ratio, neutral": "0.500", "gain": "0.0000",
    "gain, neutral": "0.0000", "effect": "0.00",
}  # fmt: skip
_DIGITS = {"effect": 2, "normalised": 2, "gain": 4, "gain, neutral": 4}


class Row(NamedTuple):
    """A system on haystacks of one make, under one wording of the questions."""

    name: str
    cells: Cells
    arm: Arm
    query: str = QUESTION

    def cell(self, measure: str, length: int, part: str = "") -> Cell:
        """A measure of its own."""
        return Cell(measure, self.query, self.arm, length, part)


def readings(results: Sequence[SystemResult[Cells]]) -> dict[str, Cells]:
    """The measures of each system by its label; where there are several data sets, on each."""
    several = any(len(one.domains) > 1 for one in results)
    return {
        f"{one.label}: {domain}" if several else one.label: cells
        for one in results
        for domain, cells in one.domains.items()
    }


def rows_of(reads: dict[str, Cells]) -> list[Row]:
    """Every system on every make of haystacks."""
    return [
        Row(" · ".join([label, *named(arm, cells.arms)]), cells, arm)
        for label, cells in reads.items()
        for arm in cells.arms
    ]


def varied(arm: Arm, arms: Sequence[Arm]) -> dict[str, str]:
    """What an arm has that not all arms have, in words."""
    each = {one: _words(one) for one in arms}
    return {
        what: text
        for what, text in _words(arm).items()
        if len({words[what] for words in each.values()}) > 1
    }


def _words(arm: Arm) -> dict[str, str]:
    filler, filtered, number = arm.around
    return {
        "needle": arm.needle.replace("_", "-"),
        "filler": filler,
        "firewall": "filtered" if filtered else "unfiltered",
        "near-answers": f"{number} near-answer{'' if number == 1 else 's'}",
    }


def named(arm: Arm, arms: Sequence[Arm]) -> list[str]:
    """The same without what it is."""
    return list(varied(arm, arms).values())


def title(measure: str, rows: Sequence[Row]) -> str:
    """Of a table; controls as the data sets have them."""
    kinds = {measure.partition(", ")[2] or row.cells.kinds[0] for row in rows}
    return TITLES[measure].format(" or ".join(CONTROL[one] for one in sorted(kinds)))


def tables(reads: dict[str, Cells]) -> dict[str, TableView]:
    """All of them by their titles."""
    rows = rows_of(reads)
    result = {}
    for measure in list(_SHORT):
        if there(rows, measure):
            result[title(measure, rows)] = by_length(rows, measure)
    if sensitivity := _sensitivity(rows):
        result[TITLES["psi"]] = sensitivity
    if compared := differences(rows):
        result[TITLES["differences"]] = compared
    if expanded := wordings(rows):
        result[TITLES["expansion"]] = by_length(expanded, "auc")
    if makes := side_by_side(rows):
        result[TITLES["arms"]] = makes
    return result


def there(rows: Sequence[Row], measure: str) -> bool:
    """Whether any of the systems has a measure, and a number of it."""
    return any(
        cell.measure == measure and not np.isnan(values).all()
        for row in rows
        for cell, values in row.cells.values.items()
    )


def lengths_of(rows: Sequence[Row]) -> list[int]:
    """All lengths, in rising order."""
    return sorted({length for row in rows for length in row.cells.lengths(row.arm)})


def by_length(rows: Sequence[Row], measure: str) -> TableView:
    """A measure by length, intervals as small print; AUC and ratio with effective length.

    Below a ratio stands how far the fillers of haystack and control differ.
    """
    digits = _DIGITS.get(measure, 3)
    more: list[Callable[[Row], tuple[str, str]]] = []
    if measure in ("auc", "ratio"):
        more = [lambda row: effective_texts(effective(row.cells, row.arm, row.query, measure))]
    view = _table(
        rows,
        lambda row, length: row.cells.estimate(row.cell(measure, length)),
        _SHORT[measure],
        digits,
        more,
        truncated=measure == "auc" and all(row.query == QUESTION for row in rows),
    )
    if measure in _CHANCE:
        below = [["chance", *(_CHANCE[measure] for _ in lengths_of(rows)), *("" for _ in more)]]
        if measure.startswith("ratio"):
            below += [[*line, *("" for _ in more)] for line in _differing(rows, measure)]
        faint = [*view.faint, *range(len(view.rows), len(view.rows) + len(below))]
        view = TableView(view.head, [*view.rows, *below], faint=faint, beside=view.beside)
    return view


def _differing(rows: Sequence[Row], measure: str) -> list[list[str]]:
    """The share of the controls' filler that is not that of the haystack; nothing if not known."""
    shares: dict[int, list[float]] = {}
    for row in rows:
        kind = measure.partition(", ")[2] or row.cells.kinds[0]
        for length in row.cells.lengths(row.arm):
            if make := row.cells.makes.get((row.arm, length)):
                shares.setdefault(length, []).append(make.differs[kind])
    every = [shares.get(length) for length in lengths_of(rows)]
    if not any(every):
        return []
    means = [f"{sum(each) / len(each):.0%}" if each else "–" for each in every]
    return [["filler of the control that differs", *means]]


def _table(
    rows: Sequence[Row],
    value: Callable[[Row, int], Estimate | None],
    name: str,
    digits: int,
    more: Sequence[Callable[[Row], tuple[str, str]]] = (),
    *,
    truncated: bool = False,
) -> TableView:
    """`more`: columns beside the lengths, with small print. `truncated`: a row of shares below what
    is cut.
    """
    lengths = lengths_of(rows)
    lines: list[list[str]] = []
    faint: list[int] = []
    beside: dict[tuple[int, int], str] = {}
    for row in rows:
        cells = []
        for column, length in enumerate(lengths, start=1):
            estimate = value(row, length)
            reach = row.cells.reach.get((row.arm, length))
            mark = "*" if reach and reach.truncated else ""
            cells.append(f"{estimate.value:.{digits}f}{mark}" if estimate else "–")
            if span := span_text(estimate, digits):
                beside[len(lines), column] = span
        for column, one in enumerate(more, start=1 + len(lengths)):
            text, small = one(row)
            cells.append(text)
            if small:
                beside[len(lines), column] = small
        lines.append([row.name, *cells])
        if truncated and any(row.cells.reach[row.arm, n].truncated for n in _own(row, lengths)):
            for what in ("truncated", "needle read"):
                faint.append(len(lines))
                shares = [_share(row, n, what) for n in lengths]
                lines.append([f"  {what}", *shares, *("" for _ in more)])
    extra = ["effective length"] * len(more)
    head = [name, *(f"{length:,}" for length in lengths), *extra]
    return TableView(head, lines, faint=faint, beside=beside)


def _own(row: Row, lengths: Sequence[int]) -> list[int]:
    return [n for n in lengths if (row.arm, n) in row.cells.reach]


def _share(row: Row, length: int, what: str) -> str:
    reach = row.cells.reach.get((row.arm, length))
    share = None if reach is None else reach.truncated if what == "truncated" else reach.seen
    return "" if share is None else f"{share:.0%}"


def span_text(estimate: Estimate | None, digits: int, sign: str = "") -> str:
    """An interval in words; "" where there is none."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:{sign}.{digits}f} to {estimate.high:{sign}.{digits}f}"


def effective_texts(reached: Reached | Undefined) -> tuple[str, str]:
    """The longest length, "≥" where none longer was read whole, and its interval; or why not."""
    if isinstance(reached, Undefined):
        return f"– ({reached})", ""
    span = f"{reached.low:,} to {reached.high:,}" if reached.low < reached.high else ""
    return f"{'≥ ' if reached.plain.open else ''}{reached.plain.length:,}", span


def _sensitivity(rows: Sequence[Row]) -> TableView | None:
    view = _table(rows, lambda row, length: psi(row.cells, row.arm, length), "PSI", 3)
    return view if view.beside else None


def differences(rows: Sequence[Row]) -> TableView | None:
    """Each system less the first on the same haystacks, in what compares; None for one system.

    The slope is in scores: of a model before and after training it compares, of others hardly.
    """
    lines: list[list[str]] = []
    lengths = lengths_of(rows)
    for row in rows:
        first = next(one for one in rows if _comparable(one, row))
        if first is row:
            continue
        less = first.cells.paired(row.cells)
        for measure in _COMPARED:
            found = {n: less.estimate(row.cell(measure, n)) for n in lengths}
            if not any(found.values()):
                continue
            texts = ["–" if one is None else with_span(one, sign="+") for one in found.values()]
            lines.append([row.name, _COMPARED[measure], *texts])
    if not lines:
        return None
    head = [f"less {rows[0].name.split(' · ')[0]}", "measure", *(f"{n:,}" for n in lengths)]
    return TableView(head, lines, names=2)


def with_span(estimate: Estimate, digits: int = 3, sign: str = "") -> str:
    """A number, and in brackets its interval where it has one."""
    span = span_text(estimate, digits, sign)
    return f"{estimate.value:{sign}.{digits}f}{f' ({span})' if span else ''}"


def side_by_side(rows: Sequence[Row]) -> TableView | None:
    """A row a make of haystacks and system, what differs in columns; None for a single make.

    In small print its AUC less that of the first make, paired over questions.
    """
    rows = [row for row in rows if len(row.cells.arms) > 1]
    if not there(rows, "auc"):
        return None
    lengths = lengths_of(rows)
    columns = list(dict.fromkeys(c for row in rows for c in varied(row.arm, row.cells.arms)))
    lines: list[list[str]] = []
    beside: dict[tuple[int, int], str] = {}
    for row in rows:
        words = varied(row.arm, row.cells.arms)
        line = [row.name.split(" · ")[0], *(words.get(column, "–") for column in columns)]
        for length in lengths:
            own, first = row.cell("auc", length), Cell("auc", row.query, row.cells.arms[0], length)
            estimate = row.cells.estimate(own)
            cut = estimate and row.cells.reach[row.arm, length].truncated
            if estimate and row.arm != first.arm and (less := row.cells.difference(own, first)):
                beside[len(lines), len(line)] = with_span(less, sign="+")
            line.append(f"{estimate.value:.3f}{'*' * bool(cut)}" if estimate else "–")
        lines.append(line)
    head = ["AUC", *columns, *(f"{length:,}" for length in lengths)]
    return TableView(head, lines, names=1 + len(columns), beside=beside)


_COMPARED = {"auc": "AUC", "ratio": "ratio", "slope": "slope by place"}


def _comparable(one: Row, other: Row) -> bool:
    """Whether two rows are of the same haystacks and questions."""
    same = (one.cells.dataset, one.arm, one.query) == (other.cells.dataset, other.arm, other.query)
    return same and list(one.cells.questions) == list(other.cells.questions)


def wordings(rows: Sequence[Row]) -> list[Row]:
    """Every system under every wording of the questions; nothing where there is but one."""

    def name(row: Row, query: str) -> str:
        cut = row.cells.cut.get(query)
        more = f", {cut:.0%} of the queries cut" if cut else ""
        return f"{row.name} · {terms(query) or 'no'} terms{more}"

    return [
        row._replace(name=name(row, query), query=query)
        for row in rows
        if len(row.cells.queries) > 1
        for query in row.cells.queries
    ]
