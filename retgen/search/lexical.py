"""Lexical retrievers: BM25 in two implementations, and TF-IDF.

All cut texts as their scripts ask for (`retgen.tokenizer`), and say so in the details. A document
that shares no term with a query is not ranked. Candidate sets are scored with statistics of all
texts of one call, but for `bm25-paper`, which has an index a set.
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from retgen.on_disk import DiskList, joined
from retgen.progress import Progress
from retgen.search.base import Array, CandidateSet, System, SystemRanks
from retgen.search.collection import Collection
from retgen.search.rankings import Rankings, corpus_order
from retgen.tokenizer import is_unspaced, named_scripts, stems, tokens, words_only

BLOCK = 8192
_QUERIES = 50  # between two reports of progress
_SETS = 2000


class WordIndex(Protocol):
    """Texts by their words. `terms` are whatever it takes of queries, empty where nothing is."""

    def terms(self, queries: list[str]) -> Sequence[Any]: ...
    def scores(self, query: Any) -> NDArray[Any]:
        """(texts,) of the terms of a query."""


class WordRetriever:
    """An index of words as a retriever, and as a scorer of candidate sets.

    `index`: of blocks of texts, for some queries; `described`: details, from the queries and the
    scripts without spaces of all texts. `noise`: see `Scorer`. `corpus_order`: equal scores stand
    in the order of the corpus, as some papers' code has them. `alone`: each candidate set has an
    index of its own, else all of a call have one.
    """

    def __init__(
        self,
        name: str,
        index: Callable[[Iterable[list[str]], list[str]], WordIndex],
        described: Callable[[list[str], set[str]], dict[str, Any]],
        noise: float = 0.0,
        *,
        corpus_order: bool = False,
        alone: bool = False,
    ) -> None:
        self._name, self._index, self.noise = name, index, noise
        self._described, self._corpus_order, self._alone = described, corpus_order, alone

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        texts = [query.text for query in collection.queries]
        scripts = set(named_scripts(texts))

        def blocks() -> Iterator[list[str]]:
            for first, block in collection.blocks(BLOCK):
                scripts.update(named_scripts(block))
                yield block
                progress(f"{self._name}: documents", first + len(block), collection.documents)

        index = self._index(blocks(), texts)
        ordered = corpus_order(collection.documents) if self._corpus_order else None
        queries, scored = index.terms(texts), index.scores
        ranked = rank_all(collection, depth, queries, scored, self._name, progress, ordered)
        yield SystemRanks(self._name, None, ranked, self._described(texts, scripts))

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        every = tuple(dict.fromkeys(text for group in groups for text in group.texts))
        sets: dict[tuple[str, ...], dict[str, list[int]]] = {}  # texts of an index -> query -> sets
        for number, group in enumerate(groups):
            of = sets.setdefault(group.texts if self._alone else every, {})
            of.setdefault(group.query, []).append(number)
        result, done = [np.zeros(len(group.texts)) for group in groups], 0
        for texts, numbers in sets.items():
            index = self._index([list(texts)], list(numbers))
            places = {text: row for row, text in enumerate(texts)}
            terms = index.terms(list(numbers))
            for query, of_query in zip(terms, numbers.values(), strict=True):
                if len(query):
                    scores = index.scores(query).astype(np.float64)
                    for number in of_query:
                        result[number] = scores[[places[text] for text in groups[number].texts]]
                if (done := done + 1) % _SETS == 0:
                    progress(self._name, done, len(groups))
        return result

    def systems(self) -> list[System]:
        """Itself."""
        return [System(None, self)]


def word_retriever(name: str) -> WordRetriever:
    """The retriever of one of the names `bm25`, `rank-bm25`, `tfidf` and `bm25-paper`.

    `bm25-paper` is built anew over every candidate set. That is what MultiConIR's code does, over
    lower-cased words between white space. Of two documents a word in just one has an IDF of 0, so
    what the positive has and the hard negative lacks does not count, and what counts is how often
    shared words stand in the shorter document. In larger sets a word in half of the documents does
    not count, and of those in more than half each has a quarter of the mean IDF, which may be below
    0.
    """
    if name == "bm25":
        described = partial(_described, "bm25s' English list", "Snowball, English")
        return WordRetriever(name, lambda b, _: BM25Index(map(stem_all, b)), described)
    described = partial(_described, None, None)
    if name == "tfidf":  # weights are 32-bit floats
        return WordRetriever(name, lambda b, _: TFIDFIndex(b), described, 1e-6)
    if name == "bm25-paper":
        return WordRetriever(
            name, lambda b, _: OkapiIndex(b, _words, _words), described, alone=True
        )
    return WordRetriever(name, lambda b, _: OkapiIndex(b, tokens, tokens), described)


def _words(text: str) -> list[str]:
    return text.lower().split()


def _described(
    stopwords: str | None, stemmer: str | None, queries: list[str], scripts: set[str]
) -> dict[str, Any]:
    details: dict[str, Any] = {"tokenizer": "words", "stopwords": stopwords, "stemmer": stemmer}
    if scripts:
        cut = f"{', '.join(sorted(scripts))} cut into characters and pairs of neighbours"
        details["tokenizer"] = f"words; {cut}"
        details["notes"] = [f"{cut}; stopwords and stemmer are English"] if stemmer else [cut]
    return details


class BM25Index:
    """bm25s with its defaults (Lucene's formula, k1 1.5, b 0.75), over what `stem_all` gives."""

    def __init__(self, blocks: Iterable[list[list[str]]]) -> None:
        self._vocabulary: dict[str, int] = {}
        documents = DiskList[list[int]](
            dump=lambda terms: array("i", terms).tobytes(),
            load=lambda data: array("i", data).tolist(),
        )
        number = self._vocabulary
        for texts in blocks:
            for terms in texts:
                documents.append([number.setdefault(t, len(number)) for t in terms])
        self._index: Any = load_bm25s().BM25()
        if number:  # else no query has a term, and bm25s would divide by a mean length of 0
            self._index.index(SimpleNamespace(ids=documents, vocab=number), show_progress=False)
            held = self._index.scores
            held["data"] = joined([held["data"]], np.float32)
            held["indices"] = joined([held["indices"]], np.int32)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        held = self._index.scores
        for name, one in held.items():
            if isinstance(one, np.ndarray):
                # of unpickled arrays the dtype is another object than numpy's own, with which
                # np.add.at takes 16 times as long
                held[name] = one.view(one.dtype.str)

    def terms(self, queries: list[str]) -> list[NDArray[np.int32]]:
        """The terms of queries that stand in some document, as numbers."""
        known = self._vocabulary
        return [
            np.array([known[t] for t in row if t in known], np.int32) for row in stem_all(queries)
        ]

    def scores(self, query: NDArray[np.int32]) -> NDArray[np.float32]:
        """(documents,) of a query's terms, of which there must be some."""
        result: NDArray[np.float32] = self._index.get_scores_from_ids(query)
        return result


def load_bm25s() -> Any:
    """The module. It starts JAX where that is installed, which then must not reserve a GPU.

    By default JAX takes three quarters of a device's memory when it starts, and a training that
    follows in this process finds none.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import bm25s

    return bm25s


def stem_all(texts: list[str]) -> list[list[str]]:
    """The terms of texts as `BM25` has them: stemmed, without stopwords.

    Where words are all there is to a text, they are bm25s' own: of two letters and more.
    """
    import Stemmer

    bm25s = load_bm25s()
    result: list[list[str]] = bm25s.tokenize(
        texts,
        stopwords="en",
        stemmer=Stemmer.Stemmer("english"),
        return_ids=False,
        show_progress=False,
    )
    for row, text in enumerate(texts):
        if not words_only(text):
            kept = (t for t in tokens(text) if is_unspaced(t) or len(t) > 1)
            result[row] = stems([t for t in kept if t not in bm25s.stopwords.STOPWORDS_EN])
    return result


class OkapiIndex:
    """BM25Okapi of rank-bm25 with its defaults over tokens of documents and of queries.

    Scores below `least` do not count as found.
    """

    def __init__(
        self,
        blocks: Iterable[list[str]],
        document: Callable[[str], list[str]],
        query: Callable[[str], list[str]],
        least: float = -math.inf,
    ) -> None:
        from rank_bm25 import BM25Okapi

        documents = [document(text) for texts in blocks for text in texts]
        # it cannot index a corpus without a token; no query has this one
        self.index = BM25Okapi(documents if any(documents) else [[""]] * len(documents))
        self._query, self._least = query, least

    def terms(self, queries: list[str]) -> list[list[str]]:
        """The tokens of queries; one without weight adds 0, and takes as long as any other."""
        return [[one for one in self._query(q) if self.index.idf.get(one)] for q in queries]

    def scores(self, query: list[str]) -> Array:
        """(texts,) of a query's tokens."""
        values = np.asarray(self.index.get_scores(query), np.float64)
        return np.where(values >= self._least, values, 0)


class TFIDFIndex:
    """Cosines of tf-idf vectors over plain tokens, as scikit-learn's TfidfVectorizer has them:
    tf (1 + ln((1 + N) / (1 + df))) of every word, scaled to length 1.

    `weights` (texts, vocabulary): a sparse matrix by rows.
    """

    def __init__(self, blocks: Iterable[Iterable[str]]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        # the vectorizer takes no vocabulary without a word
        self._vectorizer: Any = TfidfVectorizer(
            analyzer=lambda text: tokens(text) or [""], dtype=np.float32
        )
        self.weights: Any = self._vectorizer.fit_transform(
            text for texts in blocks for text in texts
        )

    def terms(self, queries: list[str]) -> list[dict[int, float]]:
        """The weight of each column in queries."""
        rows = self._vectorizer.transform(queries)
        cut = [slice(*rows.indptr[i : i + 2]) for i in range(len(queries))]
        return [
            dict(zip(rows.indices[of].tolist(), rows.data[of].tolist(), strict=True))
            if tokens(query)
            else {}
            for query, of in zip(queries, cut, strict=True)
        ]

    def scores(self, query: Mapping[int, float]) -> Array:
        """(texts,) the cosine of each with a query."""
        vector = np.zeros(self.weights.shape[1])
        vector[list(query)] = list(query.values())
        result: Array = self.weights @ vector
        return result


def rank_all(
    collection: Collection,
    depth: int,
    queries: Sequence[Any],
    score: Callable[[Any], NDArray[Any]],
    name: str,
    progress: Progress,
    priority: NDArray[np.int64] | None = None,
) -> Rankings:
    """Rank all documents that score above 0. `score`: a query, not empty, -> (documents,)."""

    def rows() -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        nothing = np.zeros(collection.documents, np.float32)
        for row, query in enumerate(queries, start=1):
            values = score(query) if len(query) else nothing
            found = np.flatnonzero(values > 0)
            yield found, values[found]
            if row % _QUERIES == 0:
                progress(f"{name}: queries", row, len(queries))

    return Rankings.of(rows(), collection, depth, priority)
