"""What a domain's file defines: types, values, parents, ranges, names, and wordings of facts.

The file is read as YAML, without the code that draws from it and words it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from retgen.errors import UsageError
from retgen.yaml_text import read_yaml

TYPES = ("category", "place", "year", "date", "number", "person", "relation")


class BadDefinition(UsageError):
    """Why a file defines no domain, or one whose texts could not be read back."""


class ValueDefinition(NamedTuple):
    """A value with its synonyms, and what it is a kind or a part of, nearest first."""

    name: str
    synonyms: tuple[str, ...]
    parents: tuple[str, ...]


class SlotDefinition(NamedTuple):
    """What can be known of an entity.

    `low`, `high`: years of a year or date, else numbers; None where there is no range. `unit`: its
    singular and plural. `document`, `query`: its wordings; `most`, `least`: what queries call its
    largest and smallest values.
    """

    name: str
    type: str
    values: Mapping[str, ValueDefinition]
    low: int | None
    high: int | None
    share: float
    unit: tuple[str, ...]
    document: tuple[str, ...]
    query: tuple[str, ...]
    most: tuple[str, ...]
    least: tuple[str, ...]


class Definition(NamedTuple):
    """A domain. `name`: the pattern of names, in pieces: a literal text, or a part's values."""

    domain: str
    singular: str
    relative: str
    nouns: tuple[str, ...]  # what an entity may be called beside its name
    slots: Mapping[str, SlotDefinition]
    name: tuple[str | tuple[str, ...], ...]
    short: tuple[int, int] | None  # the places in `name` of the parts that stand as a short name
    persons: tuple[frozenset[str], ...]  # given and family names of those who are no entities
    free: tuple[str, ...]  # sentences that state no fact
    leads: tuple[str, ...]  # connectives before a sentence
    others: tuple[str, ...]  # those who share the slots of an entity: "{P} brother"

    def of_type(self, kind: str) -> list[str]:
        """The slots of a type."""
        return [name for name, slot in self.slots.items() if slot.type == kind]


def read_definition(path: Path) -> Definition:
    """The definition in a domain's file. Raises `BadDefinition`."""
    raw = read_yaml(path, error=BadDefinition)
    try:
        return _definition(raw)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadDefinition(f"{path} defines no domain: {error!r}") from error


def _definition(raw: Mapping[str, Any]) -> Definition:
    lists = {key: list(_values(value)) for key, value in raw.get("lists", {}).items()}
    slots: dict[str, SlotDefinition] = {}
    for name, one in raw["slots"].items():
        if one["type"] not in TYPES:
            raise ValueError(f"slot {name} has the type {one['type']!r}")
        given = one.get("values") or []
        values = lists[given] if isinstance(given, str) else _values(given)
        low, high = one.get("range") or (None, None)
        slots[name] = SlotDefinition(
            name,
            one["type"],
            {value.name: value for value in values},
            _bound(low, slots, "low"),
            _bound(high, slots, "high"),
            float(one.get("share", 1)),
            *(tuple(one.get(key) or ()) for key in ("unit", "document", "query", "most", "least")),
        )
    parts = [part for shape in raw.get("shapes", {}).values() for part in shape]
    said, leads = ([x for part in parts for x in part.get(key, ())] for key in ("say", "lead"))
    pieces, short = _pieces(raw["name"])
    return Definition(
        raw["domain"],
        raw["entity"]["singular"],
        raw["entity"]["relative"],
        tuple(raw.get("nouns", ())),
        slots,
        pieces,
        short,
        tuple(frozenset(_words(one)) for one in (raw.get("persons") or {}).values()),
        (*raw.get("fillers", ()), *said),
        tuple(leads),
        tuple(raw.get("others", ())),
    )


def _values(given: Any, parents: tuple[str, ...] = ()) -> Iterator[ValueDefinition]:
    """The leaves of nested lists, each with what it is nested in."""
    if isinstance(given, Mapping):
        for key, below in given.items():
            yield from _values(below, (str(key).partition("|")[0].strip(), *parents))
    elif isinstance(given, Sequence) and not isinstance(given, str):
        for one in given:
            yield from _values(one, parents)
    else:
        name, *synonyms = (part.strip() for part in str(given).split("|"))
        yield ValueDefinition(name, tuple(synonyms), parents)


def _bound(given: Any, earlier: Mapping[str, SlotDefinition], end: str) -> int | None:
    """A bound as a number; that of another slot ("lit + 30") gives the furthest it can be."""
    if given is None or isinstance(given, int):
        return given
    if isinstance(given, datetime.date):
        return given.year
    name, sign, shift = re.split(r"\s*([+-])\s*", f"{given} + 0")[:3]
    other: int | None = getattr(earlier[name], end)
    return None if other is None else other + int(sign + shift)


def _pieces(
    name: Mapping[str, Any],
) -> tuple[tuple[str | tuple[str, ...], ...], tuple[int, int] | None]:
    """The pattern of names in pieces, and the places of those that stand as a short name."""
    pieces: list[str | tuple[str, ...]] = []
    places: dict[str, int] = {}
    for number, piece in enumerate(re.split(r"\{(\w+)\}", name["pattern"])):
        if number % 2:
            places.setdefault(piece, len(pieces))
            pieces.append(tuple(_words(name["parts"][piece])))
        elif piece.strip():
            pieces.append(piece.strip())
    short = name.get("short") or ""
    parts = re.findall(r"\{(\w+)\}", short) if short in name["pattern"] else []
    return tuple(pieces), (places[parts[0]], places[parts[-1]] + 1) if parts else None


def _words(given: Any) -> Iterator[str]:
    """The values of a part of a name, whose groups (those of a pronoun) do not matter."""
    if isinstance(given, Mapping) and given.keys() == {"from", "to"}:  # numbers
        yield from map(str, range(given["from"], given["to"] + 1))
        return
    for value in _values(given):
        yield value.name
