"""What a retriever is: a name in, rankings out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from retgen.evaluation.collection import Collection
from retgen.evaluation.retrievers.rankings import Rankings
from retgen.progress import Progress


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
