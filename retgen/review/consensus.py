"""Of several verdicts on one item, what holds.

The last verdict of an annotator on an item is theirs, unless they took it back. An adjudication
settles the item. Else all who were asked must say the same; until then it is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from retgen.review.records import Verdict

State = Literal["new", "waiting", "open", "settled"]


class Consensus(NamedTuple):
    """What holds of an item: `relevance` where settled, None there for "can't tell".

    "new": nobody looked. "waiting": not all who are asked did, and those who did agree. "open":
    they disagree, and nobody has settled it. `by`: whose verdicts it rests on.
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
