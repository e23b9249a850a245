"""What a reader must know beside the numbers: controls, near-answers, what is not drawn."""

from __future__ import annotations

from collections.abc import Sequence

from retgen.evaluation.tasks.niah.panels import CONTROL, Row

_LISTED = 6  # rows that are named as not drawn
_NEAR = 0.25  # share of near-answers in the words from which on a haystack is mostly these


def near_notes(rows: Sequence[Row]) -> list[str]:
    """A warning where near-answers are much of a haystack."""
    shares = {
        (row.arm.around.distractors, length): make.near
        for row in rows
        for length in row.cells.lengths(row.arm)
        if (make := row.cells.makes.get((row.arm, length))) and make.near >= _NEAR
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


def of_controls(rows: Sequence[Row]) -> str:
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


def caption(drawn: Sequence[Row], left: Sequence[Row], cut: str = "") -> str:
    """What a picture of curves shows, and what it leaves out."""
    parts = []
    if not all(row.cells.few for row in drawn):
        parts.append("bands are 95% intervals")
    if any(reach.truncated for row in drawn for reach in row.cells.reach.values()):
        parts.append(f"dots: not read whole{cut}")
    text = "; ".join(parts)
    return " ".join(filter(None, [text[:1].upper() + text[1:] + "." * bool(text), not_drawn(left)]))


def not_drawn(rows: Sequence[Row], where: str = "the table") -> str:
    """Which rows are not drawn; "" where all are."""
    if not rows:
        return ""
    names = [row.name for row in rows[:_LISTED]]
    more = f" and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
    return f"Not drawn, for want of room: {'; '.join(names)}{more}. Their numbers are in {where}."
