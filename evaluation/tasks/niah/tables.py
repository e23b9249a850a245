"""Tables of needles in haystacks: a row a system and make of haystacks, a column a length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from retgen.evaluation.tasks.niah.cells import Cell, Cells, Estimate
from retgen.evaluation.tasks.niah.haystacks import QUESTION, Arm, terms
from retgen.evaluation.tasks.niah.summary import Reached, effective, psi
from retgen.evaluation.tasks.task import SystemResult
from retgen.pages import TableView

TITLES = {
    "auc": "AUC within the question, by tokens of the haystack (* not read whole)",
    "ratio": "Comparative ratio: haystacks above the same text without needle",
    "ratio, neutral": "Comparative ratio: haystacks above the text with a neutral sentence instead",
    "gain": "Separation: mean score of haystacks less that of the same text without needle",
    "effect": "Effect size: haystacks against all texts without needle (Cohen's d)",
    "similarity": "Score of question and haystack",
    "normalised": "Normalised: divided by the score of question and needle alone",
    "psi": "Position sensitivity: 1 - min / max of the AUC over the thirds of the text",
    "expansion": "AUC by terms added to the question",
    "differences": "Less the first system, paired over questions, with 95% intervals",
}
_SHORT = {
    "auc": "AUC", "ratio": "ratio", "ratio, neutral": "ratio", "gain": "separation",
    "effect": "effect size", "similarity": "score", "normalised": "normalised",
}  # fmt: skip
_CHANCE = {
    "auc": "0.500", "ratio": "0.500", "ratio, neutral": "0.500", "gain": "0.0000", "effect": "0.00",
}  # fmt: skip
_DIGITS = {"effect": 2, "normalised": 2, "gain": 4}


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


def named(arm: Arm, arms: Sequence[Arm]) -> list[str]:
    """What an arm has that not all arms have, in words."""
    parts = []
    if len({one.needle for one in arms}) > 1:
        parts.append(arm.needle.replace("_", "-"))
    if len({one.around.filler for one in arms}) > 1:
        parts.append(arm.around.filler)
    if len({one.around.filtered for one in arms}) > 1:
        parts.append("filtered" if arm.around.filtered else "unfiltered")
    if len({one.around.distractors for one in arms}) > 1:
        parts.append(f"{arm.around.distractors} near-answers")
    return parts


def tables(reads: dict[str, Cells]) -> dict[str, TableView]:
    """All of them by their titles."""
    rows = rows_of(reads)
    result = {}
    for measure in list(_SHORT):
        if there(rows, measure):
            result[TITLES[measure]] = by_length(rows, measure)
    if sensitivity := _sensitivity(rows):
        result[TITLES["psi"]] = sensitivity
    if compared := differences(rows):
        result[TITLES["differences"]] = compared
    if expanded := wordings(rows):
        result[TITLES["expansion"]] = by_length(expanded, "auc")
    return result


def there(rows: Sequence[Row], measure: str) -> bool:
    """Whether any of the systems has a measure."""
    return any(cell.measure == measure for row in rows for cell in row.cells.values)


def lengths_of(rows: Sequence[Row]) -> list[int]:
    """All lengths, in rising order."""
    return sorted({length for row in rows for length in row.cells.lengths(row.arm)})


def by_length(rows: Sequence[Row], measure: str) -> TableView:
    """A measure by length, intervals as small print; AUC and ratio with effective length."""
    digits = _DIGITS.get(measure, 3)
    more: list[Callable[[Row], str]] = []
    if measure in ("auc", "ratio"):
        more = [lambda row: effective_text(effective(row.cells, row.arm, row.query, measure))]
    view = _table(
        rows,
        lambda row, length: row.cells.estimate(row.cell(measure, length)),
        _SHORT[measure],
        digits,
        more,
        truncated=measure == "auc" and all(row.query == QUESTION for row in rows),
    )
    if measure in _CHANCE:
        chance = ["chance", *(_CHANCE[measure] for _ in lengths_of(rows)), *("" for _ in more)]
        faint = [*view.faint, len(view.rows)]
        view = TableView(view.head, [*view.rows, chance], faint=faint, beside=view.beside)
    return view


def _table(
    rows: Sequence[Row],
    value: Callable[[Row, int], Estimate | None],
    name: str,
    digits: int,
    more: Sequence[Callable[[Row], str]] = (),
    *,
    truncated: bool = False,
) -> TableView:
    """`more`: columns beside the lengths. `truncated`: a row of shares below what is cut."""
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
            if estimate:
                span = f"{estimate.low:.{digits}f} to {estimate.high:.{digits}f}"
                beside[len(lines), column] = span
        lines.append([row.name, *cells, *(one(row) for one in more)])
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


def effective_text(reached: Reached | None) -> str:
    """The longest length, "≥" where nothing longer was read whole; "–": no better than chance."""
    if reached is None:
        return "–"
    return f"{'≥ ' if reached.plain.open else ''}{reached.plain.length:,}"


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
            texts = [
                "–" if one is None else f"{one.value:+.3f} ({one.low:+.3f} to {one.high:+.3f})"
                for one in found.values()
            ]
            lines.append([row.name, _COMPARED[measure], *texts])
    if not lines:
        return None
    head = [f"less {rows[0].name.split(' · ')[0]}", "measure", *(f"{n:,}" for n in lengths)]
    return TableView(head, lines, names=2)


_COMPARED = {"auc": "AUC", "ratio": "ratio", "slope": "slope by place"}


def _comparable(one: Row, other: Row) -> bool:
    """Whether two rows are of the same haystacks and questions."""
    same = (one.cells.purpose, one.arm, one.query) == (other.cells.purpose, other.arm, other.query)
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
