"""Hard negatives: documents that nearly are answers, and are none by exactly one condition."""

from __future__ import annotations

import numpy as np

from retgen.world.expressions import (
    And,
    AndNot,
    Between,
    Condition,
    Expression,
    Is,
    Mask,
    Or,
    Via,
    Within,
    execute,
    missing,
    ordinal,
    violators,
)
from retgen.world.table import EntityTable

_NEAREST = 100  # entities whose value is nearest to a number or day that is asked for


def hard_negatives(expression: Expression, table: EntityTable) -> Mask:
    """Which entities are hard negatives of a query, (count,).

    After "and not": what meets both (the violators). Of a relation: what meets the conditions
    itself, in place of the other entity. Where one condition is all: those with a value close to
    it, as another city of its country. Otherwise: what misses one condition.
    """
    match expression:
        case AndNot():
            return violators(expression, table)
        case Via(_, of):
            return execute(of, table) & ~execute(expression, table)
        case Is() | Within() | Between():
            return _near(expression, table)
        case Or(parts) if not any(isinstance(part, And) for part in parts):
            result = np.zeros(table.count, np.bool_)
            for part in parts:
                result |= hard_negatives(part, table)
            return result & ~execute(expression, table)
        case _:
            one: Mask = missing(expression, table) == 1
            return one


def _near(condition: Condition, table: EntityTable) -> Mask:
    """Which entities do not meet a condition, with a value that is close to one that does."""
    slot = table.domain.slots[condition.slot]
    column = table.column(slot.name)
    others = (column >= 0) & ~execute(condition, table)
    if slot.is_ordered:
        low, high = _ends(condition)
        distance = np.maximum(low - column.astype(np.int64), column - high)[others]
        if len(distance) > _NEAREST:
            others[others] = distance <= np.partition(distance, _NEAREST - 1)[_NEAREST - 1]
        return others
    above = ""
    for value in slot.values:
        if isinstance(condition, Is) and value.name == condition.value:
            above = value.parents[0] if value.parents else ""
        elif isinstance(condition, Within) and condition.parent in value.parents:
            above = "".join(value.parents[value.parents.index(condition.parent) + 1 :][:1])
    return others & table.under(slot.name, above)[column] if above else others


def _ends(condition: Condition) -> tuple[int, int]:
    match condition:
        case Is(_, value):
            return ordinal(value), ordinal(value)
        case Between(_, low, high):
            return 0 if low is None else ordinal(low), 1 << 40 if high is None else ordinal(high)
        case Within():
            raise ValueError("numbers and days have no parents")
