"""Facts of entities, drawn as columns: those of one fit together, and are its own whoever asks.

Names are drawn without repeats and without a table of them. A `Selection` has some of the entities
of a world as rows of its own.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.errors import RecipeError
from retgen.facts.domain import Dependence, Domain, Slot, SlotBound, scalar
from retgen.facts.domain_file import PronounOf, part_values
from retgen.streams import Permutation, Stream

ABSENT = -1  # the entity has no value of this slot

Codes = NDArray[np.int64]
_FULL = np.uint64(1 << 32)
_BLOCK = 1 << 16  # entities drawn at a time
_DRAWS = 4  # of a slot: three for its value, one for whether it has any


class EntityNames:
    """All combinations of a domain's parts of names, in the order of a keyed bijection."""

    def __init__(self, domain: Domain, seed: int, purpose: str) -> None:
        naming = domain.naming
        self._pattern, self._short = naming.pattern, naming.short
        self._parts = {name: part_values(part) for name, part in naming.parts.items()}
        pronoun = naming.pronoun
        self._fixed = "it" if isinstance(pronoun, PronounOf) else pronoun
        self._by_part = pronoun.part if isinstance(pronoun, PronounOf) else ""
        groups: Any = naming.parts.get(self._by_part, {})
        self._pronouns = [who for who, listed in groups.items() for _ in listed]
        self.count = math.prod(map(len, self._parts.values()))
        self._order = Permutation(seed, f"world/{domain.name}/names", self.count)
        self._first = Stream(seed, f"{purpose}/names").below(self.count)
        persons = domain.persons
        self._persons = (persons.given, persons.family) if persons else ([""], [""])
        self.persons_count = len(self._persons[0]) * len(self._persons[1])
        self._seed, self._domain = seed, domain.name
        self._orders: dict[str, Permutation] = {}

    def forms(self, entities: Codes) -> list[tuple[str, str, str]]:
        """Name, short name and pronoun of entities (n,)."""
        left = self._order((entities + self._first) % self.count)
        columns: dict[str, list[str]] = {}
        pronouns = [self._fixed] * len(entities)
        for name, listed in self._parts.items():
            which = (left % len(listed)).tolist()
            left = left // len(listed)
            columns[name] = [listed[i] for i in which]
            if name == self._by_part:
                pronouns = [self._pronouns[i] for i in which]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        names = [self._pattern.format_map(row) for row in rows]
        short = [self._short.format_map(row) for row in rows] if self._short else [""] * len(rows)
        return list(zip(names, short, pronouns, strict=True))

    def persons(self, slot: str, codes: Codes) -> list[str]:
        """Names of persons (n,) of a slot's pool."""
        given, family = self._persons
        size = self.persons_count
        if slot not in self._orders:
            self._orders[slot] = Permutation(self._seed, f"world/{self._domain}/{slot}", size)
        drawn = self._orders[slot](codes).tolist()
        return [f"{given[i % len(given)]} {family[i // len(given)]}" for i in drawn]


class World:
    """The entities 0..entities-1 of a domain under a seed.

    A code is an index into the slot's values (category, place), the value itself (year, number),
    the proleptic Gregorian ordinal (date), an index into the persons (person) or of the entity
    (relation). Worlds of other purposes or sizes have other entities. Raises `RecipeError` where
    there are fewer names than entities.
    """

    def __init__(self, domain: Domain, seed: int, entities: int, purpose: str = "") -> None:
        self.domain = domain
        self.seed = seed
        self.entities = self.rows = entities
        self.purpose = f"world/{domain.name}/{purpose}/{entities}"
        self._names = EntityNames(domain, seed, self.purpose)
        self.names_count = self._names.count
        if entities > self._names.count:
            raise RecipeError(
                f"domain {domain.name} has {self._names.count:,} names for {entities:,} entities: "
                "ask for fewer, or give its name more parts"
            )
        self._stream = Stream(seed, f"{self.purpose}/facts")
        slots = list(domain.slots.values())
        self._place = {slot.name: _DRAWS * i for i, slot in enumerate(slots)}
        self._bounds = np.full(_DRAWS * len(slots), _FULL)
        self._ordered: dict[str, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}
        self._given = {
            slot.name: [_Group(domain, slot, one) for one in slot.given] for slot in slots
        }
        self._tables = {slot.name: self._table(slot) for slot in slots if slot.is_listed}

    def columns(self, start: int, stop: int) -> dict[str, Codes]:
        """Facts of entities start..stop-1: for every slot int64 (stop - start,), or `ABSENT`."""
        return self._columns(start, stop, self.domain.slots)

    def names(self, entities: Codes) -> list[str]:
        """Names of entities, int64 (n,)."""
        return [name for name, _, _ in self.forms(entities)]

    def forms(self, entities: Codes) -> list[tuple[str, str, str]]:
        """Name, short name ("" without one) and pronoun (it, she, he) of entities."""
        return self._names.forms(entities)

    def value_names(self, slot: Slot, codes: Sequence[int]) -> list[str]:
        """Values as metadata and queries' expressions name them: "" for `ABSENT`."""
        there = np.array([code for code in codes if code >= 0], np.int64)
        match slot.type:
            case "person":
                named = self._names.persons(slot.name, there)
            case "relation":
                named = self.names(there)
            case "category" | "place":
                named = [slot.values[code].name for code in there.tolist()]
            case _:
                named = [str(scalar(slot, code)) for code in there.tolist()]
        found = iter(named)
        return [next(found) if code >= 0 else "" for code in codes]

    def coherent(self, columns: Mapping[str, Codes]) -> dict[str, NDArray[np.bool_]]:
        """By slot whether its values in whole columns (n,) go with those of the earlier slots."""
        return {name: self.fits(name, columns[name], columns) for name in self.domain.slots}

    def fits(self, name: str, codes: Codes, others: Mapping[str, Codes]) -> NDArray[np.bool_]:
        """Whether values (n,) of a slot go with those of earlier slots in `others` (n,).

        What `others` lacks bounds nothing, and no value at all goes with everything.
        """
        slot = self.domain.slots[name]
        result: NDArray[np.bool_] = np.ones(len(codes), np.bool_)
        if slot.is_listed:
            result = self.possible(slot, others, len(codes))[np.arange(len(codes)), codes]
        elif slot.is_ordered:
            least, most = self.ends(slot, others, len(codes))
            result &= (codes >= least) & (codes <= most)
            if slot.low.slot is None or slot.low.slot in others:
                result &= (codes - least) % slot.step == 0
            if slot.weekdays:
                result &= _since_friday(codes) == 0
        if slot.before in others:
            near, far = slot.by
            apart = others[slot.before] - self._of(slot.before, np.maximum(codes, 0))
            result &= (apart >= near) & (far is None or apart <= far)
        result |= codes == ABSENT
        return result

    # --- drawing ------------------------------------------------------------------------------

    def _columns(self, start: int, stop: int, wanted: Container[str]) -> dict[str, Codes]:
        draws = self._stream.draws(start, stop, self._bounds)
        result: dict[str, Codes] = {}
        for slot in self.domain.slots.values():
            if slot.name not in wanted:
                continue
            place = self._place[slot.name]
            codes = self.draw_values(slot, result, draws[:, place : place + 3])
            if slot.share < 1:
                without = draws[:, place + 3] >= int(slot.share * (1 << 32))
                codes = np.where(without, ABSENT, codes)
            result[slot.name] = codes
        return result

    def draw_values(self, slot: Slot, others: Mapping[str, Codes], draws: Codes) -> Codes:
        """Values of a slot (n,) that go with earlier slots of the same entities.

        `draws`: 32-bit numbers, (n, 3).
        """
        drawn = draws[:, 0]
        if slot.is_ordered:  # the mean of three: most near the middle, and few near the ends
            drawn = draws.sum(axis=1) // 3
        if slot.is_listed:
            table = np.zeros(len(drawn), np.int64)
            for one in self._given[slot.name]:
                table = table * len(one.allowed) + one.ids(others)
            values, limits = self._tables[slot.name]
            return values[np.searchsorted(limits, (table << 32) + drawn, side="right")]
        if slot.type == "person":
            pool = min(slot.pool, self._names.persons_count)
            skewed: Codes = (drawn * _share(drawn) * pool).astype(np.int64)
            return skewed >> 32
        if slot.type == "relation":
            return self._related(slot, drawn, others[slot.before])
        low, high = self.ends(slot, others, len(drawn))
        steps: Codes = np.maximum(high - low, 0) // slot.step + 1
        result = low + ((drawn * steps) >> 32) * slot.step
        if slot.weekdays:  # the Friday before a weekend, or the Monday behind the first one
            back = _since_friday(result)
            result = np.where(result - back >= low, result - back, result + 3 - back)
        return result

    def ends(self, slot: Slot, others: Mapping[str, Codes], count: int) -> tuple[Codes, Codes]:
        """The lowest and the highest value, (count,) each, of an ordered slot beside earlier slots.

        What `others` lacks bounds nothing. No value fits where the first is above the second.
        """
        low, high = (
            self._bound(slot, end, others, count, last=bool(last))
            if end.slot is None or end.slot in others
            else np.full(count, (0, 1 << 40)[last])
            for last, end in enumerate((slot.low, slot.high))
        )
        for one in self._given[slot.name]:
            if one.slot in others:
                least, most = one.allowed[one.ids(others)].T
                low, high = np.maximum(low, least), np.minimum(high, most)
        return low, high

    def possible(self, slot: Slot, others: Mapping[str, Codes], count: int) -> NDArray[np.bool_]:
        """Which values of a listed slot go with earlier slots: (count, values)."""
        result: NDArray[np.bool_] = np.ones((count, len(slot.values)), np.bool_)
        for one in self._given[slot.name]:
            if one.slot in others:
                result &= one.allowed[one.ids(others)]
        return result

    def _bound(
        self, slot: Slot, bound: SlotBound, others: Mapping[str, Codes], count: int, *, last: bool
    ) -> Codes:
        if bound.slot is None:
            return np.full(count, bound.offset, np.int64)
        other, base = self.domain.slots[bound.slot], others[bound.slot]
        if slot.type == "year" and other.type == "date":
            base = _years(base)
        if slot.type == "date" and other.type == "year":
            return _first_days(base + bound.offset + last) - last
        return base + bound.offset

    def _related(self, slot: Slot, drawn: Codes, own: Codes) -> Codes:
        """Another entity whose value lies in the window below one's own; some are drawn often."""
        values, entities = self._by_value(slot.before)
        least, most = slot.by
        stop = np.searchsorted(values, own - least, side="right")
        begin = np.zeros_like(stop) if most is None else np.searchsorted(values, own - most)
        count = np.maximum(stop - begin, 0)
        skewed = (_share(drawn) ** 2 * drawn / (1 << 32) * count).astype(np.int64)
        where = begin + np.minimum(skewed, np.maximum(count - 1, 0))
        where = np.minimum(where, len(entities) - 1)
        return np.where((count > 0) & (own >= 0), entities[where], ABSENT)

    def _of(self, name: str, entities: Codes) -> Codes:
        """Values of a slot of some entities (n,)."""
        needed = _needed(self.domain, name)
        values = {i: self._columns(i, i + 1, needed)[name][0] for i in set(entities.tolist())}
        return np.array([values[i] for i in entities.tolist()], np.int64)

    def _by_value(self, name: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """All values of a slot, sorted, and the entities that have them: 8 bytes an entity."""
        if name not in self._ordered:
            needed = _needed(self.domain, name)
            values = np.empty(self.entities, np.int32)
            for start in range(0, self.entities, _BLOCK):
                stop = min(start + _BLOCK, self.entities)
                values[start:stop] = self._columns(start, stop, needed)[name]
            order = np.argsort(values, kind="stable").astype(np.int32)
            self._ordered[name] = values[order], order
        return self._ordered[name]

    def _table(self, slot: Slot) -> tuple[Codes, Codes]:
        """Values in the order of how often they are drawn, and where the draws of each end.

        A table for each combination of groups of the slots that this one depends on, in a row;
        that of number t has the draws from t << 32 on. One without a value draws `ABSENT`.
        """
        size = len(slot.values)
        shuffled = Permutation(self.seed, f"world/{slot.name}", max(size, 1))
        order = np.argsort(shuffled(np.arange(size)), kind="stable")
        allowed: Any = np.ones((1, size), np.bool_)
        for one in self._given[slot.name]:
            allowed = (allowed[:, None] & one.allowed[None]).reshape(-1, size)
        allowed = allowed[:, order]
        rank = np.cumsum(allowed, axis=1) + 1.0
        weights = np.array(slot.weights)[order] if slot.weights else 1.0
        shares = np.cumsum(np.where(allowed, weights * rank**-slot.skew, 0), axis=1)
        limits = np.floor(shares / np.maximum(shares[:, -1:], 1e-9) * (1 << 32)).astype(np.int64)
        empty = ~allowed.any(axis=1)
        limits[empty] = 1 << 32
        codes = np.where(empty[:, None], ABSENT, order)
        return codes.ravel(), (limits + (np.arange(len(limits)) << 32)[:, None]).ravel()


class _Group:
    """A dependence as arrays. `allowed`: by id of a group which values go with it (groups, values);
    of numbers the ends (groups, 2).
    """

    def __init__(self, domain: Domain, slot: Slot, given: Dependence) -> None:
        self.slot = given.slot
        self._is_dated = domain.slots[given.slot].type == "date"
        self._starts = np.array(given.starts)
        groups = dict.fromkeys(given.allowed)
        number = {allowed: i for i, allowed in enumerate(groups)}
        self._ids = np.array([number[allowed] for allowed in given.allowed])
        rows = list(groups)
        if slot.is_listed:
            rows = [tuple(i in one for i in range(len(slot.values))) for one in map(set, rows)]
        self.allowed = np.array(rows)

    def ids(self, others: Mapping[str, Codes]) -> Codes:
        """Groups (n,) of the other slot's codes (n,), of a date its years."""
        codes = others[self.slot]
        if self._is_dated:
            codes = np.where(codes == ABSENT, ABSENT, _years(codes))
        return self._ids[np.searchsorted(self._starts, codes, side="right")]


def _share(drawn: Codes) -> NDArray[np.float64]:
    return drawn / float(1 << 32)


def _needed(domain: Domain, name: str) -> frozenset[str]:
    """A slot and those that it follows from."""
    further = domain.slots[name].dependences
    return frozenset({name}).union(*(_needed(domain, one) for one in further))


def _years(ordinals: Codes) -> Codes:
    days = ordinals.astype("datetime64[D]") - np.timedelta64(_EPOCH, "D")
    return days.astype("datetime64[Y]").astype(np.int64) + 1970


def _since_friday(ordinals: Codes) -> Codes:
    """Days since Friday of each Saturday and Sunday; 0 of other days."""
    return np.maximum((ordinals - 1) % 7 - 4, 0)


def _first_days(years: Codes) -> Codes:
    starts = (years - 1970).astype("datetime64[Y]").astype("datetime64[D]")
    return starts.astype(np.int64) + _EPOCH


_EPOCH = datetime.date(1970, 1, 1).toordinal()


class Selection(World):
    """Row i is entity `kept[i]`, which has the facts that it has in the world.

    A relation's code is the row of the other entity. One that refers to an entity that was not kept
    is absent: nothing can be asked of it.
    """

    def __init__(
        self, domain: Domain, seed: int, entities: int, kept: Sequence[int], purpose: str = ""
    ) -> None:
        super().__init__(domain, seed, entities, purpose)
        self.rows = len(kept)
        self._kept = np.array(kept, np.int64)

    def columns(self, start: int, stop: int) -> dict[str, Codes]:
        return {slot: codes[start:stop] for slot, codes in self._chosen.items()}

    def forms(self, entities: Codes) -> list[tuple[str, str, str]]:
        return super().forms(self._kept[entities])

    @cached_property
    def _chosen(self) -> dict[str, Codes]:
        end = int(self._kept.max()) + 1
        row = np.full(max(end, self.entities), ABSENT, np.int64)
        row[self._kept] = np.arange(len(self._kept))
        result = {}
        for slot, codes in super().columns(0, end).items():
            chosen = codes[self._kept]
            if self.domain.slots[slot].type == "relation":
                chosen = np.where(chosen >= 0, row[chosen], ABSENT)
            result[slot] = chosen
        return result
