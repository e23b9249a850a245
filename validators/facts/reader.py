"""Reads a finished text to the facts that it states, by the wordings of its domain's file.

    "{P} story unfolds in {v}"     <p> story unfolds in <v>     -> setting

Each wording becomes a pattern: `<e>` is the entity as subject or object, `<p>` its possessive,
`<v>` the value. A clause is read by looking up its words, so every word of it counts. A sentence is
read where patterns hold every word of it: one that states no fact, or clauses behind a connective.
Two clauses may share a subject ("is set in Turin and runs for 113 minutes"), their words up to the
value ("born in Porto on 3 May 1950"), or one stands in the other as a participle or behind its
subject.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from retgen.validators.facts.definitions import BadDefinition, Definition
from retgen.validators.facts.mentions import SELF, Item, Mention, MentionFinder, tokens_of

OWN, OTHER, OTHERS_OWN = "<p>", "<o>", "<op>"
_HER = "<her>"  # of her, or to her
# what the words of a text are in a pattern
_MARKS = {
    **dict.fromkeys(("it", "he", "she", "him", OTHER), SELF),
    **dict.fromkeys(("its", "his", OTHERS_OWN), OWN),
    "her": _HER,
}
_VALUE = "valuemark"  # in place of a value when a wording is cut into tokens
_BEFORE = {"year": "in", "date": "on"}  # prepositions that {v} brings, and {n} does not
_MARK = re.compile(r"\{([SPOvn])\}")
_KEPT = 1 << 17  # sentences whose reading is kept, their values left out
_CONTRASTS = ("while", "whereas", "but")
_BOUNDS = (",", ";", "and")
_BETWEEN = 2  # places from one value to the next that shares its words: a preposition at most
_PRONOUNS = ("it", "he", "she", "its", "his", "her", "him")
_SUBJECTS = (SELF, "it", "he", "she")


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


class DocumentReader:
    """Reads texts of a domain.

    `clauses`: pattern -> the slots that it states. `words`: those of all wordings. Raises
    `BadDefinition` for a wording that holds a value; `path` is the domain's file.
    """

    def __init__(self, domain: Definition, finder: MentionFinder, path: Path) -> None:
        self.domain, self._finder = domain, finder
        self.clauses: dict[str, tuple[str, ...]] = {}
        for name, slot in domain.slots.items():
            for wording in slot.document:
                for key in self._patterns(name, slot.type, wording, path):
                    known = self.clauses.get(key, ())
                    self.clauses[key] = known if name in known else (*known, name)
        self._free = {self._plain(form) for wording in domain.free for form in _forms(wording)}
        self._leads = {self._plain(lead) for lead in domain.leads}
        others = [tokens_of(text.partition("}")[2].lower()) for text in domain.others]
        self._others = sorted(others, key=len, reverse=True)
        words = " ".join((*self.clauses, *self._free, *self._leads)).split()
        self.words = frozenset(words).union(*others)
        nouns = dict.fromkeys((*domain.nouns, f"the {domain.singular}"))
        self._nouns = [noun.lower().split() for noun in nouns]
        self._readings: dict[str, tuple[_Facts, str]] = {}  # facts, or what is wrong
        self._ranged = {
            name: (slot.low, slot.high, slot.type == "date")
            for name, slot in domain.slots.items()
            if slot.low is not None and slot.high is not None
        }

    def _patterns(self, slot: str, kind: str, wording: str, path: Path) -> Iterator[str]:
        """The patterns of a document wording of a slot."""
        value = f"{_BEFORE.get(kind, '')} {_VALUE}"
        for form in _forms(wording.replace("{v}", value).replace("{n}", _VALUE)):
            items = [*self._items(form)]
            if held := next((one for one in items if isinstance(one, Mention)), None):
                raise BadDefinition(
                    f"{_where(path, wording)}slots.{slot}: {wording!r} holds {held.text!r}, a "
                    f"value of {' and '.join(held.slots)}, which the proof would read as that"
                )
            yield pattern(items).replace(_VALUE, "<v>")

    def _plain(self, text: str) -> str:
        return plain(self._items(text))

    def _items(self, text: str) -> Iterator[Item]:
        """The words and values of a wording whose marks are filled in."""
        tokens = [
            token
            for piece in re.split(r"(<\w+>)", text)
            for token in ([piece] if piece.startswith("<") else tokens_of(piece))
        ]
        for _, _, items in self._finder.sentences(tokens):
            yield from items

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
            reading = self._read(items)
            if reading[0] or not any(isinstance(item, Mention) for item in items):
                self._readings[key] = reading  # beside facts, a value is one of the words
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

    def _read(self, items: Sequence[Item]) -> tuple[_Facts, str]:
        """What the words of a sentence say of its values."""
        named = self._named(list(items))
        if plain(named) in self._free:
            return (), ""
        values = [n for n, item in enumerate(items) if not isinstance(item, str)]
        stop = named.index(",") if "," in named else 0
        if plain(named[:stop]) in self._leads:
            named = named[stop + 1 :]
        sentence = _Sentence(self, named)
        readings = set(sentence.readings())
        if len(readings) == 1:
            (stated,) = readings
            return tuple(one._replace(place=values[one.place]) for one in stated), ""
        if readings:
            said = sorted({" and ".join(one.slot for one in reading) for reading in readings})
            return (), f"reads as {' and as '.join(said)}"
        return (), sentence.problem()

    def _named(self, items: list[Item]) -> list[Item]:
        """The items with what the domain calls an entity, and others, each as one item."""
        for noun in self._nouns:
            _replace(items, noun, SELF)
        _replace(items, [SELF, "'s"], OWN)
        for owner in ("its", "his", "her", OWN):
            for other in self._others:
                _replace(items, [owner, *other], OTHER)
        _replace(items, [OTHER, "'s"], OTHERS_OWN)
        return items


def _replace(items: list[Item], words: Sequence[str], name: str) -> None:
    """Put one item in place of some words, wherever they stand."""
    for i in reversed([i for i, item in enumerate(items) if item == words[0]]):
        if items[i : i + len(words)] == words:
            items[i : i + len(words)] = [name]


def pattern(items: Sequence[Item]) -> str:
    """The words of a clause as patterns have them."""
    return " ".join([_MARKS.get(x, x) if isinstance(x, str) else "<v>" for x in items])


def plain(items: Iterable[Item]) -> str:
    """The words of a sentence that states nothing, in which a value is a word like others."""
    return " ".join([_MARKS.get(x, x) if isinstance(x, str) else x.text.lower() for x in items])


def _forms(wording: str) -> Iterator[str]:
    """A wording with each word that its marks may become."""
    marks = _MARK.findall(wording)
    texts = {"S": [SELF], "O": [SELF, _HER], "P": [OWN, _HER]}
    choices = [
        [*texts[mark], *(["the"] if mark == "P" and not i else [])] for i, mark in enumerate(marks)
    ]
    pieces = _MARK.split(wording)[::2]
    for chosen in product(*choices):
        yield "".join(x for both in zip(pieces, (*chosen, ""), strict=True) for x in both)


def _where(path: Path, wording: str) -> str:
    """File and line of a wording."""
    lines = path.read_text("utf-8").splitlines()
    number = next((n for n, line in enumerate(lines, 1) if wording in line), 0)
    return f"{path}, line {number}: " if number else f"{path}: "


class _Sentence:
    """The ways in which clauses hold all words of a sentence."""

    def __init__(self, reader: DocumentReader, items: list[Item]) -> None:
        self._reader, self._items = reader, items
        self._values = [n for n, item in enumerate(items) if not isinstance(item, str)]
        bounds = (*_BOUNDS, *_CONTRASTS)
        self._ends = [n for n, item in enumerate(items) if item in bounds] + [len(items)]
        self._unclear = ""

    def readings(self) -> Iterator[_Facts]:
        """What is stated, in every way to read it."""
        items = self._items
        if items[0] == "while":  # "While her brother ..., she ..."
            for end, stated in self._clause(1):
                if items[end : end + 1] == [","]:
                    yield from self._contrasted(end + 1, stated)
            return
        starts = [*self._clause(0)]
        if items[0] in _SUBJECTS and items[1:2] == [","]:  # "S, which ..., ..."
            told = items[2] in ("which", "who")
            for thought in ((SELF,),) if told else ((SELF, "is"), (SELF, "was")):
                for end, stated in self._clause(2 + told, thought):
                    if items[end : end + 1] == [","]:
                        starts += self._more(end + 1, stated)
        for thought in ((SELF, "is"), (SELF, "was")):  # "Set in Turin, it ..."
            for end, stated in self._clause(0, thought):
                if items[end : end + 1] == [","] and items[end + 1] in _SUBJECTS:
                    starts += self._more(end + 1, stated, ())
        for end, stated in starts:
            yield from self._behind(end, stated)

    def _behind(self, i: int, stated: _Facts) -> Iterator[_Facts]:
        """Readings of what stands behind clauses."""
        if i == len(self._items):
            yield stated
        elif self._items[i] == "and":
            for end, both in self._more(i + 1, stated):
                yield from self._behind(end, both)
        else:
            comma = self._items[i] == ","
            if self._items[i] == ";" or (comma and self._items[i + 1] in _CONTRASTS):
                yield from self._contrasted(i + 1 + comma, stated)

    def _more(
        self, i: int, stated: _Facts, thought: tuple[str, ...] = (SELF,)
    ) -> Iterator[tuple[int, _Facts]]:
        """Clauses at a place behind others, whose holder they share."""
        for end, more in self._clause(i, thought, stated[-1].holder):
            yield end, (*stated, *more)

    def _contrasted(self, i: int, stated: _Facts) -> Iterator[_Facts]:
        """Readings whose last clause stands at a place, and is about another holder."""
        for end, more in self._clause(i):
            if end == len(self._items) and {one.holder for one in stated} != {more[0].holder}:
                said = self._items[i:end]
                if more[0].holder == "self" and not {SELF, OWN}.intersection(map(str, said)):
                    self._unclear = next(str(x) for x in said if x in _PRONOUNS)
                else:
                    yield (*stated, *more)

    def _clause(
        self, i: int, thought: tuple[str, ...] = (), holder: str = "self"
    ) -> Iterator[tuple[int, _Facts]]:
        """(end, what is stated) of the clauses at a place, which have one value, or two that share
        the words before the first.

        `thought`: the words that begin it and are not there; `holder`: of whoever they mean.
        """
        at = bisect_left(self._values, i)
        for end in self._ends[bisect_left(self._ends, i + 1) :]:
            last = bisect_left(self._values, end)
            if not at < last <= at + 2:
                continue
            said = self._items[i:end]
            if OTHER in said or OTHERS_OWN in said:
                holder = "other"
            whole: list[Item] = [*thought, *said]
            if last == at + 1:
                for slot in self._slots(whole):
                    yield end, (_Stated(at, holder, slot),)
            elif self._values[at + 1] - self._values[at] <= _BETWEEN:
                first = whole[: len(thought) + self._values[at] + 1 - i]
                rest = whole[len(first) :]
                for one in self._slots(first):
                    for shared in first[:-1], first[:-2]:  # a preposition is the first value's own
                        for other in self._slots([*shared, *rest]):
                            both = _Stated(at, holder, one), _Stated(at + 1, holder, other)
                            yield end, both

    def _slots(self, clause: Sequence[Item]) -> Iterator[str]:
        """The slots of which a clause states its value."""
        known = self._reader.clauses.get(pattern(clause), ())
        value = next(item for item in clause if isinstance(item, Mention))
        return (slot for slot in known if slot in value.slots)

    def problem(self) -> str:
        """Why there is no reading."""
        if self._unclear:
            return f"{self._unclear!r} may be two"
        words = (*_BOUNDS, *_CONTRASTS, *_SUBJECTS, *_PRONOUNS, OTHER, OTHERS_OWN)
        for item in self._items:
            if isinstance(item, str) and item not in self._reader.words and item not in words:
                return f"no wording holds {item!r}"
        return "no wording says"


def _shown(tokens: Sequence[str]) -> str:
    text = " ".join(tokens)
    for mark in (" ,", " 's", " ;", " :"):
        text = text.replace(mark, mark[1:])
    return text
