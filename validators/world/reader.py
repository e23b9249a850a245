"""Reads a finished text to the facts that it states. Its phrases are not those of the writer.

A sentence is read where phrases of the lexicon hold every word of it: clauses, joined by "and" or a
comma, of which all but the first may lack their subject, behind a connective that says nothing; or
a whole phrase that is listed as stating no fact. "Born in Porto on 3 May 1950" is two clauses that
share their words.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from retgen.validators.world.automaton import Automaton
from retgen.validators.world.definitions import Definition
from retgen.validators.world.lexicon import Lexicon
from retgen.validators.world.mentions import ARTICLES, SELF, Item, MentionFinder, tokens_of
from retgen.validators.world.orders import OTHER, Placed, other_orders

_ENDS = frozenset(".!?")
_KEPT = 1 << 17  # sentences whose reading is kept, their values left out
_CONTRASTS = ("while", "whereas")
_JOINTS = ("and", "but", *_CONTRASTS)
_SELVES = (SELF, "it", "he", "she", "its", "his", "her", "him")
_SUBJECTS = [[",", one] for one in (SELF, "it", "he", "she")]
_BOUNDS = (",", ";", *_JOINTS)
_ALSO = ["and", "also"]
_BETWEEN = 2  # places from one value to the next that shares its words: a preposition at most
_OWNERS = ("its", "his", "her", SELF)


class Fact(NamedTuple):
    """What a text says. `holder`: "self" or "other"; `value`: a name, a number, an ISO date."""

    holder: str
    slot: str
    value: str

    def __str__(self) -> str:
        text = f"{self.slot}={self.value}"
        return f"other:{text}" if self.holder == "other" else text


class DocumentReading(NamedTuple):
    """The facts of a text in their order, and what could not be read, each naming its sentence."""

    facts: list[Fact]
    problems: list[str]


class _Stated(NamedTuple):
    """A fact of a sentence whose value is left out. `place`: of the value among its items."""

    place: int
    holder: str
    slot: str


_Facts = tuple[_Stated, ...]
_Reading = tuple[_Facts, str]  # what a sentence states, or what is wrong with it
_Clause = tuple[str, tuple[str, ...]]  # whom a clause is about, "" where it does not say; slots


class DocumentReader:
    """Reads texts of a domain."""

    def __init__(self, domain: Definition, lexicon: Lexicon) -> None:
        self.domain = domain
        self._clauses, self._others = lexicon.documents, lexicon.others
        self._free, self._leads = lexicon.free, lexicon.leads
        nouns = dict.fromkeys((*domain.nouns, f"the {domain.singular}"))
        self._nouns = [noun.lower().split() for noun in nouns]
        self._finder = MentionFinder(domain, parents=False, ends=_ENDS)
        self._readings: dict[str, _Reading] = {}
        self._known: dict[str, _Clause] = {}
        self._ranged = {
            name: (slot.low, slot.high, slot.type == "date")
            for name, slot in domain.slots.items()
            if slot.low is not None and slot.high is not None
        }

    def document(self, title: str, text: str) -> DocumentReading:
        """What a text says of the entity that its title names, and of others."""
        facts: list[Fact] = []
        problems: list[str] = []
        short = self._finder.short_of(title)
        if short is None:
            problems.append(f"its title {title!r} is no name of a {self.domain.singular}")
        if title not in text:
            problems.append(f"its text does not name {title!r}")
        if "?" in text:
            problems.append("its text asks something")
        if not text.isprintable():
            problems.append("its text holds a character that cannot be seen")
        own, tokens = tuple(tokens_of(title)), tokens_of(text)
        for begin, end, items in self._finder.sentences(tokens, own, short or ()):
            found, problem = self._sentence(items)
            facts += found
            if problem:
                problems.append(f"{problem}: {_shown(tokens[begin:end])!r}")
        return DocumentReading(facts, problems)

    def _sentence(self, items: Sequence[Item]) -> tuple[list[Fact], str]:
        """The facts of a sentence, and what is wrong with it."""
        key = " ".join([x if type(x) is str else x.key for x in items])  # type: ignore[union-attr]
        reading = self._readings.get(key)
        if reading is None:
            if len(self._readings) >= _KEPT:
                self._readings.clear()
            reading = self._readings[key] = self._read(items)
        stated, problem = reading
        facts = []
        for place, holder, slot in stated:
            value = items[place].slots[slot]  # type: ignore[union-attr]
            if slot in self._ranged:
                low, high, is_date = self._ranged[slot]
                if not low <= (int(value[:4]) if is_date else value) <= high:
                    problem = problem or f"{value} is no value of {slot}"
            facts.append(Fact(holder, slot, str(value)))
        return facts, problem

    # --- shapes -----------------------------------------------------------------------------

    def _read(self, items: Sequence[Item]) -> _Reading:
        """What the words of a sentence say of its values."""
        named = self._named(list(items))
        if self._free.longest(named)[0] == len(named):
            return (), ""
        if len(self._known) >= _KEPT:
            self._known.clear()
        parse = _Parse(self._clauses, self._known, named[self._leads.longest(named)[0] :])
        readings = set(parse.sentence())
        if len(readings) == 1:
            places = [n for n, item in enumerate(items) if not isinstance(item, str)]
            (stated,) = readings
            return tuple(one._replace(place=places[one.place]) for one in stated), ""
        if readings:
            said = sorted({" and ".join(one.slot for one in reading) for reading in readings})
            return (), f"reads as {' and as '.join(said)}"
        return (), parse.problem()

    def _named(self, items: list[Item]) -> list[Item]:
        """The items with what the domain calls an entity, and others, each as one item."""
        for noun in self._nouns:
            for i in reversed([i for i, item in enumerate(items) if item == noun[0]]):
                if items[i : i + len(noun)] == noun:
                    items[i : i + len(noun)] = [SELF]
        for i in reversed([i for i, item in enumerate(items) if item in _OWNERS]):
            their = i + 1 + (items[i] == SELF)
            if (their == i + 1 or items[i + 1 : their] == ["'s"]) and (
                stop := self._others.longest(items, their)[0]
            ):
                items[i:stop] = [OTHER]
        return items


class _Parse:
    """The ways in which clauses hold all words of a sentence. `known`: clauses by their words."""

    def __init__(self, clauses: Automaton, known: dict[str, _Clause], items: list[Item]) -> None:
        self._clauses, self._known, self._items = clauses, known, items
        self._keys = [item if isinstance(item, str) else item.key for item in items]
        self._values = [n for n, item in enumerate(items) if not isinstance(item, str)]
        self._values.append(len(items))
        self._bounds = [n for n, item in enumerate(items) if item in _BOUNDS] + [len(items)]
        self._begun: dict[tuple[int, tuple[str, ...]], None] = {}  # the clauses that were tried
        self._unclear = ""  # a pronoun that may be the entity or another one

    def sentence(self) -> Iterator[_Facts]:
        """Every reading."""
        items = self._items
        subject = items[0]
        if subject in _CONTRASTS:  # "While her brother ..., she ..."
            for end, said in self._clause(1):
                if items[end : end + 1] == [","]:
                    yield from self._whole(end + 1, said, "")
            return
        yield from self._whole(0, (), "")
        if subject in (SELF, OTHER) and items[1:2] == [","]:  # "S, which ..., ..."
            holder = "other" if subject == OTHER else "self"
            if items[2:3] in (["which"], ["who"]):
                yield from self._part(3, (), holder)
            elif items[2:3] == ["whose"]:
                yield from self._part(3, (), holder, (SELF, "'s"))
            else:
                yield from self._part(2, (), holder, (SELF, "was"))
        elif behind := [n for n in self._bounds if self._keys[n : n + 2] in _SUBJECTS]:
            for end, said in self._clause(0, subject=(SELF, "was")):  # "Set in Turin, it ..."
                if end in behind:
                    yield from self._whole(end + 1, said, "self")

    def _whole(self, i: int, before: _Facts, holder: str) -> Iterator[_Facts]:
        """Readings whose clause at a place has a subject. `holder`: of those before."""
        for end, said in self._clause(i, holder):
            own = said[0].holder
            if holder == "other" and own == "self" and SELF not in self._items[i:end]:
                self._unclear = next(str(x) for x in self._items[i:end] if x in _SELVES)
                continue
            yield from self._behind(end, (*before, *said), own)

    def _part(
        self, i: int, before: _Facts, holder: str, subject: tuple[str, ...] = (SELF,)
    ) -> Iterator[_Facts]:
        """Readings whose clause at a place lacks its subject."""
        for end, said in self._clause(i, holder, subject):
            yield from self._behind(end, (*before, *said), holder)

    def _behind(self, i: int, stated: _Facts, holder: str) -> Iterator[_Facts]:
        """Readings of what stands behind a clause."""
        if i == len(self._items):
            yield stated
            return
        comma = i + (self._items[i] == ",")
        word = self._keys[comma] if comma < len(self._items) else ""
        if word in _JOINTS or (word == ";" and comma == i):
            last = "" if word in _CONTRASTS else holder
            for begin in (comma + 1, comma + 2)[: 1 + (self._keys[comma : comma + 2] == _ALSO)]:
                yield from self._whole(begin, stated, last)
                yield from self._part(begin, stated, holder)
        elif comma > i:
            yield from self._part(comma, stated, holder)

    def _clause(
        self, i: int, holder: str = "", subject: tuple[str, ...] = ()
    ) -> Iterator[tuple[int, _Facts]]:
        """(end, what is stated) of the clauses at a place, which have one value, or two that share
        the words before the first.

        `holder`: of those before, and of a clause whose `subject` is to be thought of; others say
        themselves whom they are about.
        """
        self._begun[i, subject] = None
        at = bisect_left(self._values, i)
        if at + 1 == len(self._values):
            return
        first, second, *later = self._values[at : at + 3]
        for end in self._bounds:
            if first < end <= second:
                for one in self._stated([*range(i, end)], at, holder, subject):
                    yield end, (one,)
            elif later and second < end <= later[0] and second - first <= _BETWEEN:
                whole, rest = [*range(i, first + 1)], [*range(first + 1, end)]
                for one in self._stated(whole, at, holder, subject):
                    for shared in whole[:-1], whole[:-2]:  # a preposition is the first value's own
                        for other in self._stated([*shared, *rest], at + 1, holder, subject):
                            yield end, (one, other)

    def _stated(
        self, places: list[int], value: int, holder: str, subject: tuple[str, ...]
    ) -> Iterator[_Stated]:
        """What the words at some places say of a value, by its number in the sentence."""
        key = " ".join((*subject, "|", *(self._keys[place] for place in places)))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._read(places, subject)
        own, slots = found
        for slot in slots:
            yield _Stated(value, (not subject and own) or holder or "self", slot)

    def _read(self, places: list[int], subject: tuple[str, ...]) -> _Clause:
        """What a clause says of its value."""
        items = [self._items[place] for place in places]
        own = "other" if OTHER in items else "self" if any(x in _SELVES for x in items) else ""
        slots = dict.fromkeys(slot for _, ends in self._runs(places, subject) for slot in ends)
        return own, tuple(map(str, slots))

    def _runs(
        self, places: Sequence[int], subject: tuple[str, ...]
    ) -> Iterator[tuple[int, frozenset[Hashable]]]:
        """(the last place that phrases reach, what those say that end there), of a clause as it
        stands behind its subject, and in other orders where it has its own.
        """
        clause = [Placed(place, self._items[place]) for place in places]
        thought = [Placed(-1, word) for word in subject]
        for order in chain([[*thought, *clause]], () if subject else other_orders(clause)):
            state, furthest = self._clauses.start(), 0
            for place, item in order:
                furthest = max(furthest, place)
                state = self._clauses.step(state, SELF if item == OTHER else item)
                if state < 0:
                    break
            yield furthest, self._clauses.outputs(state) if state >= 0 else frozenset()

    def problem(self) -> str:
        """Why there is no reading."""
        if self._unclear:
            return f"{self._unclear!r} may be two"
        for item in self._items:
            known = item in self._clauses.words or item in (OTHER, "also", *_BOUNDS)
            if isinstance(item, str) and not known:
                return f"no phrase holds {item!r}"
        spans = ((i, end, of) for i, of in self._begun for end in self._bounds if end > i)
        reached = (place for i, end, of in spans for place, _ in self._runs(range(i, end), of))
        furthest = max(reached, default=0)
        if furthest >= len(self._items):
            return "no phrase ends as it does"
        return f"no phrase goes on with {word_at(self._items, furthest)!r}"


def word_at(items: Sequence[Item], place: int) -> str:
    """The word at a place; an article with the word behind it."""
    said = [item if isinstance(item, str) else item.text for item in items[place : place + 2]]
    return " ".join(said[: 2 if said[0] in ARTICLES else 1])


def _shown(tokens: Sequence[str]) -> str:
    text = " ".join(tokens)
    for mark in (" ,", " 's", " ;", " :"):
        text = text.replace(mark, mark[1:])
    return text
