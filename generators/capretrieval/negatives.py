"""Hard negatives of the training queries, from passages of the training documents.

Left out are near-duplicates of a positive and passages that hold all content words of the query.
The figures say how many of the best-ranked these were: negatives that a miner without looking would
take.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import Codes, Passage, shown_text
from retgen.generators.capretrieval.queries import (
    Changeable,
    chosen,
    content_codes,
    missing_words,
)
from retgen.generators.params import Job
from retgen.on_disk import MappedList
from retgen.streams import Stream
from retgen.validators.capretrieval.wording import Wording

if TYPE_CHECKING:
    from retgen.agents.context import Context

_COUNTS = ("queries", "negatives", "drawn", "left_out")
_QUERIES = 1024  # that documents are drawn for at a time


def mine_negatives(
    queries: Changeable,
    passages: Sequence[Passage],
    document_of: Sequence[int],
    wording: Wording,
    splits: Sequence[str],
    stems: Sequence[Codes],
    job: Job[CapRetrievalParams],
    context: Context,
) -> dict[str, Any]:
    """Give the training queries their negatives, from passages of the training documents.

    `stems`: of each passage, and its words, sorted. Each query gets the same number, such that
    hardly one has fewer: these get none, and are not trained on. The figures are those of the
    queries that are trained on.
    """
    from retgen.search.mining import mine

    settings = job.params.mine
    numbers = array("q", (i for i, one in enumerate(queries) if one.split == "train"))
    if not settings.negatives or not numbers:
        return {"by": settings.by, **dict.fromkeys(_COUNTS, 0)}
    trained = chosen(queries, numbers)
    own = array("q", (number for number, split in enumerate(splits) if split == "train"))
    groups = wording.groups
    wanted = settings.negatives

    @lru_cache(1)  # a query's documents come one after the other
    def asked(query: int) -> _Asked:
        one = trained[query]
        content = content_codes(one.text, passages[one.passage].language)
        return _Asked(content, [document_of[j] for j in one.positives], set())

    def is_excluded(query: int, document: int) -> bool:
        one, number = asked(query), document_of[own[document]]
        wrong = (
            bool((groups[one.documents] == groups[number]).any())
            or missing_words(one.content, stems[own[document]]) == 0
            or wording.directly(number, one.documents)
        )
        if wrong:
            one.left_out.add(document)
        return wrong

    texts = MappedList(lambda i: shown_text(passages[i]), own)
    positives = MappedList(lambda one: np.searchsorted(own, one.positives).tolist(), trained)
    mined = mine(
        texts,
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
    drawn = _drawn(len(own), 4 * wanted, job.seed)
    found = np.full((len(trained), wanted), -1)  # negatives, those that are mined first
    by_rank, left_out = np.zeros((2, len(trained)), np.int64)
    for query, (best, tried) in enumerate(zip(mined, drawn, strict=False)):
        by_rank[query] = len(best)
        _fill_up(best, tried, wanted, partial(is_excluded, query), positives[query])
        found[query, : len(best)] = best
        left_out[query] = len(asked(query).left_out)
    counts = (found >= 0).sum(axis=1)
    each = int(np.sort(counts)[len(counts) // 10])
    used, by_chance = np.flatnonzero(counts >= each), 0
    for i in used.tolist():
        one, negatives = trained[i], found[i, :each]
        one.negatives = [own[j] for j in negatives.tolist()]
        queries[numbers[i]] = one
        by_chance += int(np.isin(negatives, found[i, by_rank[i] :]).sum())
    return {
        "by": settings.by,
        "queries": len(used),
        "negatives": each * len(used),
        "drawn": by_chance,
        "left_out": int(left_out[used].sum()),
    }


class _Asked(NamedTuple):
    """What is looked at of a query: its content words, the documents of its positives, and which
    others are left out.
    """

    content: NDArray[np.uint64]
    documents: list[int]
    left_out: set[int]


def _drawn(documents: int, count: int, seed: int) -> Iterator[list[int]]:
    """So many documents at random for each query; `count` is a multiple of 4."""
    stream = Stream(seed, "capretrieval/negatives")
    while True:
        yield from stream.integers(documents, _QUERIES * count).reshape(_QUERIES, count).tolist()


def _fill_up(
    negatives: list[int],
    tried: Sequence[int],
    count: int,
    excluded: Callable[[int], bool],
    positives: Collection[int],
) -> None:
    """Take documents that were drawn where mining gave too few."""
    for document in tried:
        if len(negatives) == count:
            break
        if not (document in negatives or document in positives or excluded(document)):
            negatives.append(document)
