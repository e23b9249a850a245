"""A haystack as a reviewer sees it: with the needle in its place, once that tells nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retgen import highlights


def view(
    query: Mapping[str, Any], document: Mapping[str, Any], context: Mapping[str, Any]
) -> dict[str, Any]:
    """The needle marked, and where it lies as a share of the text.

    On a blind page there are no metadata, and so no needle: whether a haystack has one, and whose,
    is the label.
    """
    text, facts = document["text"], document["metadata"]
    span = facts.get("span")
    needle = None
    values: dict[str, Any] = {"words": len(text.split()), "revealed": context["revealed"]}
    if isinstance(span, list | tuple) and len(span) == 2 and 0 <= span[0] < span[1] <= len(text):
        start, end = span
        values["document"] = highlights.highlight_segments(text, [(start, end, "found")])
        needle = {
            "start": round(100 * start / len(text), 1),
            "width": max(round(100 * (end - start) / len(text), 1), 0.6),
        }
    return values | {"needle": needle}
