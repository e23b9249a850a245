"""Sparse retrieval: texts as weights over a vocabulary, as SPLADE gives them; exact, by the model's
own similarity.

An inverted index keeps for each term the documents that have it. By product or cosine, a document
that shares no term with a query has a score of 0 and is not ranked, as with BM25; by distance
every document is ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from retgen.progress import Progress
from retgen.search.base import Array, CandidateSet, System, SystemRanks
from retgen.search.collection import Collection
from retgen.search.embedders.base import Kind, SentenceEmbedder
from retgen.search.embedders.loading import load
from retgen.search.embedders.options import Options
from retgen.search.embedders.similarity import Similarity
from retgen.search.rankings import Rankings

if TYPE_CHECKING:
    from sentence_transformers import SparseEncoder

_BLOCK = 1024  # documents encoded at a time
_Vector = tuple[NDArray[np.int64], NDArray[np.float64]]  # terms, and their weights


class SparseRetriever:
    """A sparse encoder as a retriever, and as a scorer of candidate sets. It keeps no cache."""

    noise = 1e-5

    def __init__(self, name: str, model: str | SparseEncoder, options: Options) -> None:
        from sentence_transformers import SparseEncoder

        loaded: Any = (
            model
            if not isinstance(model, str)
            else load(
                SparseEncoder,
                model,
                options.device,
                options.dtype,
                attn_implementation=options.attn_implementation,
                trust_remote_code=options.trust_remote_code,
            )
        )
        self.name, self.embedder = name, SentenceEmbedder(name, loaded, options)
        self._cut = {"documents": 0, "queries": 0}
        if options.dims:
            self.embedder.notes.append("weighs terms, which --dims does not cut")

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        blocks = (texts for _, texts in collection.blocks(_BLOCK))
        index = self._index(blocks, collection.documents, progress)
        texts = [query.text for query in collection.queries]

        def found(query: _Vector) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
            values = index.scores(*query)
            ranked = np.arange(len(values)) if index.by_distance else np.flatnonzero(values)
            return ranked, values[ranked]

        rankings = Rankings.of(map(found, self._vectors([texts], "query")), collection, depth)
        yield SystemRanks(self.name, None, rankings, self.details)

    def systems(self) -> list[System]:
        """Itself, as a scorer of candidate sets."""
        return [System(None, self, lambda: self.details, self.embedder.pieces)]

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        distinct = dict.fromkeys(text for group in groups for text in group.texts)
        place = {text: i for i, text in enumerate(distinct)}
        queries = list(dict.fromkeys(group.query for group in groups))
        texts = list(place)
        blocks = (texts[i : i + _BLOCK] for i in range(0, len(texts), _BLOCK))
        index = self._index(blocks, len(texts), progress)
        vectors = dict(zip(queries, self._vectors([queries], "query"), strict=True))
        return [
            index.scores(*vectors[g.query])[[place[text] for text in g.texts]].astype(np.float64)
            for g in groups
        ]

    @property
    def details(self) -> dict[str, Any]:
        """How it runs, and how many of the texts it has cut."""
        more = {} if self.embedder.max_length is None else {"truncated": dict(self._cut)}
        return self.embedder.details | more

    def _index(self, blocks: Iterable[Sequence[str]], total: int, progress: Progress) -> Index:
        vectors = []
        for vector in self._vectors(blocks, "document"):
            vectors.append(vector)
            if len(vectors) % _BLOCK == 0 or len(vectors) == total:
                progress(self.name, len(vectors), total)
        return Index(vectors, self.embedder.dimension, self.embedder.similarity)

    def _vectors(self, blocks: Iterable[Sequence[str]], kind: Kind) -> Iterator[_Vector]:
        limit = self.embedder.max_length or 0
        for texts in blocks:
            result, counts = self.embedder.encode(texts, kind)
            self._cut["queries" if kind == "query" else "documents"] += sum(
                count > limit for count in counts
            )
            yield from sparse_rows(result)


class Index:
    """For each term the documents that have it, and their weights."""

    def __init__(self, vectors: Iterable[_Vector], terms: int, similarity: Similarity) -> None:
        columns, weights = zip(*vectors, strict=True)
        self.documents = len(columns)
        self.similarity = similarity
        self.by_distance = similarity in ("euclidean", "manhattan")
        order = np.argsort(np.concatenate(columns), kind="stable")
        rows = np.repeat(np.arange(self.documents), [len(one) for one in columns])
        self._rows, self._weights = rows[order], np.concatenate(weights)[order]
        counts = np.bincount(np.concatenate(columns), minlength=terms)
        self._ends = np.concatenate([[0], np.cumsum(counts)])
        self._lengths = np.array([self._length(one) for one in weights])

    def _length(self, weights: NDArray[np.float64]) -> float:
        return float(np.linalg.norm(weights, 1 if self.similarity == "manhattan" else 2))

    def scores(self, terms: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float32]:
        """(documents,) of a query's terms and their weights."""
        result = np.zeros(self.documents)
        for term, weight in zip(terms.tolist(), weights.tolist(), strict=True):
            held = slice(self._ends[term], self._ends[term + 1])
            theirs = self._weights[held]
            if self.similarity == "manhattan":  # how much less they differ than each from 0
                result[self._rows[held]] += abs(weight) + abs(theirs) - abs(weight - theirs)
            else:
                result[self._rows[held]] += weight * theirs
        own = self._length(weights)
        if self.similarity == "cosine":
            result /= np.maximum(own, 1e-12) * np.maximum(self._lengths, 1e-12)
        elif self.similarity == "euclidean":
            result = -np.sqrt(np.maximum(own**2 + self._lengths**2 - 2 * result, 0))
        elif self.similarity == "manhattan":
            result -= own + self._lengths
        return result.astype(np.float32)


def sparse_rows(vectors: Tensor) -> Iterator[_Vector]:
    """The columns that are not 0, and their values, of each row of a sparse matrix."""
    vectors = vectors.coalesce().cpu()
    rows, columns = vectors.indices().numpy()
    ends = np.searchsorted(rows, np.arange(1, len(vectors)))
    values = vectors.values().double().numpy()
    yield from zip(np.split(columns, ends), np.split(values, ends), strict=True)
