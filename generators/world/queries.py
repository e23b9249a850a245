"""Queries with a wanted number of answers, found among the expressions that fit a world.

Conditions are counted on the facts, all of a slot at once; the last one of an expression is chosen
among those that make the number right, so that a search ends after a few tries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, get_args

import numpy as np

from retgen.facts.asking import Wording
from retgen.facts.expressions import (
    And,
    AndNot,
    AtLeast,
    Condition,
    Expression,
    Extreme,
    Or,
    Via,
    all_of,
    dumps,
    holds,
    through,
)
from retgen.facts.facts import ABSENT
from retgen.facts.labels import Entities
from retgen.facts.table import Column, EntityTable
from retgen.generators.world.conditions import Kind, condition_pools
from retgen.streams import Stream

Operator = Literal["eq", "and", "or", "and-not", "k-of-n", "range", "superlative", "two-hop"]
OPERATORS: tuple[Operator, ...] = get_args(Operator)

_TRIES = 400  # of one query
_SOME_OF = ((2, 3), (2, 4), (3, 4))  # (k, n) of k-of-n
_MOST_PARTS = 4  # conditions that are joined
_KINDS: dict[str, Kind] = {"compared": "compared", "entailed": "parent"}


class Window(NamedTuple):
    """How many answers there may be, both ends included."""

    low: int
    high: int


def window(size: int) -> Window:
    """Exactly the size up to ten answers, within 10% of it above."""
    slack = size // 10 if size > 10 else 0
    return Window(size - slack, size + slack)


class QueryCell(NamedTuple):
    """What queries are drawn alike."""

    operator: Operator
    size: int
    wording: Wording

    def stream(self, seed: int, purpose: str, number: int) -> Stream:
        """What is drawn for query `number` of these."""
        return Stream(seed, f"world/{purpose}/{self.operator}/{self.size}/{self.wording}/{number}")


class Match(NamedTuple):
    """Conditions, the entities that meet all of them, and their slots."""

    parts: list[Condition]
    rows: Entities


class Search:
    """Expressions of a table whose number of answers lies in a window."""

    def __init__(self, table: EntityTable, seed: int) -> None:
        self._table, self._seed = table, seed
        self._slots = table.domain.slots
        self._pools = cache(lambda kind: [*condition_pools(table, kind)])
        self._relations = [slot.name for slot in self._slots.values() if slot.type == "relation"]
        self._through: dict[tuple[str, str], Column] = {}
        self._seen: set[str] = set()

    def find(self, cell: QueryCell, number: int) -> Expression | None:
        """The query `number` of a cell, another than all before; None where tries are used up."""
        draw, wanted = cell.stream(self._seed, "queries", number), window(cell.size)
        for _ in range(_TRIES):
            found = _HOW[cell.operator](self, cell, wanted, draw)
            if found is not None and (text := dumps(found)) not in self._seen:
                self._seen.add(text)
                return found
        return None

    # --- one operator each --------------------------------------------------------------------

    def _eq(self, cell: QueryCell, wanted: Window, draw: Stream) -> Expression | None:
        return self._pick(cell.wording, wanted, draw)

    def _and(self, cell: QueryCell, wanted: Window, draw: Stream) -> Expression | None:
        found = self._narrow(cell.wording, wanted, draw, 2 + draw.below(2))
        return And(tuple(draw.shuffled(found.parts))) if found and len(found.parts) > 1 else None

    def _range(self, cell: QueryCell, wanted: Window, draw: Stream) -> Expression | None:
        high = self._table.count // 2
        start = self._narrow(cell.wording, Window(wanted.high + 1, high), draw, 1 + draw.below(2))
        if start is None:
            return None
        compared = self._pick("compared", wanted, draw, start.rows, _used(start.parts))
        return compared and And(tuple(draw.shuffled([*start.parts, compared])))

    def _or(self, cell: QueryCell, wanted: Window, draw: Stream) -> Expression | None:
        if wanted.high == 1:  # both alternatives hold for the one answer
            first = self._narrow(cell.wording, wanted, draw, 1 + draw.below(2))
            if first is None:
                return None
            second = self._around(int(first.rows[0]), cell.wording, draw, _used(first.parts))
            return second and Or((all_of(first.parts), second))
        size = (wanted.low + wanted.high) // 2
        share = Window(max(1, size // 4), max(1, size - size // 4))
        first = self._narrow(cell.wording, share, draw, 1 + draw.below(2))
        if first is None:
            return None
        count = len(first.rows)
        outside = np.setdiff1d(np.arange(self._table.count), first.rows, assume_unique=True)
        rest = Window(wanted.low - count, wanted.high - count)
        other = self._narrow(
            cell.wording, rest, draw, len(first.parts), outside, _used(first.parts)
        )
        return other and Or((all_of(first.parts), all_of(other.parts)))

    def _and_not(self, cell: QueryCell, wanted: Window, draw: Stream) -> Expression | None:
        more = Window(wanted.low + 1, 3 * wanted.high + 2)
        kept = self._narrow(cell.wording, more, draw, 1 + draw.below(2))
        if kept is None:
            return None
        count = len(kept.rows)
        taken = Window(max(1, count - wanted.high), count - wanted.low)
        # of these, another value is a contradiction: everybody has one
        known = [one for one in self._slots.values() if one.share == 1 and one.type != "relation"]
        used = _used(kept.parts) | (self._slots.keys() - {one.name for one in known})
        dropped = self._pick(cell.wording, taken, draw, kept.rows, used)
        return dropped and AndNot(all_of(kept.parts), dropped)

    def _some(self, cell: QueryCell, wanted: Window, draw: Stream) -> Expression | None:
        k, n = _SOME_OF[draw.below(len(_SOME_OF))]
        share = _share(k, n, wanted.high / self._table.count) * self._table.count
        parts: list[Condition] = []
        met = np.zeros(self._table.count, np.int8)
        for _ in range(n - 1):
            around = Window(max(1, int(share / 4)), int(share * 4) + 1)
            part = self._pick(cell.wording, around, draw, None, _used(parts))
            if part is None:
                return None
            parts.append(part)
            met[self._of(part, None)] += 1
        already = int((met >= k).sum())
        rows = np.flatnonzero(met == k - 1)
        rest = Window(max(1, wanted.low - already), wanted.high - already)
        last = self._pick(cell.wording, rest, draw, rows, _used(parts))
        return last and AtLeast(k, tuple(draw.shuffled([*parts, last])))

    def _superlative(self, cell: QueryCell, wanted: Window, draw: Stream) -> Expression | None:
        k = cell.size
        most = bool(draw.below(2))
        slots = [name for name, slot in self._slots.items() if (slot.most if most else slot.least)]
        if not slots:
            return None
        slot = slots[draw.below(len(slots))]
        around = Window(2 * k + 1, max(self._table.count // 3, 2 * k + 1))
        size = _log_uniform(draw, around.low, around.high)
        found = self._narrow(
            cell.wording,
            Window(size, min(2 * size, around.high)),
            draw,
            1 + draw.below(2),
            None,
            {slot},
        )
        if found is None:
            return None
        values = self._table.columns[slot][found.rows]
        values = np.sort(values[values >= 0])[:: -1 if most else 1]
        if len(values) <= k or values[k - 1] == values[k]:
            return None  # too few, or a tie at the edge
        return Extreme(k, slot, all_of(found.parts), most)

    def _two_hop(self, cell: QueryCell, wanted: Window, draw: Stream) -> Expression | None:
        if not self._relations:
            return None
        relation = self._relations[draw.below(len(self._relations))]
        # one condition: after two, nobody could tell whom the second one is about
        found = self._pick(cell.wording, wanted, draw, via=relation)
        return found and Via(relation, found)

    # --- finding conditions -------------------------------------------------------------------

    def _narrow(
        self,
        kind: Wording,
        wanted: Window,
        draw: Stream,
        parts: int,
        rows: Entities | None = None,
        used: set[str] | None = None,
    ) -> Match | None:
        """`parts` conditions (more where these do not do) that a wanted number of rows meets.

        Each of them leaves some out. `rows`: those that are counted; None: all.
        """
        used, found = set(used or ()), list[Condition]()
        if wanted.high < 1 or wanted.low > wanted.high:
            return None
        for number in range(1, _MOST_PARTS + 1):
            count = self._table.count if rows is None else len(rows)
            part = self._pick(kind, wanted, draw, rows, used) if number >= parts else None
            last = part is not None
            if part is None:
                least = max(wanted.high + 1, 2)
                size = _log_uniform(draw, least, count - 1)
                wide = Window(max(least, size // 3), min(count - 1, size * 3))
                part = self._pick(kind, wide, draw, rows, used)
            if part is None:
                return None
            found.append(part)
            used.add(part.slot)
            rows = self._of(part, rows)
            if last:
                return Match(found, rows)
        return None

    def _around(
        self, entity: int, kind: Wording, draw: Stream, used: set[str]
    ) -> Expression | None:
        """What one entity alone meets: one condition, or two."""
        itself, only = np.array([entity]), Window(1, 1)
        alone = self._pick(kind, only, draw, None, used, must=itself)
        if alone is not None:
            return alone
        few = Window(2, max(3, self._table.count // 50))
        first = self._pick(kind, few, draw, None, used, must=itself)
        if first is None:
            return None
        rows = self._of(first, None)
        second = self._pick(kind, only, draw, rows, used | {first.slot}, must=itself)
        return second and And((first, second))

    def _pick(
        self,
        kind: Kind | Wording,
        wanted: Window,
        draw: Stream,
        rows: Entities | None = None,
        used: set[str] | None = None,
        via: str = "",
        must: Entities | None = None,
    ) -> Condition | None:
        """A condition over an unused slot that a wanted number of rows meets, and those of `must`.

        Slots come in an order at random, so that those with many values are not preferred. `via`:
        the condition is one of the other entity of this relation.
        """
        if wanted.high < 1:
            return None
        for pool, counts in draw.shuffled(self._pools(_KINDS.get(kind, "value"))):
            if used and pool.slot in used:
                continue
            if rows is not None or via:
                column = self._column(pool.slot, via)
                counts = pool.counts(column if rows is None else column[rows])
            fits = (counts >= wanted.low) & (counts <= wanted.high)
            if must is not None and fits.any():
                fits &= pool.counts(self._column(pool.slot, via)[must]) == len(must)
            chosen = np.flatnonzero(fits)
            if len(chosen):
                return pool.condition(int(chosen[draw.below(len(chosen))]))
        return None

    def _column(self, slot: str, via: str) -> Column:
        """A slot's column, or that of the other entities of a relation."""
        if not via:
            return self._table.columns[slot]
        if (slot, via) not in self._through:
            column, relation = self._table.columns[slot], self._table.columns[via]
            self._through[slot, via] = through(column, relation, ABSENT)
        return self._through[slot, via]

    def _of(self, part: Condition, rows: Entities | None) -> Entities:
        """The rows that meet a condition."""
        column = self._table.columns[part.slot]
        if rows is None:
            return np.flatnonzero(holds(part, column, self._table))
        return rows[holds(part, column[rows], self._table)]


_HOW: Mapping[Operator, Callable[[Search, QueryCell, Window, Stream], Expression | None]] = {
    "eq": Search._eq,
    "and": Search._and,
    "or": Search._or,
    "and-not": Search._and_not,
    "k-of-n": Search._some,
    "range": Search._range,
    "superlative": Search._superlative,
    "two-hop": Search._two_hop,
}


def _used(parts: Sequence[Condition]) -> set[str]:
    return {part.slot for part in parts}


def _log_uniform(draw: Stream, low: int, high: int) -> int:
    """Uniform in the logarithm: as often from 10 to 100 as from 100 to 1,000."""
    low, high = max(low, 1), max(low, high, 1)
    share = draw.below(1 << 20) / (1 << 20)
    return min(high, int(low * (high / low) ** share + 0.5))


def _share(k: int, n: int, share: float) -> float:
    """How often each of n conditions is met where `share` of all meet k of them, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        met = sum(math.comb(n, i) * middle**i * (1 - middle) ** (n - i) for i in range(k, n + 1))
        low, high = (low, middle) if met > share else (middle, high)
    return high
