"""What came out of haystacks, in sentences: what length does, and what is not read."""

from __future__ import annotations

from retgen.evaluation.tasks.niah.cells import Cell, Cells, too_few
from retgen.evaluation.tasks.niah.haystacks import QUESTION, Arm
from retgen.evaluation.tasks.niah.panels import AUC, varied
from retgen.evaluation.tasks.niah.summary import Undefined, effective, read_whole
from retgen.statistics.clustered import Estimate

_NAMED = 4  # systems that get a sentence of their own


def sentences(systems: dict[str, Cells]) -> list[str]:
    """The summary of a page, of systems by their labels, on the first variant of haystacks."""
    # of the data set with the fewest questions
    warning = too_few(min(len(cells.questions) for cells in systems.values()))
    result = [f"{warning}."] if warning else []
    for label, cells in list(systems.items())[:_NAMED]:
        arm = cells.arms[0]
        which = " · ".join([label, *varied(arm, cells.arms).values()])
        result += [_course(which, cells, arm), _unread(which, cells, arm)]
    if len(systems) > _NAMED:
        result.append(f"{len(systems) - _NAMED} more systems stand in the tables.")
    result.append(_detectable(systems))
    return [sentence for sentence in result if sentence]


_NAMES = {"auc": "AUC within the question", "ratio": "comparative ratio"}
_NOT = {
    Undefined.CHANCE: "its best at about 250 to 1,000 tokens is not clearly above chance",
    Undefined.NEAR: "it is too near chance for an effective length",
    Undefined.BELOW: "even at its best it is below chance",
}


def _course(label: str, cells: Cells, arm: Arm) -> str:
    """The AUC, or the ratio of what has none, at the first and last length that is read whole."""
    known = [m for m in _NAMES if any(cell.measure == m for cell in cells.values)]
    if not known:
        return ""
    every = {n: Cell(known[0], QUESTION, arm, n) for n in read_whole(cells, arm)}
    found = {n: one for n, cell in every.items() if (one := cells.estimate(cell)) is not None}
    if not found:
        return ""
    lengths = list(found)
    begin = f"{label}: the {_NAMES[known[0]]} is {_spanned(found[lengths[0]])}"
    begin += f" at {lengths[0]:,} tokens"
    if len(lengths) == 1:
        return f"{begin}, the only length that it reads whole."
    end = f"{_spanned(found[lengths[-1]])} at {lengths[-1]:,}"
    change = cells.difference(every[lengths[0]], every[lengths[-1]])
    if change is None or cells.few:
        return f"{begin}, and {end}."
    way = "does not clearly change"
    way = "falls" if change.above(0) else "rises" if change.below(0) else way
    reached = effective(cells, arm, measure=known[0])
    if isinstance(reached, Undefined):
        return f"{begin} and {way}: {end}{f'; {_NOT[reached]}' if reached in _NOT else ''}."
    least = "at least " if reached.plain.open else ""
    return (
        f"{begin} and {way}: {end}; its effective length is {least}{reached.plain.length:,} tokens."
    )


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


def _detectable(systems: dict[str, Cells]) -> str:
    values = [
        value
        for cells in systems.values()
        for cell in cells.values
        if (cell.measure, cell.query, cell.part) == ("auc", QUESTION, "")
        and (value := cells.detectable(cell))
    ]
    if not values:
        return ""
    questions = max(len(cells.questions) for cells in systems.values())
    return (
        f"With {questions} questions the smallest difference of an AUC from chance that would be "
        f"seen is {min(values):.3f} to {max(values):.3f}, by system and length."
    )


def _spanned(estimate: Estimate) -> str:
    span = AUC.interval_text(estimate.span)
    return f"{estimate.value:.3f}" + (f" (95% interval {span})" if span else "")
