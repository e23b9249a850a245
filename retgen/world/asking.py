"""Expressions into words: what a query asks, in the documents' words, in others, or a step up.

    literal      "Find every film that is set in Leipzig."
    paraphrase   "I am looking for a film whose story unfolds in Leipzig."
    entailed     "Is there a film whose story unfolds in Germany?"

A condition is a relative clause, so that it stands in any frame: after "every film", after "one".
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

from retgen.world.compose import said_of
from retgen.world.domain import Domain, Slot
from retgen.world.expressions import (
    And,
    AndNot,
    AtLeast,
    Between,
    Condition,
    Expression,
    Extreme,
    Is,
    Or,
    Scalar,
    Via,
    Within,
    ordinal,
)

Wording = Literal["literal", "paraphrase", "entailed"]
Pick = Callable[[int], int]  # of so many, which: drawn by the caller

_BARE = "{n}"
_MARK = re.compile(r"\{([^{}]*)\}")
_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

# what a noun with its conditions stands in: "film that ...", "a film that ..."
_EVERY = (
    "Find every {}.",
    "Name each {}.",
    "Please list every {}.",
    "Show me every {}.",
    "I need every {}.",
)
_ANY = (
    "I am looking for {}.",
    "Is there {}?",
    "What I want is {}.",
    "Can you find me {}?",
    "Do you know of {}?",
)
_EITHER = ("either {0} {1} or {0} {2}", "{0} {1}, or else {0} {2}", "either {0} {1} or one {2}")
_BUT_EVERY = (", leaving out any {}", ", except for any {}")
_BUT_ANY = (", but not one {}", ", though not one {}")
_SOME = (
    "Find every {s} {r} fits at least {k} of these {n} descriptions: {list}.",
    "I am looking for {a} {r} fits no fewer than {k} of these {n} descriptions: {list}.",
    "Name each {s} {r} matches {k} or more of the following {n} descriptions: {list}.",
    "At least {k} of these {n} descriptions must fit the {s}: {list}.",
)
_TAKEN = (
    "Take every {s} {of}, and name the {k} with {extreme}.",
    "Consider each {s} {of}. Which {k} {have} {extreme}?",
    "Look at every {s} {of}; of these, find the {k} with {extreme}.",
    "I am interested in every {s} {of}: give me the {k} with {extreme}.",
)


class Asker:
    """Puts expressions of a domain into words. `pick` draws between words that mean the same."""

    def __init__(self, domain: Domain, wording: Wording, pick: Pick) -> None:
        self.domain = domain
        self.wording = wording
        self._pick = pick
        singular, relative = domain.entity.singular, domain.entity.relative
        self._noun, self._relative = singular, relative
        self._a = with_article(singular)

    def ask(self, expression: Expression) -> str:
        """The text of a query. Raises `ValueError` for what no frame holds."""
        match expression:
            case AtLeast(k, parts):
                return self._some(k, parts)
            case Extreme():
                return self._extreme(expression)
            case Or(parts) if self._either(parts):
                first, second = (self._joined(_parts(part)) for part in parts)
                return self._any(self._one_of(_EITHER).format(self._a, first, second))
            case Or(parts):
                return self._asked(_listed([self.clause(part) for part in parts], "or"))
            case AndNot(kept, dropped):
                said, without = (self._joined(_parts(part)) for part in (kept, dropped))
                return self._asked(said, _BUT_EVERY, _BUT_ANY, without)
            case _:
                return self._asked(self._joined(_parts(expression)))

    def _asked(
        self,
        said: str,
        every: Sequence[str] = ("",),
        some: Sequence[str] = ("",),
        without: str = "",
    ) -> str:
        """What meets the conditions: every one, or any; after it what it must not meet."""
        if self._pick(2):
            but = self._one_of(every).format(without)
            return self._one_of(_EVERY).format(f"{self._noun} {said}{but}")
        return self._any(f"{self._a} {said}{self._one_of(some).format(without)}")

    def _any(self, said: str) -> str:
        return self._one_of(_ANY).format(said)

    def clause(self, expression: Expression) -> str:
        """A condition as a relative clause."""
        match expression:
            case Is() | Within() | Between():
                slot = self.domain.slots[expression.slot]
                frame = self._frame(slot, bare=isinstance(expression, Is))
                value = self._value(slot, expression, bare=_BARE in frame)
                return frame.replace(_BARE, value).replace("{v}", value)
            case Via(name, of):
                said = f"{self._a} {self._joined(_parts(of))}"
                return self._frame(self.domain.slots[name], last=True).replace("{v}", said)
        raise ValueError(f"no condition: {expression!r}")

    def _one_of(self, choices: Sequence[str]) -> str:
        return choices[self._pick(len(choices))]

    def _joined(self, parts: Sequence[Expression]) -> str:
        return _listed([self.clause(part) for part in parts], "and")

    def _either(self, parts: Sequence[Expression]) -> bool:
        """Whether two alternatives stand in a frame of their own: they must where one has parts."""
        if any(isinstance(part, And) for part in parts):
            return True
        return len(parts) == 2 and self._pick(3) > 0

    def _some(self, k: int, parts: Sequence[Expression]) -> str:
        return self._one_of(_SOME).format(
            s=self._noun, a=self._a, r=self._relative, k=_NUMBERS[k], n=_NUMBERS[len(parts)],
            list="; ".join(f"one {self.clause(part)}" for part in parts),
        )  # fmt: skip

    def _extreme(self, expression: Extreme) -> str:
        slot = self.domain.slots[expression.slot]
        said = slot.most if expression.most else slot.least
        if said is None:
            raise ValueError(f"slot {slot.name} has no words for its extremes")
        single = expression.k == 1
        return self._one_of(_TAKEN).format(
            s=self._noun, p=self.domain.entity.plural, have="has" if single else "have",
            of=self._joined(_parts(expression.of)), k="one" if single else expression.k,
            extreme=said[self.wording != "literal"],
        )  # fmt: skip

    def _frame(self, slot: Slot, *, bare: bool = False, last: bool = False) -> str:
        """A relative clause with {v}, or with {n} where `bare` values fit.

        `last`: the value ends it where that can be, since a whole clause stands there.
        """
        frames = slot.query
        if self.wording == "literal":
            frames = literal_frames(slot, self._relative, bare=bare)
        ending = tuple(one for one in frames if one.endswith("{v}"))
        return self._one_of(ending if last and ending else frames)

    def _value(self, slot: Slot, condition: Condition, *, bare: bool) -> str:
        match condition:
            case Within(_, parent):
                return parent
            case Between(_, low, high):
                return span(slot, low, high, self.wording)
            case Is(_, value):
                if slot.is_ordered:
                    return said_of(slot.type, slot.unit, ordinal(value))[1][bare]
                if slot.is_listed and self.wording != "literal":
                    named = next(one for one in slot.values if one.name == value)
                    return self._one_of(named.synonyms or (named.name,))
                return str(value)


def with_article(noun: str) -> str:
    """The noun after "a" or "an"."""
    return f"{'an' if noun[0].casefold() in 'aeiou' else 'a'} {noun}"


@cache
def _frames_of(wordings: tuple[str, ...], relative: str) -> tuple[str, ...]:
    result = []
    for wording in wordings:
        head, _, rest = wording.partition(" ")
        if head in ("{S}", "{P}") and len(_MARK.findall(rest)) == 1:
            result.append(f"{relative if head == '{S}' else 'whose'} {rest}")
    return tuple(result)


def literal_frames(slot: Slot, relative: str, *, bare: bool) -> tuple[str, ...]:
    """Document wordings as relative clauses. `bare`: those that hold {n} as well."""
    frames = _frames_of(slot.document, relative)
    return tuple(one for one in frames if bare or _BARE not in one)


def _parts(expression: Expression) -> tuple[Expression, ...]:
    return expression.parts if isinstance(expression, And) else (expression,)


def _listed(clauses: Sequence[str], word: str) -> str:
    """ "A", "A and B", "A, B and C"."""
    *first, last = clauses
    return f"{', '.join(first)} {word} {last}" if first else last


def span(slot: Slot, low: Scalar | None, high: Scalar | None, wording: Wording) -> str:
    """A range in words. Raises `ValueError` for one without (days in the middle of a year)."""
    match slot.type:
        case "number":
            return _numbers(slot, _whole(low), _whole(high), wording)
        case "year":
            first, last = _whole(low), _whole(high)
            decade = first is not None and first % 10 == 0 and last == first + 9
            if wording == "entailed" and decade:
                return f"in the {first}s"
            return _years(first, last, wording)
        case "date":
            begin = None if low is None else datetime.date.fromordinal(ordinal(low))
            end = None if high is None else datetime.date.fromordinal(ordinal(high))
            return _days(begin, end, wording)
    raise ValueError(f"slot {slot.name} has no ranges")


def _whole(end: Scalar | None) -> int | None:
    if isinstance(end, str):
        raise ValueError(f"{end!r} is no number")
    return end


def _numbers(slot: Slot, low: int | None, high: int | None, wording: Wording) -> str:
    plain = wording == "literal"
    if low is None and high is not None:
        return f"{'less than' if plain else 'under'} {_counted(high + 1, slot)}"
    if high is None and low is not None:
        return f"{'more than' if plain else 'over'} {_counted(low - 1, slot)}"
    if low is None or high is None:
        raise ValueError("a range has an end")
    if wording == "paraphrase":
        return f"from {low:,} to {_counted(high, slot)}"
    return f"between {low:,} and {_counted(high, slot)}"


def _counted(number: int, slot: Slot) -> str:
    return said_of("number", slot.unit, number)[1][0]


def _years(low: int | None, high: int | None, wording: Wording) -> str:
    plain = wording == "literal"
    if low is None and high is not None:
        return f"{'before' if plain else 'earlier than'} {high + 1}"
    if high is None and low is not None:
        return f"{'after' if plain else 'later than'} {low - 1}"
    return f"between {low} and {high}" if plain else f"from {low} to {high}"


def _days(low: datetime.date | None, high: datetime.date | None, wording: Wording) -> str:
    if low is not None and high is not None and (low.year, low.month) == (high.year, high.month):
        after = high + datetime.timedelta(1)
        if low.day == 1 and after.day == 1:
            return f"in {said_of('date', ('', ''), low.toordinal())[1][1].partition(' ')[2]}"
    if (low is None or (low.month, low.day) == (1, 1)) and (
        high is None or (high.month, high.day) == (12, 31)
    ):
        if low is not None and high is not None and low.year == high.year:
            return f"in {low.year}"
        first, last = (None if day is None else day.year for day in (low, high))
        return _years(first, last, wording)
    raise ValueError(f"there are no words for the days {low} to {high}")
