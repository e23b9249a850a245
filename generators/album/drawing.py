"""A caption as a reviewer sees it: what the query asks for, beside what the scene has of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from retgen import highlights
from retgen.generators.album.scenes import ConceptCatalogue, bundled_catalogue
from retgen.tokenizer import is_unspaced

_OWN = ("action", "object", "place", "moment", "topic", "month")  # asked for by their part


class _Held(NamedTuple):
    """Something a scene has. `as_what`: "" for the subject, else its part in the scene."""

    name: str
    as_what: str
    number: str = ""
    colour: str = ""


def view(
    query: Mapping[str, Any], document: Mapping[str, Any], context: Mapping[str, Any]
) -> dict[str, Any]:
    """Rows of what is asked for and what is there of it, and its names marked in the caption.

    On a blind page there are no metadata, and so nothing beside the texts.
    """
    known, text = bundled_catalogue(), document["text"]
    asked = _expression(query["metadata"].get("expression"))
    held = list(_facts_held(document["metadata"].get("facts"), known))
    if not asked or not held:
        return {"asked": []}
    chinese = any(map(is_unspaced, text))
    rows, spans = [], []
    for part, name in asked.items():
        if part in ("number", "colour"):
            continue  # of the thing, below
        of_thing = [asked[key] for key in ("number", "colour") if key in asked and part == "thing"]
        fits = [
            one
            for one in held
            if _fits(name, one.name, known) and (part not in _OWN or one.as_what == part)
        ]
        # what the scene has in its place, where it does not fit
        there = fits or [one for one in held if part in _OWN and one.as_what == part]
        rows.append(
            (
                _words([*of_thing, name], known, chinese),
                "; ".join(_description(one, str(name), part, known, chinese) for one in there),
            )
        )
        spans += [span for one in fits for span in _places(one.name, text, known)]
    words = highlights.query_word_spans(query["text"], text)
    return {"asked": rows, "document": highlights.highlight_segments(text, [*spans, *words])}


def _expression(given: Any) -> dict[str, Any]:
    try:
        asked = orjson.loads(given)
    except (TypeError, ValueError):
        return {}
    return asked if isinstance(asked, dict) else {}


def _facts_held(stated: Any, known: ConceptCatalogue) -> Iterator[_Held]:
    """What the facts of a caption say is there; what the album does not know is left out."""
    facts = [str(fact).partition("=")[::2] for fact in stated] if isinstance(stated, list) else []
    of_subject = dict(facts)
    for part, value in facts:
        colour, _, rest = value.partition(" ")
        if part == "subject" and value in known.concepts:
            yield _Held(value, "", of_subject.get("number", ""), of_subject.get("colour", ""))
        elif part == "passing" and value in known.concepts:
            yield _Held(value, "in passing")
        elif part == "passing" and rest in known.concepts:
            yield _Held(rest, "in passing", colour=colour)
        elif part in _OWN and value in known.concepts:
            yield _Held(value, part)


def _fits(wanted: Any, name: str, known: ConceptCatalogue) -> bool:
    return wanted == name or wanted in known.concepts[name].parents


def _description(one: _Held, wanted: str, part: str, known: ConceptCatalogue, chinese: bool) -> str:
    said = _words([word for word in (one.number, one.colour) if word] + [one.name], known, chinese)
    notes = []
    if one.name != wanted and _fits(wanted, one.name, known):
        notes.append("one of its kind")
    if one.as_what and one.as_what != part:
        notes.append(one.as_what if one.as_what == "in passing" else f"as {one.as_what}")
    return f"{said} ({', '.join(notes)})" if notes else said


def _words(names: list[Any], known: ConceptCatalogue, chinese: bool) -> str:
    """Number, colour and name in the language of the captions."""
    said = []
    for name in map(str, names):
        concept = known.concepts.get(name)
        if name.isdigit():
            said.append(f"{name} ×")
        elif chinese:
            said.append(concept.chinese[0].text if concept else known.colours.get(name, name))
        else:
            said.append(name)
    return " ".join(said)


def _places(name: str, text: str, known: ConceptCatalogue) -> list[highlights.Span]:
    """Where a caption says it, by any of its names."""
    concept = known.concepts[name]
    plurals = [one.also for one in concept.english if concept.part == "thing" and one.also]
    english = [one.text for one in concept.english] + plurals
    forms = [rf"(?<!\w){re.escape(word)}(?!\w)" for word in sorted(english, key=len, reverse=True)]
    forms += [re.escape(one.text) for one in concept.chinese]
    found = re.finditer("|".join(forms), text, re.IGNORECASE)
    return [(one.start(), one.end(), "found") for one in found]
