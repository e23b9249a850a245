"""Dense retrieval with an embedder behind an API: its price is said before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from retgen.progress import Progress
from retgen.search.base import SystemRanks
from retgen.search.collection import Collection
from retgen.search.dense import BLOCK, QUERIES, DenseRetriever
from retgen.search.embedders.api import ApiEmbedder
from retgen.search.embedders.base import Kind
from retgen.search.embedders.options import Options


class ApiRetriever(DenseRetriever):
    """An embedder behind an API as a retriever."""

    def __init__(self, name: str, embedder: ApiEmbedder, options: Options) -> None:
        super().__init__(name, embedder, options)
        self._api = embedder

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        self._api.announce(self._fresh(collection))
        yield from super().rank(collection, depth, progress)

    def _fresh(self, collection: Collection) -> Iterator[tuple[Kind, list[str]]]:
        """Texts without a vector on disk, in the parts in which they will be encoded."""
        queries = [query.text for query in collection.queries]
        parts: Iterator[tuple[Kind, list[str]]] = chain(
            (("query", queries[i : i + QUERIES]) for i in range(0, len(queries), QUERIES)),
            (("document", texts) for _, texts in collection.blocks(BLOCK)),
        )
        for kind, texts in parts:
            known = self._cache.get(kind, texts) if self._cache else {}
            yield kind, [text for i, text in enumerate(texts) if i not in known]
