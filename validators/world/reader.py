"""Reads a finished text to the facts that it states. Its phrases are not those of the writer.

A sentence is read where phrases of the lexicon hold every word of it: clauses, joined by "and" or a
comma, of which all but the first may lack their subject, behind a connective that says nothing; or
a whole phrase that is listed as stating no fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from retgen.validators.world.automaton import Automaton
from retgen.validators.world.definitions import Definition
from retgen.validators.world.lexicon import Lexicon
from retgen.validators.world.mentions import ARTICLES, SELF, TOKEN, Item, Mention, MentionFinder
from retgen.validators.world.orders import OTHER, Order, Placed, other_orders

_ENDS = frozenset(".!?")
_KEPT = 1 << 17  # sentences whose reading is kept, their values left out
_CONTRASTS = ("while", "whereas")
_JOINTS: tuple[tuple[str, ...], ...] = (
    ("and",), (",", "and"), ("and", "also"), (",", "and", "also"), ("but",), (",", "but"), (";",),
    ("while",), (",", "while"), ("whereas",), (",", "whereas"),
)  # fmt: skip
_SELVES = (SELF, "it", "he", "she", "its", "his", "her", "him")
_SUBJECTS = ([SELF], ["it"], ["he"], ["she"])
_BOUNDS = ([], [","], ["and"], ["but"], [";"], *([one] for one in _CONTRASTS))
_POSSESSIVES = (("its",), ("his",), ("her",), (SELF, "'s"))


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
    """A fact of a sentence whose value is left out. `place`: of the value among its mentions."""

    place: int
    holder: str
    slot: str


_Facts = tuple[_Stated, ...]


class _Reading(NamedTuple):
    """What a shape states, or what is wrong with it."""

    stated: _Facts
    problem: str = ""


class DocumentReader:
    """Reads texts of a domain."""

    def __init__(self, domain: Definition, lexicon: Lexicon) -> None:
        self.domain = domain
        self._clauses, self._others = lexicon.documents, lexicon.others
        self._free, self._leads = lexicon.free, lexicon.leads
        nouns = dict.fromkeys((*domain.nouns, f"the {domain.singular}"))
        self._nouns: dict[str, list[list[str]]] = {}  # by first word
        for noun in nouns:
            words = noun.lower().split()
            self._nouns.setdefault(words[0], []).append(words)
        self._finder = MentionFinder(domain, parents=False)
        self._readings: dict[str, _Reading] = {}
        self._ranged = {
            name: (slot.low, slot.high, slot.type == "date") for name, slot in domain.slots.items()
            if slot.low is not None and slot.high is not None
        }  # fmt: skip

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
        own = tuple(TOKEN.findall(f"{title} "))
        for sentence in sentences(text):
            items = self._finder.find_mentions(sentence, own, short or ())
            found, problem = self._sentence(items)
            facts += found
            if problem:
                problems.append(f"{problem}: {_shown(sentence)!r}")
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
        if not stated:
            return [], problem
        mentions = [item for item in items if type(item) is not str]
        facts = []
        for place, holder, slot in stated:
            value = mentions[place].slots[slot]  # type: ignore[union-attr]
            if slot in self._ranged:
                low, high, is_date = self._ranged[slot]
                if not low <= (int(value[:4]) if is_date else value) <= high:
                    problem = problem or f"{value} is no value of {slot}"
            facts.append(Fact(holder, slot, str(value)))
        return facts, problem

    # --- shapes -----------------------------------------------------------------------------

    def _read(self, items: Sequence[Item]) -> _Reading:
        """What the words of a sentence say of its values."""
        items = self._named(list(items))
        if _longest(self._free, items, 0) == len(items):
            return _Reading(())
        parse = _Parse(self._clauses, items[_longest(self._leads, items, 0) :])
        readings = set(parse.sentence())
        if len(readings) == 1:
            return _Reading(next(iter(readings)))
        if readings:
            said = sorted({" and ".join(one.slot for one in reading) for reading in readings})
            return _Reading((), f"reads as {' and as '.join(said)}")
        return _Reading((), parse.problem())

    def _named(self, items: list[Item]) -> list[Item]:
        """The items with what the domain calls an entity, and others, each as one item."""
        result: list[Item] = []
        i = 0
        while i < len(items):
            item = items[i]
            for noun in self._nouns.get(item, ()) if isinstance(item, str) else ():
                if items[i : i + len(noun)] == noun:
                    result.append(SELF)
                    i += len(noun)
                    break
            else:
                result.append(item)
                i += 1
        i = 0
        while i < len(result):
            whose = next((p for p in _POSSESSIVES if result[i] == p[0]
                          and tuple(result[i : i + len(p)]) == p), ())  # fmt: skip
            if whose and (stop := _longest(self._others, result, i + len(whose))):
                result[i:stop] = [OTHER]
            i += 1
        return result


def _longest(automaton: Automaton, items: Sequence[Item], start: int) -> int:
    """Where the longest phrase ends that begins at a place, 0 for none."""
    state, stop = automaton.start(), 0
    for i in range(start, len(items)):
        state = automaton.step(state, items[i])
        if state < 0:
            break
        if automaton.outputs(state):
            stop = i + 1
    return stop


class _Parse:
    """The ways in which clauses hold all words of a sentence."""

    def __init__(self, clauses: Automaton, items: list[Item]) -> None:
        self._clauses, self._items = clauses, items
        self._placed = [Placed(place, item) for place, item in enumerate(items)]
        mentions = (isinstance(item, Mention) for item in items)
        self._values = [*accumulate(mentions, initial=0)]  # mentions before each place
        self._furthest = 0
        self._unclear = ""  # a pronoun that may be the entity or another one

    def sentence(self) -> Iterator[_Facts]:
        """Every reading."""
        items = self._items
        subject = items[0]
        if subject in _CONTRASTS:  # "While her brother ..., she ..."
            for end, stated in self._clause(1):
                stated = _held_by(self._holder(1, end) or "self", stated)
                if items[end : end + 1] == [","]:
                    yield from self._whole(end + 1, stated, "")
            return
        yield from self._whole(0, (), "")
        if subject in (SELF, OTHER) and items[1:2] == [","]:  # "S, which ..., ..."
            holder = "other" if subject == OTHER else "self"
            if items[2:3] in (["which"], ["who"]):
                yield from self._behind(3, (), holder)
            elif items[2:3] == ["whose"]:
                yield from self._part(3, (), holder, (SELF, "'s"))
            else:
                yield from self._part(2, (), holder, (SELF, "was"))
        else:  # "Set in Turin, S ...", "Set in Turin, it ..."
            for end, stated in self._clause(0, (SELF, "was")):
                if items[end : end + 1] == [","] and items[end + 1 : end + 2] in _SUBJECTS:
                    yield from self._whole(end + 1, stated, "self")

    def _whole(self, i: int, before: _Facts, holder: str) -> Iterator[_Facts]:
        """Readings whose clause at a place has a subject. `holder`: of those before."""
        for end, stated in self._clause(i):
            own = self._holder(i, end)
            if holder == "other" and own == "self" and SELF not in self._items[i:end]:
                self._unclear = next(str(one) for one in self._items[i:end] if one in _SELVES)
                continue
            holder_here = own or holder or "self"
            yield from self._behind(end, before + _held_by(holder_here, stated), holder_here)

    def _holder(self, i: int, end: int) -> str:
        """Whom a clause is about, "" where it does not say."""
        items = self._items[i:end]
        if OTHER in items:
            return "other"
        return "self" if any(one in _SELVES for one in items) else ""

    def _part(
        self, i: int, before: _Facts, holder: str, subject: tuple[str, ...] = (SELF,)
    ) -> Iterator[_Facts]:
        """Readings whose clause at a place lacks its subject."""
        for end, stated in self._clause(i, subject):
            yield from self._behind(end, before + _held_by(holder, stated), holder)

    def _behind(self, i: int, stated: _Facts, holder: str) -> Iterator[_Facts]:
        """Readings of what stands behind a clause."""
        if i == len(self._items):
            yield stated
            return
        if not stated:
            yield from self._part(i, (), holder)
            return
        self._furthest = max(self._furthest, i)
        for joint in _JOINTS:
            j = i + len(joint)
            if tuple(self._items[i:j]) == joint and j < len(self._items):
                contrast = joint[-1] in _CONTRASTS
                yield from self._whole(j, stated, "" if contrast else holder)
                yield from self._part(j, stated, holder)
        if self._items[i] == ",":
            yield from self._part(i + 1, stated, holder)

    def _clause(self, i: int, subject: tuple[str, ...] = ()) -> Iterator[tuple[int, _Facts]]:
        """(end, what is stated) of the clauses at a place. `subject`: what is to be thought of."""
        items = self._items
        state = self._clauses.start()
        for word in subject:
            state = self._clauses.step(state, word)
        clause = self._placed[i:]
        yield from ((i + count, stated) for count, stated in self._run(state, clause))
        if not subject:
            ends = (k for k in range(i + 1, len(items) + 1) if items[k : k + 1] in _BOUNDS)
            for end in ends:
                for order in other_orders(clause[: end - i]):
                    found = self._run(state, order)
                    yield from ((end, stated) for count, stated in found if count == len(order))

    def _run(self, state: int, order: Order) -> Iterator[tuple[int, _Facts]]:
        """(how many, what is stated) of the phrases with which some items begin."""
        value = -1
        for count, (place, item) in enumerate(order, 1):
            self._furthest = max(self._furthest, place)
            if isinstance(item, Mention):
                value = self._values[place]
            state = self._clauses.step(state, SELF if item == OTHER else item)
            if state < 0:
                return
            for slot in self._clauses.outputs(state):
                yield count, (_Stated(value, "self", str(slot)),)

    def problem(self) -> str:
        """Why there is no reading."""
        if self._unclear:
            return f"{self._unclear!r} may be two"
        for item in self._items:
            if isinstance(item, str) and item not in self._clauses.words and not _known(item):
                return f"no phrase holds {item!r}"
        if self._furthest >= len(self._items):
            return "no phrase ends as it does"
        return f"no phrase goes on with {word_at(self._items, self._furthest)!r}"


def word_at(items: Sequence[Item], place: int) -> str:
    """The word at a place; an article with the word behind it."""
    said = [item if isinstance(item, str) else item.text for item in items[place : place + 2]]
    return " ".join(said[: 2 if said[0] in ARTICLES else 1])


def _known(word: str) -> bool:
    return word == OTHER or any(word in joint for joint in _JOINTS)


def _held_by(holder: str, stated: _Facts) -> _Facts:
    return tuple(one._replace(holder=holder) for one in stated)


def sentences(text: str) -> list[list[str]]:
    """The tokens of each sentence, without the stop at its end."""
    result: list[list[str]] = []
    tokens = TOKEN.findall(text)
    start = 0
    for i, token in enumerate(tokens):
        if token in _ENDS:
            if i > start:
                result.append(tokens[start:i])
            start = i + 1
    if start < len(tokens):
        result.append(tokens[start:])
    return result


def _shown(tokens: Sequence[str]) -> str:
    text = " ".join(tokens)
    for mark in (" ,", " 's", " ;", " :"):
        text = text.replace(mark, mark[1:])
    return text
