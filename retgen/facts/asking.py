"""Expressions into words: what a query asks, in the documents' words, in others, or a step up.

    literal      "Find every film that is set in Leipzig."
    paraphrase   "I am looking for a film whose story unfolds in Leipzig."
    entailed     "Is there a film whose story unfolds in Germany?"

A condition is a relative clause, so that it stands in any frame: after "every film", after "one".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import cache
from typing import Literal

from retgen.facts.compose import FEW, MONTHS, figure, said_of
from retgen.facts.domain import Domain, Scalar, Slot, ordinal
from retgen.facts.expressions import (
    And,
    AndNot,
    AtLeast,
    Condition,
    Expression,
    Extreme,
    Is,
    Or,
    ValueRange,
    Via,
    Within,
)

Wording = Literal["literal", "paraphrase", "entailed"]
Pick = Callable[[int], int]  # of so many, which: drawn by the caller

_BARE = "{n}"
_MARK = re.compile(r"\{([^{}]*)\}")

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
        self._noun, self._relative = domain.entity.singular, domain.entity.relative
        self._a = with_article(self._noun)

    def ask(self, expression: Expression) -> str:
        """The text of a query. Raises `ValueError` for what no frame holds."""
        match expression:
            case AtLeast(k, parts):
                return self._some(k, parts)
            case Extreme():
                return self._extreme(expression)
            case Or(parts) if self._either(parts):
                first, second = map(self._joined, parts)
                return self._any(self._one_of(_EITHER).format(self._a, first, second))
            case Or(parts):
                return self._asked(enumerated([self.clause(part) for part in parts], "or"))
            case AndNot(kept, dropped):
                said, without = map(self._joined, (kept, dropped))
                return self._asked(said, _BUT_EVERY, _BUT_ANY, without)
            case _:
                return self._asked(self._joined(expression))

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
            case Is() | Within() | ValueRange():
                slot = self.domain.slots[expression.slot]
                frame = self._frame(slot, bare=isinstance(expression, Is))
                value = self._value(slot, expression, bare=_BARE in frame)
                return frame.replace(_BARE, value).replace("{v}", value)
            case Via(name, of):
                said = f"{self._a} {self._joined(of)}"
                return self._frame(self.domain.slots[name], last=True).replace("{v}", said)
        raise ValueError(f"no condition: {expression!r}")

    def _one_of(self, choices: Sequence[str]) -> str:
        return choices[self._pick(len(choices))]

    def _joined(self, expression: Expression) -> str:
        parts = expression.parts if isinstance(expression, And) else (expression,)
        return enumerated([self.clause(part) for part in parts])

    def _either(self, parts: Sequence[Expression]) -> bool:
        """Whether two alternatives stand in a frame of their own: they must where one has parts."""
        if any(isinstance(part, And) for part in parts):
            return True
        return len(parts) == 2 and self._pick(3) > 0

    def _some(self, k: int, parts: Sequence[Expression]) -> str:
        return self._one_of(_SOME).format(
            s=self._noun,
            a=self._a,
            r=self._relative,
            k=FEW[k],
            n=FEW[len(parts)],
            list="; ".join(f"one {self.clause(part)}" for part in parts),
        )

    def _extreme(self, expression: Extreme) -> str:
        slot = self.domain.slots[expression.slot]
        said = slot.most if expression.most else slot.least
        if said is None:
            raise ValueError(f"slot {slot.name} has no words for its extremes")
        single = expression.k == 1
        return self._one_of(_TAKEN).format(
            s=self._noun,
            have="has" if single else "have",
            of=self._joined(expression.of),
            k="one" if single else expression.k,
            extreme=said[self.wording != "literal"],
        )

    def _frame(self, slot: Slot, *, bare: bool = False, last: bool = False) -> str:
        """A relative clause with {v}, or with {n} where `bare` values fit.

        `last`: the value ends it where that can be, since a whole clause stands there.
        """
        frames = slot.query
        if self.wording == "literal":
            frames = literal_frames(slot.document, self._relative, bare=bare)
        ending = tuple(one for one in frames if one.endswith("{v}"))
        return self._one_of(ending if last and ending else frames)

    def _value(self, slot: Slot, condition: Condition, *, bare: bool) -> str:
        if isinstance(condition, Is) and slot.is_listed and self.wording != "literal":
            named = next(one for one in slot.values if one.name == condition.value)
            return self._one_of(named.synonyms or (named.name,))
        return value_words(slot, condition, self.wording, bare=bare)


def value_words(slot: Slot, condition: Condition, wording: Wording, *, bare: bool) -> str:
    """What a condition asks for, in words. `bare`: years and dates without "in" or "on"."""
    match condition:
        case Within(_, parent):
            return parent
        case ValueRange(_, low, high):
            return span(slot, low, high, wording)
        case Is(_, value):
            if slot.is_ordered:
                return said_of(slot.type, slot.unit, ordinal(value))[1][bare]
            return str(value)


def with_article(noun: str) -> str:
    """The noun after "a" or "an"."""
    return f"{'an' if noun[0].casefold() in 'aeiou' else 'a'} {noun}"


@cache
def literal_frames(wordings: tuple[str, ...], relative: str, *, bare: bool) -> tuple[str, ...]:
    """Document wordings as relative clauses. `bare`: those that hold {n} as well."""
    heads = {"{S}": relative, "{P}": "whose"}
    return tuple(
        f"{heads[head]} {rest}"
        for head, _, rest in (one.partition(" ") for one in wordings)
        if head in heads and len(_MARK.findall(rest)) == 1 and (bare or _BARE not in rest)
    )


def enumerated(clauses: Sequence[str], word: str = "and") -> str:
    """ "A", "A and B", "A, B and C"."""
    *first, last = clauses
    return f"{', '.join(first)} {word} {last}" if first else last


def span(slot: Slot, low: Scalar | None, high: Scalar | None, wording: Wording) -> str:
    """A range in words. Raises `ValueError` for one without (days in the middle of a year)."""
    first, last = (None if end is None else ordinal(end) for end in (low, high))
    literal = wording == "literal"
    if slot.type == "number":
        words = ("less than", "more than") if literal else ("under", "over")
        between = "from {:,} to {}" if wording == "paraphrase" else "between {:,} and {}"
        return _range(first, last, words, between, lambda n: figure(slot.unit, n))
    if slot.type == "date":
        begin, end = (None if one is None else date.fromordinal(one) for one in (first, last))
        if end is not None and begin == end.replace(day=1) and (end + timedelta(1)).day == 1:
            return f"in {MONTHS[end.month - 1]} {end.year}"
        if (begin and (begin.month, begin.day) != (1, 1)) or (
            end and (end.month, end.day) != (12, 31)
        ):
            raise ValueError(f"there are no words for the days {begin} to {end}")
        first, last = (None if day is None else day.year for day in (begin, end))
        if first == last:
            return f"in {first}"
    elif wording == "entailed" and first and first % 10 == 0 and last == first + 9:
        return f"in the {first}s"
    words = ("before", "after") if literal else ("earlier than", "later than")
    return _range(first, last, words, "between {} and {}" if literal else "from {} to {}", str)


def _range(
    low: int | None,
    high: int | None,
    words: tuple[str, str],
    between: str,
    said: Callable[[int], str],
) -> str:
    """`words`: below and above an end that does not belong to it."""
    if low is not None and high is not None:
        return between.format(low, said(high))
    if low is not None:
        return f"{words[1]} {said(low - 1)}"
    assert high is not None  # a range has an end
    return f"{words[0]} {said(high + 1)}"
