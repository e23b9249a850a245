"""The facts of all entities in memory, four bytes each, for expressions to be executed on."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from retgen.facts.domain import Domain, Scalar, Slot, ordinal, scalar
from retgen.facts.facts import World

_BLOCK = 1 << 16  # entities drawn at a time

Column = NDArray[np.int32]
Mask = NDArray[np.bool_]


class EntityTable:
    """Columns of a world, and what values stand for in them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.domain: Domain = world.domain
        self.count = world.rows
        self._known: dict[tuple[str, str], int] = {}
        self._pools: set[str] = set()

    @cached_property
    def columns(self) -> dict[str, Column]:
        """By slot, int32 (count,), negative where an entity lacks the slot."""
        result = {slot: np.empty(self.count, np.int32) for slot in self.domain.slots}
        for start in range(0, self.count, _BLOCK):
            stop = min(start + _BLOCK, self.count)
            for slot, codes in self.world.columns(start, stop).items():
                result[slot][start:stop] = codes
        return result

    def name(self, slot: str, code: int) -> Scalar:
        """What a code stands for, as expressions have it."""
        of = self.domain.slots[slot]
        if of.is_ordered:
            return scalar(of, code)
        name = self.world.value_names(of, [code])[0]
        self._known[slot, name] = code
        return name

    def code(self, slot: str, value: Scalar) -> int:
        """What a value is in its column. Raises `KeyError` for one that the slot cannot have."""
        of = self.domain.slots[slot]
        if of.is_ordered:
            return ordinal(value)
        key = (slot, str(value))
        if key not in self._known and slot not in self._pools:
            self._pools.add(slot)  # all values, once: what was drawn here is known already
            names = self.world.value_names(of, range(self.size(of)))
            self._known |= {(slot, name): code for code, name in enumerate(names)}
        return self._known[key]

    def size(self, slot: Slot) -> int:
        """How many values a slot has whose values are no numbers."""
        return {"person": slot.pool, "relation": self.world.entities}.get(
            slot.type, len(slot.values)
        )

    def under(self, slot: str, parent: str) -> Mask:
        """Which codes stand under a parent, and False at the end: (values + 1,)."""
        inside = [parent in value.parents for value in self.domain.slots[slot].values]
        return np.array([*inside, False])
