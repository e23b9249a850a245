"""Facts as a model is told them and says them, and how what it read differs from what is so."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from retgen.generators.world.agents import AskFacts, ReadFacts, plain
from retgen.world.compose import MONTHS
from retgen.world.domain import Domain, Slot

_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)


def asked_of(domain: Domain, title: str, text: str) -> AskFacts:
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


def told(slot: Slot, value: str) -> str:
    """A fact as the writer is told it. `value`: as metadata have it."""
    return f"{slot.name}: {forms(slot, value)[0]} ({slot.about})"


def forms(slot: Slot, value: str) -> tuple[str, ...]:
    """How a value may stand in a text; the first is the one to use."""
    match slot.type:
        case "date":
            day = datetime.date.fromisoformat(value)
            month = MONTHS[day.month - 1]
            return f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}"
        case "number":
            number = int(value)
            unit = slot.unit[number != 1]
            return tuple(dict.fromkeys(f"{one} {unit}".strip() for one in (f"{number:,}", value)))
        case _:
            return (value,)


def bare(slot: Slot, value: str) -> tuple[str, ...]:
    """The words of a value of which one has to stand in a text, without article and unit."""
    if slot.type == "number":
        return f"{int(value):,}", value
    return tuple(_ARTICLE.sub("", one) for one in forms(slot, value))


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
            return _known(slot).get(_folded(text), text)
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
def _listed(names: tuple[tuple[str, ...], ...]) -> dict[str, str]:
    """Every name of every value -> its first; the first names win."""
    result = {_folded(other): one[0] for one in names for other in one[1:]}
    return result | {_folded(one[0]): one[0] for one in names}


def _known(slot: Slot) -> dict[str, str]:
    return _listed(tuple((one.name, *one.synonyms) for one in slot.values))
