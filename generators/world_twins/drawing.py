"""A document of a triple as a reviewer sees it: asked and stated, and what makes a twin of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retgen import highlights
from retgen.facts import drawing


def view(
    query: Mapping[str, Any], document: Mapping[str, Any], context: Mapping[str, Any]
) -> dict[str, Any]:
    """As a world draws it; of a twin, the words that differ from its base.

    That is drawn where the label may be known. Of a document that is called relevant it is not: a
    planted error would be found by its drawing.
    """
    values = drawing.view(query, document, context) | {"changed": ""}
    facts = document["metadata"]
    if facts.get("role") == "twin" and not context["label"]:
        compared = [
            highlights.changed_segments(text, document["text"]) for text in context["positives"]
        ]
        pieces = max(compared, key=_same, default=[])
        if 2 * _same(pieces) > len(document["text"]):  # the base; controls differ nearly everywhere
            values |= {"document": pieces, "changed": facts.get("changed", "")}
    return values


def _same(pieces: list[highlights.Segment]) -> int:
    """Characters that stand in both texts."""
    return sum(len(piece.text) for piece in pieces if not piece.kind)
