"""Hard negatives: the documents of a corpus that rank high for a query and are not relevant to it.

The rule is that of `mine_hard_negatives` of sentence-transformers with `range_max`,
`relative_margin`, `num_negatives` and the sampling strategy "top" (the TopK-PercPos of
NV-Retriever, arXiv 2407.15831), for BM25 as well as for embedders. torch is loaded for the latter.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.progress import Progress, no_progress
from retgen.search.base import names_embedder
from retgen.search.embedders.options import Options
from retgen.search.lexical import BM25Index, stem_all
from retgen.search.rankings import best, corpus_order
from retgen.work import Engine, Local
from retgen.write import cache_folder

TEXTS = 2048  # documents that BM25 cuts at a time
QUERIES, _CELLS = 200, 1_000_000  # that it ranks at a time, and documents of them at most

# a query for BM25: its terms, its positives, and how many documents are ranked
_Asked = tuple[NDArray[np.int32], list[int], int]
# of a query: documents best first (its positives may be among them), their scores, the bar's score
_Candidates = tuple[NDArray[np.int64], NDArray[np.float32], float | None]


def check_by(by: str) -> None:
    """Raise `UsageError` where `mine` knows no such way."""
    if by != "bm25" and not names_embedder(by):
        known = "bm25, minilm, static:minilm, a folder, a Hub id"
        raise UsageError(f"mining by {by!r}: there is no such way; known are {known}")


def mine(
    documents: Sequence[str],
    queries: Sequence[str],
    positives: Sequence[Collection[int]],
    *,
    by: str = "bm25",
    count: int = 4,
    depth: int = 50,
    margin: float | None = 0.95,
    excluded: Callable[[int, int], bool] | None = None,
    options: Options | None = None,
    engine: Engine | None = None,
    progress: Progress = no_progress,
) -> Iterator[list[int]]:
    """Up to `count` hard negatives of every query: indices of documents, the best-ranked first.

    `positives`: for every query, the indices of its relevant documents. `by`: bm25, or an embedder
    (minilm, static:minilm, a folder, a Hub id), whose vectors are kept on disk; `options` say how
    it runs; `engine`: who ranks by bm25. Of equal scores the document that stands first in the
    corpus ranks first.

    A negative is one of the `depth` best-ranked documents that are not positives (`range_max`),
    `excluded(query, document)` is not true of it (near-duplicates of a positive, documents that
    hold the answer: the caller knows), and its score is at most `margin` times that of the query's
    lowest-scored positive: `relative_margin` is 1 - margin there, taken of the score's magnitude.
    None: no such bar, as for queries without a positive.

    BM25 ranks only documents that share a term with the query. A positive that shares none says
    nothing of the others and sets no bar; where none of the positives shares any, all that BM25
    ranks is above them, and there is no negative.

    Raises `UsageError` for a model that cannot be loaded and for numbers that make no sense.
    """
    check_by(by)
    if count < 1 or depth < count or (margin is not None and not 0 < margin < math.inf):
        raise UsageError(
            f"mining: count {count}, depth {depth} and margin {margin} do not go together; count "
            "must be at least 1, depth at least count, margin above 0 (0.95 is usual)"
        )
    if not len(queries) or not len(documents):
        yield from ([] for _ in queries)
        return
    if by == "bm25":
        ranked = _by_bm25(documents, queries, positives, depth, engine or Local(1), progress)
    else:
        options = replace(options or Options(cache=cache_folder()), dims=())
        ranked = _by_embedder(by, documents, queries, positives, depth, options, progress)
    for query, (order, scores, low) in enumerate(ranked):
        bar = math.inf
        if margin is not None and low is not None:
            bar = low - abs(low) * (1 - margin)
        others = np.flatnonzero((order >= 0) & ~np.isin(order, [*positives[query]]))[:depth]
        result: list[int] = []
        for document, score in zip(order[others].tolist(), scores[others].tolist(), strict=True):
            if len(result) == count:
                break
            if score <= bar and not (excluded is not None and excluded(query, document)):
                result.append(document)
        yield result


def _by_bm25(
    documents: Sequence[str],
    queries: Sequence[str],
    positives: Sequence[Collection[int]],
    depth: int,
    engine: Engine,
    progress: Progress,
) -> Iterator[_Candidates]:
    parts = ((str(i), documents[i : i + TEXTS]) for i in range(0, len(documents), TEXTS))
    cut = engine.map(_cut, None, parts)
    stage = "mining by bm25: documents"
    index = BM25Index(map(pickle.loads, _shown(cut, len(documents), TEXTS, stage, progress)))

    step = max(1, min(QUERIES, _CELLS // (depth + max(map(len, positives)))))

    def groups() -> Iterator[tuple[str, list[_Asked]]]:
        for start in range(0, len(queries), step):
            some = slice(start, start + step)
            terms = index.terms(list(queries[some]))
            yield (
                str(start),
                [
                    (own, list(known), depth + len(known))
                    for own, known in zip(terms, positives[some], strict=True)
                ],
            )

    ranked = engine.map(_rank, (index, len(documents)), groups())
    for some in _shown(ranked, len(queries), step, "mining by bm25: queries", progress):
        yield from pickle.loads(some)


def _shown(
    results: Generator[tuple[str, bytes]], total: int, step: int, stage: str, progress: Progress
) -> Iterator[bytes]:
    """The results of tasks of `step` each."""
    with closing(results):
        for number, (_, result) in enumerate(results, start=1):
            yield result
            progress(stage, min(number * step, total), total)


def _cut(_: None, texts: Sequence[str]) -> bytes:
    return pickle.dumps(stem_all(list(texts)), protocol=5)


def _rank(corpus: tuple[BM25Index, int], queries: Sequence[_Asked]) -> bytes:
    """The candidates of each, pickled."""
    index, documents = corpus
    priority, nothing = corpus_order(documents), np.zeros(documents, np.float32)
    result: list[_Candidates] = []
    for terms, positives, depth in queries:
        values = index.scores(terms) if len(terms) else nothing
        ranked = np.flatnonzero(values > 0)
        order, scores = best(ranked, values[ranked], priority, min(depth, len(ranked)))
        of_positives = values[positives]
        shared = of_positives[of_positives > 0]
        low = float(shared.min()) if len(shared) else 0.0
        result.append((order, scores, low if positives else None))
    return pickle.dumps(result, protocol=5)


def _by_embedder(
    name: str,
    documents: Sequence[str],
    queries: Sequence[str],
    positives: Sequence[Collection[int]],
    depth: int,
    options: Options,
    progress: Progress,
) -> Iterator[_Candidates]:
    from retgen.search.embedders.base import load_embedder
    from retgen.search.vectors import BLOCK, VectorRetriever, compare, search, take

    of = VectorRetriever(name, load_embedder(name, options), options)
    similarity = of.embedder.similarity
    asked = of.encoded(queries, "query", progress)

    blocks = (
        (i, of.encoded(documents[i : i + BLOCK], "document", progress, i, len(documents)))
        for i in range(0, len(documents), BLOCK)
    )
    most, order = depth + max(map(len, positives)), corpus_order(len(documents))
    (ranked,) = search(blocks, asked, of.dims, similarity, order, most)
    relevant = dict.fromkeys(document for own in positives for document in own)
    places = {document: place for place, document in enumerate(relevant)}
    rows = of.encoded([documents[i] for i in places], "document", no_progress) if places else []
    for row, own in enumerate(positives):
        low = None
        if own:
            them = take(rows, [places[document] for document in own])
            low = float(compare(take(asked, [row]), them, similarity).min())
        yield ranked.documents[row], ranked.scores[row], low
