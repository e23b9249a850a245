"""Reads queries to expressions: frames around relative clauses, which are wordings of the domain.

    query      frame around a noun with conditions
    condition  a query wording ("whose story unfolds in {v}"), or a document wording as a clause
    value      one of the slot, a parent of values, or a range ("before 1950", "in the 1950s")

Every word counts. A query with two readings that differ is an error, as one without any.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from retgen.validators.facts.definitions import Definition, SlotDefinition, read_definition
from retgen.validators.facts.mentions import MONTHS, MentionFinder, day_of, number_of
from retgen.validators.facts.reader import DocumentReader

Expression = list[Any]

_EVERY = r"(?:Find|Name|Please list|Show me|I need) (?:every|each) {noun} (.+)\."
_ANY = r"(?:I am looking for|Is there|What I want is|Can you find me|Do you know of) (.+)[.?]"
_EITHER = (
    r"either {a} (.+) or {a} (.+)",
    r"{a} (.+), or else {a} (.+)",
    r"either {a} (.+) or one (.+)",
)
_BUT = r"(.+), (?:leaving out any|except for any|but not one|though not one) (.+)"
_OF_THESE = r"of (?:these|the following) (?P<n>\w+) descriptions"
_SOME = (
    rf"(?:Find every {{noun}}|I am looking for {{a}}) {{relative}} fits "
    rf"(?:at least|no fewer than) (?P<k>\w+) {_OF_THESE}: (?P<list>.+)\.",
    rf"Name each {{noun}} {{relative}} matches (?P<k>\w+) or more {_OF_THESE}: (?P<list>.+)\.",
    rf"At least (?P<k>\w+) {_OF_THESE} must fit the {{noun}}: (?P<list>.+)\.",
)
_TAKEN = (
    r"Take every {noun} (?P<of>.+), and name the (?P<k>\w+) with (?P<rank>.+)\.",
    r"Consider each {noun} (?P<of>.+)\. Which (?P<k>\w+) (?:has|have) (?P<rank>.+)\?",
    r"Look at every {noun} (?P<of>.+); of these, find the (?P<k>\w+) with (?P<rank>.+)\.",
    r"I am interested in every {noun} (?P<of>.+): give me the (?P<k>\w+) with (?P<rank>.+)\.",
)
_JOINT = re.compile(r"(, | and | or )(?=(?:that|who|whose) )")
_RANGE = re.compile(
    r"(?:(?P<below>before|earlier than|less than|under)|after|later than|more than|over) "
    r"(?P<end>.+)|between (.+) and (.+)|from (.+) to (.+)"
)
_PERIOD = re.compile(
    rf"(?:(?P<month>{'|'.join(MONTHS)}) )?(?P<year>\d{{4}})|the (?P<decade>\d{{3}}0)s"
)
_MARK = re.compile(r"\{[vn]\}")


class UnreadableQuery(Exception):
    """Why a query cannot be read."""


class QueryReader:
    """Reads queries of a domain."""

    def __init__(self, domain: Definition, finder: MentionFinder) -> None:
        self._finder = finder
        noun = domain.singular
        self._a = f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun} "
        marks = {
            "noun": re.escape(noun),
            "a": re.escape(self._a.strip()),
            "relative": domain.relative,
        }
        # what a frame around its conditions says
        frames = {
            (_EVERY,): self._conditions,
            (_ANY,): self._alternatives,
            _SOME: self._listed,
            _TAKEN: self._extreme,
        }
        self._frames = [
            (re.compile(one.format(**marks)), how) for some, how in frames.items() for one in some
        ]
        self._either = [re.compile(one.format(**marks)) for one in _EITHER]
        # relative clauses: what stands before and behind the value of a slot
        self._clauses = [
            (before, behind, slot)
            for slot in domain.slots.values()
            for wording in (*slot.query, *_as_clauses(slot, domain.relative))
            for before, behind in [_MARK.split(wording)]
        ]
        self._values: dict[tuple[str, str], Expression] = {}  # by slot and name
        self._ranks: dict[str, tuple[str, str]] = {}
        for name, slot in domain.slots.items():
            for value in slot.values.values():
                for one in (value.name, *value.synonyms):
                    self._values[name, one] = ["is", name, value.name]
                for one in value.parents:
                    self._values[name, one] = ["within", name, one]
            self._ranks |= dict.fromkeys(slot.most, ("most", name))
            self._ranks |= dict.fromkeys(slot.least, ("least", name))

    def query(self, text: str) -> Expression:
        """The expression. Raises `UnreadableQuery`."""
        found: list[Expression] = []
        problem = "no frame of queries holds it"
        for frame, how in self._frames:
            if match := frame.fullmatch(text):
                try:
                    found += [one for one in how(match) if one not in found]
                except UnreadableQuery as error:
                    problem = str(error)
        if len(found) > 1:
            raise UnreadableQuery(f"it reads as {' and as '.join(map(str, found))}")
        if not found:
            raise UnreadableQuery(problem)
        return found[0]

    # --- sets -------------------------------------------------------------------------------

    def _conditions(self, match: re.Match[str]) -> Iterator[Expression]:
        """Conditions, and those that must not be met."""
        yield self._set(match[1])

    def _alternatives(self, match: re.Match[str]) -> Iterator[Expression]:
        """One of a kind, or either of two."""
        both = next(filter(None, (frame.fullmatch(match[1]) for frame in self._either)), None)
        if both:
            yield ["or", self._joined(both[1]), self._joined(both[2])]
        elif match[1].startswith(self._a):
            yield self._set(match[1].removeprefix(self._a))

    def _listed(self, match: re.Match[str]) -> Iterator[Expression]:
        """At least so many of the conditions of a list."""
        k, n = (number_of(match[key]) for key in ("k", "n"))
        parts = match["list"].split("; ")
        if len(parts) != n:
            raise UnreadableQuery(f"it names {len(parts)} conditions, not {match['n']}")
        if k is not None and k <= n and all(one.startswith("one ") for one in parts):
            yield ["at least", k, *(self._clause(one.removeprefix("one ")) for one in parts)]

    def _extreme(self, match: re.Match[str]) -> Iterator[Expression]:
        """The k with the most or least of a slot."""
        k = number_of(match["k"])
        if match["rank"] not in self._ranks:
            raise UnreadableQuery(f"no slot is ranked by {match['rank']!r}")
        if k:
            way, slot = self._ranks[match["rank"]]
            yield [way, k, slot, self._joined(match["of"])]

    def _set(self, text: str) -> Expression:
        if match := re.fullmatch(_BUT, text):
            return ["and not", self._joined(match[1]), self._joined(match[2])]
        return self._joined(text)

    def _joined(self, text: str) -> Expression:
        """Conditions that are all to be met, or of which one is enough."""
        pieces = _JOINT.split(text)
        clauses = [self._clause(one) for one in pieces[::2]]
        *commas, last = pieces[1::2] or [""]
        if any(one != ", " for one in commas) or last == ", ":
            raise UnreadableQuery(f"its conditions are joined in no one way: {text!r}")
        return [last.strip(), *clauses] if last else clauses[0]

    # --- conditions -------------------------------------------------------------------------

    def _clause(self, text: str) -> Expression:
        """The condition of a relative clause."""
        found: list[Expression] = []
        for before, behind, slot in self._clauses:
            if text.startswith(before) and text.endswith(behind):
                value = text[len(before) : len(text) - len(behind)]
                one = self._condition(slot, value) if value else None
                if one is not None and one not in found:
                    found.append(one)
        if len(found) > 1:
            raise UnreadableQuery(f"{text!r} reads as {' and as '.join(map(str, found))}")
        if not found:
            raise UnreadableQuery(f"no wording says {text!r}")
        return found[0]

    def _condition(self, slot: SlotDefinition, text: str) -> Expression | None:
        """What a value of a slot asks for; None for what is none."""
        match slot.type:
            case "category" | "place":
                return self._values.get((slot.name, text))
            case "person" if self._finder.persons.whole(text):
                return ["is", slot.name, text]
            case "relation" if text.startswith(self._a):
                return ["via", slot.name, self._joined(text.removeprefix(self._a))]
            case "relation" if self._finder.names.whole(text):
                return ["is", slot.name, text]
            case "person" | "relation":
                return None
            case "number":
                units = "|".join(map(re.escape, slot.unit))
                number = re.fullmatch(rf"(.+) (?:{units})", text)
                ends = _ends(slot.type, number[1]) if number else None
            case _:
                ends = _ends(slot.type, re.sub("^(?:in|on) ", "", text))
        if ends is None:
            return None
        low, high = (
            datetime.date.fromordinal(end).isoformat() if end and slot.type == "date" else end
            for end in ends
        )
        return ["is", slot.name, low] if low == high else ["between", slot.name, low, high]


def _as_clauses(slot: SlotDefinition, relative: str) -> Iterator[str]:
    """Document wordings that begin with their subject as relative clauses."""
    for wording in slot.document:
        head, _, rest = wording.partition(" ")
        if head in ("{S}", "{P}") and len(re.findall(r"\{\w\}", rest)) == 1:
            yield f"{relative if head == '{S}' else 'whose'} {rest}"


Ends = tuple[int | None, int | None]


def _ends(kind: str, text: str) -> Ends | None:
    """The lowest and the highest number, year or day of a range, None where it is open; None for
    what is no range.
    """
    match = _RANGE.fullmatch(text)
    if match is None:
        return _point(kind, text)
    if match["end"]:
        point = _point(kind, match["end"])
        if point is None:
            return None
        return (None, point[0] - 1) if match["below"] else (point[1] + 1, None)
    first, last = (_point(kind, one) for one in match.groups()[2:] if one)
    return (first[0], last[1]) if first and last else None


def _point(kind: str, text: str) -> tuple[int, int] | None:
    """The first and the last of what a figure holds: one number, the years of a decade, the days
    of a month.
    """
    if kind == "number":
        number = number_of(text)
        return None if number is None else (number, number)
    if day := day_of(text.split()) if kind == "date" else None:
        return day.toordinal(), day.toordinal()
    found = _PERIOD.fullmatch(text)
    if found is None or (found["month"] and kind == "year"):
        return None
    low = int(found["year"] or found["decade"])
    high = low if found["year"] else low + 9
    if kind == "year":
        return low, high
    begin, end = (MONTHS[found["month"]],) * 2 if found["month"] else (1, 12)
    last = calendar.monthrange(high, end)[1]
    return datetime.date(low, begin, 1).toordinal(), datetime.date(high, end, last).toordinal()


class DomainReaders(NamedTuple):
    """A domain, and what reads its documents and its queries."""

    domain: Definition
    documents: DocumentReader
    queries: QueryReader


def domain_readers(path: Path) -> DomainReaders:
    """The readers for a domain's file. Raises `BadDefinition`."""
    try:
        content = path.read_bytes()
    except OSError:
        content = b""  # whoever reads it says what is wrong
    return _readers(path, content)


@lru_cache(maxsize=8)
def _readers(path: Path, _content: bytes) -> DomainReaders:
    """Another content of a file is another key."""
    domain = read_definition(path)
    finder = MentionFinder(domain)
    documents = DocumentReader(domain, finder, path)
    return DomainReaders(domain, documents, QueryReader(domain, finder))
