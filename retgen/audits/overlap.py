"""Word overlap: the share of a query's content words that stand in its relevant documents."""

from __future__ import annotations

import numpy as np

from retgen.evaluation.scoring.misses import relevant_documents
from retgen.search.collection import Collection
from retgen.statistics.clustered import Estimate, Floats, Units
from retgen.tokenizer import content_stems, stems, tokens

_POSITIVES = 20  # of a query that are read; the first ones


def word_overlap(collection: Collection) -> Floats:
    """(queries,) in 0..1, the mean over a query's relevant documents; NaN for a query without
    content words, or without a relevant document in the corpus. Words are compared as stems.
    """
    asked = [content_stems(query.text) for query in collection.queries]
    shares: list[list[float]] = [[] for _ in asked]
    rows: dict[int, list[int]] = {}
    for row, documents in enumerate(relevant_documents(collection)):
        for document in documents[:_POSITIVES] if asked[row] else ():
            rows.setdefault(document, []).append(row)
    for first, texts in collection.blocks(4096):
        for document in rows.keys() & range(first, first + len(texts)):
            held = frozenset(stems(tokens(texts[document - first])))
            for row in rows[document]:
                shares[row].append(len(asked[row] & held) / len(asked[row]))
    return np.array([np.mean(one) if one else np.nan for one in shares])


def mean_overlap(overlap: Floats, units: Units) -> Estimate | None:
    """Over the queries that have one; None if there is none."""
    rows = np.flatnonzero(~np.isnan(overlap))
    if not len(rows):
        return None
    values = overlap[rows][:, None]
    return Estimate.of(float(values.mean()), units.within(rows).interval(values)[0])
