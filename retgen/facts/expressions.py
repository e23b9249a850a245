"""What a query asks, as an algebra over facts: written as JSON, executed on columns of facts.

    ["and", ["is", "setting", "Leipzig"], ["between", "release", null, 1949]]

Execution works on whole columns and returns numpy arrays of one entry an entity, so that the
answers of a query are complete. A slot that an entity does not have meets no condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.facts.domain import Scalar, ordinal
from retgen.facts.table import EntityTable, Mask

Counts = NDArray[np.int16]


@dataclass(frozen=True)
class Is:
    """The slot has this value: its name; a year or number as int, a date as ISO string."""

    slot: str
    value: Scalar


@dataclass(frozen=True)
class Within:
    """The slot's value stands under this parent."""

    slot: str
    parent: str


@dataclass(frozen=True)
class ValueRange:
    """The slot's value lies between two ends, both of which belong; None: open."""

    slot: str
    low: Scalar | None
    high: Scalar | None


Condition = Is | Within | ValueRange


@dataclass(frozen=True)
class And:
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Or:
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class AndNot:
    """What meets `kept` and does not meet `dropped`."""

    kept: Expression
    dropped: Expression


@dataclass(frozen=True)
class AtLeast:
    """At least `k` of the parts are met."""

    k: int
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Extreme:
    """Of those that meet `of`, the `k` with the largest (`most`) or smallest value of the slot."""

    k: int
    slot: str
    of: Expression
    most: bool


@dataclass(frozen=True)
class Via:
    """The other entity of a relation meets `of`."""

    slot: str
    of: Expression


Expression = Condition | And | Or | AndNot | AtLeast | Extreme | Via


def all_of(parts: Sequence[Expression]) -> Expression:
    """What meets every part, one or several."""
    return And(tuple(parts)) if len(parts) > 1 else parts[0]


def to_json(expression: Expression) -> list[Any]:
    """As lists, in the order of the query's text."""
    match expression:
        case Is(slot, value):
            return ["is", slot, value]
        case Within(slot, parent):
            return ["within", slot, parent]
        case ValueRange(slot, low, high):
            return ["between", slot, low, high]
        case And(parts):
            return ["and", *map(to_json, parts)]
        case Or(parts):
            return ["or", *map(to_json, parts)]
        case AndNot(kept, dropped):
            return ["and not", to_json(kept), to_json(dropped)]
        case AtLeast(k, parts):
            return ["at least", k, *map(to_json, parts)]
        case Extreme(k, slot, of, most):
            return ["most" if most else "least", k, slot, to_json(of)]
        case Via(slot, of):
            return ["via", slot, to_json(of)]


def dumps(expression: Expression) -> str:
    """The canonical form: compact JSON."""
    return orjson.dumps(to_json(expression)).decode()


def slots(expression: Expression) -> list[str]:
    """The slots that an expression names, in order, each once."""
    match expression:
        case And(parts) | Or(parts) | AtLeast(_, parts):
            named = [slot for part in parts for slot in slots(part)]
        case AndNot(kept, dropped):
            named = [*slots(kept), *slots(dropped)]
        case Extreme(slot=slot, of=of):
            named = [*slots(of), slot]
        case Via(slot, of):
            named = [slot, *slots(of)]
        case _:
            named = [expression.slot]
    return list(dict.fromkeys(named))


def execute(expression: Expression, facts: EntityTable) -> Mask:
    """Which entities are answers, (count,).

    Raises `ValueError` for a superlative that no k entities meet, or with a tie at its edge.
    """
    match expression:
        case And(parts):
            return reduce(np.logical_and, (execute(part, facts) for part in parts))
        case Or(parts):
            return reduce(np.logical_or, (execute(part, facts) for part in parts))
        case AndNot(kept, dropped):
            return execute(kept, facts) & ~execute(dropped, facts)
        case AtLeast(k, parts):
            return _sum(execute(part, facts) for part in parts) >= k
        case Extreme():
            return _extreme(expression, facts)
        case Via(slot, of):
            return through(execute(of, facts), facts.columns[slot])
        case _:
            return holds(expression, facts.columns[expression.slot], facts)


def holds(condition: Condition, column: NDArray[Any], facts: EntityTable) -> Mask:
    """Which entries of a slot's column (n,) meet a condition, (n,)."""
    result: Mask
    match condition:
        case Is(slot, value):
            result = column == facts.code(slot, value)
        case Within(slot, parent):
            result = facts.under(slot, parent)[column]  # a slot that is absent is the last entry
        case ValueRange(_, low, high):
            result = column >= (0 if low is None else max(0, ordinal(low)))
            if high is not None:
                result &= column <= ordinal(high)
    return result


def through(values: NDArray[Any], relation: NDArray[Any], none: int = 0) -> NDArray[Any]:
    """What `values` (count,) has for the other entity of a relation; `none` where there is none."""
    result: NDArray[Any] = values[relation]
    result[relation < 0] = none
    return result


def _sum(columns: Iterator[NDArray[Any]]) -> Counts:
    result = next(columns).astype(np.int16)
    for one in columns:
        result += one
    return result


def _extreme(expression: Extreme, facts: EntityTable) -> Mask:
    column = facts.columns[expression.slot]
    rows = np.flatnonzero(execute(expression.of, facts) & (column >= 0))
    k, values = expression.k, column[rows]
    if len(rows) < k:
        raise ValueError(f"{len(rows):,} entities, of which {k:,} are to be taken")
    order = np.argsort(-values if expression.most else values, kind="stable")
    if len(rows) > k and values[order[k - 1]] == values[order[k]]:
        raise ValueError(f"entities {k:,} and {k + 1:,} tie")
    result = np.zeros(facts.count, np.bool_)
    result[rows[order[:k]]] = True
    return result


def grades(expression: Expression, facts: EntityTable) -> Counts:
    """How many conditions every entity meets, (count,).

    The condition after "and not" is met by what it does not hold for. Those of a relation are met
    by the other entity. A superlative is a condition more, met by those that are taken.
    """
    match expression:
        case And(parts) | Or(parts) | AtLeast(_, parts):
            return _sum(grades(part, facts) for part in parts)
        case AndNot(kept, dropped):
            return grades(kept, facts) + ~execute(dropped, facts)
        case Extreme(of=of):
            return grades(of, facts) + execute(expression, facts)
        case Via(slot, of):
            return through(grades(of, facts), facts.columns[slot])
        case _:
            return execute(expression, facts).astype(np.int16)
