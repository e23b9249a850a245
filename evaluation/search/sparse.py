"""Sparse retrieval: texts as weights over a vocabulary, as SPLADE gives them; exact, by the model's
own similarity.

An inverted index keeps for each term the documents that have it. By product or cosine, a document
that shares no term with a query has a score of 0 and is not ranked, as with BM25; by distance
every document is ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from retgen.evaluation.collection import Collection
from retgen.evaluation.embedders.base import Kind, SentenceEmbedder
from retgen.evaluation.embedders.batches import each_batch
from retgen.evaluation.embedders.loading import load
from retgen.evaluation.embedders.options import Options
from retgen.evaluation.embedders.similarity import Similarity
from retgen.evaluation.search.base import Ranked
from retgen.evaluation.search.candidates.sets import CandidateSet
from retgen.evaluation.search.rankings import Rankings, best
from retgen.progress import Progress

_BLOCK = 1024  # texts encoded at a time


class Sparse:
    """A sparse encoder as a retriever. Nothing of it is kept on disk."""

    def __init__(self, name: str, model: str, options: Options) -> None:
        from sentence_transformers import SparseEncoder

        loaded: Any = load(
            SparseEncoder, model, options.device, options.dtype,
            attn_implementation=options.attn_implementation,
            trust_remote_code=options.trust_remote_code,
        )  # fmt: skip
        self.name, self.embedder = name, SentenceEmbedder(name, loaded, options)
        if options.dims:
            self.embedder.notes.append("weighs terms, which --dims does not cut")

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[Ranked]:
        scorer = self.scorer()
        blocks = (texts for _, texts in collection.blocks(_BLOCK))
        index = scorer.index(blocks, collection.documents, progress)
        documents = np.full((len(collection.queries), depth), -1, np.int64)
        scores = np.zeros(documents.shape, np.float32)
        texts = [query.text for query in collection.queries]
        for row, query in enumerate(scorer.vectors(texts, "query", progress)):
            values = index.scores(*query)
            ranked = np.arange(len(values)) if index.by_distance else np.flatnonzero(values)
            documents[row], scores[row] = best(ranked, values[ranked], collection.priority, depth)
        yield Ranked(self.name, None, Rankings(documents, scores), scorer.details)

    def scorer(self) -> SparseScorer:
        """Its scorer of candidate sets."""
        return SparseScorer(self.name, self.embedder)


class SparseScorer:
    """Scores candidate sets, over an index of the texts of one call."""

    noise = 1e-5

    def __init__(self, name: str, embedder: SentenceEmbedder) -> None:
        self.name, self._embedder = name, embedder
        self._cut = {"query": 0, "document": 0}

    @property
    def details(self) -> dict[str, Any]:
        """How the encoder runs, and how many of the texts it has cut."""
        cut = {"documents": self._cut["document"], "queries": self._cut["query"]}
        more = {} if self._embedder.max_length is None else {"truncated": cut}
        return self._embedder.details | more

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        texts = {
            text: i for i, text in enumerate(dict.fromkeys(t for g in groups for t in g.texts))
        }
        queries = list(dict.fromkeys(group.query for group in groups))
        index = self.index([list(texts)], len(texts), progress)
        vectors = dict(zip(queries, self.vectors(queries, "query", progress), strict=True))
        return [
            index.scores(*vectors[g.query])[[texts[t] for t in g.texts]].astype(np.float64)
            for g in groups
        ]

    def index(self, blocks: Iterable[Sequence[str]], total: int, progress: Progress) -> Index:
        """An inverted index of the documents in some blocks, `total` in all."""
        return Index(
            (
                vector
                for start, texts in _numbered(blocks)
                for vector in self.vectors(texts, "document", progress, start, total)
            ),
            self._embedder.dimension,
            self._embedder.similarity,
        )

    def vectors(
        self, texts: Sequence[str], kind: Kind, progress: Progress, begun: int = 0, total: int = 0
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """The terms of each text and their weights."""
        stage = self.name if kind == "document" else f"{self.name}: queries"
        for start in range(0, len(texts), _BLOCK):
            part = texts[start : start + _BLOCK]
            report = partial(self._report, progress, stage, begun + start, total or len(texts))
            with each_batch(self._embedder, report):
                result, counts = self._embedder.encode(part, kind)
            limit = self._embedder.max_length
            self._cut[kind] += sum(limit is not None and count > limit for count in counts)
            yield from _rows(result)

    @staticmethod
    def _report(progress: Progress, stage: str, begun: int, total: int, done: int) -> None:
        progress(stage, min(begun + done, total), total)


class Index:
    """For each term the documents that have it, and their weights."""

    def __init__(
        self,
        vectors: Iterable[tuple[NDArray[np.int64], NDArray[np.float64]]],
        terms: int,
        similarity: Similarity,
    ) -> None:
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


def _numbered(blocks: Iterable[Sequence[str]]) -> Iterator[tuple[int, Sequence[str]]]:
    first = 0
    for texts in blocks:
        yield first, texts
        first += len(texts)


def _rows(vectors: Tensor) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """The columns that are not 0, and their values, of each row of a sparse matrix."""
    vectors = vectors.coalesce().cpu()
    rows, columns = vectors.indices().numpy()
    ends = np.searchsorted(rows, np.arange(1, len(vectors)))
    values = vectors.values().double().numpy()
    yield from zip(np.split(columns, ends), np.split(values, ends), strict=True)
