"""Where a recipe's documents come from: its own source, or the bundled captions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.sources import Columns, Refused, SourceDocument, read_sources

CAPTIONS = tuple(
    Path(__file__).parent / "data" / f"captions_{language}.jsonl" for language in ("en", "zh")
)
LICENCE = "CC0-1.0"  # of the bundled captions


def documents_of(
    params: CapRetrievalParams, limit: int | None = None
) -> Iterator[SourceDocument | Refused]:
    """The documents in their order, and what is not used with its reason; at most `limit` rows."""
    source = params.source
    if source is None:
        rows = (None, None) if limit is None else (limit - limit // 2, limit // 2)
        return chain.from_iterable(
            read_sources(path, Columns("text", "_id"), limit=most)
            for path, most in zip(CAPTIONS, rows, strict=True)
        )
    fewest = min((n for n in (limit, source.limit) if n is not None), default=None)
    columns = Columns(**source.columns.model_dump())
    return read_sources(source.path, columns, split=source.split, limit=fewest)
