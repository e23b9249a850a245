"""A document of a world as a reviewer sees it: what is asked, beside what the document states."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from retgen import highlights
from retgen.world.compose import said_of
from retgen.world.domain import ordinal
from retgen.world.expressions import (
    And,
    AndNot,
    AtLeast,
    Condition,
    Expression,
    Extreme,
    Is,
    Or,
    ValueRange,
    Via,
    Within,
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
        return {"asked": [], "joined": ""}
    facts: dict[str, str] = {}
    for fact in stated if isinstance(stated, list | tuple) else ():
        slot, _, value = str(fact).partition("=")
        facts.setdefault(slot, value)
    asked = list(_asked(expression))
    spans = [
        span
        for slot in dict.fromkeys(slot for slot, _ in asked)
        for span in _places(document["text"], facts.get(slot, ""))
    ]
    return {
        "asked": [(slot, said, facts.get(slot, "")) for slot, said in asked],
        "joined": _joined(expression),
        "document": highlights.highlight_segments(document["text"], spans),
    }


def _joined(expression: Expression) -> str:
    """What a document must meet, where that is not all of it."""
    match expression:
        case Or(parts):
            return f"One of {len(parts)} alternatives is enough."
        case AtLeast(k, parts):
            return f"At least {k} of these {len(parts)} must be met."
        case Via():
            return "What the other one is like stands in its own document, which is not shown."
        case Extreme():
            return "Of all: of all documents that meet the rest; those are not shown."
    return ""


def _asked(expression: Expression) -> Iterator[tuple[str, str]]:
    """(slot of the document, what is asked of it), with the words that join one to those above."""
    match expression:
        case Via(slot, of):
            yield slot, "one with " + "; ".join(f"{s}: {said}" for s, said in _asked(of))
        case Extreme(k, slot, of, most):
            yield from _asked(of)
            ends = "largest" if most else "smallest"
            yield slot, f"the {ends} of all" if k == 1 else f"among the {k:,} {ends} of all"
        case AndNot(kept, dropped):
            yield from _asked(kept)
            yield from _led("not", _asked(dropped))
        case Or(parts):
            for i, part in enumerate(parts):
                yield from _led("or" if i else "either", _asked(part))
        case AtLeast(_, parts):
            for i, part in enumerate(parts, start=1):
                yield from _led(f"{i}.", _asked(part))
        case And(parts):
            for part in parts:
                yield from _asked(part)
        case _:
            yield expression.slot, _said(expression)


def _led(word: str, rows: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The first with a word before it, and those that belong to it with "and"."""
    for slot, said in rows:
        yield slot, f"{word} {said}"
        word = "and"


def _said(condition: Condition) -> str:
    match condition:
        case Is(_, value):
            return str(value)
        case Within(_, parent):
            return f"within {parent}"
        case ValueRange(_, low, high):
            ends = (("from", low), ("to", high))
            return " ".join(f"{word} {end}" for word, end in ends if end is not None)


def _places(text: str, value: str) -> list[highlights.Span]:
    """Where a value stands in the text, as texts spell it."""
    spoken = value
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        spoken = said_of("date", ("", ""), ordinal(value))[1][1]
    elif value.isdigit() and len(value) > 4:
        spoken = f"{int(value):,}"
    if not spoken:
        return []
    found = re.finditer(rf"(?<![\w,]){re.escape(spoken)}(?!\w)", text, re.IGNORECASE)
    return [(one.start(), one.end(), "found") for one in found]
