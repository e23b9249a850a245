"""What a decision says of a pair, and what holds of several verdicts on one item.

The last verdict of an annotator on an item is theirs, unless they took it back. An adjudication
settles the item. Else all who were asked must say the same; until then it is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from retgen.errors import UsageError
from retgen.messages import did_you_mean
from retgen.review.records import Decision, Item, Settings, Verdict

State = Literal["new", "waiting", "open", "settled"]
FIELDS = ("query", "title", "text")
_COMMON: tuple[Decision, ...] = ("fix", "unsure")


class Consensus(NamedTuple):
    """What holds of an item: `relevance` where settled, None there for "can't tell".

    "new": nobody looked. "waiting": not all who are asked did, and those who did agree. "open":
    they disagree, and nobody has settled it. `by`: whose verdicts it follows from.
    """

    state: State
    relevance: int | None = None
    by: tuple[str, ...] = ()


def standing(verdicts: Iterable[Verdict]) -> dict[tuple[str, str, str], Verdict]:
    """By (item, annotator, part) the verdict that stands; verdicts come in order of number."""
    result: dict[tuple[str, str, str], Verdict] = {}
    for verdict in verdicts:
        key = (verdict.item_id, verdict.annotator, verdict.part)
        if verdict.decision == "undo":
            result.pop(key, None)
        else:
            result[key] = verdict
    return result


def by_item(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """The verdicts that stand, by item."""
    result: dict[str, list[Verdict]] = {}
    for verdict in standing(verdicts).values():
        result.setdefault(verdict.item_id, []).append(verdict)
    return result


def consensus(verdicts: Sequence[Verdict], asked: Iterable[str]) -> Consensus:
    """What holds of one item. `verdicts` that stand; `asked`: the annotators that it waits for."""
    final = [verdict for verdict in verdicts if verdict.part == "adjudication"]
    if final:
        last = max(final, key=lambda verdict: verdict.number)
        return Consensus("settled", last.relevance, (last.annotator,))
    first: Mapping[str, Verdict] = {v.annotator: v for v in verdicts if v.part == "first"}
    if not first:
        return Consensus("new")
    by = tuple(sorted(first))
    said = {verdict.relevance for verdict in first.values()}
    if len(said) > 1:
        return Consensus("open", None, by)
    state: State = "settled" if set(asked) <= set(first) else "waiting"
    return Consensus(state, next(iter(said)), by)


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
