"""Hard negatives among the first documents: a system that reads part of a query brings them up.

Hard negatives are documents judged 0 in a data set whose labels are complete. Where only some of a
query's are judged, its metadata say how many there are (`hard_negatives`), and those that were
found stand for the others: judged ones are drawn at random.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.collection import Collection

DEPTH = 10

Shares = NDArray[np.float64]  # (queries,), NaN where a query has no hard negative


def shares(collection: Collection, documents: NDArray[np.int64]) -> Shares | None:
    """Of every query, the share of its first `DEPTH` documents that are hard negatives.

    `documents` (queries, depth): a ranking. None where the data set has none, or where what is not
    judged is not known.
    """
    if not collection.complete:
        return None
    result = np.full(len(collection.queries), np.nan)
    judged = [
        [doc for doc, relevance in collection.qrels[query.query_id].items() if relevance == 0]
        for query in collection.queries
    ]
    place = collection.places(doc for docs in judged for doc in docs)
    for row, (query, docs) in enumerate(zip(collection.queries, judged, strict=True)):
        if docs:
            known = [place[doc] for doc in docs if doc in place]
            found = np.isin(documents[row, :DEPTH], known).sum()
            facts = query.metadata if isinstance(query.metadata, dict) else {}
            stated = facts.get("hard_negatives")
            there = stated if isinstance(stated, int) else len(docs)
            result[row] = min(1.0, found * max(1.0, there / len(docs)) / DEPTH)
    return None if np.isnan(result).all() else result


def mean_share(values: Shares, rows: NDArray[np.int64]) -> float | None:
    """The mean over some queries; None where none of them has a hard negative."""
    known = values[rows][~np.isnan(values[rows])]
    return float(known.mean()) if len(known) else None
