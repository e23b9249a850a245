"""Reciprocal rank fusion of several retrievers.

A document's score is the sum over the retrievers of 1 / (60 + its rank) (Cormack, Clarke and
Buettcher, SIGIR 2009). Each is asked for its best 1,000 documents at its full dimension.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.collection import Collection
from retgen.evaluation.search.base import Ranked, Retriever
from retgen.evaluation.search.rankings import Rankings
from retgen.progress import Progress

_CONSTANT = 60  # of the reference
_DEPTH = 1000


class HybridRetriever:
    """Several retrievers fused by rank."""

    def __init__(self, name: str, parts: Sequence[Retriever]) -> None:
        self._name = name
        self._parts = parts

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[Ranked]:
        deep = min(max(depth, _DEPTH), collection.documents)
        ranked = [list(part.rank(collection, deep, progress))[-1] for part in self._parts]
        fused = fuse([one.rankings for one in ranked], collection, depth)
        details = {"parts": {one.model: one.details for one in ranked}, "fusion": "rrf, k 60"}
        yield Ranked(self._name, None, fused, details)


def fuse(parts: Sequence[Rankings], collection: Collection, depth: int) -> Rankings:
    """The fusion of some rankings of one collection."""

    def fused(row: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        result = np.concatenate([part.documents[row] for part in parts])
        gains = np.concatenate([1 / (_CONSTANT + 1 + np.arange(part.depth)) for part in parts])
        ranked = result >= 0
        names, place = np.unique(result[ranked], return_inverse=True)
        totals = np.bincount(place, weights=gains[ranked], minlength=len(names))
        return names, totals.astype(np.float32)

    return Rankings.of(map(fused, range(len(collection.queries))), collection, depth)
