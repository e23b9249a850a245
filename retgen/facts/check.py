"""What a domain's rules forbid: values that no entity can have, entities that can have none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from retgen.facts.domain import Slot
from retgen.facts.facts import ABSENT, Codes, World

_SHOWN = 5  # values of a slot that are named


def contradictions(world: World) -> list[str]:
    """A line for each slot whose rules leave entities of a world without a value, or values without
    an entity.
    """
    columns = world.columns(0, world.entities)
    return [line for slot in world.domain.slots.values() for line in _lines(world, slot, columns)]


def _lines(world: World, slot: Slot, columns: Mapping[str, Codes]) -> Iterator[str]:
    none = f"{world.entities:,} {world.domain.entity.plural}"
    if slot.type == "relation" and (columns[slot.name] == ABSENT).all():
        yield f"{slot.name}: no other entity is earlier by {slot.before}, for any of {none}"
    if not slot.is_listed and not slot.is_ordered:
        return
    if slot.is_listed:
        possible = world.possible(slot, columns, world.entities)
        without = np.flatnonzero(~possible.any(axis=1))
        names = [slot.values[i].name for i in np.flatnonzero(~possible.any(axis=0)).tolist()]
        if names:
            more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
            named = ", ".join(map(repr, names[:_SHOWN]))
            yield f"{slot.name}: {named}{more}: possible for none of {none}"
    else:
        low, high = world.ends(slot, columns, world.entities)
        without = np.flatnonzero(low > high)
    if len(without):
        of = {
            name: world.value_names(world.domain.slots[name], [int(columns[name][without[0]])])[0]
            for name in dict.fromkeys(slot.dependences)
        }
        named = ", ".join(f"{name}={value or 'nothing'}" for name, value in of.items())
        yield f"{slot.name}: no value goes with {named} ({len(without):,} of {none} have none)"
