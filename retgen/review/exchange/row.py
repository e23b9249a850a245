"""A verdict as files of other tools state it."""

from __future__ import annotations

from typing import NamedTuple

from retgen.errors import UsageError
from retgen.review.records import Verdict

UNSURE = "unsure"
_UNSURE = frozenset({UNSURE, "x", "?", "can't tell", "cannot tell", "can not tell"})


class ImportedRow(NamedTuple):
    """A row of a file. `row`: its number in messages. "": the file does not say.

    `verdict`: a grade or "unsure", "" where the row is not judged. `problem`: why the row is no
    verdict.
    """

    row: int
    item_id: str = ""
    shown: str = ""
    annotator: str = ""
    settles: bool = False
    verdict: str = ""
    reason: str = ""
    comment: str = ""
    problem: str = ""


def verdict_word(verdict: Verdict) -> str:
    """A verdict as files state it."""
    return UNSURE if verdict.relevance is None else str(verdict.relevance)


def relevance_of(word: str, grades: int) -> int | None:
    """The relevance that people and spreadsheets write. Raises `UsageError` for anything else."""
    said = word.strip().lower().replace("\u2019", "'")
    if said in _UNSURE:
        return None
    try:
        number = float(said)
    except ValueError:
        number = -1.0
    if not 0 <= number < grades or number != int(number):  # which holds of nan too
        scale = ", ".join(map(str, range(grades)))
        raise UsageError(
            f"the verdict {word.strip()!r} is not on this review's scale: {scale}, {UNSURE}"
        )
    return int(number)
