"""Expressions of tests, written as the JSON of queries' metadata."""

from __future__ import annotations

from typing import Any

from retgen.facts.expressions import (
    And,
    AndNot,
    AtLeast,
    Expression,
    Extreme,
    Is,
    Or,
    ValueRange,
    Via,
    Within,
)


def from_json(value: Any) -> Expression:
    """The expression of lists as `to_json` makes them."""
    match value:
        case ["is", slot, one]:
            return Is(slot, one)
        case ["within", slot, parent]:
            return Within(slot, parent)
        case ["between", slot, low, high]:
            return ValueRange(slot, low, high)
        case ["and" | "or" as name, *parts]:
            return (And if name == "and" else Or)(tuple(map(from_json, parts)))
        case ["and not", kept, dropped]:
            return AndNot(from_json(kept), from_json(dropped))
        case ["at least", k, *parts]:
            return AtLeast(k, tuple(map(from_json, parts)))
        case ["most" | "least" as name, k, slot, of]:
            return Extreme(k, slot, from_json(of), name == "most")
        case ["via", slot, of]:
            return Via(slot, from_json(of))
    raise ValueError(value)
