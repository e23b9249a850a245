"""Several retrievers fused, by rank or by score.

rrf      the sum over the retrievers of 1 / (60 + the rank of a document): reciprocal rank fusion
         (Cormack, Clarke and Buettcher, SIGIR 2009)
minmax   the sum of the retrievers' scores, each scaled to 0..1 for each query: one half each
tuned    the same of two retrievers, with the weights that rank best on another split

Each is asked for its best 1,000 documents at its full dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.progress import Progress
from retgen.search.base import Retriever, SystemRanks, rank_corpus
from retgen.search.collection import Collection, load
from retgen.search.rankings import Rankings

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


class TunedRetriever:
    """Two retrievers fused by scaled scores, weighted as it is best on a split beside the scored.

    That is dev, else train: the weight of the first one, in tenths, whose mean nDCG@10 over the
    first 1,000 queries there is highest; of equals the one nearest to one half. Raises `UsageError`
    where there is no such split.
    """

    def __init__(self, name: str, parts: Sequence[Retriever]) -> None:
        self._name = name
        self._parts = parts

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        others = [one for one in _TUNED_ON if one in collection.dataset.qrels]
        others = [one for one in others if one != collection.split]
        if not others:
            raise UsageError(
                f"--model {self._name}: its weights are tuned on the split dev or train, and "
                f"{collection.path} has neither beside {collection.split}. Take minmax: or hybrid:"
            )
        dev = load(collection.path, others[0], progress)
        dev = replace(dev, queries=dev.queries[:_MOST_TUNED])
        judged = [dev.qrels[query.query_id] for query in dev.queries]
        on_dev = self._ranked(dev, DEPTH, progress)
        means = {}
        for tenths in sorted(range(11), key=lambda n: abs(n - 5)):
            fused = fuse(on_dev, dev, _CUT, scaled, (tenths / 10, 1 - tenths / 10))
            means[tenths] = float(np.mean(_ndcg(fused, judged, dev)))
        weight = max(means, key=means.__getitem__) / 10
        ranked = self._ranked(collection, depth, progress)
        details = {
            "fusion": "min-max",
            "weights": [weight, round(1 - weight, 1)],
            "tuned_on": others[0],
            "tuned_queries": len(dev.queries),
            "nDCG@10 there": {f"{n / 10:.1f}": means[n] for n in sorted(means)},
        }
        yield SystemRanks(
            self._name, None, fuse(ranked, collection, depth, scaled, (weight, 1 - weight)), details
        )

    def _ranked(self, collection: Collection, depth: int, progress: Progress) -> list[Rankings]:
        deep = min(max(depth, DEPTH), collection.documents)
        ranked = (rank_corpus(part, collection, deep, progress) for part in self._parts)
        return [list(every)[-1].rankings for every in ranked]


_TUNED_ON = ("dev", "train")
_MOST_TUNED, _CUT = 1000, 10


def _ndcg(
    ranked: Rankings, judged: Sequence[Mapping[str, int]], collection: Collection
) -> list[float]:
    """nDCG at the depth of the rankings, of each query, with relevance as gain."""
    discounts = 1 / np.log2(2 + np.arange(ranked.depth))
    result = []
    for row, of in zip(ranked.documents, judged, strict=True):
        gains = np.array(
            [of.get(collection.doc_ids[i].decode(), 0) if i >= 0 else 0 for i in row], np.float64
        )
        best = np.sort([float(one) for one in of.values()])[::-1][: ranked.depth]
        result.append(float(gains @ discounts / (best @ discounts[: len(best)])))
    return result


def fuse(
    parts: Sequence[Rankings],
    collection: Collection,
    depth: int,
    gains: Gains,
    shares: Sequence[float] | None = None,
) -> Rankings:
    """The fusion of some rankings of one collection: a document's score is the sum of its gains,
    times the `shares` of the rankings if there are some.
    """

    def fused(row: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        found: list[NDArray[np.int64]] = []
        weights: list[NDArray[np.float64]] = []
        for part, share in zip(parts, shares or [1.0] * len(parts), strict=True):
            ranked = part.documents[row] >= 0
            if ranked.any():
                found.append(part.documents[row][ranked])
                whole = bool(ranked[: collection.documents - (collection.own[row] >= 0)].all())
                weights.append(share * gains(part.scores[row][ranked], whole))
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        names, place = np.unique(np.concatenate(found), return_inverse=True)
        totals = np.bincount(place, weights=np.concatenate(weights), minlength=len(names))
        return names, totals.astype(np.float32)

    return Rankings.of(map(fused, range(len(collection.queries))), collection, depth)
