"""A domain: what entities there are, what can be true of one, and how that can be said.

One YAML file each (`docs/world.md`); five are bundled in `domains/`.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from retgen.errors import UsageError
from retgen.facts.domain_file import (
    LARGEST,
    LISTED,
    ORDERED,
    DependentValues,
    DomainFile,
    End,
    Entity,
    Members,
    NamingBlock,
    Numbers,
    Persons,
    Problem,
    ShapePart,
    SlotBlock,
    SlotType,
    Value,
    part_values,
    problems_of_wordings,
)
from retgen.messages import SourceMap, did_you_mean, validation_messages
from retgen.yaml_text import read_yaml

Scalar = str | int
_FOLDER = Path(__file__).parent / "domains"
# by type of slot the keys that it needs, and those that it may have; others mean nothing to it
_KEYS: dict[SlotType, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "category": (("values",), ("given",)),
    "place": (("values",), ("given",)),
    "year": (("range",), ("given", "most", "least")),
    "date": (("range",), ("most", "least", "weekdays")),
    "number": (("range", "unit"), ("given", "most", "least")),
    "person": ((), ("pool",)),
    "relation": (("before",), ("by",)),
}
# what a slot has as the file states it
_AS_GIVEN = (
    "about type step weekdays unit pool before by share skew document query most least aside"
).split()
# what a domain has as the file states it
_OF_THE_FILE = ("about", "entity", "nouns", "others", "fillers", "shapes")
_ALL_KEYS = frozenset(key for keys in _KEYS.values() for some in keys for key in some)


class Dependence(NamedTuple):
    """Which values of a slot go with those of an earlier one.

    The earlier slot's codes, of a date its years, are in group i from `starts[i - 1]` on; those
    below the first start, `ABSENT`, are in group 0. `allowed`: by group what goes with it,
    indices of values; of numbers and years, the lowest and the highest.
    """

    slot: str
    starts: tuple[int, ...]
    allowed: tuple[tuple[int, ...], ...]


class SlotBound(NamedTuple):
    """An end of a range: `offset`, or so much more than an earlier slot of the entity says."""

    slot: str | None
    offset: int


NO_BOUND = SlotBound(None, 0)


@dataclass(frozen=True)
class Slot:
    """What can be true of an entity in one respect. Dates are proleptic Gregorian ordinals.

    `low`, `high`: of ordered slots. `given`: what else its values depend on. `before`: of
    relations, the slot whose value is smaller for the other entity, by at least `by[0]` and at most
    `by[1]`. `weekdays`: no date is a Saturday or a Sunday. `share`: of the entities that
    have a value. `aside`: whether another fact's sentence may tell it by the way. `weights`: how
    often a value is drawn; () for all alike.
    """

    name: str
    about: str
    type: SlotType
    values: tuple[Value, ...] = ()
    low: SlotBound = NO_BOUND
    high: SlotBound = NO_BOUND
    step: int = 1
    weekdays: bool = False
    unit: tuple[str, str] = ("", "")
    pool: int = 20_000
    before: str = ""
    by: tuple[int, int | None] = (1, None)
    share: float = 1.0
    skew: float = 0.7
    given: tuple[Dependence, ...] = ()
    document: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    most: tuple[str, str] | None = None
    least: tuple[str, str] | None = None
    aside: bool = False
    weights: tuple[float, ...] = ()

    @cached_property
    def dependences(self) -> list[str]:
        """The earlier slots that say what values there can be."""
        named = (self.low.slot, self.high.slot, self.before, *(one.slot for one in self.given))
        return [name for name in named if name]

    @property
    def is_ordered(self) -> bool:
        """Whether its values are larger and smaller."""
        return self.type in ORDERED

    @property
    def is_listed(self) -> bool:
        """Whether its values are a list."""
        return self.type in LISTED


def scalar(slot: Slot, code: int) -> Scalar:
    """What a code of an ordered slot stands for: a number, or a day in ISO's form."""
    return datetime.date.fromordinal(code).isoformat() if slot.type == "date" else code


def month_ends(year: int, first: int, last: int) -> tuple[int, int]:
    """The first day of a month of a year and the last one of another, as ordinals."""
    after = datetime.date(year + last // 12, last % 12 + 1, 1)
    return datetime.date(year, first, 1).toordinal(), after.toordinal() - 1


def ordinal(value: Scalar) -> int:
    """The code of a number or a day."""
    return value if isinstance(value, int) else datetime.date.fromisoformat(value).toordinal()


@dataclass(frozen=True, eq=False)
class Domain:
    """A domain, checked. The same file gives the same one, until it is changed."""

    name: str
    about: str
    entity: Entity
    nouns: tuple[str, ...]
    naming: NamingBlock
    persons: Persons | None
    slots: Mapping[str, Slot]
    others: tuple[str, ...]
    fillers: tuple[str, ...]
    shapes: Mapping[str, tuple[ShapePart, ...]]
    path: Path


def bundled_domains() -> list[str]:
    """Names of the domains that come with the package."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def unknown_domain(name: str) -> str:
    """What to say of a name that no bundled domain has."""
    known = bundled_domains()
    return (
        f"there is no domain {name!r}{did_you_mean(name, known) or '.'} Bundled: "
        f"{', '.join(known)}. One of your own is named by its .yaml file"
    )


def load_domain(source: str | Path) -> Domain:
    """A bundled domain by its name, or one's own by the path of its file.

    Raises `UsageError`, naming file, line and slot, for a file that does not hold a domain.
    """
    path = Path(source)
    if path.suffix not in (".yaml", ".yml"):
        path = _FOLDER / f"{source}.yaml"
        if not path.is_file():
            raise UsageError(unknown_domain(str(source)))
    if not path.is_file():
        raise UsageError(f"there is no domain file {path}")
    return _loaded(path.resolve(), path.stat().st_mtime_ns)


@cache
def _loaded(path: Path, _changed: int) -> Domain:
    data = read_yaml(path, error=UsageError)
    try:
        file = DomainFile.model_validate(data)
    except ValidationError as error:
        schema = DomainFile.model_json_schema()
        origin = SourceMap(path, read_yaml(path, lines=True), ())
        raise UsageError("\n".join(validation_messages(error, schema, data, origin, ()))) from None
    builder = _Builder(file)
    domain = builder.domain(path)
    problems = [*builder.problems, *problems_of_wordings(file)]
    if problems:
        origin = SourceMap(path, read_yaml(path, lines=True), ())
        raise UsageError("\n".join(f"{origin.where(keys)}: {said}" for keys, said in problems))
    return domain


class _Builder:
    """A file's blocks turned into slots; what does not fit is noted, all of it at once."""

    def __init__(self, file: DomainFile) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.slots: dict[str, Slot] = {}

    def domain(self, path: Path) -> Domain:
        file = self.file
        for name, block in file.slots.items():
            self.slots[name] = self._slot(name, block)
        self.problems += _problems_of_names(file, self.slots)
        return Domain(
            name=file.domain,
            naming=file.name,
            persons=self._persons(),
            slots=self.slots,
            path=path,
            **{key: getattr(file, key) for key in _OF_THE_FILE},
        )

    def _slot(self, name: str, block: SlotBlock) -> Slot:
        values = self._values(name, block)
        low, high = self._range(name, block)
        given = tuple(self._given(name, block, values))
        self._needs(name, block)
        given_keys = {key: getattr(block, key) for key in _AS_GIVEN}
        said = {key: value for key, value in given_keys.items() if value is not None}
        return Slot(name, values=values, low=low, high=high, given=given, **said)

    def _note(self, name: str, key: str, said: str) -> None:
        self.problems.append((("slots", name, key) if key else ("slots", name), said))

    def _needs(self, name: str, block: SlotBlock) -> None:
        """What each type needs, and what means nothing to it."""
        needed, possible = _KEYS[block.type]
        for key in needed:
            if getattr(block, key) is None:
                self._note(name, "", f"a slot of type {block.type} needs {key!r}")
        for key in sorted(_ALL_KEYS.difference(needed, possible)):
            if getattr(block, key) not in (None, ()):
                self._note(name, key, f"means nothing to a slot of type {block.type}")
        if block.by is not None and not 1 <= block.by[0] <= block.by[1]:
            self._note(name, "by", "at least 1, and its first end not above its second")
        if block.unit is not None and not all(re.search(r"[^\W\d_]", one) for one in block.unit):
            self._note(name, "unit", "must hold a letter")
        if block.before is not None:
            other = self.slots.get(block.before)
            if other is None or not other.is_ordered:
                self._note(name, "before", f"{block.before!r} is no earlier year, date or number")
        if block.type == "person" and self._persons() is None:
            self._note(name, "", "a slot of type person needs 'persons' at the top of the file")

    def _persons(self) -> Persons | None:
        """The file's persons, or people named as the entities are."""
        given, family = (self.file.name.parts.get(key) for key in ("given", "family"))
        if self.file.persons or not given or not isinstance(family, list):
            return self.file.persons
        return (
            None if isinstance(given, Numbers) else Persons(given=part_values(given), family=family)
        )

    def _values(self, name: str, block: SlotBlock) -> tuple[Value, ...]:
        result: tuple[Value, ...] = block.values or ()
        if isinstance(block.values, str):
            if block.values not in self.file.lists:
                hint = did_you_mean(block.values, list(self.file.lists))
                self._note(name, "values", f"there is no list {block.values!r} under lists{hint}")
            result = self.file.lists.get(block.values, ())
        names = [one for value in result for one in (value.name, *value.synonyms)]
        for said in _twice(names):
            self._note(name, "values", f"{said!r} stands there twice")
        seen = set(map(_folded, names))
        above: dict[str, set[tuple[str, ...]]] = {}
        for value in result:
            for i, parent in enumerate(value.parents):
                above.setdefault(parent, set()).add(value.parents[i + 1 :])
        for parent, places in above.items():
            if len(places) > 1:
                self._note(name, "values", f"{parent!r} stands there in two places as a parent")
            if _folded(parent) in seen:
                self._note(name, "values", f"{parent!r} is a value and a parent of values")
        for said in sorted({s for v in result for s in (*v.above, *v.synonyms)}):
            if re.search(r"[,.;:!?{}=]|\b(?:and|or|nor|not|but)\b", said):
                self._note(name, "values", f"{said!r}: no punctuation, and, or, not in a value")
        return result

    def _range(self, name: str, block: SlotBlock) -> tuple[SlotBound, SlotBound]:
        if block.range is None:
            return NO_BOUND, NO_BOUND
        low, high = (self._end(name, block, end, i) for i, end in enumerate(block.range))
        if low.slot is None and high.slot is None and low.offset > high.offset:
            self._note(name, "range", "its first end is above its second")
        return low, high

    def _end(self, name: str, block: SlotBlock, end: End, which: int) -> SlotBound:
        if not isinstance(end, str):
            if isinstance(end, datetime.date) and block.type != "date":
                self._note(name, "range", f"{end} is no {block.type}")
                return NO_BOUND
            year = end.year if isinstance(end, datetime.date) else end
            if block.type in ("year", "date") and not 1000 <= year <= 9999:
                self._note(name, "range", f"{year}: years have four digits, 1000 to 9999")
                return NO_BOUND
            if isinstance(end, datetime.date):
                return SlotBound(None, end.toordinal())
            if block.type == "date":
                month, day = ((1, 1), (12, 31))[which]
                return SlotBound(None, datetime.date(end, month, day).toordinal())
            return SlotBound(None, end)
        found = re.fullmatch(r"([a-z][a-z0-9_]*)\s*(?:([+-])\s*(\d+))?", end)
        other = self.slots.get(found[1]) if found else None
        fits = other is not None and (
            other.type == block.type or {other.type, block.type} <= {"year", "date"}
        )
        if found is None or other is None or not fits:
            self._note(
                name,
                "range",
                f"{end!r}: a whole number, a day (1990-01-31), or an earlier slot of the same "
                "type and a difference, such as 'birth + 20'",
            )
            return NO_BOUND
        return SlotBound(found[1], int(f"{found[2] or '+'}{found[3] or 0}"))

    def _given(self, name: str, block: SlotBlock, values: Sequence[Value]) -> Iterator[Dependence]:
        for given in block.given:
            other = self.slots.get(given.slot)
            if other is None or not (other.is_listed or other.is_ordered):
                said = f"{given.slot!r} is no earlier slot with values, years or numbers"
                self._note(name, "given", said)
                continue
            yield _dependence(
                given, values, other.values, lambda said: self._note(name, "given", said)
            )


# --- what goes with what --------------------------------------------------------------------------


def _dependence(
    given: DependentValues,
    values: Sequence[Value],
    others: Sequence[Value],
    note: Callable[[str], None],
) -> Dependence:
    """A rule of a file. `values`, `others`: of the slot and of the earlier one; none of numbers.

    `note` receives what is wrong.
    """
    rules: dict[str, Mapping[Any, Members]] = {
        "of": given.of,
        "except": given.but,
        "from": given.since,
        "until": given.until,
    }
    known = sorted({one for value in values for one in value.above})
    for key, rule in rules.items():
        if rule and (key in ("of", "except")) is not bool(others):
            has = "a list of values" if others else "years or numbers"
            note(f"{key!r} means nothing: {given.slot} has {has}")
        for one, members in rule.items():
            if others and not any(one in value.above for value in others):
                note(f"{one!r} is no value of {given.slot}, nor a parent")
            if isinstance(members, tuple) is bool(values):
                wanted = "a list of values" if values else "a lowest and a highest number"
                note(f"{key!r} {one}: needs {wanted}")
            if isinstance(members, tuple):
                if members[0] > members[1]:
                    note(f"{[*members]}: its first end is above its second")
                continue
            for member in members:
                if member not in known:
                    hint = did_you_mean(member, known)
                    note(f"{member!r} is no value of the slot, nor a parent{hint}")
    of, but, since, until = (
        {key: _codes(members, values) for key, members in rule.items()} for rule in rules.values()
    )
    every = tuple(range(len(values))) if values else (0, LARGEST)
    if others:
        starts = list(range(len(others)))
        only = [next((of[one] for one in value.above if one in of), every) for value in others]
        without = [[but[one] for one in value.above if one in but] for value in others]
    else:
        starts = sorted({0, *since, *(year + 1 for year in until)})
        begun = [[year for year in since if year <= start] for start in starts]
        only = [since[max(years)] if years and not values else every for years in begun]
        without = [
            [codes for year, codes in since.items() if year > start]
            + [codes for year, codes in until.items() if year < start]
            for start in starts
        ]
    allowed = [every, *only]
    for i, listed in enumerate(without if values else (), 1):
        left_out = {*chain(*listed)}
        allowed[i] = tuple(code for code in allowed[i] if code not in left_out)
    return Dependence(given.slot, tuple(starts), tuple(allowed))


def _codes(members: Members, values: Sequence[Value]) -> tuple[int, ...]:
    if isinstance(members, tuple):
        return members
    return tuple(i for i, one in enumerate(values) if not set(members).isdisjoint(one.above))


# --- names ----------------------------------------------------------------------------------------


def _problems_of_names(file: DomainFile, slots: Mapping[str, Slot]) -> Iterator[Problem]:
    """Names use the parts that there are, are all different, and hold no value of a slot."""
    naming = file.name
    for text in (naming.pattern, naming.short or ""):
        for mark in re.findall(r"\{([^{}]*)\}", text):
            if mark not in naming.parts:
                yield ("name",), f"there is no part {mark!r} for {text!r}"
    if touching := re.search(r"[\w}-]\{\w+\}|\{\w+\}[\w{-]", naming.pattern):
        yield (
            ("name", "pattern"),
            f"{touching[0]!r}: the proof reads names word by word, so put a space between its "
            "parts",
        )
    if unused := [one for one in naming.parts if f"{{{one}}}" not in naming.pattern]:
        yield ("name", "parts", unused[0]), "the pattern does not use it"
    pronoun = naming.pronoun
    if not isinstance(pronoun, str) and not isinstance(naming.parts.get(pronoun.part), dict):
        yield ("name", "pronoun"), f"the part {pronoun.part!r} is no list of she and he"
    said = {
        text for slot in slots.values() for v in slot.values for text in (*v.above, *v.synonyms)
    }
    words = {word for text in said for word in re.findall(r"\w+", text.casefold())}
    for part, listed in naming.parts.items():
        if isinstance(listed, Numbers):
            continue
        every = part_values(listed)
        for twice in _twice(every):
            yield (
                ("name", "parts", part),
                f"{twice!r} stands there twice, so two names would be the same",
            )
        for one in every:
            if hit := words & set(re.findall(r"\w+", one.casefold())):
                yield (
                    ("name", "parts", part),
                    f"{one!r} holds {min(hit)!r}, a word of a slot's value",
                )
    for key in ("given", "family") if file.persons else ():
        for twice in _twice(getattr(file.persons, key)):
            yield (
                ("persons", key),
                f"{twice!r} stands there twice, so two persons would have the same name",
            )


def _folded(text: str) -> str:
    """Equal for texts that look the same."""
    return unicodedata.normalize("NFKC", text).casefold()


def _twice(texts: Iterable[str]) -> list[str]:
    """The texts that stand in a list before."""
    seen: set[str] = set()
    again = []
    for text in texts:
        if _folded(text) in seen:
            again.append(text)
        seen.add(_folded(text))
    return again
