"""Orders of a clause that say the same: what a text sets apart is put back where phrases have it.

it was in Turin that it was shot    ->  it was shot in Turin
in Turin, it was shot               ->  it was shot in Turin
Turin is the city where it was shot ->  it was shot in Turin
what it shows is a harp             ->  it shows a harp
the plot of the film turns on ...   ->  the film 's plot turns on ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from retgen.validators.world.mentions import SELF, Item, Mention

OTHER = "<other>"  # in place of one of those who share the slots of the entity
_BE = ("is", "was", "are", "were")
_THAT = ("that", "where", "when", "which", "who", "whom")
_PREPOSITIONS = frozenset("in on at to for from by of with as into under during".split())
_KINDS = ("city", "place", "town", "year", "day", "date")


class Placed(NamedTuple):
    """An item, and its place in the sentence; -1 for a word that an order adds."""

    place: int
    item: Item


Order = list[Placed]


def other_orders(clause: Order) -> Iterator[Order]:
    """The clause in each other order in which phrases may have it."""
    yield from _with_possessive(clause)
    for order in _with_value_back(clause):
        yield order
        yield from _with_possessive(order)


def _with_value_back(clause: Order) -> Iterator[Order]:
    said = [one.item for one in clause]
    at = next((n for n, one in enumerate(said) if isinstance(one, Mention)), None)
    if at is None:
        return
    before, behind = said[:at], said[at + 1 :]
    value, rest = clause[: at + 1], clause[at + 1 :]
    if before[:1] == ["it"] and before[1:2] and before[1] in _BE and behind and behind[0] in _THAT:
        yield [*rest[1:], *value[2:]]  # "it was in Turin that ..."
        yield [*value[2:], *rest[1:]]  # "it was a smuggler who ..."
    if before and before[0] in _PREPOSITIONS and behind:
        yield [*rest[behind[0] == "," :], *value]
    if before[:1] == ["what"] and before[-1] in _BE and not behind:
        yield [*value[1:-2], value[-1]]  # "what it shows is ..."
        yield [value[-1], *value[1:-2]]  # "what moves the plot is ..."
    if not before and behind and behind[0] in _BE:
        if behind[1:2] == ["what"]:  # "a harp is what ..."
            yield [*rest[2:], value[-1]]
        for count, word in _where(behind[1:]):  # "Turin is where ..."
            yield [*rest[1 + count :], Placed(-1, word), value[-1]]
    if not behind and before and before[-1] in _BE:
        for count, word in _where(before):  # "the city where ... was Turin"
            yield [*value[count:-2], Placed(-1, word), value[-1]]


def _where(items: list[Item]) -> Iterator[tuple[int, str]]:
    """(how many items, preposition) of "where", "the city in which", "the year when"."""
    count = 2 if items[:1] == ["the"] and items[1:2] and items[1] in _KINDS else 0
    word = items[count] if count < len(items) else ""
    if word in ("where", "when") or (count and word == "that"):
        yield from ((count + 1, one) for one in ("in", "on"))
    elif word in ("in", "on") and items[count + 1 : count + 2] == ["which"]:
        yield count + 2, str(word)


def _with_possessive(clause: Order) -> Iterator[Order]:
    said = [one.item for one in clause]
    for at, item in enumerate(said):
        if item in (SELF, OTHER) and at > 2 and said[at - 1] in ("of", "in", "for"):
            for the in range(max(0, at - 5), at - 2):
                if said[the] == "the":
                    owner = [clause[at], Placed(-1, "'s")]
                    noun = clause[the + 1 : at - 1]
                    yield [*clause[:the], *owner, *noun, *clause[at + 1 :]]
