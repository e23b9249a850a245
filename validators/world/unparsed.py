"""Words that no pattern has read, and that may change what a query asks or a sentence states.

Patterns recognise a condition or a fact by some of its words; what the others say is open. Most may
say anything. Those that hedge, rank, count, order or restrict may not: they are refused by their
form (-ly, -est, a number, "than"), by their place (in front of what is asked for, or of a year;
behind all conditions), or else by closed classes (modal verbs, prepositions). In sentences, near
figures and asides are refused, too.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from retgen.validators.world.definitions import SlotDefinition
from retgen.validators.world.mentions import NUMBER_WORDS, OWN, Mention
from retgen.validators.world.query_words import (
    ADVERBS,
    BOUNDS,
    EXTREMES,
    HAVE,
    NEUTRAL,
    RELATIVES,
    Item,
    Quantity,
    is_in,
    is_value,
    quantities,
    wording_of,
)
from retgen.validators.world.slot_patterns import PhraseMatcher

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


def unparsed_words(
    items: Sequence[Item], expression: Sequence[Any], phrases: PhraseMatcher, nouns: frozenset[str]
) -> str:
    """A word that is not understood where it may change what a query asks; "" for none."""
    return next(_unparsed(items, expression, covered_words(items, phrases), nouns), "")


def ranked_by(words: Sequence[str], phrases: PhraseMatcher, nouns: frozenset[str]) -> str:
    """What a superlative is of beside what is asked for: "the longest title"; "" for nothing."""
    plain = nouns | _FRAME | _RANKERS | NUMBER_WORDS.keys()
    held = covered_words(words, phrases)
    return next((w for w, h in zip(words, held, strict=True) if not h and w not in plain), "")


def covered_words(items: Sequence[Item], phrases: PhraseMatcher) -> list[bool]:
    """Which words some phrase of the patterns holds."""
    spans = phrases.spans(wording_of(items))
    held, start = [], 1
    for item in items:
        stop = start + len(wording_of([item]))
        held.append(any(first < stop and start < last for first, last in spans))
        start = stop + 1
    return held


def _unparsed(
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
            is_hedge(item, before, following)
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


def is_hedge(item: str, before: Item, following: Item) -> bool:
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


_SUBJECTS = frozenset("it he she its his her this".split()) | {OWN}
_EMBEDS = frozenset(("that", "whether"))
_OF_THAT = frozenset("at by for from in of on to".split())  # "at that time"
_MARKS = frozenset('()[]?!"\u201c\u201d\u2026')
_BOUNDS = frozenset(", ; : but or \u2013 \u2014".split())
_ARTICLES = frozenset("a an the".split())
_PLAIN = frozenset(
    "a about after all also among an and as at be been before being both by day during for "
    "from had has have he her here hers herself him himself his if in into is it its itself "
    "like made no of on one only out over she since so that the their them then there these "
    "they this those through to too under until up was were what when where which while who "
    "whom whose with within year".split()
) | {",", ";", ":", "'s", "\u2019s", OWN}


def hedge_in(
    items: Sequence[str | Mention],
    phrases: PhraseMatcher,
    slots: Mapping[str, SlotDefinition],
    names: frozenset[str],
) -> str:
    """A word by which a sentence may not state what it seems to; "" for none.

    `names`: words that name or call what it is about.
    """
    # most sentences hold no such word at all; what patterns hold is looked up for the others
    if "of" not in items and not any(_hedges(items, [False] * len(items), slots, names)):
        return ""
    return next(_hedges(items, covered_words(items, phrases), slots, names), "")


def _hedges(
    items: Sequence[str | Mention],
    held: Sequence[bool],
    slots: Mapping[str, SlotDefinition],
    names: frozenset[str],
) -> Iterator[str]:
    values = [i for i, item in enumerate(items) if is_value(item)]
    if not values:
        return
    for one in quantities(items, slots):
        if isinstance(one, Quantity) and one.low != one.high:
            yield one.text  # "before 1950", "at least 8"
    for i, item in enumerate(items):
        before = items[i - 1] if i else ""
        following = items[i + 1] if i + 1 < len(items) else ""
        if not isinstance(item, str) or (held[i] and item not in ABOUT):
            continue
        if (
            item in _MARKS
            or item == "or"
            or (item not in names and is_hedge(item, before, following))
        ):
            yield item
        if is_value(following) and _changes(item, before, following, names):
            yield item
    for i in values:
        if _is_of(items[i], "year", "date"):
            yield from of_time(items, held, i)
    yield from _strange(items, held, range(_lead(items, values[0], names)))
    start = next(
        (i for i in range(values[-1] + 1, len(items)) if is_in(items[i], _BOUNDS)), len(items)
    )
    yield from _strange(items, held, range(start, len(items)))


def _changes(item: str, before: Item, following: Item, names: frozenset[str]) -> bool:
    """Whether a word in front of a value makes it another one: "near Oslo", "a former nurse"."""
    if _is_of(following, "number", "year", "date") and item in ABOUT:
        return True
    return item in NOT_IN or (is_in(before, _ARTICLES) and item not in names and item != "year")


def _lead(items: Sequence[Item], value: int, names: frozenset[str]) -> int:
    """Where a lead ends in which what follows is embedded: "Legend has it that", "In a dream,"."""
    for i, item in enumerate(items[:value]):
        before, following = items[i - 1] if i else "", items[i + 1]
        if is_in(item, _EMBEDS) and following != "of" and not is_in(before, _OF_THAT):
            return i
    subject = next(
        (i for i, one in enumerate(items) if is_value(one) or is_in(one, _SUBJECTS | names)), 0
    )
    return subject - 1 if subject and items[subject - 1] == "," else 0


def _strange(items: Sequence[Item], held: Sequence[bool], places: range) -> Iterator[str]:
    for i in places:
        item = items[i]
        if isinstance(item, str) and not held[i] and item not in _PLAIN:
            yield item


def _is_of(item: Item, *kinds: str) -> bool:
    return isinstance(item, Mention) and item.kind in kinds
