"""What training pairs and a data set that a model is scored on have in common."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from retgen.evaluation.collection import Collection
from retgen.evaluation.training.pairs import Pairs


def shared_pairs(pairs: Pairs, collection: Collection) -> int:
    """How many training pairs are pairs of a collection, by their texts."""
    asked: dict[str, set[str]] = {}
    for query in collection.queries:
        relevant = {d for d, r in collection.qrels[query.query_id].items() if r > 0}
        asked.setdefault(query.text, set()).update(relevant)
    wanted = set(pairs.anchors) & asked.keys()
    named = {doc.encode() for text in wanted for doc in asked[text]}
    if not named:
        return 0
    texts = collection.texts(np.flatnonzero(np.isin(collection.doc_ids, list(named))))
    by_id = {collection.doc_ids[i].decode(): text for i, text in texts.items()}
    known = {(q, by_id[doc]) for q in wanted for doc in asked[q] if doc in by_id}
    return sum(pair in known for pair in zip(pairs.anchors, pairs.positives, strict=True))


def seen(trained: Iterable[Pairs], collection: Collection) -> tuple[int, int]:
    """How many documents and queries of a collection stand in the pairs of some arm, by text."""
    anchors, positives = set(), set()
    for pairs in trained:
        anchors.update(pairs.anchors)
        positives.update(pairs.positives)
    return (
        sum(text in positives for _, texts in collection.blocks(4096) for text in texts),
        sum(query.text in anchors for query in collection.queries),
    )
