"""Sparse retrieval: texts as weights over a vocabulary, as SPLADE gives them; exact, by the model's
own similarity.

By product or cosine, a document that shares no term with a query has a score of 0 and is not
ranked, as with BM25; by distance every document is ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from retgen.progress import Progress, no_progress
from retgen.search.base import Array, CandidateSet, System, SystemRanks
from retgen.search.collection import Collection
from retgen.search.embedders.base import Kind, SentenceEmbedder
from retgen.search.embedders.loading import load
from retgen.search.embedders.options import Options
from retgen.search.rankings import Rankings

if TYPE_CHECKING:
    from sentence_transformers import SparseEncoder

_BLOCK = 1024  # documents encoded at a time
_QUERIES = 64  # queries compared at a time


class SparseRetriever:
    """A sparse encoder as a retriever, and as a scorer of candidate sets. It keeps no cache."""

    noise = 1e-5

    def __init__(self, name: str, model: str | SparseEncoder, options: Options) -> None:
        from sentence_transformers import SparseEncoder

        if isinstance(model, str):
            model = load(SparseEncoder, model, **options.loading())
        loaded: Any = model
        self.name, self.embedder = name, SentenceEmbedder(name, loaded, options)
        self._cut = {"documents": 0, "queries": 0}
        if options.dims:
            self.embedder.notes.append("weighs terms, which --dims does not cut")

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        blocks = (texts for _, texts in collection.blocks(_BLOCK))
        documents = self._matrix(blocks, "document", collection.documents, progress)
        queries = self._matrix([[query.text for query in collection.queries]], "query")
        by_distance = self.embedder.similarity in ("euclidean", "manhattan")

        def rows() -> Iterator[tuple[Any, Any]]:
            for start in range(0, queries.shape[0], _QUERIES):
                for values in self._scores(queries[start : start + _QUERIES], documents):
                    ranked = np.arange(len(values)) if by_distance else np.flatnonzero(values)
                    yield ranked, values[ranked]

        rankings = Rankings.of(rows(), collection, depth)
        yield SystemRanks(self.name, None, rankings, self.details)

    def systems(self) -> list[System]:
        """Itself, as a scorer of candidate sets."""
        return [System(None, self, lambda: self.details, self.embedder.pieces)]

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        place = {t: i for i, t in enumerate(dict.fromkeys(t for g in groups for t in g.texts))}
        asked = {q: i for i, q in enumerate(dict.fromkeys(group.query for group in groups))}
        texts = list(place)
        blocks = (texts[i : i + _BLOCK] for i in range(0, len(texts), _BLOCK))
        documents = self._matrix(blocks, "document", len(texts), progress)
        queries = self._matrix([list(asked)], "query")
        result = []
        for group in groups:
            query = queries[[asked[group.query]]]
            scores = self._scores(query, documents[[place[text] for text in group.texts]])
            result.append(scores[0].astype(np.float64))
        return result

    @property
    def details(self) -> dict[str, Any]:
        """How it runs, and how many of the texts it has cut."""
        more = {} if self.embedder.max_length is None else {"truncated": dict(self._cut)}
        return self.embedder.details | more

    def _matrix(
        self,
        blocks: Iterable[Sequence[str]],
        kind: Kind,
        total: int = 0,
        progress: Progress = no_progress,
    ) -> Any:
        """The weights of texts, a sparse matrix (texts, vocabulary)."""
        from scipy import sparse

        parts, done = [], 0
        for texts in blocks:
            vectors, counts = self.embedder.encode(texts, kind)
            limit = self.embedder.max_length or 0
            plural = "queries" if kind == "query" else "documents"
            self._cut[plural] += sum(count > limit for count in counts)
            parts.append(_rows(vectors))
            progress(self.name, done := done + len(texts), total)
        return sparse.vstack(parts, format="csr")

    def _scores(self, queries: Any, documents: Any) -> Any:
        """Scores (queries, documents), float32."""
        similarity = self.embedder.similarity
        if similarity == "manhattan":
            each = [abs(documents - query).sum(axis=1) for query in queries.toarray()]
            return -np.asarray(each, np.float32).reshape(queries.shape[0], -1)
        scores = (queries @ documents.T).toarray()
        if similarity in ("cosine", "euclidean"):
            own, theirs = (np.sqrt(m.multiply(m).sum(axis=1)) for m in (queries, documents))
            own, theirs = np.asarray(own).reshape(-1, 1), np.asarray(theirs).reshape(1, -1)
            if similarity == "cosine":
                scores = scores / (np.maximum(own, 1e-12) * np.maximum(theirs, 1e-12))
            else:
                scores = -np.sqrt(np.maximum(own**2 + theirs**2 - 2 * scores, 0))
        return scores.astype(np.float32)


def _rows(vectors: Tensor) -> Any:
    """A sparse tensor as a sparse matrix, in float64."""
    from scipy import sparse

    vectors = vectors.coalesce().cpu()
    data = vectors.values().double().numpy()
    return sparse.csr_array((data, tuple(vectors.indices().numpy())), shape=tuple(vectors.shape))
