"""What a retriever is: a name in, rankings out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from retgen.evaluation.collection import Collection
from retgen.evaluation.scoring.rankings import Rankings
from retgen.progress import Progress

__all__ = ["Options", "Ranked", "Retriever"]


@dataclass(frozen=True)
class Options:
    """How models run. None: the model's own, or whatever the machine has.

    `dims`: dimensions to cut embeddings to. `max_length`: tokens. `batch_size`: texts at a time.
    `query_prompt`, `document_prompt`: put before the text. `cache`: folder of embeddings. `rerank`:
    documents a query that a re-ranker sees. `attn_implementation`: of transformers, for example
    flash_attention_2. `trust_remote_code`: run code that a model brings along.
    """

    dims: tuple[int, ...] = ()
    device: str | None = None
    dtype: str | None = None
    batch_size: int | None = None
    max_length: int | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    cache: Path | None = None
    rerank: int = 100
    attn_implementation: str | None = None
    trust_remote_code: bool = False

    def settings(self) -> dict[str, Any]:
        """What changes a model's scores, by name; None where it was left to the model."""
        names = "dtype", "max_length", "query_prompt", "document_prompt"
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Ranked:
    """Rankings of one system at one dimension (None where it has none).

    `details` says how they came about: device, dtype, max_length, truncated {"documents",
    "queries"}, trained_for_truncation, notes, ...
    """

    model: str
    dim: int | None
    rankings: Rankings
    details: dict[str, Any] = field(default_factory=dict)


class Retriever(Protocol):
    """Ranks the documents of a collection for each of its queries."""

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[Ranked]:
        """The best `depth` documents of every query; one answer a dimension."""
        ...
