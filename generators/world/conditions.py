"""All conditions that a query of a wording may have, and how many of some entities meet each.

A pool holds the conditions over one slot as arrays, so that all of them are counted at once.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.facts.domain import Slot, month_ends, scalar
from retgen.facts.expressions import Condition, Is, ValueRange, Within
from retgen.facts.table import EntityTable

Counts = NDArray[np.int64]
Kind = Literal["value", "parent", "compared"]

_BOUNDS = 400  # ends of comparisons, at most
_SPANS = 3000  # ranges with two ends
_OPEN = 1 << 30  # beyond every value


class ConditionPool(NamedTuple):
    """Conditions over one slot: the one of an index, and how many entries of the slot's column (n,)
    meet each of them.
    """

    slot: str
    condition: Callable[[int], Condition]
    counts: Callable[[NDArray[Any]], Counts]


def condition_pools(table: EntityTable, kind: Kind) -> Iterator[tuple[ConditionPool, Counts]]:
    """Pools of one kind, slot by slot, and how many of all entities meet each condition."""
    for slot in table.domain.slots.values():
        column = table.columns[slot.name]
        for pool in _pools(table, slot, kind):
            yield pool, pool.counts(column)


def _pools(table: EntityTable, slot: Slot, kind: Kind) -> Iterator[ConditionPool]:
    if slot.is_ordered:
        column = table.columns[slot.name]
        values = np.unique(column[column >= 0]).astype(np.int64)
        if len(values):
            yield from _RANGES[kind](slot, values)
    elif kind == "value":
        yield _values(slot, table)
    elif kind == "parent" and any(value.parents for value in slot.values):
        yield _parents(slot)


def _values(slot: Slot, table: EntityTable) -> ConditionPool:
    """The slot has a value: of slots whose values are no numbers."""
    size = table.size(slot)
    return ConditionPool(
        slot.name,
        lambda index: Is(slot.name, table.name(slot.name, index)),
        lambda values: np.bincount(values[values >= 0], minlength=size),
    )


def _parents(slot: Slot) -> ConditionPool:
    """The slot's value stands under a parent."""
    parents = sorted({parent for value in slot.values for parent in value.parents})
    inside = np.array([[one in value.parents for one in parents] for value in slot.values])
    return ConditionPool(
        slot.name,
        lambda index: Within(slot.name, parents[index]),
        lambda values: np.bincount(values[values >= 0], minlength=len(inside)) @ inside,
    )


def _between(slot: Slot, ends: Iterable[tuple[int, int]]) -> ConditionPool:
    """The slot's value lies between two ends, or is that where they are one."""
    low, high = np.array([*ends], np.int64).reshape(-1, 2).T

    def condition(index: int) -> Condition:
        first, last = (
            None if abs(end[index]) == _OPEN else scalar(slot, int(end[index]))
            for end in (low, high)
        )
        if first is not None and first == last:
            return Is(slot.name, first)
        return ValueRange(slot.name, first, last)

    def counts(values: NDArray[Any]) -> Counts:
        found = np.sort(values[values >= 0])
        return np.searchsorted(found, high, "right") - np.searchsorted(found, low, "left")

    return ConditionPool(slot.name, condition, counts)


def _points(slot: Slot, values: Counts) -> Iterator[ConditionPool]:
    yield _between(slot, np.stack([values, values], axis=1))


def _steps(slot: Slot, values: Counts) -> Iterator[ConditionPool]:
    """One step up: the decade of a year, month and year of a day, a round range of numbers."""
    first, last = int(values[0]), int(values[-1])
    match slot.type:
        case "year":
            low = np.arange(first // 10 * 10, last + 1, 10)
            yield _between(slot, zip(low.tolist(), (low + 9).tolist(), strict=True))
        case "date":
            years = _years(first, last)
            yield _between(slot, (month_ends(year, 1, 12) for year in years))
            yield _between(slot, (month_ends(y, m, m) for y in years for m in range(1, 13)))
        case _:
            yield _between(slot, _round(first, last))


def _years(first: int, last: int) -> range:
    """The years from one day to another."""
    return range(datetime.date.fromordinal(first).year, datetime.date.fromordinal(last).year + 1)


def _round(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Narrow ranges, and wider ones with round ends: 1, 2 or 5 times a power of ten wide."""
    unit = 1
    while unit <= last - first:
        for factor in range(2, 10) if unit == 1 else (1, 2, 5):
            width = unit * factor
            step = width if factor == 5 and unit > 1 else unit
            if 2 * width <= last - first <= step * _SPANS:
                begin = -(-first // step) * step
                yield from ((low, low + width) for low in range(begin, last + 1, step))
        unit *= 10


def _compared(slot: Slot, values: Counts) -> Iterator[ConditionPool]:
    """Before, after, between; less than, more than. Days are compared by their years."""
    first, last = int(values[0]), int(values[-1])
    if slot.type == "date":
        starts, stops = np.array([month_ends(year, 1, 12) for year in _years(first, last)]).T
        open_starts, open_stops = starts, stops
    else:
        starts = stops = values[np.unique(np.linspace(0, len(values) - 1, _BOUNDS).astype(int))]
        # "less than" names the next value that there can be, "more than" the one before
        open_starts, open_stops = starts - slot.step + 1, stops + slot.step - 1
    yield _between(slot, [(-_OPEN, stop) for stop in open_stops[:-1].tolist()])
    yield _between(slot, [(start, _OPEN) for start in open_starts[1:].tolist()])
    every = max(1, int(len(starts) / (2 * _SPANS) ** 0.5))
    ends = [(i, j) for i in range(0, len(starts), every) for j in range(i + 1, len(stops), every)]
    if ends:
        yield _between(slot, [(int(starts[i]), int(stops[j])) for i, j in ends])


_RANGES: dict[Kind, Callable[[Slot, Counts], Iterator[ConditionPool]]] = {
    "value": _points,
    "parent": _steps,
    "compared": _compared,
}
