"""Draw a record for its family, and make hidden characters visible.

A family draws its records with `review.html` in its folder, a Jinja template that gets what
`view(query, document, context)` of its `drawing.py` returns; without these there is a generic
drawing. Before the verdict a family gets neither label nor metadata, so that its drawing cannot
reveal the label.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.util import find_spec
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from retgen import highlights
from retgen.review.records import ShownPair


class RecordDrawing(NamedTuple):
    """A template, and the values that it draws of a record."""

    template: str
    values: Mapping[str, Any]


def draw(
    family: str,
    shown: ShownPair,
    *,
    revealed: bool,
    label: float | None = None,
    positives: tuple[str, ...] = (),
) -> RecordDrawing:
    """Draw a record.

    `revealed`: the verdict is given, so the label and the metadata are drawn too. `positives`:
    texts of other documents that the data set calls relevant to the query.
    """
    query = {"text": shown.query, "metadata": shown.query_metadata if revealed else {}}
    document = {
        "title": shown.title,
        "text": shown.text,
        "metadata": shown.document_metadata if revealed else {},
    }
    context = {
        "revealed": revealed,
        "label": label if revealed else None,
        "positives": positives if revealed else (),
    }
    values = generic(query, document)
    package = package_of(family)
    if not package:
        return RecordDrawing("drawing.html", values)
    if find_spec(f"{package}.drawing"):
        view = importlib.import_module(f"{package}.drawing").view
        values |= view(query, document, context)
    own = resources.files(package).joinpath("review.html").is_file()
    return RecordDrawing(f"families/{family}/review.html" if own else "drawing.html", values)


def generic(query: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Mark the words of the query in the document, and the query's evidence span."""
    text = document["text"]
    return {
        "query": [highlights.Segment(query["text"])],
        "title": highlights.highlight_segments(
            document["title"], highlights.query_word_spans(query["text"], document["title"])
        ),
        "document": highlights.highlight_segments(
            text,
            [*_evidence_spans(query, document), *highlights.query_word_spans(query["text"], text)],
        ),
    }


def _evidence_spans(query: Mapping[str, Any], document: Mapping[str, Any]) -> list[highlights.Span]:
    """Convert `metadata.span` of a query from characters of its source to those of the document."""
    of_query, of_document = query["metadata"], document["metadata"]
    source = of_query.get("source")
    if source is None or source != of_document.get("source"):
        return []
    asked, held = _span(of_query.get("span")), _span(of_document.get("span"))
    if asked is None or held is None or (asked[0] <= held[0] and held[1] <= asked[1]):
        return []  # all of it: nothing to point at
    return [(asked[0] - held[0], asked[1] - held[0], "span")] if asked[0] >= held[0] else []


def _span(value: Any) -> tuple[int, int] | None:
    if isinstance(value, list | tuple) and len(value) == 2 and all(type(v) is int for v in value):
        return value[0], value[1]
    return None


@cache
def package_of(family: str) -> str:
    """The package of a family; "" if no such family is installed."""
    from retgen.generators import families
    from retgen.generators import family as load

    if family not in families():
        return ""
    module = importlib.import_module(type(load(family)).__module__)
    return module.__package__ or ""


# controls except line ends and tabs; what turns the direction of writing; what has no width.
# Joiners stand in scripts that need them and in emoji, variation selectors in emoji: they stay.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> Markup:
    """Escape a text for HTML, and show each hidden character as its code point with its name."""
    parts, at = [], 0
    for match in _HIDDEN.finditer(text):
        parts += [escape(text[at : match.start()]), _named(match[0])]
        at = match.end()
    return Markup("").join([*parts, escape(text[at:])])


def _named(character: str) -> Markup:
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "").capitalize() or "Control character"
    return Markup('<span class="hidden" title="{}">{}</span>').format(name, code)


def plain(text: str) -> str:
    """Show hidden characters of a text for attributes and titles as their code points."""
    return _HIDDEN.sub(lambda match: f"<U+{ord(match[0]):04X}>", text)
