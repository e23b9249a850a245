"""A caption as a reviewer sees it: what the query asks for, beside what the scene has of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from retgen.facts import drawing
from retgen.facts.captions import load_captions
from retgen.generators.album.scenes import THINGS
from retgen.tokenizer import is_unspaced


def view(
    query: Mapping[str, Any], document: Mapping[str, Any], context: Mapping[str, Any]
) -> dict[str, Any]:
    """As a world draws it: each part of the query beside the slot in which the scene has it, in
    the language of the caption.
    """
    known = load_captions()
    language = "zh" if any(map(is_unspaced, document["text"])) else "en"
    try:
        asked = orjson.loads(query["metadata"].get("expression"))
        facts = dict(fact.split("=", 1) for fact in document["metadata"].get("facts"))
        parts = [["is", _slot(part, asked, facts), name] for part, name in asked.items()]
    except (TypeError, ValueError, AttributeError):
        parts = []  # a blind page has no metadata
    expression = {"expression": orjson.dumps(["and", *parts])} if parts else {}
    shown = drawing.view(
        {**query, "metadata": expression},
        document,
        context,
        lambda value: known.spoken(value, language),
    )
    said = [
        (slot, *(known.spoken(name, language)[0] if name else "" for name in names))
        for slot, *names in shown["asked"]
    ]
    return {**shown, "asked": said}


def _slot(part: str, asked: Mapping[str, str], facts: Mapping[str, str]) -> str:
    """The slot of a part of a query: of a thing, that in which the scene has one."""
    if part in ("thing", "other"):
        concepts = load_captions().concepts
        held = [one for one in THINGS if one in facts]
        fits = [one for one in held if asked[part] in concepts[facts[one]].value.above]
        return fits[0] if fits else "subject"
    thing = _slot("thing", asked, facts) if part == "colour" and "thing" in asked else "subject"
    return part if thing == "subject" else f"{thing}_{part}"
