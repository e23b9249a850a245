"""A document of LIMIT as a reviewer sees it: the list, with the attributes that the query names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from retgen import highlights

_LIST = re.compile(r"^(.*? likes )(.+?)(\.?)$", re.DOTALL)
_BETWEEN = re.compile(r", | and ")


def view(
    query: Mapping[str, Any], document: Mapping[str, Any], context: Mapping[str, Any]
) -> dict[str, Any]:
    """Attributes that stand whole in the query are marked; by the words, so labels play no part."""
    found = _LIST.match(document["text"])
    if not found:
        return {"attributes": 0, "named": 0}
    asked, spans, count = query["text"].casefold(), [], 0
    start, stop = found.span(2)
    for low, high in _attributes(document["text"], start, stop):
        count += 1
        name = re.escape(document["text"][low:high].casefold())
        if re.search(rf"(?<!\w){name}(?!\w)", asked):
            spans.append((low, high, "found"))
    return {
        "attributes": count,
        "named": len(spans),
        "document": highlights.highlight_segments(document["text"], spans),
    }


def _attributes(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    result, at = [], start
    for between in _BETWEEN.finditer(text, start, stop):
        result.append((at, between.start()))
        at = between.end()
    return [*result, (at, stop)]
