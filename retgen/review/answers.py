"""What a decision says of a pair: from a key to a relevance."""

from __future__ import annotations

from collections.abc import Mapping

from retgen.errors import UsageError
from retgen.messages import did_you_mean
from retgen.review.records import Decision, Item, Settings

FIELDS = ("query", "title", "text")
_COMMON: tuple[Decision, ...] = ("fix", "unsure")


def allowed_decisions(settings: Settings) -> tuple[Decision, ...]:
    """The decisions that a reviewer may take, in the order of the page."""
    if settings.mode == "check":
        return ("accept", "reject", *_COMMON)
    grades: tuple[Decision, ...] = ("0", "1", "2")
    return (*grades[: settings.grades], *_COMMON)


def read_decision(
    item: Item,
    decision: str,
    settings: Settings,
    relevance: int | None = None,
    edits: Mapping[str, str] | None = None,
) -> tuple[Decision, int | None]:
    """A decision, and the relevance that it gives a pair: None for "can't tell".

    `relevance`: of a fix, which says it beside or instead of new texts. To accept is to hold the
    data set's label, to reject is to hold the opposite: a pair without a positive label is then
    relevant. Raises `UsageError` for what does not fit.
    """
    known = allowed_decisions(settings)
    if decision not in known:
        raise UsageError(
            f"{decision!r} is no decision of this review{did_you_mean(decision, known) or '.'} "
            f"In mode {settings.mode}: {', '.join(known)}"
        )
    if decision != "fix" and (edits or relevance is not None):
        raise UsageError(f"only a fix has new texts or a grade beside it, not {decision!r}")
    given = next(one for one in known if one == decision)
    positive = item.label is not None and item.label > 0
    if decision == "unsure":
        return given, None
    if decision == "fix":
        return given, _fixed(settings, relevance, edits or {})
    if decision == "accept":
        return given, min(int(item.label), settings.grades - 1) if item.label and positive else 0
    if decision == "reject":
        return given, 0 if positive else 1
    return given, int(decision)


def _fixed(settings: Settings, relevance: int | None, edits: Mapping[str, str]) -> int | None:
    """Of a fix: what is wrong with a pair as it is shown may leave its relevance open."""
    for field in edits:
        if field not in FIELDS:
            raise UsageError(
                f"a fix of {field!r}: there is no such text{did_you_mean(field, FIELDS) or '.'} "
                f"Texts: {', '.join(FIELDS)}"
            )
    for field, text in edits.items():
        if field != "title" and not text.strip():
            raise UsageError(f"a fix leaves no {field}: say what is wrong with the pair instead")
    if relevance is None and not edits:
        raise UsageError("a fix is empty: give the right grade, or change a text")
    if relevance is not None and not 0 <= relevance < settings.grades:
        raise UsageError(
            f"a fix with grade {relevance}: grades are 0 to {settings.grades - 1} here"
        )
    return relevance
