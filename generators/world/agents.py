"""World's agents: one puts facts into prose, another reads facts from prose.

Without a model documents are composed by rules, so offline answers there are none. `differences`
says how what was read differs from what is so.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from pydantic import Field

from retgen.agents.agent import AnswerSchema, Question
from retgen.facts.compose import FEW, MONTHS, figure
from retgen.facts.domain import Domain, Slot
from retgen.facts.domain_file import Value
from retgen.generators.agents import bundled_agent

_SHORTEST = 100  # characters of a document


class AskDocument(Question):
    """A document with these facts. `forms`: of each fact, the texts of which one has to stand.

    `earlier`, `faults`: the version that was read otherwise, and how.
    """

    kind: str
    name: str
    facts: tuple[str, ...]
    forms: tuple[tuple[str, ...], ...] = Field(exclude=True)
    absent: tuple[str, ...]
    earlier: str = "(none)"
    faults: tuple[str, ...] = ()

    def about(self) -> str:
        return f"document {self.name!r}"


class WrittenDocument(AnswerSchema):
    """The answer of `write_document`."""

    text: str


class AskFacts(Question):
    """The facts that a text states. `names`: of the slots, whose meanings `slots` says."""

    kind: str
    title: str
    text: str
    slots: tuple[str, ...]
    names: tuple[str, ...] = Field(exclude=True)

    def about(self) -> str:
        return f"document {self.title!r}"


class ReadFact(AnswerSchema):
    """A fact as a model read it."""

    slot: str
    value: str


class ReadFacts(AnswerSchema):
    """The answer of `read_facts`."""

    facts: list[ReadFact]


def stands(form: str, text: str) -> bool:
    """Whether a text holds these words, in any case, not as a part of other words."""
    pattern = r"\s+".join(map(re.escape, plain(form).split()))
    return re.search(rf"(?<!\w){pattern}(?!\w)", plain(text), re.IGNORECASE) is not None


def plain(text: str) -> str:
    """A text with plain apostrophes and hyphens."""
    return text.translate({0x2018: "'", 0x2019: "'", 0x2010: "-", 0x2011: "-", 0xA0: " "})


def _check_document(asked: AskDocument, answer: WrittenDocument) -> str | None:
    text = answer.text.strip()
    if len(text) < _SHORTEST:
        return "text: it is too short to be a document"
    if re.search(r"^\s*(?:[-*#]|\d+[.)])\s", text, re.MULTILINE):
        return "text: it holds a list or a headline; write prose"
    if not stands(asked.name, text):
        return f"text: the name {asked.name!r} does not stand in it"
    missing = [forms[0] for forms in asked.forms if not any(stands(one, text) for one in forms)]
    if missing:
        return f"text: these words do not stand in it: {', '.join(map(repr, missing))}"
    return None


def _check_facts(asked: AskFacts, answer: ReadFacts) -> str | None:
    unknown = sorted({one.slot for one in answer.facts} - {*asked.names})
    if unknown:
        return f"facts: there is no {', '.join(map(repr, unknown))} among what is asked for"
    return None


WRITE_DOCUMENT = bundled_agent(
    "world/write_document", "write", AskDocument, WrittenDocument, check=_check_document
)
READ_FACTS = bundled_agent("world/read_facts", "judge", AskFacts, ReadFacts, check=_check_facts)
# a name of its own: what a plan and a ledger say of documents does not depend on the calibration
CALIBRATE = replace(READ_FACTS, name="calibrate_reader")
AGENTS = (WRITE_DOCUMENT, READ_FACTS, CALIBRATE)


_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)


def reader_question(domain: Domain, title: str, text: str) -> AskFacts:
    """What the reader is asked about a document."""
    slots = tuple(f"{one.name}: {meaning(one)}" for one in domain.slots.values())
    return AskFacts(
        kind=domain.entity.singular, title=title, text=text, slots=slots, names=tuple(domain.slots)
    )


def meaning(slot: Slot) -> str:
    """What a slot is, for somebody who sees no value of it."""
    match slot.type:
        case "number":
            return f"{slot.about} (a number, counted in {slot.unit[1]})"
        case "year" | "date":
            return f"{slot.about} (a {slot.type})"
        case _:
            return slot.about


def fact_line(slot: Slot, value: str) -> str:
    """A fact as the writer is told it. `value`: as metadata have it."""
    said = value
    if slot.type == "number":
        said = figure(slot.unit, int(value))
    elif slot.type == "date":
        said = bare(slot, value)[0]
    return f"{slot.name}: {said} ({slot.about})"


def bare(slot: Slot, value: str) -> tuple[str, ...]:
    """The words of a value of which one has to stand in a text, without article and unit."""
    match slot.type:
        case "number":
            words = (FEW[int(value)],) if 0 < int(value) < len(FEW) else ()
            return f"{int(value):,}", value, *words
        case "date":
            day = datetime.date.fromisoformat(value)
            month = MONTHS[day.month - 1]
            return f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}"
        case _:
            return (_ARTICLE.sub("", value),)


def read_values(domain: Domain, answer: ReadFacts) -> dict[str, list[str]]:
    """What was read, by slot, with the values in the words of metadata where they are known."""
    result: dict[str, list[str]] = {}
    for one in answer.facts:
        value = canonical(domain.slots[one.slot], one.value)
        known = result.setdefault(one.slot, [])
        if value not in known:
            known.append(value)
    return result


def canonical(slot: Slot, value: str) -> str:
    """A value as metadata have it, whatever its article, case and unit; as it is where unknown."""
    text = " ".join(plain(value).split()).rstrip(".")
    match slot.type:
        case "number" | "year":
            numbers = re.findall(r"\d[\d,]*", text)
            return numbers[0].replace(",", "") if len(numbers) == 1 else text
        case "category" | "place":
            return _names(slot.values).get(_folded(text), text)
        case _:
            return text


def differences(wanted: Mapping[str, str], read: Mapping[str, Iterable[str]]) -> list[str]:
    """How what was read differs from the facts, each in words; none where they agree in full."""
    result = []
    for slot, value in wanted.items():
        others = [one for one in read.get(slot, ()) if _folded(one) != _folded(value)]
        if slot not in read:
            result.append(f"it does not state {slot}: {value}")
        elif others:
            result.append(f"of {slot} it states {' and '.join(map(repr, others))}, not {value!r}")
    result += [
        f"it states {slot}: {' and '.join(values)}, which is no fact"
        for slot, values in read.items()
        if slot not in wanted
    ]
    return result


def _folded(value: str) -> str:
    return _ARTICLE.sub("", plain(value)).casefold()


@lru_cache(maxsize=256)
def _names(values: tuple[Value, ...]) -> dict[str, str]:
    """Every name of every value -> its first; the first names win."""
    result = {_folded(other): one.name for one in values for other in one.synonyms}
    return result | {_folded(one.name): one.name for one in values}
