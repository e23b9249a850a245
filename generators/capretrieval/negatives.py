"""Hard negatives of the training queries, from passages of the training documents.

Left out are near-duplicates of a positive and passages that hold all content words of the query.
The figures say how many of the best-ranked these were: negatives that a miner without looking would
take.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import Corpus, shown_text
from retgen.generators.capretrieval.queries import (
    Changeable,
    chosen,
    content_codes,
    missing_words,
)
from retgen.generators.params import Job
from retgen.on_disk import MappedList
from retgen.streams import Stream

if TYPE_CHECKING:
    from retgen.agents.context import Context

_COUNTS = ("queries", "negatives", "drawn", "left_out")
_QUERIES = 1024  # that documents are drawn for at a time


def mine_negatives(
    queries: Changeable, corpus: Corpus, job: Job[CapRetrievalParams], context: Context
) -> dict[str, Any]:
    """Give the training queries their negatives, drawn at random where mining gives too few.

    Each query gets the same number, such that hardly one has fewer: these get none, and are not
    trained on. The figures are those of the queries that are trained on.
    """
    settings = job.params.mine
    wanted, passages, document_of = settings.negatives, corpus.passages, corpus.document_of
    numbers = array("q", (i for i, one in enumerate(queries) if one.split == "train"))
    if not wanted or not numbers:
        return {"by": settings.by, **dict.fromkeys(_COUNTS, 0)}
    trained = chosen(queries, numbers)
    own = array("q", (number for number, split in enumerate(corpus.splits) if split == "train"))
    groups = corpus.wording.groups
    left_out = np.zeros(len(trained), np.int64)
    asked = (-1, np.empty((2, 0), np.uint64), list[int]())  # query, its words, its documents

    def is_excluded(query: int, document: int) -> bool:
        nonlocal asked
        if asked[0] != query:  # a query's documents come one after the other
            one = trained[query]
            content = content_codes(one.text, passages[one.passage].language)
            asked = query, content, [document_of[j] for j in one.positives]
        _, content, answering = asked
        number = document_of[own[document]]
        wrong = (
            bool((groups[answering] == groups[number]).any())
            or missing_words(content, corpus.stems[own[document]]) == 0
            or corpus.wording.directly(number, answering)
        )
        left_out[query] += wrong
        return wrong

    from retgen.search.mining import mine

    positives = MappedList(lambda one: np.searchsorted(own, one.positives).tolist(), trained)
    mined = mine(
        MappedList(lambda i: shown_text(passages[i]), own),
        MappedList(lambda one: one.text, trained),
        positives,
        by=settings.by,
        count=wanted,
        depth=max(wanted, settings.depth),
        margin=settings.margin,
        excluded=is_excluded,
        engine=context.engine,
        progress=context.progress,
    )
    found = np.full((len(trained), wanted), -1)  # negatives, those that are mined first
    by_rank = np.zeros(len(trained), np.int64)
    drawn = _drawn(len(own), 4 * wanted, job.seed)
    for query, (best, more) in enumerate(zip(mined, drawn, strict=False)):
        by_rank[query] = len(best)
        known = {*best, *positives[query]}
        for document in more:
            if len(best) < wanted and document not in known and not is_excluded(query, document):
                best.append(document)
                known.add(document)
        found[query, : len(best)] = best
    counts = (found >= 0).sum(axis=1)
    each = int(np.sort(counts)[len(counts) // 10])
    used = np.flatnonzero(counts >= each)
    for i in used.tolist():
        one = trained[i]
        one.negatives = [own[j] for j in found[i, :each].tolist()]
        queries[numbers[i]] = one
    return {
        "by": settings.by,
        "queries": len(used),
        "negatives": each * len(used),
        "drawn": int(np.maximum(0, each - by_rank[used]).sum()),
        "left_out": int(left_out[used].sum()),
    }


def _drawn(documents: int, count: int, seed: int) -> Iterator[list[int]]:
    """So many documents at random for each query; `count` is a multiple of 4."""
    stream = Stream(seed, "capretrieval/negatives")
    while True:
        yield from stream.integers(documents, _QUERIES * count).reshape(_QUERIES, count).tolist()
