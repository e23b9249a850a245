"""A form that was sent, as what `Review.record` takes."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import NamedTuple, cast, get_args

from retgen.review.answers import FIELDS
from retgen.review.records import Decision, Part, ShownPair, Verdict
from retgen.review.web.security import RequestRefused

_LONGEST = 4 * 3600  # seconds; a page that stood open for longer measures nothing
_DIGITS = 9  # of a grade; Python reads no number of thousands of them, SQLite none of twenty


class FormAnswer(NamedTuple):
    """What a person said of an item; of a fix also its grade and changed texts."""

    decision: Decision
    relevance: int | None
    reason: str
    comment: str
    edits: Mapping[str, str]
    seconds: float | None
    shown: str

    def same(self, verdict: Verdict) -> bool:
        """Whether a verdict says this already."""
        said = (verdict.decision, verdict.reason, verdict.comment, verdict.shown)
        if said != (self.decision, self.reason, self.comment, self.shown):
            return False
        return self.decision != "fix" or (verdict.relevance, dict(verdict.edits)) == (
            self.relevance, dict(self.edits),
        )  # fmt: skip


def answer_of(form: Mapping[str, str], shown: ShownPair) -> FormAnswer:
    """The answer of a form. Raises `Refused` where it is none of our page's."""
    decision = form.get("decision", "")
    if decision not in get_args(Decision) or decision == "undo":
        raise RequestRefused(
            400, "The form says nothing of the item.", "Go back and choose a button."
        )
    edits: dict[str, str] = {}
    if decision == "fix":
        edits = {
            field: new
            for field in FIELDS
            if (new := _line_ends(form.get(f"new_{field}", getattr(shown, field))))
            != as_submitted(getattr(shown, field))
        }
    return FormAnswer(
        cast("Decision", decision),
        _grade(form.get("grade", "")) if decision == "fix" else None,
        _line_ends(form.get("reason", "")).strip(),
        _line_ends(form.get("comment", "")).strip(),
        edits,
        _seconds(form.get("since", "")),
        form.get("shown", ""),
    )


def part_of(name: str) -> Part:
    """The part of a review that an address names. Raises `Refused`."""
    if name not in get_args(Part):
        raise RequestRefused(404, f"A review has no part {name!r}.", "Start from the first page.")
    return cast("Part", name)


def as_submitted(text: str) -> str:
    """A text as a browser sends it back unchanged: line ends are one, NUL is no character."""
    return _line_ends(text).replace("\x00", "\ufffd")


def _line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _grade(text: str) -> int | None:
    """The grade of a fix; None: with this text it cannot be told."""
    if text and not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise RequestRefused(400, f"{text[:20]!r} is no grade.", "Go back and choose one.")
    return int(text) if text else None


def _seconds(since: str) -> float | None:
    """From the page being shown to now."""
    try:
        passed = time.time() - float(since)
    except ValueError:
        return None
    # the page rounds its time, so an answer at once may come a little before it
    return round(max(passed, 0), 1) if math.isfinite(passed) and -1 < passed <= _LONGEST else None
