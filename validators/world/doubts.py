"""Words of a query that may change what it asks, and that no pattern has understood.

Patterns tell a condition by some of its words; what the others say is open. Most may say anything.
Those that hedge, rank, count, order or restrict may not: they are refused by their form where that
tells them (-ly, -est, a number, "than"), by their place (in front of what is asked for, or of a
year; behind all conditions), and else by closed classes (modal verbs, prepositions).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import Any

from retgen.validators.world.cues import Cues
from retgen.validators.world.mentions import NUMBER_WORDS
from retgen.validators.world.quantities import Item, Quantity
from retgen.validators.world.query_words import (
    ADVERBS,
    BOUNDS,
    EXTREMES,
    HAVE,
    NEUTRAL,
    RELATIVES,
    is_in,
    is_value,
    wording_of,
)

_MODAL = frozenset("may might ought will if whether xor than almost perhaps maybe".split())
_UNREAL = frozenset("could would must".split())  # with "have"
_ORDINAL = frozenset("first last next".split())
_LATER = frozenset("second third fourth fifth sixth seventh eighth ninth tenth".split())
NOT_IN = frozenset("near outside beyond opposite towards toward off".split())
ABOUT = frozenset("about around circa some twice double half".split())
OF_TIME = frozenset("in on of the during from since until at".split())
_LY = re.compile(r"[a-z]{3,}ly")
_PLAIN_LY = frozenset("only merely simply easily additionally family initially recently".split())
_OF_NOUNS = frozenset("the a an whose its his her their".split())  # "whose daily work"
_RANKING = re.compile(r"[a-z]{3,}est|most|least|best|worst")
_BEGIN = re.compile("start|beg[aiu]n|c[ao]me")
_RANKERS = frozenset(word for _, phrase in (*EXTREMES, *ADVERBS) for word in phrase)
_FRAME = NEUTRAL | HAVE | RELATIVES | BOUNDS | frozenset(
    "all am any anyone are at by can could do does find fits for from get give help i in identify "
    "interested is know list look looking me my name need of on one please pick point retrieve "
    "return search searching see select show some suggest take tell there to us want we where "
    "which who whose with would you your here has have matching among about case cases".split()
)  # fmt: skip


def doubtful(
    items: Sequence[Item], expression: Sequence[Any], cues: Cues, nouns: frozenset[str]
) -> str:
    """A word that is not understood where it may change what a query asks; "" for none."""
    return next(_doubts(items, expression, held_by(items, cues), nouns), "")


def ranked_by(words: Sequence[str], cues: Cues, nouns: frozenset[str]) -> str:
    """What a superlative is of beside what is asked for: "the longest title"; "" for nothing."""
    plain = nouns | _FRAME | _RANKERS | NUMBER_WORDS.keys()
    held = held_by(words, cues)
    return next((w for w, h in zip(words, held, strict=True) if not h and w not in plain), "")


def held_by(items: Sequence[Item], cues: Cues) -> list[bool]:
    """Which words some phrase of the patterns holds."""
    spans = cues.spans(wording_of(items))
    held, start = [], 1
    for item in items:
        stop = start + len(wording_of([item]))
        held.append(any(first < stop and start < last for first, last in spans))
        start = stop + 1
    return held


def _doubts(
    items: Sequence[Item], expression: Sequence[Any], held: Sequence[bool], nouns: frozenset[str]
) -> Iterator[str]:
    ranks, counts = bool(_parts(expression, ("most", "least"))), _counts(expression)
    values = [i for i, item in enumerate(items) if is_value(item)]
    for i, item in enumerate(items):
        before = items[i - 1] if i else ""
        following = items[i + 1] if i + 1 < len(items) else ""
        if not isinstance(item, str) or (held[i] and item not in _ORDINAL):
            continue
        if (
            hedges(item, before, following)
            or _ranks(item, before, following, nouns, ranks)
            or (item in NUMBER_WORDS and item != "one" and int(NUMBER_WORDS[item]) not in counts)
            or (item == "more" and following != "than" and not counts)
            or (item == "but" and i < values[0])
            or (item in NOT_IN and _is_value_behind(items, i))
            or (item in ABOUT and isinstance(following, Quantity))
        ):
            yield item
    for i in values:
        if isinstance(items[i], Quantity) and items[i].kind != "number":  # type: ignore[union-attr]
            yield from of_time(items, held, i)
    if not ranks and not counts:
        yield from _framing(items, held, nouns)
        yield from _trailing(items, held, values[-1])


def hedges(item: str, before: Item, following: Item) -> bool:
    """Whether a word says that what is asked for is not quite so, or under a condition."""
    if item == "to":
        return following in ("be", "have") and not _BEGIN.match(str(before))
    if item in _UNREAL:
        return following == "have" or (following == "be" and item == "could")
    if _LY.fullmatch(item):
        return item not in _PLAIN_LY and not is_in(before, _OF_NOUNS)
    return item in _MODAL or (item == "because" and following != "of")


def _ranks(item: str, before: Item, following: Item, nouns: frozenset[str], ranked: bool) -> bool:
    """Whether a word puts what is asked for in an order, which the expression does not."""
    if item in _ORDINAL:
        return is_in(following, nouns)
    if _RANKING.fullmatch(item):
        return not ranked and before in ("the", "which", "what") and following != "to"
    return item in _LATER


def _framing(items: Sequence[Item], held: Sequence[bool], nouns: frozenset[str]) -> Iterator[str]:
    """What stands in front of the noun for what is asked for."""
    end = next(
        (i for i, item in enumerate(items)
         if is_value(item) or is_in(item, nouns) or is_in(item, RELATIVES)),
        len(items),
    )  # fmt: skip
    if end < len(items) and not is_value(items[end]):
        for i, item in enumerate(items[:end]):
            if isinstance(item, str) and not held[i] and item not in _FRAME:
                yield item


def _trailing(items: Sequence[Item], held: Sequence[bool], last: int) -> Iterator[str]:
    """What stands behind the last condition, set off from it."""
    start = next((i for i in range(last + 1, len(items)) if is_in(items[i], BOUNDS)), len(items))
    for i in range(start, len(items)):
        item = items[i]
        if isinstance(item, str) and not held[i] and item not in _FRAME:
            yield item


def of_time(items: Sequence[Item], held: Sequence[bool], place: int) -> Iterator[str]:
    """A word between a preposition and its year or day: "in early 1950", "the spring of 1950"."""
    words: list[str] = []  # those passed, the last one first
    part = False  # of a year: "the first half of 1950"
    for i in range(place - 1, -1, -1):
        item = items[i]
        if not words and item in ("of", "the", "year"):
            part = part or item == "of"
            continue
        if is_in(item, OF_TIME) or (held[i] and part):
            yield from words[:1]
            return
        if held[i] or is_in(item, RELATIVES | BOUNDS) or is_value(item) or words:
            return
        words.append(wording_of([item]))


def _is_value_behind(items: Sequence[Item], place: int) -> bool:
    rest = [item for item in items[place + 1 : place + 3] if item not in ("the", "a", "an")]
    return bool(rest) and is_value(rest[0])


def _parts(expression: Any, operators: Container[str]) -> list[Any]:
    """The parts of an expression that have some operators."""
    if not isinstance(expression, list) or not expression:
        return []
    inner = [found for part in expression[1:] for found in _parts(part, operators)]
    return [expression, *inner] if expression[0] in operators else inner


def _counts(expression: Sequence[Any]) -> set[int]:
    """The numbers that an expression has from a query's words: of results, of conditions."""
    several = _parts(expression, ("at least",))
    ranked = _parts(expression, ("most", "least"))
    return {n for one in several for n in (one[1], len(one) - 2)} | {one[1] for one in ranked}
