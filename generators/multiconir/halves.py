"""Half of a domain, so that sets can share neither values nor wordings: `half: a` and `half: b`.

Of every list of values, wordings, given names and other holders each half has every second entry;
of the values within a parent, so that both know what can be asked a step up. Years, dates and
numbers keep their ranges, which hang together.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from retgen.world.domain import Domain, Slot

Half = Literal["a", "b"]
_T = TypeVar("_T")


def halved(domain: Domain, half: Half) -> Domain:
    """The domain with every second value and wording."""
    kept = {name: _values(slot, half) for name, slot in domain.slots.items()}
    persons = domain.persons and domain.persons.model_copy(
        update={"given": tuple(_every_second(domain.persons.given, half))}
    )
    return replace(
        domain,
        slots={name: _slot(slot, kept, half) for name, slot in domain.slots.items()},
        persons=persons,
        others=tuple(_every_second(domain.others, half)),
    )


def half_of(slot: Slot, code: int) -> str:
    """The half of a value of a slot that has no list: by persons and entities, decades, tens."""
    match slot.type:
        case "year":
            code //= 10
        case "date":
            code = datetime.date.fromordinal(code).year // 10
        case "number":
            code //= 10 * slot.step
    return "ab"[code % 2]


def _every_second(items: Sequence[_T], half: Half) -> Sequence[_T]:
    return items[half == "b" :: 2]


def _values(slot: Slot, half: Half) -> list[int]:
    """The indices that are kept: within each parent, and of what goes with each other value."""
    groups: dict[object, list[int]] = {}
    of: dict[int, tuple[tuple[int, ...], ...]] = {}
    for codes in sorted(set(slot.given.values())):
        for code in codes:
            of[code] = (*of.get(code, ()), codes)
    for code, value in enumerate(slot.values):
        groups.setdefault((value.parents[:1], of.get(code)), []).append(code)
    return sorted(code for group in groups.values() for code in _some(group, half))


def _some(group: Sequence[int], half: Half) -> Iterable[int]:
    return _every_second(group, half) if len(group) > 1 else group


def _slot(slot: Slot, kept: dict[str, list[int]], half: Half) -> Slot:
    own = {code: place for place, code in enumerate(kept[slot.name])}
    given = {}
    if slot.given_slot:
        other = {code: place for place, code in enumerate(kept[slot.given_slot])}
        given = {
            other[key]: tuple(own[code] for code in codes if code in own)
            for key, codes in slot.given.items()
            if key in other
        }
    return replace(
        slot,
        values=tuple(slot.values[code] for code in kept[slot.name]),
        given=given,
        document=_wordings(slot.document, half),
        query=tuple(_every_second(slot.query, half)),
    )


def _wordings(wordings: Sequence[str], half: Half) -> tuple[str, ...]:
    """Every second of those that can be asked with, and every second of the others."""
    able = [one for one in wordings if one.startswith(("{S} ", "{P} "))]
    rest = [one for one in wordings if one not in able]
    return (*_every_second(able, half), *_every_second(rest, half))
