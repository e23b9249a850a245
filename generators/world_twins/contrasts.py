"""Further queries about a triple, each of which differs in one thing from another one.

    facts        a film that is set in Leipzig and that came to cinemas in 1987
    include      a film that is set in Leipzig and that came to cinemas in 1952      (the twin's)
    exclude      a film that is set in Leipzig, but not one that came to cinemas in 1952
    compare      a film that is set in Leipzig and that came to cinemas after 1970
    superlative  Take every film that is set in Leipzig, and name the 2 with the latest release.

All are literal. Base and control are the answers, except of `include`, whose answer is the twin.
"""

from __future__ import annotations

import datetime
from typing import Literal

import numpy as np

from retgen.facts.domain import Slot, scalar
from retgen.facts.expressions import (
    And,
    AndNot,
    Condition,
    Expression,
    Extreme,
    Is,
    ValueRange,
    all_of,
    execute,
)
from retgen.facts.table import EntityTable

Contrast = Literal["include", "exclude", "compare", "superlative"]
ALIKE = 2  # documents of a triple that are answers: base and control
ROUND = [factor * 10**power for power in range(10) for factor in (1, 2, 5)]


def expression_of(
    contrast: Contrast, facts: EntityTable, asked: list[Is], slot: Slot, base: int, twin: int
) -> Expression | None:
    """What a contrast asks of a triple; None where this triple cannot be asked it.

    `facts`: what all documents state. `asked`: the conditions of the triple's query, in its order.
    `base`, `twin`: codes of the changed `slot`.
    """
    context = tuple(one for one in asked if one.slot != slot.name)
    other = Is(slot.name, facts.name(slot.name, twin))
    match contrast:
        case "include":
            return And(tuple(other if one.slot == slot.name else one for one in asked))
        case "exclude":
            return AndNot(all_of(context), other)
        case "compare":
            beyond = _beyond(slot, base, twin)
            if beyond is None:
                return None
            return And(tuple(beyond if one.slot == slot.name else one for one in asked))
        case "superlative":
            said = slot.most if base > twin else slot.least
            of = all_of(context)
            if not slot.is_ordered or said is None or np.count_nonzero(execute(of, facts)) != 3:
                return None  # others would compete
            return Extreme(ALIKE, slot.name, of, base > twin)


def _beyond(slot: Slot, base: int, twin: int) -> Condition | None:
    """An open range that holds the base's value and not the twin's, and names neither."""
    if not slot.is_ordered:
        return None
    low, high = sorted((base, twin))
    if slot.type == "date":  # only whole years have words
        low, high = (datetime.date.fromordinal(code).year for code in (low, high))
    edge = _roundest(low, high)
    if edge is None:
        return None
    after, before = edge + 1, edge - 1
    if slot.type == "date":
        first, last = datetime.date(after, 1, 1), datetime.date(before, 12, 31)
        after, before = first.toordinal(), last.toordinal()
    if base > twin:
        return ValueRange(slot.name, scalar(slot, after), None)
    return ValueRange(slot.name, None, scalar(slot, before))


def _roundest(low: int, high: int) -> int | None:
    """The multiple of the largest of 1, 2, 5, 10, 20, ... that lies strictly between two numbers;
    of several the one nearest to their middle.
    """
    for step in reversed(ROUND):
        between = range((low // step + 1) * step, high, step)
        if between:
            return min(between, key=lambda one: abs(2 * one - low - high))
    return None
