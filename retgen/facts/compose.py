"""Facts into texts: composed, not listed.

A document has one of its domain's shapes, parts in an order: facts that belong together, a
connective before them, and sentences that state none. Within a part facts come as it lists them,
each a sentence of its own. Two that the shape has in one group may share a sentence: its words but
for the value ("born in Porto on 3 May 1950"), its subject, or one as a participle before the other.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from retgen.facts.domain import Domain, Slot
from retgen.facts.domain_file import ShapePart
from retgen.facts.facts import ABSENT, Codes, World
from retgen.facts.reference import CutWording, Reference, StatedFact, Subject, cut
from retgen.streams import Stream

MONTHS = (
    "January February March April May June July August September October November December"
).split()
# numbers that a text writes in words
FEW = "no one two three four five six seven eight nine ten eleven twelve".split()
_FULL = 1 << 32
_LED = _FULL // 2  # of the parts that have connectives
_SAID = 2 * _FULL // 5  # of the parts with facts: those behind which something without one is said
_THINGS = ("category", "relation")  # types of slots whose values "it" may mean
_APPOSITION = re.compile(r" (?:is|was) (an? .+)")
_PLAIN = 3  # parts of the shape of a domain that states none
# a wording that ends in its value: what another may share, and the rest
_STEM = re.compile(r"(\{0\} .+?)((?: (?:in|at|on|by|to|for|with|from|against))? \{v\})")


class ComposedDocument(NamedTuple):
    """A document: its title, its text, and the facts in the order in which the text states them."""

    name: str
    text: str
    facts: list[str]


class _Part(NamedTuple):
    """A part of a shape: connectives before its facts, and sentences without one behind them.

    `always`: of a part without facts, one of the sentences is said.
    """

    lead: tuple[str, ...]
    say: tuple[CutWording, ...]
    always: bool


class _Shape(NamedTuple):
    """Parts in order, and the part and rank of a slot; none where a slot may stand anywhere.

    `together`: slots of one group, in its order.
    """

    parts: tuple[_Part, ...]
    place: Mapping[str, tuple[int, int]]
    together: frozenset[tuple[str, str]] = frozenset()


class Composer:
    """Documents of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.domain: Domain = world.domain
        self._slots = list(self.domain.slots.values())
        self.wordings = {
            slot.name: tuple(cut(wording) for wording in slot.document) for slot in self._slots
        }
        self._place = {slot.name: k for k, slot in enumerate(self._slots)}
        self._relations = frozenset(s.name for s in self._slots if s.type == "relation")
        self._naming = self._relations | {s.name for s in self._slots if s.type == "person"}
        self._others = [one.replace("{P}", "{0}") for one in self.domain.others]
        idle = tuple(map(cut, self.domain.fillers))
        self._plain = _Shape((_Part((), idle, False),) * _PLAIN, {})
        self._pairs: dict[tuple[str, str], dict[tuple[int, int], str]] = {}
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
        names = self.world.value_names(slot, listed)
        return [(name, (name, name)) if name else None for name in names]

    def write(
        self,
        forms: tuple[str, str, str],
        stated: Sequence[StatedFact],
        draws: Sequence[int],
        *,
        plain: bool = False,
        as_given: bool = False,
    ) -> ComposedDocument:
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
        entity, base = Reference(who), 4 * len(self._slots)
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
                if entity.others and who.pronoun == "it" and not as_given:
                    # not "The Divided Anthem of Toravane's action takes place in Naples"
                    left[0] = self._reworded(left[0], lambda each: each.first != "P")
                used, said = self._sentence(
                    entity, left, shape.together, draws[at : at + 2], opening, as_given
                )
                del left[: len(used)]
                facts += [f"{one.slot}={one.name}" for one in used]
                sentences.append(f"{capital(said)}.")
                opening = ""
            idle = part.say[(which * len(part.say)) >> 32] if part.say else None
            if idle and idle.text not in heard and (part.always or spoken < _SAID):
                heard.add(idle.text)
                said, others = idle.text, entity.others
                if idle.first:
                    subject, others = entity.called(idle), ""
                    said = said.format(who.declined(idle.first, subject), **who.marks)
                entity.heard(idle, others)
                sentences.append(f"{capital(said)}.")
        return ComposedDocument(who.name, " ".join(sentences), facts)

    def _sentence(
        self,
        entity: Reference,
        left: Sequence[StatedFact],
        together: Collection[tuple[str, str]],
        draws: Sequence[int],
        opening: str,
        as_given: bool,
    ) -> tuple[list[StatedFact], str]:
        """A sentence with the first of some facts, and with those behind it that may share it:
        these, and it. `together`: slots of one group.
        """
        who, kind = entity.who, (draws[1] * 8) >> 32
        one, *more = left[:3]
        grouped = bool(more) and (one.slot, more[0].slot) in together
        rest = ""
        if grouped:
            if not as_given:
                one, more[0] = self._matched(one, more[0], draws[0])
            rest = self._sharing(one.slot, more[0].slot).get((one.wording, more[0].wording), "")
        wording = last = self.wordings[one.slot][one.wording]

        def next_one(allowed: Callable[[CutWording], bool], place: int = 0) -> CutWording | None:
            """The wording of a fact behind the first, if it is allowed, or another one is."""
            if len(more) <= place:
                return None
            if not as_given:
                more[place] = self._reworded(more[place], allowed)
            found = self.wordings[more[place].slot][more[place].wording]
            return found if allowed(found) else None

        able = not rest and not entity.told_aside and (kind >= 5 if grouped else kind < 5)
        aside = self._aside(who, one) if able else ""
        aside = aside if aside and next_one(_goes_on) else ""
        entity.told_aside = bool(aside)
        names = one.slot in who.naming  # who is named next to a noun may be that
        subject = entity.called(wording, 1 if names else draws[0], named=bool(aside))
        used = [one]
        said = who.put(wording.text, one, who.declined(wording.first, subject))
        if rest:
            used.append(more[0])
            said += who.put(rest, more[0])
            third = len(more) > 1 and (more[0].slot, more[1].slot) in together and kind < 5
            if third and (behind := next_one(wording.joins_with, 1)):
                used.append(more[1])
                said, last = f"{said} and{who.put(behind.text, more[1])}", behind
        elif aside and (behind := next_one(_goes_on)):
            used.append(more[0])
            said, last = who.put(behind.text, more[0], f"{subject}, {aside},"), behind
        elif grouped and kind < 2 and not opening and wording.participle and not names:
            if behind := next_one(lambda each: _goes_on(each) and each.verb != wording.verb):
                used.append(more[0])
                said = who.put(behind.text, more[0], subject)
                said, last = f"{who.put(wording.participle, one)}, {said}", behind
        elif grouped and kind < 5 and (behind := next_one(wording.joins_with)):
            used.append(more[0])
            said, last = f"{said} and{who.put(behind.text, more[0])}", behind
        # "She married Kim Lee. She": of whom it is told; "Her doctor was Kim Lee. She": either
        naming = self._relations if last.first == "S" and last.joins else who.naming
        others = " ".join(one.spoken[0] for one in used if one.slot in naming)
        kind_of = self.domain.slots[used[-1].slot].type
        entity.heard(last, others, thing=kind_of in _THINGS, person=kind_of == "person")
        return used, f"{opening if wording.joins else ''}{said}"

    def _matched(
        self, one: StatedFact, other: StatedFact, draw: int
    ) -> tuple[StatedFact, StatedFact]:
        """Two facts in wordings that share all but their values, if there are any, so that nobody
        "died in Oslo. She died in 1950".
        """
        pairs = [*self._sharing(one.slot, other.slot)]
        if not pairs:
            return one, other
        first, second = pairs[(draw >> 8) % len(pairs)]
        return one._replace(wording=first), other._replace(wording=second)

    def _sharing(self, one: str, other: str) -> dict[tuple[int, int], str]:
        """Wordings of two slots, by their places, that share all but their values -> the rest of
        the second: " on {v}".
        """
        known = self._pairs.get((one, other))
        if known is None:
            timed = self.domain.slots[other].type in ("year", "date")
            stems = [
                [each.first == "S" and _STEM.fullmatch(each.text) for each in self.wordings[slot]]
                for slot in (one, other)
            ]
            known = self._pairs[one, other] = {
                (i, j): second[2]
                for i, first in enumerate(stems[0])
                for j, second in enumerate(stems[1])
                if first
                and second
                and first[1] == second[1]
                and (timed or not second[2].startswith(" {"))
            }
        return known

    def _aside(self, who: Subject, one: StatedFact) -> str:
        """A fact told by the way, between the subject and the verb of another: "a western", "set in
        Turin", "who lived in Porto"; "" for none.
        """
        wording = self.wordings[one.slot][one.wording]
        if not self.domain.slots[one.slot].aside or not _goes_on(wording):
            return ""
        said = who.put(wording.text, one)
        if apposition := _APPOSITION.fullmatch(said):
            return apposition[1]
        if wording.participle:
            return who.put(wording.participle, one)
        return f"{'which' if who.pronoun == 'it' else 'who'}{said}"

    def _reworded(self, one: StatedFact, allowed: Callable[[CutWording], bool]) -> StatedFact:
        """A fact in a wording that is allowed, if any is."""
        choices = self.wordings[one.slot]
        others = [i for i, each in enumerate(choices) if allowed(each)]
        if one.wording in others or not others:
            return one
        return one._replace(wording=others[one.wording % len(others)])

    def _subject(self, forms: tuple[str, str, str]) -> Subject:
        naming = self._relations if forms[2] == "it" else self._naming
        return Subject.of(forms, self.domain.nouns, naming)

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
        who, idle = self._subject(forms), cut(text)
        said = who.declined(idle.first, subject or who.pronoun) if idle.first else ""
        return f"{capital(idle.text.format(said, **who.marks))}."


def _shape_of(parts: Sequence[ShapePart], idle: tuple[CutWording, ...]) -> _Shape:
    place: dict[str, tuple[int, int]] = {}
    for number, part in enumerate(parts):
        for slot in (slot for group in part.groups for slot in group):
            place[slot] = number, len(place)
    together = {pair for part in parts for group in part.groups for pair in combinations(group, 2)}
    made = (
        _Part(part.lead, tuple(map(cut, part.say)) or (() if part.slots else idle), not part.slots)
        for part in parts
    )
    return _Shape(tuple(made), place, frozenset(together))


def _goes_on(wording: CutWording) -> bool:
    """Whether it can stand behind a subject and what is told by the way."""
    return wording.first == "S" and wording.joins and wording.alone


def capital(text: str) -> str:
    """A text that begins with a capital letter."""
    return text[0].upper() + text[1:]


def figure(unit: tuple[str, str], number: int) -> str:
    """A number in figures, with its unit."""
    return f"{number:,} {unit[number != 1]}".strip()


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
            few = unit[0] and 0 < code < len(FEW)
            spoken = f"{FEW[code]} {unit[code != 1]}" if few else figure(unit, code)
            return str(code), (spoken, spoken)
