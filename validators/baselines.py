"""Query-blind baselines: what a ranking reaches that never reads the query.

A set that such a ranking solves tests nothing (in LIMIT the 50,000 documents sorted by summed IDF
have all positives among the first 46). Scores are recall@k, averaged over the queries, with
trec_eval's order: score descending, then document id descending.

The terms of every document are kept while the corpus is scanned, since a document's IDF is known
only afterwards: as arrays, which lie on disk once their part is scanned, so memory stays flat. They
are scored batch by batch, by several processes where there are many.
"""

from __future__ import annotations

import heapq
import pickle
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.tokenizer import STOPWORDS, length, tokens
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleState
from retgen.validators.similar import Containment, hash_words
from retgen.work import Engine, Local

CUTOFFS = (2, 10, 20, 100)
HIGH = 0.5  # recall of a random order from which on a cutoff shows nothing
GROUP = 16 << 20  # bytes of terms that are scored at a time
Terms = NDArray[np.uint32] | NDArray[np.uint16]


class SpooledBatch(NamedTuple):
    """What the rankings need of some documents."""

    ids: NDArray[np.uint8]  # a pickled list
    counts: NDArray[np.uint32]  # (documents,) terms of each document
    terms: Terms  # (sum of counts,)
    lengths: NDArray[np.uint32]  # (documents,) characters of each text


@dataclass
class TermSpool(RuleState):
    """Document frequencies so far, and the terms of the documents."""

    frequencies: NDArray[np.int64]  # (vocabulary,)
    documents: int = 0
    words: Counter[int] = field(default_factory=Counter)  # of a text -> texts
    batches: list[SpooledBatch] = field(default_factory=list)


class TermRule(CorpusRule):
    """Base of the rules that turn a document into terms. Subclasses call `spool`."""

    vocabulary: int
    state: TermSpool

    def start(self) -> None:
        self.state = TermSpool(np.zeros(self.vocabulary, np.int64))

    def spool(
        self,
        batch: Batch,
        counts: NDArray[np.uint32],
        terms: Terms,
        *,
        distinct: bool = False,
        words: Iterable[int] | None = None,
    ) -> None:
        """Keep the terms of a batch: `counts` (documents,), `terms` (sum of counts,).

        `distinct`: no document repeats a term, which saves a sort. `words`: of each text, where the
        rule knows them.
        """
        state = self.state
        once: NDArray[np.integer] = terms
        if not distinct:
            # 32 bits are sorted several times as fast
            wide = np.uint64 if len(counts) * self.vocabulary > 1 << 32 else np.uint32
            bases = np.arange(len(counts)) * self.vocabulary
            keys = np.repeat(bases.astype(wide), counts) + terms
            keys.sort()
            first = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
            once = keys[first] % np.array(self.vocabulary, wide)
        if self.vocabulary <= len(once):
            state.frequencies += np.bincount(once, minlength=self.vocabulary)
        else:
            np.add.at(state.frequencies, once, 1)
        state.documents += len(batch)
        state.words.update(map(length, batch.texts) if words is None else words)
        if self.vocabulary <= 1 << 16:
            terms = terms.astype(np.uint16)  # half the size on disk
        ids = np.frombuffer(pickle.dumps(batch.ids), np.uint8)
        lengths = np.fromiter(map(len, batch.texts), np.uint32, len(batch))
        state.batches.append(SpooledBatch(ids, counts, terms, lengths))

    @abstractmethod
    def query_terms(self) -> list[NDArray[np.int64]]:
        """The terms of each query, all of which a document must hold to contain the query."""

    def findings(self) -> Iterable[Finding]:
        return ()


class WordTerms(TermRule):
    """The words of any text, hashed to 20 bits: a clash only adds two document frequencies."""

    name = "terms"
    vocabulary = 1 << 20

    def scan(self, batch: Batch) -> None:
        hashes, counts = batch.word_hashes()
        terms = (hashes % np.uint64(self.vocabulary)).astype(np.uint32)
        self.spool(batch, counts.astype(np.uint32), terms)

    def query_terms(self) -> list[NDArray[np.int64]]:
        asked = (q for q in self.judgements.queries if q.query_id in self.judgements.positives)
        words = ([w for w in tokens(query.text) if w not in STOPWORDS] for query in asked)
        terms = (hash_words([some])[0] % np.uint64(self.vocabulary) for some in words)
        return [np.unique(some).astype(np.int64) for some in terms]


def query_blind_baselines(
    spool: TermSpool,
    queries: list[NDArray[np.int64]],
    judgements: Judgements,
    also: tuple[int, ...] = (),
    engine: Engine | None = None,
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
    for name, top in query_blind_rankings(spool, queries, depth, engine).items():
        gains = np.cumsum([share.get(doc_id, 0.0) for doc_id in top])
        rankings[name] = {f"recall@{k}": round(float(gains[k - 1]), 6) for k in cutoffs}
    return with_best({f"recall@{k}": round(k / total, 6) for k in cutoffs}, rankings)


def with_best(
    random: Mapping[str, float | None],
    rankings: Mapping[str, Mapping[str, float]],
    measure: str = "",
) -> dict[str, Any]:
    """Both, and "best": of each measure the highest value that some ranking has.

    Its "ranking" has that of `measure`, by default of the `headline`.
    """
    best = None
    if rankings and random:
        at = measure or headline(random, rankings) or list(random)[-1]
        high = {name: best_at(rankings, name)[1] for name in random}
        best = {"ranking": best_at(rankings, at)[0], **high}
    return {"random": dict(random), "rankings": dict(rankings), "best": best}


def best_at(rankings: Mapping[str, Mapping[str, float]], measure: str) -> tuple[str, float]:
    """The ranking with the highest value of a measure, and the value."""
    every = ((name, of.get(measure, 0.0)) for name, of in rankings.items())
    return max(every, key=lambda one: one[1])


def headline(
    random: Mapping[str, float | None], rankings: Mapping[str, Mapping[str, float]]
) -> str | None:
    """The measure by which query-blind rankings are spoken of: the deepest that one of them solves.

    Where none does, the deepest at which random order is not `HIGH`; None where it is at all.
    """
    if not rankings:
        return None
    told = [name for name, chance in random.items() if "@" not in name or (chance or 0) < HIGH]
    solved = [name for name in told if solves(name, best_at(rankings, name)[1], random)]
    return next(reversed(solved or told), None)


def solves(measure: str, score: float | None, random: Mapping[str, float | None]) -> bool:
    """Whether a query-blind ranking is far above chance by a measure.

    Of recall twice chance, and a half at least, where chance is not `HIGH`; of a win rate, whose
    chance is a half, three quarters.
    """
    chance = random.get(measure) or 0.0
    if score is None or ("@" in measure and chance >= HIGH):
        return False
    return score >= max(0.5, min(2 * chance, (1 + chance) / 2))


_Top = list[tuple[float, str]]


def query_blind_rankings(
    spool: TermSpool,
    queries: Sequence[NDArray[np.int64]],
    depth: int,
    engine: Engine | None = None,
) -> dict[str, list[str]]:
    """The ids of the first `depth` documents of each ranking, best first. `engine`: who scores."""
    tops: dict[str, _Top] = {}
    groups = ((str(number), group) for number, group in enumerate(_groups(spool.batches)))
    for _, result in (engine or Local(1)).map(_tops, (_Scores(spool, queries), depth), groups):
        for name, top in pickle.loads(result).items():
            tops[name] = heapq.nlargest(depth, [*tops.get(name, []), *top])
    return {name: [doc_id for _, doc_id in top] for name, top in tops.items()}


def _groups(batches: Sequence[SpooledBatch]) -> Iterator[list[SpooledBatch]]:
    group: list[SpooledBatch] = []
    size = 0
    for one in batches:
        group.append(one)
        size += sum(column.nbytes for column in one)
        if size >= GROUP:
            yield group
            group, size = [], 0
    yield group


def _tops(scoring: tuple[_Scores, int], batches: Sequence[SpooledBatch]) -> bytes:
    """The best of some documents in each ranking, pickled."""
    scores, depth = scoring
    tops: dict[str, _Top] = {}
    for batch in batches:
        ids = pickle.loads(batch.ids.data)
        for name, values in scores.of(batch).items():
            top = tops.get(name, [])
            least = top[-1][0] if 0 < depth <= len(top) else -np.inf
            new = ((float(values[i]), ids[i]) for i in np.flatnonzero(values >= least).tolist())
            tops[name] = heapq.nlargest(depth, chain(top, new))
    return pickle.dumps(tops)


class _Scores:
    """What each document gets in each ranking."""

    def __init__(self, spool: TermSpool, queries: Sequence[NDArray[np.int64]]) -> None:
        frequencies = np.maximum(spool.frequencies, 1)
        self.idf = np.log(max(spool.documents, 1) / frequencies)
        distinct = np.unique(np.concatenate([*queries, np.zeros(0, np.int64)]))
        self.queried = np.zeros(len(frequencies))
        self.queried[distinct] = 1
        self.contained: Containment | None = None
        if any(len(terms) > 1 for terms in queries):
            self.column = np.full(len(frequencies), -1)
            self.column[distinct] = np.arange(len(distinct))
            sets = [np.unique(self.column[terms]).tolist() for terms in queries if len(terms)]
            self.contained = Containment(sets, frequencies[distinct])

    def of(self, batch: SpooledBatch) -> dict[str, NDArray[np.float64]]:
        """(documents,) scores by ranking."""
        starts = np.concatenate([[0], np.cumsum(batch.counts, dtype=np.int64)])
        scores = {
            "summed IDF": _row_sums(self.idf[batch.terms], starts),
            "longest first": batch.lengths.astype(np.float64),
            "shortest first": -batch.lengths.astype(np.float64),
            "documents with most query words": _row_sums(self.queried[batch.terms], starts),
        }
        if self.contained is not None:
            columns = self.column[batch.terms]
            rows = np.repeat(np.arange(len(batch.counts)), batch.counts)
            total = np.zeros(len(batch.counts))
            for documents, _ in self.contained.pairs(rows[columns >= 0], columns[columns >= 0]):
                total += np.bincount(documents, minlength=len(total))
            scores["documents with most whole queries"] = total
        return scores


def _row_sums(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    # rounded, so that two documents with the same terms in another order tie as they should
    sums = np.concatenate([[0.0], np.cumsum(values)])
    rounded: NDArray[np.float64] = np.round(sums[starts[1:]] - sums[starts[:-1]], 6)
    return rounded
