"""A document of a ladder as a reviewer sees it: conditions as a list, changed words marked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from retgen import highlights

_NUMBERED = re.compile(r"^\d+\.\s+(.+)$", re.MULTILINE)


def view(
    query: Mapping[str, Any], document: Mapping[str, Any], context: Mapping[str, Any]
) -> dict[str, Any]:
    """The query's conditions, and the words that differ from the document which meets them all.

    Only hard negatives differ from it, so that is drawn where the label may be known. Of a
    document that is called relevant it is not: a planted error would be found by its drawing.
    """
    opening, conditions = conditions_of(query["text"])
    values: dict[str, Any] = {
        "opening": opening,
        "conditions": conditions,
        "document": [highlights.Segment(document["text"])],
        "compared": False,
    }
    positives = [text for text in context["positives"] if text != document["text"]]
    if positives and not context["label"]:
        pieces = highlights.changed_segments(positives[0], document["text"])
        same = sum(len(piece.text) for piece in pieces if not piece.kind)
        if 2 * same > len(document["text"]):  # of the same ladder
            values |= {"document": pieces, "compared": True}
    return values


def conditions_of(query: str) -> tuple[str, list[str]]:
    """The opening of a list of conditions, and these one by one; ("", []) of a query in prose."""
    numbered = _NUMBERED.findall(query)
    return (query.split("\n", 1)[0], numbered) if numbered else ("", [])
