"""Facts into texts: composed, not listed.

A document has one of its domain's shapes, parts in an order: facts that belong together, a
connective before them, and sentences that state none. Within a part facts come as it lists them,
each a sentence of its own, a coordinated clause, a relative clause or a participle before the next.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from retgen.streams import Stream
from retgen.world.domain import Domain, Slot
from retgen.world.domain_file import ShapePart
from retgen.world.facts import ABSENT, Codes, World

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_FORMS = {"she": ("she", "her", "her"), "he": ("he", "his", "him"), "it": ("it", "its", "it")}
_FULL = 1 << 32
_LED = _FULL // 2  # of the parts that have connectives
_SAID = _FULL // 3  # of the parts with facts: those behind which something without one is said
_PLAIN = 3  # parts of the shape of a domain that states none
_MARK = re.compile(r"\{([SPO])\}")
_ADVERB = re.compile(r"\b(?:first|last|originally|later|already) ")
_AUXILIARIES = frozenset(("is", "was", "has", "had"))
# what can stand before its subject: "Shot in Turin, it ..."
_PARTICIPLE = re.compile(
    r"\{0\} (?:is|was) ((?:first |last |originally |later )?(?!often\b)"
    r"(?:\w+(?:ed|en|wn|rn)|set|shot|made|bound|heard|split|brought|kept|found|dreamt|fluent) .+)"
)


class StatedFact(NamedTuple):
    """A fact as a text states it. `holder`: -1 the entity, otherwise which of the domain's others.

    `spoken`: the value in words, and bare (of years and dates, without "in" or "on").
    """

    slot: str
    name: str
    spoken: tuple[str, str]
    wording: int
    holder: int = -1


class ComposedDocument(NamedTuple):
    """A document: its title, its text, and the facts in the order in which the text states them."""

    name: str
    text: str
    facts: list[str]


class _Wording(NamedTuple):
    """A document wording, cut for speed. `joins`: it begins with the subject or its possessive.

    `text`: for str.format, whose first mark is `{0}`; later marks are those of the pronoun.
    """

    text: str
    first: str  # "S", "P" or "O"; "" without a mark
    joins: bool
    alone: bool  # it has no second mark, so anybody can be its subject
    verb: str  # what stands after the subject: "was born", "lives"
    present: bool  # what follows the subject is in the present tense, as "lives" or "has" is
    participle: str  # what stands before another clause's subject: "shot in {v}"; "" for none


def _cut(wording: str) -> _Wording:
    first = _MARK.search(wording)
    if first is None:
        return _Wording(wording, "", False, True, "", False, "")
    head, tail = wording[: first.start()], wording[first.end() :]
    tail = _MARK.sub(lambda mark: f"{{{mark[1].lower()}}}", tail)
    words = _ADVERB.sub("", tail).split()
    word = words[0] if words else ""
    verb = " ".join(words[:2]) if word in _AUXILIARIES else word
    text = f"{head[:1].lower()}{head[1:]}{{0}}{tail}"
    before = _PARTICIPLE.fullmatch(text) if first[1] == "S" else None
    return _Wording(
        text, first[1], not head and first[1] in "SP", not re.search(r"\{[spo]\}", tail), verb,
        word.endswith("s") and word != "was", before[1] if before else "",
    )  # fmt: skip


class _Part(NamedTuple):
    """A part of a shape: connectives before its facts, and sentences without one behind them.

    `always`: of a part without facts, one of the sentences is said.
    """

    lead: tuple[str, ...]
    say: tuple[_Wording, ...]
    always: bool


class _Shape(NamedTuple):
    """Parts in order, and the part and rank of a slot; none where a slot may stand anywhere."""

    parts: tuple[_Part, ...]
    place: Mapping[str, tuple[int, int]]


class _Subject(NamedTuple):
    """What an entity is called, and which slots name another one that its pronoun may be."""

    name: str
    short: str
    pronoun: str
    nouns: tuple[str, ...]
    marks: dict[str, str]
    naming: frozenset[str]

    def again(self, others: str) -> str:
        """What it is called where its pronoun may be another's. `others`: their names."""
        return self.name if self.short in others else self.short

    def declined(self, case: str, subject: str) -> str:
        """A subject as subject, possessive or object: "the" for "its", which may be another's."""
        if subject == self.pronoun:
            return "the" if case == "P" and subject == "it" else self.marks[case.lower()]
        return f"{subject}'s" if case == "P" else subject

    def put(self, text: str, one: StatedFact, subject: str = "") -> str:
        """A wording's text with a fact's value; nothing in place of the subject unless given."""
        return text.format(subject, v=one.spoken[0], n=one.spoken[1], **self.marks)


class Composer:
    """Documents of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.domain: Domain = world.domain
        self._slots = list(self.domain.slots.values())
        self.wordings = {
            slot.name: tuple(_cut(wording) for wording in slot.document) for slot in self._slots
        }
        self._place = {slot.name: k for k, slot in enumerate(self._slots)}
        self._relations = frozenset(s.name for s in self._slots if s.type == "relation")
        self._naming = self._relations | {s.name for s in self._slots if s.type == "person"}
        self._others = [one.replace("{P}", "{0}") for one in self.domain.others]
        idle = tuple(map(_cut, self.domain.fillers))
        self._plain = _Shape((_Part((), idle, False),) * _PLAIN, {})
        self._shapes = [_shape_of(parts, idle) for parts in self.domain.shapes.values()]
        self._most = max(len(one.parts) for one in (self._plain, *self._shapes))
        # per slot: its place, wording, subject, how it is joined; per part: connective, sentence
        # without a fact, which of them; the shape
        self.draws = 4 * len(self._slots) + 3 * self._most + 1
        self._stream = Stream(world.seed, f"{world.purpose}/text/")
        self._bounds = np.full(self.draws, np.uint64(_FULL))

    def documents(self, start: int, stop: int) -> list[ComposedDocument]:
        """The documents of entities start..stop-1, which state all of their facts."""
        columns = self.world.columns(start, stop)
        forms = self.world.forms(np.arange(start, stop))
        spoken = {slot.name: self.wordings_of(slot, columns[slot.name]) for slot in self._slots}
        draws = self._stream.draws(start, stop, self._bounds).tolist()
        result = []
        for i, row in enumerate(draws):
            stated = []
            for k, slot in enumerate(self._slots):
                said = spoken[slot.name][i]
                if said is not None:
                    choices = self.wordings[slot.name]
                    which = (row[4 * k + 1] * len(choices)) >> 32
                    stated.append(StatedFact(slot.name, said[0], said[1], which))
            result.append(self.write(forms[i], stated, row))
        return result

    def wordings_of(self, slot: Slot, codes: Codes) -> list[tuple[str, tuple[str, str]] | None]:
        """For every code, the value's name and how a document says it; None where it is absent."""
        listed = codes.tolist()
        if slot.is_ordered:
            return [
                None if code == ABSENT else said_of(slot.type, slot.unit, code) for code in listed
            ]
        if slot.is_listed:
            known = [(value.name, (value.name, value.name)) for value in slot.values]
            return [known[code] if code >= 0 else None for code in listed]
        names = self.world.value_names(slot, listed)
        return [(name, (name, name)) if name else None for name in names]

    def write(
        self, forms: tuple[str, str, str], stated: Sequence[StatedFact], draws: Sequence[int],
        *, plain: bool = False, as_given: bool = False,
    ) -> ComposedDocument:  # fmt: skip
        """A text that states these facts. `draws`: 32-bit numbers, a record's.

        `plain`: in any order, whatever shapes the domain has. `as_given`: every fact in the wording
        that it has, though a name takes a possessive by that.
        """
        shapes = self._shapes
        shape = self._plain if plain or not shapes else shapes[(draws[-1] * len(shapes)) >> 32]
        who = self._subject(forms)
        parts: list[list[tuple[int, StatedFact]]] = [[] for _ in shape.parts]
        for one in stated:
            drawn = draws[4 * self._place[one.slot]]
            anywhere = (drawn * _PLAIN) >> 32, self._place[one.slot]
            number, rank = shape.place.get(one.slot, anywhere)
            parts[number].append((rank, one))
        sentences: list[str] = []
        facts: list[str] = []
        heard: set[str] = set()  # sentences without a fact, each once
        misled, clear, base = who.name, True, 4 * len(self._slots)
        for part, listed in zip(shape.parts, parts, strict=True):
            lead, spoken, which = draws[base : base + 3]
            base += 3
            if not listed and not part.always:
                continue
            listed.sort(key=itemgetter(0))
            left = [one for _, one in listed]
            opening = ""
            if part.lead and lead < _LED:
                opening = f"{part.lead[(lead * len(part.lead)) // _LED]}, "
            while left:
                at = 4 * len(facts) + 2
                if misled and who.pronoun == "it" and not as_given:
                    left[0] = self._without_possessive(left[0])
                used, said, misled, clear = self._sentence(
                    who, left, draws[at : at + 2], misled, clear, opening
                )
                facts += [f"{one.slot}={one.name}" for one in used]
                sentences.append(f"{_capital(said)}.")
                opening = ""
            idle = part.say[(which * len(part.say)) >> 32] if part.say else None
            if idle and idle.text not in heard and (part.always or spoken < _SAID):
                heard.add(idle.text)
                said = idle.text
                if idle.first:
                    subject = who.again(misled) if misled else who.pronoun
                    if subject == "it" and not clear and idle.first != "P" and who.nouns:
                        subject = who.nouns[0]
                    said = said.format(who.declined(idle.first, subject), **who.marks)
                    misled = ""
                clear = idle.first == "S"
                sentences.append(f"{_capital(said)}.")
        return ComposedDocument(who.name, " ".join(sentences), facts)

    def _sentence(
        self,
        who: _Subject,
        left: list[StatedFact],
        draws: Sequence[int],
        others: str,
        clear: bool,
        opening: str,
    ) -> tuple[list[StatedFact], str, str, bool]:
        """A sentence with the next facts, which it takes: these, what it says, whom it names, and
        whether its subject is the entity.

        `others`: whom the entity's pronoun may be taken for, if anybody. `clear`: of the sentence
        before; else "it" could be what that one is about: "Its premiere was in Porto. It ...".
        """
        one = left.pop(0)
        wording = last = self.wordings[one.slot][one.wording]
        subject, kind = who.pronoun, (draws[1] * 8) >> 32
        if others:
            subject = who.again(others)
        elif (
            who.nouns
            and wording.first != "P"
            and (draws[0] & (7 if who.short else 3) == 0 or (subject == "it" and not clear))
        ):
            subject = who.nouns[(draws[0] >> 3) % len(who.nouns)]
        used, said = [one], ""
        if kind < 3 and left and one.slot not in who.naming and not opening and wording.participle:
            following = self.wordings[left[0].slot][left[0].wording]
            if following.first == "S" and following.joins and following.verb != wording.verb:
                used.append(left.pop(0))
                said = f"{who.put(wording.participle, one)}, {subject}"
                said += who.put(following.text, used[1])
                last = following
        said = said or who.put(wording.text, one, who.declined(wording.first, subject))
        joins = left and 3 <= kind + len(used) - 1 < 7
        if joins and (link := self._link(who, used[-1], last, left[0])):
            said += link
            used.append(left.pop(0))
            last = self.wordings[used[-1].slot][used[-1].wording]
        names = [one.spoken[0] for one in used if one.slot in who.naming]
        text = f"{opening if wording.joins else ''}{said}"
        return used, text, " ".join(names), last.first == "S" and last.joins

    def _without_possessive(self, one: StatedFact) -> StatedFact:
        """A fact in a wording that does not begin with a possessive, if any: not "The Divided
        Anthem of Toravane's action takes place in Naples".
        """
        choices = self.wordings[one.slot]
        others = [i for i, each in enumerate(choices) if each.first != "P"]
        if choices[one.wording].first != "P" or not others:
            return one
        return one._replace(wording=others[one.wording % len(others)])

    def _link(self, who: _Subject, before: StatedFact, first: _Wording, one: StatedFact) -> str:
        """How a fact follows another in its sentence: " and died in 1990"; "" where it cannot.

        Two verbs share a subject in one tense and where they differ, so that nothing "was written
        and was written".
        """
        second = self.wordings[one.slot][one.wording]
        if first.first == "S" == second.first and first.joins and second.joins:
            fits = first.present == second.present and first.verb != second.verb
            return f" and{who.put(second.text, one)}" if fits else ""
        same = first.verb.partition(" ")[0] == second.verb.partition(" ")[0]
        if before.slot in who.naming or (same and first.first == second.first):
            return ""
        if who.pronoun == "it" and second.first == "S" != first.first:
            return ""  # "the script was written in 1962, and it opened": the script?
        subject = who.pronoun
        clear = first.first == "S" and first.joins
        if subject == "it" and who.nouns and second.first != "P" and not clear:
            subject = who.nouns[0]
        return f", and {who.put(second.text, one, who.declined(second.first, subject))}"

    def _subject(self, forms: tuple[str, str, str]) -> _Subject:
        name, short, pronoun = forms
        return _Subject(
            name, short, pronoun, (*((short,) if short else ()), *self.domain.nouns),
            dict(zip("spo", _FORMS[pronoun], strict=True)),
            self._relations if pronoun == "it" else self._naming,
        )  # fmt: skip

    def subjects(self, forms: tuple[str, str, str]) -> list[str]:
        """What a subject can be beside the name: the pronoun first, a short name, nouns."""
        who = self._subject(forms)
        return [who.pronoun, *who.nouns]

    def clause(self, forms: tuple[str, str, str], one: StatedFact, subject: str) -> str:
        """One fact of an entity or of another holder, with neither capital nor full stop.

        `subject`: of the entity's own facts, its name or one of `subjects`.
        """
        who, wording = self._subject(forms), self.wordings[one.slot][one.wording]
        if one.holder >= 0:
            subject = self._others[one.holder].format(who.marks["p"])
        return who.put(wording.text, one, who.declined(wording.first, subject))

    def idle(self, forms: tuple[str, str, str], text: str, subject: str = "") -> str:
        """A sentence that states nothing. `subject`: what the entity is called; "": its pronoun."""
        who, cut = self._subject(forms), _cut(text)
        said = who.declined(cut.first, subject or who.pronoun) if cut.first else ""
        return f"{_capital(cut.text.format(said, **who.marks))}."


def _shape_of(parts: Sequence[ShapePart], idle: tuple[_Wording, ...]) -> _Shape:
    place = {
        slot: (number, rank)
        for number, part in enumerate(parts)
        for rank, slot in enumerate(part.slots)
    }
    cut = (
        _Part(
            part.lead,
            tuple(map(_cut, part.say)) or (() if part.slots else idle),
            not part.slots,
        )
        for part in parts
    )
    return _Shape(tuple(cut), place)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


@lru_cache(maxsize=1 << 17)
def said_of(kind: str, unit: tuple[str, str], code: int) -> tuple[str, tuple[str, str]]:
    """A year, date or number: its name, and in words, with and without "in" or "on"."""
    match kind:
        case "year":
            return str(code), (f"in {code}", str(code))
        case "date":
            day = datetime.date.fromordinal(code)
            spoken = f"{day.day} {MONTHS[day.month - 1]} {day.year}"
            return day.isoformat(), (f"on {spoken}", spoken)
        case _:
            spoken = f"{code:,} {unit[code != 1]}".strip()
            return str(code), (spoken, spoken)
