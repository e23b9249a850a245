"""What came out of haystacks, in sentences: what length does, and what is not read."""

from __future__ import annotations

from collections.abc import Sequence

from retgen.evaluation.tasks.niah.cells import CellKey, SystemCells, too_few
from retgen.evaluation.tasks.niah.haystacks import QUESTION, HaystackVariant
from retgen.evaluation.tasks.niah.panels import AUC, CONTROL, HaystackRow, variant_words
from retgen.evaluation.tasks.niah.summary import read_whole
from retgen.evaluation.tasks.task import about_each


def sentences(systems: dict[str, SystemCells]) -> list[str]:
    """The summary of a page, of systems by their labels, on the first variant of haystacks."""
    # of the data set with the fewest questions
    warning = too_few(min(len(cells.questions) for cells in systems.values()))
    result = [f"{warning}."] if warning else []
    result += about_each(systems, _of_first_variant)
    return [sentence for sentence in result if sentence]


def _of_first_variant(label: str, cells: SystemCells) -> tuple[str, str]:
    variant = cells.variants[0]
    which = " · ".join([label, *variant_words(variant, cells.variants).values()])
    return _course(which, cells, variant), _unread(which, cells, variant)


_NAMES = {"auc": "AUC within the question", "ratio": "comparative ratio"}
_CHANCE = 0.5  # of both


def _course(label: str, cells: SystemCells, variant: HaystackVariant) -> str:
    """The AUC, or the ratio of what has none, at the first and last length that is read whole."""
    known = [m for m in _NAMES if any(cell.measure == m for cell in cells.values)]
    if not known:
        return ""
    every = {n: CellKey(known[0], QUESTION, variant, n) for n in read_whole(cells, variant)}
    found = {n: one for n, cell in every.items() if (one := cells.estimate(cell)) is not None}
    if not found:
        return ""
    lengths = list(found)
    begin = f"{label}: the {_NAMES[known[0]]} is {AUC.spanned(found[lengths[0]])}"
    begin += f" at {lengths[0]:,} tokens"
    if len(lengths) == 1:
        return f"{begin}, the only length that it reads whole."
    end = f"{AUC.spanned(found[lengths[-1]])} at {lengths[-1]:,}"
    change = cells.difference(every[lengths[0]], every[lengths[-1]])
    if change is None or cells.few:
        return f"{begin}, and {end}."
    way = "does not clearly change"
    way = "falls" if change.above(0) else "rises" if change.below(0) else way
    chance = "" if found[lengths[-1]].above(_CHANCE) else ", not clearly above chance"
    return f"{begin} and {way}: {end}{chance}."


def _unread(label: str, cells: SystemCells, variant: HaystackVariant) -> str:
    """What truncation hides beyond the lengths that are read whole."""
    if any(reach.truncated is None for reach in cells.reach.values()):
        return f"How much of a haystack {label} reads is not known: what falls may be truncation."
    cut = [n for n in cells.lengths(variant) if cells.reach[variant, n].truncated]
    if not cut:
        return ""
    seen = cells.reach[variant, cut[-1]].seen
    return (
        f"From {cut[0]:,} tokens on {label} does not read haystacks whole: at {cut[-1]:,} the "
        f"needle is in what it reads in {seen:.0%}, so a fall there is one of what is cut off."
    )


_LISTED = 6  # rows that are named as not drawn
_NEAR = 0.25  # share of near-answers in the words from which on a haystack is mostly these


def near_notes(rows: Sequence[HaystackRow]) -> list[str]:
    """A warning where near-answers are much of a haystack."""
    shares = {
        (row.variant.around.distractors, length): make.near
        for row in rows
        for length in row.cells.lengths(row.variant)
        if (make := row.cells.makes.get((row.variant, length))) and make.near >= _NEAR
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


def of_controls(rows: Sequence[HaystackRow]) -> str:
    """What the controls of these data sets are, and how far they are the same text."""
    kinds = list(dict.fromkeys(kind for row in rows for kind in row.cells.kinds))
    parts = []
    for kind in kinds:
        shares = [
            make.differs[kind]
            for row in rows
            for make in row.cells.makes.values()
            if kind in make.differs
        ]
        if shares:
            parts.append(
                f"{CONTROL[kind]} differs from it in {min(shares):.0%} to {max(shares):.0%}"
            )
    if not parts:
        return ""
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


def caption(drawn: Sequence[HaystackRow], left: Sequence[HaystackRow], cut: str = "") -> str:
    """What a picture of curves shows, and what it leaves out."""
    parts = []
    if not all(row.cells.few for row in drawn):
        parts.append("bands are 95% intervals")
    if any(reach.truncated for row in drawn for reach in row.cells.reach.values()):
        parts.append(f"dots: not read whole{cut}")
    text = "; ".join(parts)
    return " ".join(filter(None, [text[:1].upper() + text[1:] + "." * bool(text), not_drawn(left)]))


def not_drawn(rows: Sequence[HaystackRow], where: str = "the table") -> str:
    """Which rows are not drawn; "" where all are."""
    if not rows:
        return ""
    names = [row.name for row in rows[:_LISTED]]
    more = f" and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
    return f"Not drawn, for want of room: {'; '.join(names)}{more}. Their numbers are in {where}."
