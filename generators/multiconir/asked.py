"""Conditions of drawn ladders: what is asked of two entities, and the clause that asks it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import NamedTuple

from retgen.tokenizer import content_stems
from retgen.world.asking import span
from retgen.world.compose import said_of
from retgen.world.domain import Slot
from retgen.world.expressions import Between, Condition, Is, Within, ordinal

_WIDTHS = [factor * 10**power for power in range(6) for factor in (1, 2, 5)]
# after "that", the subject of "that A wrote"
_NO_VERBS = frozenset(("{v}", "a", "an", "the", "its", "her", "his", "their", "bookshops"))


class Asked(NamedTuple):
    """A condition. `told`: the document wording of its sentence; `frame`: the relative clause that
    asks; `first`, `second`: what it asks of the first entity, and would ask of the second.
    """

    slot: Slot
    wording: str
    told: int
    frame: str
    first: Condition
    second: Condition

    def listed(self, relative: str) -> str:
        """The condition as it stands in a list, which needs no "that" before a verb."""
        clause = self.clause(self.first)
        if self.frame.removeprefix(f"{relative} ").partition(" ")[0] in _NO_VERBS:
            return capital(clause)
        return capital(clause.removeprefix(f"{relative} "))

    def clause(self, condition: Condition) -> str:
        """A relative clause."""
        bare = "{n}" in self.frame
        value = _value(self.slot, condition, bare)
        return self.frame.replace("{n}" if bare else "{v}", value)


def step_up(
    slot: Slot, first: int, second: int, pick: Callable[[int], int]
) -> tuple[Condition, Condition] | None:
    """What two values entail and the other does not; None where there is nothing of the kind.

    No parent that repeats a word of its value: that would be asking literally.
    """
    name = slot.name
    if slot.is_listed:
        one, two = slot.values[first].parents, slot.values[second].parents
        levels = [
            level
            for level in range(min(len(one), len(two)))
            if one[level] not in two
            and two[level] not in one
            and not content_stems(slot.values[first].name) & content_stems(one[level])
            and not content_stems(slot.values[second].name) & content_stems(two[level])
        ]
        if not levels:
            return None
        level = levels[pick(len(levels))]
        return Within(name, one[level]), Within(name, two[level])
    if slot.type == "year":
        low, high = first // 10 * 10, second // 10 * 10
        if low == high:
            return None
        return Between(name, low, low + 9), Between(name, high, high + 9)
    if slot.type == "date":
        years = [datetime.date.fromordinal(code).year for code in (first, second)]
        if years[0] // 10 == years[1] // 10 or {year % 10 for year in years} & {0, 9}:
            return None  # a year at an end would be named
        decades = [year // 10 * 10 for year in years]
        both = [Between(name, f"{low}-01-01", f"{low + 9}-12-31") for low in decades]
        return both[0], both[1]
    if slot.type == "number":
        widths = [
            width for width in _WIDTHS
            if 2 < width <= abs(first - second) and first % width and second % width
        ]  # fmt: skip
        if not widths:
            return None
        width = widths[pick(len(widths))]
        lows = first // width * width, second // width * width
        if lows[0] == lows[1] or 0 in lows:
            return None
        return Between(name, lows[0], lows[0] + width), Between(name, lows[1], lows[1] + width)
    return None


def _value(slot: Slot, condition: Condition, bare: bool) -> str:
    match condition:
        case Within(_, parent):
            return parent
        case Between(_, low, high):
            return span(slot, low, high, "literal" if slot.type == "date" else "entailed")
        case Is(_, value):
            if slot.is_ordered:
                return said_of(slot.type, slot.unit, ordinal(value))[1][bare]
            return str(value)


def capital(text: str) -> str:
    """A text that begins with a capital letter."""
    return text[0].upper() + text[1:]
