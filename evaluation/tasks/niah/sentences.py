"""What came out of haystacks, in sentences: what length does, and what is not read."""

from __future__ import annotations

from retgen.evaluation.tasks.niah.cells import Cell, Cells, Estimate
from retgen.evaluation.tasks.niah.haystacks import QUESTION, Arm
from retgen.evaluation.tasks.niah.summary import effective, read_whole
from retgen.evaluation.tasks.niah.tables import named

_NAMED = 4  # systems that get a sentence of their own


def sentences(reads: dict[str, Cells]) -> list[str]:
    """The summary of a page, of systems by their labels, on the first make of haystacks."""
    result = []
    for label, cells in list(reads.items())[:_NAMED]:
        arm = cells.arms[0]
        which = " · ".join([label, *named(arm, cells.arms)])
        result += [_course(which, cells, arm), _unread(which, cells, arm)]
    result.append(_detectable(reads))
    return [sentence for sentence in result if sentence]


def _auc(cells: Cells, arm: Arm, length: int) -> Estimate | None:
    return cells.estimate(Cell("auc", QUESTION, arm, length))


def _course(label: str, cells: Cells, arm: Arm) -> str:
    """The AUC at the shortest and the longest length that is read whole."""
    lengths = [n for n in read_whole(cells, arm) if _auc(cells, arm, n)]
    if not lengths:
        return ""
    first = _auc(cells, arm, lengths[0])
    assert first is not None
    begin = f"{label}: the AUC within the question is {_spanned(first)} at {lengths[0]:,} tokens"
    if len(lengths) == 1:
        return f"{begin}, the only length that it reads whole."
    last = _auc(cells, arm, lengths[-1])
    change = cells.difference(
        Cell("auc", QUESTION, arm, lengths[0]), Cell("auc", QUESTION, arm, lengths[-1])
    )
    assert last is not None
    assert change is not None
    way = "falls" if change.low > 0 else "rises" if change.high < 0 else "does not clearly change"
    end = f"{begin} and {way}: {_spanned(last)} at {lengths[-1]:,}"
    reached = effective(cells, arm)
    if reached is None:
        return f"{end}; it is never clearly above chance."
    least = "at least " if reached.plain.open else ""
    return f"{end}; its effective length is {least}{reached.plain.length:,} tokens."


def _unread(label: str, cells: Cells, arm: Arm) -> str:
    """What truncation hides beyond the lengths that are read whole."""
    if any(reach.truncated is None for reach in cells.reach.values()):
        return f"How much of a haystack {label} reads is not known: what falls may be truncation."
    cut = [n for n in cells.lengths(arm) if cells.reach[arm, n].truncated]
    if not cut:
        return ""
    seen = cells.reach[arm, cut[-1]].seen
    return (
        f"From {cut[0]:,} tokens on {label} does not read haystacks whole: at {cut[-1]:,} the "
        f"needle is in what it reads in {seen:.0%}, so a fall there is one of what is cut off."
    )


def _detectable(reads: dict[str, Cells]) -> str:
    values = [
        value
        for cells in reads.values()
        for cell in cells.values
        if (cell.measure, cell.query, cell.part) == ("auc", QUESTION, "")
        and (value := cells.detectable(cell))
    ]
    if not values:
        return ""
    questions = max(len(cells.questions) for cells in reads.values())
    return (
        f"With {questions} questions the smallest difference of an AUC from chance that would be "
        f"seen is {min(values):.3f} to {max(values):.3f}, by system and length."
    )


def _spanned(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} (95% interval {estimate.low:.3f} to {estimate.high:.3f})"
