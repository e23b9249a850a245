"""The queries of a ladder set, 24 bytes each, and how many qrels they have."""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray


class QueryIndex:
    """Ladder, style and number of conditions by query id, each to be taken once."""

    def __init__(self) -> None:
        self._ids, self._texts, self._packed = array("Q"), array("Q"), array("Q")

    def add(self, query_id: str, text: str, ladder: int, style: int, conditions: int) -> None:
        """Another query; `style`: 0 or 1; `conditions`: 1 to 10."""
        self._ids.append(_hash(query_id))
        self._texts.append(_hash(text))
        self._packed.append(ladder << 5 | style << 4 | conditions)

    @cached_property
    def _by_hash(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.bool_]]:
        ids = np.frombuffer(self._ids, np.uint64) if self._ids else np.empty(0, np.uint64)
        order = np.argsort(ids, kind="stable")
        return ids[order], order, np.zeros(len(ids), bool)

    def take(self, query_id: str) -> tuple[int, int] | None:
        """(ladder, conditions) of a query; None where there is none, or it was taken before."""
        place = self._place(query_id)
        if place is None or self._by_hash[2][place]:
            return None
        self._by_hash[2][place] = True
        packed = self._packed[int(self._by_hash[1][place])]
        return packed >> 5, packed & 15

    def which(self, query_id: object) -> tuple[int, int, int] | None:
        """(ladder, style, conditions) of a query, taken or not; None where there is none."""
        place = self._place(query_id) if isinstance(query_id, str) else None
        if place is None:
            return None
        packed = self._packed[int(self._by_hash[1][place])]
        return packed >> 5, packed >> 4 & 1, packed & 15

    def _place(self, query_id: str) -> int | None:
        ids = self._by_hash[0]
        wanted = np.uint64(_hash(query_id))
        place = int(np.searchsorted(ids, wanted))
        return place if place < len(ids) and ids[place] == wanted else None

    def again(self) -> None:
        """Let every query be taken once more."""
        self._by_hash[2][:] = False

    def count_left(self) -> int:
        """How many were not taken."""
        return int((~self._by_hash[2]).sum())

    def repeated_texts(self) -> frozenset[int]:
        """Hashes of texts that stand more than once."""
        if not self._texts:
            return frozenset()
        texts, counts = np.unique(np.frombuffer(self._texts, np.uint64), return_counts=True)
        return frozenset(texts[counts > 1].tolist())

    def repeats(self, text: str, among: frozenset[int]) -> bool:
        """Whether a text is one of `repeated_texts`."""
        return _hash(text) in among


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


class LabelCounts:
    """How many qrels there are, and how many of them are positive, by query and document."""

    def __init__(self, documents: int) -> None:
        self.qrels = self.positives = 0
        self.by_query: dict[int, int] = {}
        self.by_document = np.zeros(documents, np.int64)

    def add(self, right: dict[str, int], places: dict[str, int]) -> None:
        """The labels of a query by document; `places`: the documents' numbers."""
        relevant = [places[name] for name, score in right.items() if score > 0]
        self.qrels += len(right)
        self.positives += len(relevant)
        self.by_query[len(relevant)] = self.by_query.get(len(relevant), 0) + 1
        self.by_document[relevant] += 1

    def in_words(self, queries: int) -> dict[str, Any]:
        """As `gen validate` states them."""
        positive = self.by_document[self.by_document > 0]
        values, numbers = np.unique(positive, return_counts=True)
        return {
            "queries": queries,
            "qrels": self.qrels,
            "positives": self.positives,
            "relevant_documents": len(positive),
            "relevant_per_query": _spread(self.by_query),
            "queries_per_relevant_document": _spread(
                dict(zip(values.tolist(), numbers.tolist(), strict=True))
            ),
        }


def _spread(histogram: dict[int, int]) -> dict[str, Any]:
    if not histogram:
        return {"min": 0, "mean": 0.0, "max": 0, "histogram": {}}
    total = sum(histogram.values())
    return {
        "min": min(histogram),
        "mean": round(sum(n * count for n, count in histogram.items()) / total, 4),
        "max": max(histogram),
        "histogram": {str(n): histogram[n] for n in sorted(histogram)},
    }
