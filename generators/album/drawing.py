"""A caption as a reviewer sees it: what the query asks for, beside what the scene has of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from retgen import highlights
from retgen.facts.captions import load_captions
from retgen.tokenizer import is_unspaced

_THINGS = ("subject", "object", "place", "topic", "passing", "further", "mention")
_IN_PASSING = ("passing", "further", "mention")


def view(
    query: Mapping[str, Any], document: Mapping[str, Any], context: Mapping[str, Any]
) -> dict[str, Any]:
    """Rows of what is asked for and what is there of it, and its names marked in the caption.

    On a blind page there are no metadata, and so nothing beside the texts.
    """
    concepts, text = load_captions().concepts, document["text"]
    try:
        asked = orjson.loads(query["metadata"].get("expression"))
        facts = dict(fact.split("=", 1) for fact in document["metadata"].get("facts"))
    except (TypeError, ValueError, AttributeError):
        asked, facts = {}, {}
    if not isinstance(asked, dict) or not asked or not facts:
        return {"asked": []}
    language = "zh" if any(map(is_unspaced, text)) else "en"
    rows, spans = [], []
    for part, name in asked.items():
        if part in ("number", "colour"):
            continue  # of the thing, below
        slots = _THINGS if part in ("thing", "other") else (part,)
        held = [slot for slot in slots if slot in facts]
        fits = [slot for slot in held if _fits(name, facts[slot])]
        more = [asked[key] for key in ("number", "colour") if key in asked and part == "thing"]
        # what the scene has in its place, where it does not fit
        there = fits or (held if part not in ("thing", "other") else [])
        described = [_description(facts, slot, name, part, language) for slot in there]
        rows.append((_words([*more, name], language), "; ".join(described)))
        for slot in fits:
            concept = concepts[facts[slot]]
            # "dog, dogs": a plural; other parts are measures and prepositions
            parts = 2 if language == "en" and concept.part in ("things", "landmarks") else 1
            names = [name[: parts if len(name) == 2 else 1] for name in concept.names[language]]
            edge = r"(?!\w)" if language == "en" else ""
            spoken = sorted({one for name in names for one in name}, key=len, reverse=True)
            found = re.finditer(
                f"(?:{'|'.join(map(re.escape, spoken))}){edge}", text, re.IGNORECASE
            )
            spans += [(one.start(), one.end(), "found") for one in found]
    words = highlights.query_word_spans(query["text"], text)
    return {"asked": rows, "document": highlights.highlight_segments(text, [*spans, *words])}


def _fits(wanted: str, value: str) -> bool:
    concept = load_captions().concepts.get(value)
    return concept is not None and wanted in concept.value.above


def _description(facts: Mapping[str, str], slot: str, wanted: str, part: str, language: str) -> str:
    """What a slot holds, with its number and colour, and as what it is there."""
    number, colour = ("number", "colour") if slot == "subject" else ("", f"{slot}_colour")
    said = _words([facts[key] for key in (number, colour, slot) if key in facts], language)
    notes = ["one of its kind"] if facts[slot] != wanted and _fits(wanted, facts[slot]) else []
    if slot in _IN_PASSING:
        notes.append("in passing")
    elif slot not in ("subject", part):
        notes.append(f"as {slot}")
    return f"{said} ({', '.join(notes)})" if notes else said


def _words(names: list[str], language: str) -> str:
    """Number, colour and name in the language of the captions."""
    known = load_captions()
    said = []
    for name in names:
        if name.isdigit():
            said.append(f"{name} ×")
        elif name in known.concepts:
            said.append(known.concepts[name].names[language][0][0])
        else:
            said.append(known.colours.get(name, [name, name])[language == "zh"])
    return " ".join(said)
