"""Floors: what a ranking reaches that never reads the query.

A set that such a ranking solves tests nothing (in LIMIT the 50,000 documents sorted by summed IDF
have all positives among the first 46). Scores are recall@k, averaged over the queries, with
trec_eval's order: score descending, then document id descending.

The terms of every document are spooled to a temporary file while the corpus is scanned, since a
document's IDF is known only afterwards; memory stays flat.
"""

from __future__ import annotations

import heapq
import os
import pickle
import tempfile
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from retgen.tokenizer import STOPWORDS, length, tokens
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, State

__all__ = ["TermSpool", "Terms", "WordTerms", "query_blind_floors", "query_blind_rankings"]

CUTOFFS = (2, 10, 20, 100)


class _SpooledBatch(NamedTuple):
    ids: list[str]
    counts: NDArray[np.uint32]  # (documents,) terms of each document
    terms: NDArray[np.uint32] | NDArray[np.uint16]  # (sum of counts,)
    lengths: NDArray[np.uint32]  # (documents,) characters of each text


@dataclass
class TermSpool(State):
    """Document frequencies so far, and the spool files of the parts."""

    vocabulary: int
    frequencies: NDArray[np.int64] = field(init=False)  # (vocabulary,)
    documents: int = 0
    words: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    paths: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.frequencies = np.zeros(self.vocabulary, np.int64)

    def merge(self, later: Self, offset: int) -> None:
        self.frequencies += later.frequencies
        self.documents += later.documents
        self.words = _add_histograms(self.words, later.words)
        self.paths += later.paths

    def batches(self) -> Iterator[_SpooledBatch]:
        """The spooled documents, in order."""
        for path in self.paths:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                while file.tell() < size:
                    yield _SpooledBatch(*pickle.load(file))


class Terms(CorpusRule):
    """Base of the rules that turn a document into terms. Subclasses call `spool`.

    `scratch`: folder of the spool files; who sets it removes it.
    """

    vocabulary: int
    state: TermSpool
    scratch: str | None = None

    def start(self) -> None:
        self.state = TermSpool(self.vocabulary)

    def spool(
        self,
        batch: Batch,
        counts: NDArray[np.uint32],
        terms: NDArray[np.uint32] | NDArray[np.uint16],
        *,
        distinct: bool = False,
    ) -> None:
        """Keep the terms of a batch: `counts` (documents,), `terms` (sum of counts,).

        `distinct`: no document repeats a term, which saves a sort.
        """
        state = self.state
        if not state.paths:
            handle, path = tempfile.mkstemp(prefix="terms-", dir=self.scratch)
            os.close(handle)
            state.paths.append(path)
        once = terms
        if not distinct:
            rows = np.repeat(np.arange(len(batch), dtype=np.int64), counts)
            once = np.unique(rows * self.vocabulary + terms) % self.vocabulary
        state.frequencies += np.bincount(once, minlength=self.vocabulary)
        state.documents += len(batch)
        words = np.array([length(text) for text in batch.texts])
        state.words = _add_histograms(state.words, np.bincount(words))
        lengths = np.array([len(text) for text in batch.texts], np.uint32)
        if self.vocabulary <= 1 << 16:
            terms = terms.astype(np.uint16)  # half the size on disk
        with open(state.paths[-1], "ab") as file:
            pickle.dump((batch.ids, counts, terms, lengths), file, protocol=5)

    @abstractmethod
    def query_terms(self) -> list[NDArray[np.int64]]:
        """The terms of each query, all of which a document must hold to contain the query."""

    def findings(self) -> Iterable[Finding]:
        return ()


class WordTerms(Terms):
    """The words of any text, hashed to 20 bits: a clash only adds two document frequencies."""

    name = "terms"
    vocabulary = 1 << 20

    def __init__(self, judgements: Judgements) -> None:
        self.judgements = judgements
        self._known: dict[str, int] = {}
        self.start()

    def _term(self, word: str) -> int:
        term = self._known.get(word)
        if term is None:
            term = self._known[word] = zlib.crc32(word.encode()) % self.vocabulary
        return term

    def scan(self, batch: Batch) -> None:
        rows = [
            [self._term(word) for word in tokens(f"{title} {text}")]
            for title, text in zip(batch.titles, batch.texts, strict=True)
        ]
        counts = np.array([len(row) for row in rows], np.uint32)
        self.spool(batch, counts, np.array([term for row in rows for term in row], np.uint32))

    def query_terms(self) -> list[NDArray[np.int64]]:
        return [
            np.array(
                sorted({self._term(w) for w in tokens(query.text) if w not in STOPWORDS}), np.int64
            )
            for query in self.judgements.queries
            if query.query_id in self.judgements.positives
        ]


def query_blind_floors(
    spool: TermSpool,
    queries: list[NDArray[np.int64]],
    judgements: Judgements,
    also: tuple[int, ...] = (),
) -> dict[str, Any]:
    """recall@k of a random order and of the query-blind rankings; fractions.

    `queries`: the terms of each query. `also`: further cutoffs. Returns
    {"random": {"recall@2": x, ...}, "rankings": {name: {...}}, "best": {"ranking", ...}}.
    """
    total = spool.documents
    # finding everything in the whole corpus says nothing
    cutoffs = sorted({k for k in (*CUTOFFS, *also) if 0 < k < total})
    depth = max(cutoffs, default=0)
    share: dict[str, float] = {}  # document -> what finding it adds to the mean recall
    for docs in judgements.positives.values():
        for doc_id in docs:
            share[doc_id] = share.get(doc_id, 0.0) + 1 / len(docs) / len(judgements.positives)
    rankings = {}
    for name, top in query_blind_rankings(spool, queries, depth).items():
        gains = np.cumsum([share.get(doc_id, 0.0) for doc_id in top])
        rankings[name] = {f"recall@{k}": round(float(gains[k - 1]), 6) for k in cutoffs}
    best = max(rankings, key=lambda name: tuple(rankings[name].values()), default=None)
    return {
        "random": {f"recall@{k}": round(k / total, 6) for k in cutoffs},
        "rankings": rankings,
        "best": {"ranking": best, **rankings[best]} if best else None,
    }


_Top = list[tuple[float, str]]


def query_blind_rankings(
    spool: TermSpool, queries: list[NDArray[np.int64]], depth: int
) -> dict[str, list[str]]:
    """The ids of the first `depth` documents of each ranking, best first."""
    frequencies = np.maximum(spool.frequencies, 1)
    idf = np.log(max(spool.documents, 1) / frequencies)
    queried = np.zeros(spool.vocabulary, bool)
    for terms in queries:
        queried[terms] = True
    several = [terms for terms in queries if len(terms) > 1]
    tops: dict[str, _Top] = {}
    for batch in spool.batches():
        starts = np.concatenate([[0], np.cumsum(batch.counts, dtype=np.int64)])
        scores = {
            "summed IDF": _row_sums(idf[batch.terms], starts),
            "longest first": batch.lengths.astype(np.float64),
            "shortest first": -batch.lengths.astype(np.float64),
            "most queried words": _row_sums(queried[batch.terms].astype(np.float64), starts),
        }
        if several:
            scores["most queries contained"] = _contained(batch, starts, queries)
        for name, values in scores.items():
            tops[name] = _merge_top(tops.get(name, []), values, batch.ids, depth)
    return {name: [doc_id for _, doc_id in top] for name, top in tops.items()}


def _row_sums(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    # rounded, so that two documents with the same terms in another order tie as they should
    sums = np.concatenate([[0.0], np.cumsum(values)])
    rounded: NDArray[np.float64] = np.round(sums[starts[1:]] - sums[starts[:-1]], 6)
    return rounded


def _contained(
    batch: _SpooledBatch, starts: NDArray[np.int64], queries: list[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """How many queries each document contains whole: (documents,)."""
    distinct, column = np.unique(np.concatenate(queries), return_inverse=True)
    bounds = np.cumsum([len(terms) for terms in queries])[:-1]
    needed = np.split(column, bounds)
    place = np.searchsorted(distinct, batch.terms)
    place[place == len(distinct)] = 0
    hit = distinct[place] == batch.terms
    rows = np.repeat(np.arange(len(batch.counts)), batch.counts)
    present = np.zeros((len(batch.counts), len(distinct)), bool)
    present[rows[hit], place[hit]] = True
    total = np.zeros(len(batch.counts))
    by_size: dict[int, list[NDArray[np.int64]]] = {}
    for terms in needed:
        if len(terms):
            by_size.setdefault(len(terms), []).append(terms)
    for group in by_size.values():
        index = np.array(group)  # (queries of this size, terms)
        for block in range(0, len(index), 256):
            total += present[:, index[block : block + 256]].all(axis=2).sum(axis=1)
    return total


def _merge_top(top: _Top, values: NDArray[np.float64], ids: list[str], depth: int) -> _Top:
    if len(top) >= depth and top:
        candidates = np.flatnonzero(values >= top[-1][0])
    else:
        candidates = np.arange(len(values))
    if len(candidates) > depth > 0:  # drop what cannot be among the first `depth`
        bar = np.partition(values[candidates], len(candidates) - depth)[-depth:].min()
        candidates = candidates[values[candidates] >= bar]
    new = [(float(values[i]), ids[i]) for i in candidates]
    return heapq.nlargest(depth, [*top, *new])


def _add_histograms(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    total = np.zeros(max(len(a), len(b)), np.int64)
    total[: len(a)] += a
    total[: len(b)] += b
    return total
