"""Where a recipe's documents come from: its own source, or the bundled captions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.sources import Columns, RefusedRow, SourceDocument, read_sources

_DATA = Path(__file__).parent / "data"
_LANGUAGES = "en", "zh"
CAPTIONS = tuple(_DATA / f"captions_{language}.jsonl" for language in _LANGUAGES)
LICENCE = "CC0-1.0"  # of the bundled captions


def documents_of(
    params: CapRetrievalParams, limit: int | None = None
) -> Iterator[SourceDocument | RefusedRow]:
    """The documents in their order, and what is not used with its reason; at most `limit` rows."""
    source = params.source
    if source is None:
        rows = (None, None) if limit is None else (limit - limit // 2, limit // 2)
        return chain.from_iterable(
            read_sources(path, Columns("text", "_id"), limit=most)
            for path, most in zip(CAPTIONS, rows, strict=True)
        )
    return source.rows(limit)


@cache
def bundled_queries() -> tuple[dict[str, str], ...]:
    """The queries to the bundled captions: id, text, language, type (paper, Appendix B.1)."""
    return tuple(
        {"id": row["_id"], "text": row["text"], "type": row["type"], "language": language}
        for language in _LANGUAGES
        for row in _rows(f"queries_{language}.jsonl")
    )


@cache
def bundled_labels() -> Mapping[str, Mapping[str, int]]:
    """The grade of every caption of a query's language, by the texts of query and caption."""
    result: dict[str, dict[str, int]] = {}
    for language in _LANGUAGES:
        captions = {row["_id"]: row["text"] for row in _rows(f"captions_{language}.jsonl")}
        asked = {row["_id"]: row["text"] for row in _rows(f"queries_{language}.jsonl")}
        for text in asked.values():
            result[text] = dict.fromkeys(captions.values(), 0)
        for row in _rows(f"qrels_{language}.jsonl"):
            result[asked[row["query-id"]]][captions[row["corpus-id"]]] = row["score"]
    return result


def _rows(name: str) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (_DATA / name).read_bytes().splitlines()]
