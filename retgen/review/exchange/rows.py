"""Verdicts on their way in and out: one a row, checked against the review before any is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

from retgen.errors import DatasetError, UsageError
from retgen.review.consensus import allowed_decisions
from retgen.review.records import Item, Part, Settings, ShownPair, Verdict
from retgen.review.review import Review

EDITS = ("query", "title", "text")  # a new one is called new_query, ...
TEXTS = ("reason", "comment", *(f"new_{name}" for name in EDITS))  # said beside a verdict
_UNSURE = frozenset({"unsure", "x", "?", "can't tell", "cannot tell", "can not tell"})
_WORDS = {"a": "accept", "r": "reject", "f": "fix"}


@dataclass(frozen=True)
class ImportedRow:
    """A verdict as a file states it. `row`: what a message calls it. "": the file does not say.

    `word`: a decision, or a grade; "" where the row is not judged. `problem`: why it is no verdict.
    """

    row: int
    item_id: str = ""
    shown: str = ""
    annotator: str = ""
    part: str = "first"
    word: str = ""
    reason: str = ""
    comment: str = ""
    edits: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


class ImportResult(NamedTuple):
    """What came of a file: verdicts kept, rows refused as (row, reason), what stood already."""

    kept: int
    refused: list[tuple[int, str]]
    already: int = 0


def export_items(review: Review) -> Iterator[tuple[Item, ShownPair, Sequence[Verdict]]]:
    """Every item in its order, what is shown of it, and the verdicts that stand on it.

    Control items are among them, and nothing tells them from the others.
    """
    by = review.by_item()
    for item in sorted(review.items, key=lambda one: one.item_id):
        yield item, review.shown_pair(item), by.get(item.item_id, ())


def answers(verdict: Verdict) -> dict[str, str]:
    """A verdict as texts: `verdict`, and those of `TEXTS` that are not empty."""
    edits = {f"new_{name}": text for name, text in verdict.edits.items()}
    said = {"verdict": word_of(verdict), "reason": verdict.reason, "comment": verdict.comment}
    return {name: text for name, text in (said | edits).items() if text}


def imported_row(
    number: int, item_id: str, shown: str, annotator: str, part: str, said: Mapping[str, str]
) -> ImportedRow:
    """A row of what `answers` gives."""
    word, reason, comment, *edits = (said.get(name, "") for name in ("verdict", *TEXTS))
    return ImportedRow(
        number,
        item_id,
        shown,
        annotator,
        part,
        word,
        reason,
        comment,
        dict(zip(EDITS, edits, strict=True)),
    )


def check_review(review: Review, path: Path, stated: object) -> None:
    """Refuse a file that says it is of other data. Raises `DatasetError`."""
    if stated and stated != review.settings.dataset:
        raise DatasetError(
            f"{path} is of a review of other data than {review.path} had when its review began. "
            "Nothing was kept"
        )


def claim(review: Review, item: Item) -> str:
    """The label that is to be checked, in words; "" where people grade without seeing it."""
    if review.settings.mode != "check":
        return ""
    if not item.label:
        return "not relevant"
    return f"relevant, grade {item.label:g}" if review.settings.grades > 2 else "relevant"


def word_of(verdict: Verdict) -> str:
    """A verdict in one word or two, as `keep` reads it back."""
    if verdict.decision != "fix":
        return verdict.decision
    return "fix" if verdict.relevance is None else f"fix {verdict.relevance}"


def words(settings: Settings) -> list[str]:
    """All that a reviewer may say in a review, fixes of the grade included."""
    plain = [one for one in allowed_decisions(settings) if one != "fix"]
    return [*plain, "fix", *(f"fix {grade}" for grade in range(settings.grades))]


def keep(
    review: Review, given: Sequence[ImportedRow], annotator: str | None, path: Path, data: bytes
) -> ImportResult:
    """Check all rows, and keep the good ones in one transaction."""
    source = f"{path.name} {hashlib.sha256(data).hexdigest()[:12]}"
    stated = review.store.verdicts()
    before = {_key(v) for v in stated if v.source == source}
    before |= {_key(v) for given_on in review.by_item().values() for v in given_on}
    gone = {_key(v) for v in stated if v.decision != "undo"} - before
    by_shown: dict[str, list[Item]] = {}
    for item in review.items:
        by_shown.setdefault(item.shown, []).append(item)
    known = {item.item_id for item in review.items}
    good: dict[tuple[object, ...], tuple[int, Verdict]] = {}
    refused: list[tuple[int, str]] = []
    already = judged = strange = 0
    for one in given:
        if one.problem:
            refused.append((one.row, one.problem))
            continue
        if not one.word and not any(one.edits.values()):
            continue
        judged += 1
        item_id = one.item_id
        if item_id not in known and len(by_shown.get(one.shown, ())) == 1:
            item_id = by_shown[one.shown][0].item_id  # spreadsheets take some ids for numbers
        try:
            if item_id not in known:
                strange += 1
                raise UsageError(f"there is no item {one.item_id!r} in this review")
            item = review.item(item_id)
            if one.shown and one.shown != item.shown:
                strange += 1
                raise UsageError("it is on another text than this review shows of the item")
            verdict = _verdict(review, item, one, one.annotator or annotator, source)
        except UsageError as error:
            refused.append((one.row, str(error)))
            continue
        key = _key(verdict)
        if key in gone:
            why = (
                f"{verdict.annotator} said this of item {item_id}, and took it back or changed it "
                "since; say it on the page if it is meant"
            )
            refused.append((one.row, why))
        elif key in before or key in good:
            already += 1
        else:
            good[key] = one.row, verdict
    if judged and strange == judged:
        raise DatasetError(
            f"{path} is of another review: none of its {judged:,} verdicts is on an item and text "
            f"of {review.store.path}. Nothing was kept"
        )
    refused += _without_conflicts(good)
    if good:
        review.store.add(verdict for _, verdict in good.values())
    return ImportResult(len(good), sorted(refused), already)


def _without_conflicts(
    good: dict[tuple[object, ...], tuple[int, Verdict]],
) -> list[tuple[int, str]]:
    """Take out what one person says of an item in two ways; the rows, and why."""
    said: dict[tuple[str, str, str], list[tuple[object, ...]]] = {}
    for key, (_, verdict) in good.items():
        said.setdefault((verdict.item_id, verdict.annotator, verdict.part), []).append(key)
    result = []
    for (item_id, annotator, _), keys in said.items():
        if len(keys) > 1:
            why = f"{annotator} judges item {item_id} in more than one way in this file"
            result += [(good.pop(key)[0], why) for key in keys]
    return result


def _verdict(
    review: Review, item: Item, one: ImportedRow, annotator: str | None, source: str
) -> Verdict:
    if annotator is None:
        raise UsageError(
            "whose verdict it is does not stand in the file; name it (one of "
            f"{', '.join(review.settings.annotators)}) in a column annotator, or call the file "
            "review_NAME.csv"
        )
    edits = {name: text for name, text in one.edits.items() if text}
    decision, relevance = _decision(one.word, bool(edits), item, review.settings)
    return review.verdict(
        annotator,
        item.item_id,
        cast(Part, one.part or "first"),
        decision,
        shown=item.shown,
        relevance=relevance,
        reason=one.reason,
        comment=one.comment,
        edits=edits or None,
        source=source,
    )


def _decision(word: str, edits: bool, item: Item, settings: Settings) -> tuple[str, int | None]:
    """What people and spreadsheets write, as a decision and the grade of a fix."""
    said = word.strip().lower().replace("\u2019", "'")
    if said in _UNSURE and not edits:
        return "unsure", None
    said = _WORDS.get(said, said)
    first, _, grade = said.replace(":", " ").partition(" ")
    if first == "fix":
        return "fix", _grade(grade, settings) if grade.strip() else None
    if said.replace(".", "", 1).isdigit():
        number = _grade(said, settings)
        if edits or settings.mode == "check":
            return "fix", number
        return str(number), None
    if edits and said in ("accept", "reject"):
        positive = item.label is not None and item.label > 0
        return "fix", int(positive == (said == "accept"))
    return ("fix" if edits and not said else said), None


def _grade(text: str, settings: Settings) -> int:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < settings.grades or number != int(number):  # nor is it nan
        scale = ", ".join(map(str, range(settings.grades)))
        raise UsageError(f"the grade {text.strip()!r} is not on this review's scale: {scale}")
    return int(number)


def _key(verdict: Verdict) -> tuple[object, ...]:
    """What makes two verdicts the same one."""
    return (
        verdict.item_id,
        verdict.annotator,
        verdict.part,
        verdict.decision,
        verdict.relevance,
        verdict.reason,
        verdict.comment,
        tuple(sorted(verdict.edits.items())),
    )
