"""A document of a world as a reviewer sees it: what is asked, beside what the document states."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from retgen import highlights
from retgen.facts.compose import said_of
from retgen.facts.domain import ordinal


def view(
    query: Mapping[str, Any],
    document: Mapping[str, Any],
    context: Mapping[str, Any],
    spoken: Callable[[str], list[str]] | None = None,
) -> dict[str, Any]:
    """The conditions of the query, the document's facts in the same slots, and these marked.

    `spoken`: how texts may spell a value.

    On a blind page there are no metadata, and so nothing beside the texts.
    """
    stated, given = document["metadata"].get("facts"), query["metadata"].get("expression")
    try:
        expression = orjson.loads(given)
        asked = list(_asked(expression))
    except (TypeError, ValueError):
        return {"asked": [], "joined": ""}
    facts: dict[str, str] = {}
    for fact in stated if isinstance(stated, list | tuple) else ():
        slot, _, value = str(fact).partition("=")
        facts.setdefault(slot, value)
    spans = [
        span
        for slot in dict.fromkeys(slot for slot, _ in asked)
        for span in _places(document["text"], (spoken or _spoken)(facts.get(slot, "")))
    ]
    return {
        "asked": [(slot, said, facts.get(slot, "")) for slot, said in asked],
        "joined": _joined(expression),
        "document": highlights.highlight_segments(document["text"], spans),
    }


def _joined(expression: Any) -> str:
    """What a document must meet, where that is not all of it."""
    match expression:
        case ["or", *parts]:
            return f"One of {len(parts)} alternatives is enough."
        case ["at least", k, *parts]:
            return f"At least {k} of these {len(parts)} must be met."
        case ["via", *_]:
            return "What the other one is like stands in its own document, which is not shown."
        case ["most" | "least", *_]:
            return "Of all: of all documents that meet the rest; those are not shown."
    return ""


def _asked(expression: Any) -> Iterator[tuple[str, str]]:
    """(slot of the document, what is asked of it), with the words that join one to those above.

    Raises `ValueError` for what is no expression.
    """
    match expression:
        case ["is", str(slot), value]:
            yield slot, str(value)
        case ["within", str(slot), parent]:
            yield slot, f"within {parent}"
        case ["between", str(slot), low, high]:
            ends = (("from", low), ("to", high))
            yield slot, " ".join(f"{word} {end}" for word, end in ends if end is not None)
        case ["via", str(slot), of]:
            yield slot, "one with " + "; ".join(f"{s}: {said}" for s, said in _asked(of))
        case ["most" | "least" as way, int(k), str(slot), of]:
            yield from _asked(of)
            ends_of = "largest" if way == "most" else "smallest"
            yield slot, f"the {ends_of} of all" if k == 1 else f"among the {k:,} {ends_of} of all"
        case ["and not", kept, dropped]:
            yield from _asked(kept)
            yield from _led("not", _asked(dropped))
        case ["or", *parts]:
            for i, part in enumerate(parts):
                yield from _led("or" if i else "either", _asked(part))
        case ["at least", int(), *parts]:
            for i, part in enumerate(parts, start=1):
                yield from _led(f"{i}.", _asked(part))
        case ["and", *parts]:
            for part in parts:
                yield from _asked(part)
        case _:
            raise ValueError(f"no expression: {expression!r}")


def _led(word: str, rows: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The first with a word before it, and those that belong to it with "and"."""
    for slot, said in rows:
        yield slot, f"{word} {said}"
        word = "and"


def _spoken(value: str) -> list[str]:
    """A value as the texts of a world spell it."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return [said_of("date", ("", ""), ordinal(value))[1][1]]
    return [f"{int(value):,}" if value.isdigit() and len(value) > 4 else value]


def _places(text: str, spoken: list[str]) -> list[highlights.Span]:
    """Where one of some spellings stands in a text, as a word if it is of letters with spaces."""
    known = sorted(filter(None, spoken), key=len, reverse=True)
    if not known:
        return []
    pattern = "|".join(map(re.escape, known))
    if pattern.isascii():
        pattern = rf"(?<![\w,])(?:{pattern})(?!\w)"
    return [(one.start(), one.end(), "found") for one in re.finditer(pattern, text, re.IGNORECASE)]
