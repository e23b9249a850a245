"""Several retrievers fused, by rank or by score.

rrf      the sum over the retrievers of 1 / (60 + the rank of a document): reciprocal rank fusion
         (Cormack, Clarke and Buettcher, SIGIR 2009)
minmax   the sum of the retrievers' scores, each scaled to 0..1 for each query: one half each

Each is asked for its best 1,000 documents at its full dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.evaluation import retrievers
from retgen.progress import Progress
from retgen.search.base import Retriever, RetrieverType, SystemRanks, rank_corpus
from retgen.search.collection import Collection
from retgen.search.embedders.options import Options
from retgen.search.rankings import Rankings


class Hybrid(RetrieverType):
    prefix = "hybrid"
    form = "hybrid:A+B"
    about = "reciprocal rank fusion"
    by_score = False

    def check(self, name: str) -> None:
        super().check(name)
        parts = name.partition(":")[2].split("+")
        if len(parts) < 2 or not all(parts):
            raise UsageError(f"--model {name}: write for example {self.prefix}:bm25+minilm")
        for part in parts:
            retrievers.check_name(part)

    def runs_a_model(self, name: str) -> bool:
        return any(map(retrievers.runs_a_model, name.partition(":")[2].split("+")))

    def load(self, name: str, options: Options) -> Retriever:
        parts = [retrievers.retriever(part, options) for part in name.partition(":")[2].split("+")]
        return HybridRetriever(name, parts, by_score=self.by_score)


class MinMax(Hybrid):
    prefix = "minmax"
    form = "minmax:A+B"
    about = "fusion of scores that are scaled to 0..1 for each query, the same weight each"
    by_score = True


_CONSTANT = 60  # of the reference
DEPTH = 1000
# the scores of what a retriever ranks for a query, best first, as gains of the same kind
Gains = Callable[[NDArray[np.float32], bool], NDArray[np.float64]]


def reciprocal_ranks(scores: NDArray[np.float32], whole: bool) -> NDArray[np.float64]:
    """1 / (60 + rank)."""
    return 1 / (_CONSTANT + 1 + np.arange(len(scores), dtype=np.float64))


def scaled(scores: NDArray[np.float32], whole: bool) -> NDArray[np.float64]:
    """Scores from 0, the least, to 1, the most.

    `whole`: as many documents were ranked as were asked for. Else a lexical retriever has left out
    those without a word of the query, which have its score 0.
    """
    values = scores.astype(np.float64)
    low = values.min() if whole else min(values.min(), 0.0)
    span = values.max() - low
    return (values - low) / span if span else np.ones(len(values))


class HybridRetriever:
    """Several retrievers fused."""

    def __init__(self, name: str, parts: Sequence[Retriever], *, by_score: bool) -> None:
        self._name = name
        self._parts = parts
        self._by_score = by_score

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        deep = min(max(depth, DEPTH), collection.documents)
        ranked = [list(rank_corpus(part, collection, deep, progress))[-1] for part in self._parts]
        gains = scaled if self._by_score else reciprocal_ranks
        fused = fuse([one.rankings for one in ranked], collection, depth, gains)
        details = {
            "parts": {one.model: one.details for one in ranked},
            "fusion": "min-max" if self._by_score else f"rrf, k {_CONSTANT}",
        }
        yield SystemRanks(self._name, None, fused, details)


def fuse(
    parts: Sequence[Rankings],
    collection: Collection,
    depth: int,
    gains: Gains,
) -> Rankings:
    """The fusion of some rankings of one collection: a document's score is the sum of its gains."""

    def fused(row: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        found: list[NDArray[np.int64]] = []
        weights: list[NDArray[np.float64]] = []
        for part in parts:
            ranked = part.documents[row] >= 0
            if ranked.any():
                found.append(part.documents[row][ranked])
                whole = bool(ranked[: collection.documents - (collection.own[row] >= 0)].all())
                weights.append(gains(part.scores[row][ranked], whole))
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        names, place = np.unique(np.concatenate(found), return_inverse=True)
        totals = np.bincount(place, weights=np.concatenate(weights), minlength=len(names))
        return names, totals.astype(np.float32)

    return Rankings.of(map(fused, range(len(collection.queries))), collection, depth)
