"""How many qrels a ladder set has, and how many of them are positive."""

from __future__ import annotations

from typing import Any

import numpy as np


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
