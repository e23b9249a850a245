"""Facts into texts: composed, not listed.

Every fact is a sentence or half of one, in an order of its own; the subject is the name at first,
then a pronoun, a short name or a noun; sentences that state no fact stand between.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from retgen.streams import Stream
from retgen.world.domain import Domain, Slot
from retgen.world.facts import ABSENT, Codes, World

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_FORMS = {"she": ("she", "her", "her"), "he": ("he", "his", "him"), "it": ("it", "its", "it")}
_JOINED = 0.35  # of the facts that can stand in one sentence with the one before
_FULL = 1 << 32
_MARK = re.compile(r"\{([SPO])\}")


class Stated(NamedTuple):
    """A fact as a text states it. `holder`: -1 the entity, otherwise which of the domain's others.

    `spoken`: the value in words, and bare (of years and dates, without "in" or "on").
    """

    slot: str
    name: str
    spoken: tuple[str, str]
    wording: int
    holder: int = -1

    @property
    def fact(self) -> str:
        """As `metadata.facts` has it."""
        return f"{'other:' if self.holder >= 0 else ''}{self.slot}={self.name}"


class ComposedDocument(NamedTuple):
    """A document: its title, its text, and the facts in the order in which the text states them."""

    name: str
    text: str
    facts: list[str]


@dataclass(frozen=True)
class _Wording:
    """A document wording, cut for speed. `joins`: it begins with the subject or its possessive.

    `text`: for str.format, whose first mark is `{0}`; later marks are those of the pronoun.
    """

    text: str
    first: str  # "S", "P" or "O"
    joins: bool
    alone: bool  # it has no second mark, so anybody can be its subject
    verb: str  # the first two words after the subject: "was born", "lives in"

    @property
    def present(self) -> bool:
        """Whether what follows the subject is in the present tense, as "lives" or "has" is."""
        word = self.verb.partition(" ")[0]
        return word.endswith("s") and word != "was"


def _cut(wording: str) -> _Wording:
    first = _MARK.search(wording)
    assert first is not None  # the domain was checked
    head, tail = wording[: first.start()], wording[first.end() :]
    tail = _MARK.sub(lambda mark: f"{{{mark[1].lower()}}}", tail)
    alone = not re.search(r"\{[spo]\}", tail)
    verb = " ".join(tail.split()[:2])
    return _Wording(f"{head}{{0}}{tail}", first[1], not head and first[1] in "SP", alone, verb)


class Composer:
    """Documents of a world. `fillers`: sentences without a fact, at most, in each.

    `variant`: other texts that state the same facts.
    """

    def __init__(self, world: World, fillers: int = 2, variant: str = "") -> None:
        self.world = world
        self.domain: Domain = world.domain
        self.fillers = min(fillers, len(self.domain.fillers))
        self._slots = list(self.domain.slots.values())
        self.wordings = {
            slot.name: tuple(_cut(wording) for wording in slot.document) for slot in self._slots
        }
        self._place = {slot.name: k for k, slot in enumerate(self._slots)}
        self._naming = {slot.name for slot in self._slots if slot.type in ("relation", "person")}
        self._things = {slot.name for slot in self._slots if slot.type == "relation"}
        self._others = [one.replace("{P}", "{0}") for one in self.domain.others]
        self._idle = [_cut(one) if _MARK.search(one) else one for one in self.domain.fillers]
        self._stream = Stream(world.seed, f"{world.purpose}/text/{variant}")
        # per slot: its place, wording, subject, whether it is joined; per filler: which and where
        self._draws = 4 * len(self._slots) + 3 * self.fillers + 1
        self._bounds = np.full(self._draws, np.uint64(_FULL))

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
                    stated.append((row[4 * k], Stated(slot.name, said[0], said[1], which)))
            stated.sort(key=_first)
            result.append(self.write(forms[i], [one for _, one in stated], row))
        return result

    def wordings_of(self, slot: Slot, codes: Codes) -> list[tuple[str, tuple[str, str]] | None]:
        """For every code, the value's name and how a document says it; None where it is absent."""
        listed = codes.tolist()
        match slot.type:
            case "category" | "place":
                known = [(v.name, (v.name, v.name)) for v in slot.values]
                return [known[code] if code >= 0 else None for code in listed]
            case "person" | "relation":
                names = self.world.value_names(slot, listed)
                return [(name, (name, name)) if name else None for name in names]
            case _:
                return [
                    None if code == ABSENT else said_of(slot.type, slot.unit, code)
                    for code in listed
                ]

    def write(
        self, forms: tuple[str, str, str], stated: Sequence[Stated], draws: Sequence[int]
    ) -> ComposedDocument:
        """A text that states these facts in this order. `draws`: 32-bit numbers, a record's."""
        name, short, pronoun = forms
        she, her, _ = _FORMS[pronoun]
        nouns = (*((short,) if short else ()), *self.domain.nouns)
        marks = dict(zip("spo", _FORMS[pronoun], strict=True))
        naming = self._things if pronoun == "it" else self._naming
        sentences: list[str] = []
        misleading: list[bool] = []  # of each: whether a pronoun behind it may be another's
        opened = ""  # the sentence under way
        head: Stated | None = None  # the fact in it, if another can be joined
        ordered = self._begin(stated)
        for k, one in enumerate(ordered):
            wording = self.wordings[one.slot][one.wording]
            value, bare = one.spoken
            own = one.holder < 0
            by_name = not misleading or misleading[-1]
            if not own:
                subject = self._others[one.holder].format(f"{name}'s" if by_name else her)
            elif by_name:
                subject = name
            else:
                drawn = draws[4 * k + 2]
                subject = she
                if drawn & 3 == 0 and nouns:
                    subject = nouns[(drawn >> 2) % len(nouns)]
            misled = not own or one.slot in naming
            if (
                head is not None
                and own
                and draws[4 * k + 3] < _JOINED * _FULL
                and self._joins(head, one)
                and (wording.first == "S" or not by_name)
            ):
                subject, link = ("", " and") if wording.first == "S" else (her, ", and ")
                said = wording.text.format(subject, v=value, n=bare, **marks)
                sentences[-1] = f"{opened}{link}{said}."
                misleading[-1] |= misled
                head = None
                continue
            said = wording.text.format(
                _declined(wording.first, subject, subject == she, pronoun),
                v=value, n=bare, **marks,
            )  # fmt: skip
            opened = _capital(said)
            sentences.append(f"{opened}.")
            misleading.append(misled)
            head = one if own and wording.joins and wording.first == "S" else None
        self._idle_sentences(sentences, misleading, draws, forms)
        return ComposedDocument(name, " ".join(sentences), [one.fact for one in ordered])

    def subjects(self, forms: tuple[str, str, str]) -> list[str]:
        """What a subject can be beside the name: the pronoun first, a short name, nouns."""
        _, short, pronoun = forms
        return [_FORMS[pronoun][0], *((short,) if short else ()), *self.domain.nouns]

    def clause(self, forms: tuple[str, str, str], one: Stated, subject: str) -> str:
        """One fact of an entity or of another holder, with neither capital nor full stop.

        `subject`: of the entity's own facts, its name or one of `subjects`.
        """
        pronoun = forms[2]
        wording = self.wordings[one.slot][one.wording]
        value, bare = one.spoken
        if one.holder >= 0:
            subject = self._others[one.holder].format(_FORMS[pronoun][1])
        is_pronoun = subject == _FORMS[pronoun][0]
        return f"{wording.text[0].lower()}{wording.text[1:]}".format(
            _declined(wording.first, subject, is_pronoun, pronoun), v=value, n=bare,
            **dict(zip("spo", _FORMS[pronoun], strict=True)),
        )  # fmt: skip

    def _joins(self, head: Stated, one: Stated) -> bool:
        """Whether a fact can follow another in its sentence: "was born in Oslo and died in 1990".

        Two verbs share a subject in one tense, in the order of the domain's slots and where they
        differ, so that nobody "died in 1990 and was born" or "was written and was written".
        """
        first, second = self.wordings[head.slot][head.wording], self.wordings[one.slot][one.wording]
        if second.first != "S" or not second.joins:
            return second.joins
        return (
            first.present == second.present
            and first.verb != second.verb
            and self._place[head.slot] < self._place[one.slot]
        )

    def _begin(self, stated: Sequence[Stated]) -> list[Stated]:
        """The same facts; one that begins with the entity's name comes first."""
        ordered = list(stated)
        for i, one in enumerate(ordered):
            if one.holder < 0 and self.wordings[one.slot][one.wording].joins:
                ordered.insert(0, ordered.pop(i))
                break
        return ordered

    def _idle_sentences(
        self,
        sentences: list[str],
        misleading: list[bool],
        draws: Sequence[int],
        forms: tuple[str, str, str],
    ) -> None:
        """Put some sentences without a fact between the others."""
        name, _, pronoun = forms
        marks = dict(zip("spo", _FORMS[pronoun], strict=True))
        base = 4 * len(self._slots)
        chosen: set[int] = set()
        for j in range((draws[-1] * (self.fillers + 1)) >> 32):
            which = (draws[base + 3 * j] * len(self._idle)) >> 32
            if which in chosen:
                continue
            chosen.add(which)
            idle = self._idle[which]
            where = 1 + ((draws[base + 3 * j + 1] * len(sentences)) >> 32)
            misled = misleading[where - 1]
            if isinstance(idle, _Wording):
                subject = _declined(idle.first, name, not misled, pronoun)
                idle = idle.text.format(subject, **marks)
                misled = False
            sentences.insert(where, f"{_capital(idle)}.")
            misleading.insert(where, misled)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _declined(case: str, subject: str, is_pronoun: bool, pronoun: str) -> str:
    if is_pronoun:
        return _FORMS[pronoun]["SPO".index(case)]
    return f"{subject}'s" if case == "P" else subject


def _first(pair: tuple[int, Stated]) -> int:
    return pair[0]


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
