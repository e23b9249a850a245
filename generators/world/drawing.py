"""A document as a reviewer sees it: what the query asks, beside what the document states."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from retgen import marks
from retgen.world.expressions import (
    Between,
    Condition,
    Expression,
    Extreme,
    Is,
    Via,
    Within,
    conditions,
    loads,
)


def view(
    query: Mapping[str, Any], document: Mapping[str, Any], context: Mapping[str, Any]
) -> dict[str, Any]:
    """The conditions of the query, the document's facts in the same slots, and these marked.

    On a blind page there are no metadata, and so nothing beside the texts.
    """
    stated, given = document["metadata"].get("facts"), query["metadata"].get("expression")
    try:
        expression = loads(given)
    except (TypeError, ValueError, orjson.JSONDecodeError):
        return {"asked": []}
    facts: dict[str, str] = {}
    for fact in stated if isinstance(stated, list | tuple) else ():
        slot, _, value = str(fact).partition("=")
        facts.setdefault(slot, value)
    rows = [(name, said, facts.get(slot, "")) for slot, name, said in _asked(expression)]
    spans = [span for slot in dict.fromkeys(slot for slot, *_ in _asked(expression))
             for span in _places(document["text"], facts.get(slot, ""))]  # fmt: skip
    return {"asked": rows, "document": marks.cut(document["text"], spans)}


def _asked(expression: Expression) -> Iterator[tuple[str, str, str]]:
    """(slot of the document, its name on the page, what is asked of it)."""
    match expression:
        case Via(slot, of):
            inner = "; ".join(f"{one.slot}: {_said(one)}" for one in conditions(of))
            yield slot, slot, f"one with {inner}"
        case Extreme(k, slot, of, most):
            yield from _asked(of)
            yield slot, slot, f"among the {k:,} {'largest' if most else 'smallest'}"
        case _:
            for one in conditions(expression):
                yield one.slot, one.slot, _said(one)


def _said(condition: Condition) -> str:
    match condition:
        case Is(_, value):
            return str(value)
        case Within(_, parent):
            return f"within {parent}"
        case Between(_, low, high):
            ends = (
                f"from {low}" if low is not None else "",
                f"to {high}" if high is not None else "",
            )
            return " ".join(filter(None, ends))


def _places(text: str, value: str) -> list[marks.Span]:
    """Where a value stands in the text, as texts spell it."""
    spoken = value
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        day = datetime.date.fromisoformat(value)
        spoken = f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
    elif value.isdigit() and len(value) > 4:
        spoken = f"{int(value):,}"
    if not spoken:
        return []
    found = re.finditer(rf"(?<![\w,]){re.escape(spoken)}(?!\w)", text, re.IGNORECASE)
    return [(one.start(), one.end(), "found") for one in found]


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
