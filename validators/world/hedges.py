"""Words of a sentence that take back what it states: hedges, near figures, asides.

A fact is told by some words of its clause. As in queries (`doubts`), those that no pattern holds
may be anything but what tells that it is not quite so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from retgen.validators.world.cues import Cues
from retgen.validators.world.definitions import Slot
from retgen.validators.world.doubts import ABOUT, NOT_IN, hedges, held_by, of_time
from retgen.validators.world.mentions import OWN, Mention
from retgen.validators.world.quantities import Item, Quantity, quantities
from retgen.validators.world.query_words import is_in, is_value

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


def taken_back(
    items: Sequence[str | Mention], cues: Cues, slots: Mapping[str, Slot], names: frozenset[str]
) -> str:
    """A word by which a sentence may not state what it seems to; "" for none.

    `names`: words that name or call what it is about.
    """
    # most sentences hold no such word at all; what patterns hold is looked up for the others
    if "of" not in items and not any(_doubts(items, [False] * len(items), slots, names)):
        return ""
    return next(_doubts(items, held_by(items, cues), slots, names), "")


def _doubts(
    items: Sequence[str | Mention],
    held: Sequence[bool],
    slots: Mapping[str, Slot],
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
            or (item not in names and hedges(item, before, following))
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
