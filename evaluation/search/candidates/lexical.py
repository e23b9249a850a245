"""Lexical scorers: BM25 as the paper's code has it, and three that count words over all documents.

All but the first take their statistics from the distinct texts of one call, so a call holds the
documents of a whole collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.search.candidates.sets import CandidateSet
from retgen.evaluation.search.capretrieval import matching_scores, protocol
from retgen.evaluation.search.lexical import stemmed
from retgen.progress import Progress
from retgen.tokenizer import tokens

_REPORT = 2000  # groups between two reports of progress


def _reported(
    groups: Sequence[CandidateSet], name: str, progress: Progress
) -> Iterator[CandidateSet]:
    """The groups, reported as they are done."""
    for number, group in enumerate(groups):
        yield group
        if number % _REPORT == 0:
            progress(name, number, len(groups))


class BM25Paper:
    """BM25Okapi of rank-bm25 with its defaults, built anew over every candidate set.

    That is what the paper's code does, over lower-cased words between white space. Of two documents
    a word in just one has an IDF of 0, so what the positive has and the hard negative lacks does
    not count, and what counts is how often shared words stand in the shorter document. In larger
    sets a word in half of the documents does not count, and of those in more than half each has a
    quarter of the mean IDF, which may be below 0.
    """

    name = "bm25-paper"
    noise = 0.0

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        from rank_bm25 import BM25Okapi

        indices: dict[tuple[str, ...], Any] = {}
        result = []
        for group in _reported(groups, self.name, progress):
            index = indices.get(group.texts)
            if index is None:
                index = BM25Okapi([text.lower().split() for text in group.texts])
                indices[group.texts] = index
            # a term without weight adds 0 to every score, and takes as long as any other
            terms = [term for term in group.query.lower().split() if index.idf.get(term)]
            result.append(index.get_scores(terms))
        return result


class BM25:
    """bm25s with its defaults, Snowball stemmer and stopwords, as the retriever of that name."""

    name = "bm25"
    noise = 0.0

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        import bm25s
        from scipy import sparse

        texts, vocabulary = _distinct(groups), dict[str, int]()
        documents = [
            [vocabulary.setdefault(term, len(vocabulary)) for term in terms]
            for terms in stemmed(list(texts))
        ]
        index = bm25s.BM25()
        index.index((documents, vocabulary or {"": 0}), show_progress=False)
        data, indices, indptr = (index.scores[key] for key in ("data", "indices", "indptr"))
        shape = (len(texts), len(indptr) - 1)
        weights = sparse.csc_array((data, indices, indptr), shape=shape).tocsr()
        queries = list(dict.fromkeys(group.query for group in groups))
        return _summed(groups, weights, texts, queries, stemmed(queries), vocabulary)


class TFIDF:
    """The sum of the IDF, 1 + log(N / df), of the distinct words that query and document share.

    The retriever of that name reads lists of things; sentences hold none.
    """

    name = "tfidf"
    noise = 0.0

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        from scipy import sparse

        texts, vocabulary = _distinct(groups), dict[str, int]()
        rows = [
            [vocabulary.setdefault(term, len(vocabulary)) for term in dict.fromkeys(tokens(text))]
            for text in texts
        ]
        columns = np.array([column for row in rows for column in row], np.int64)
        bounds = np.cumsum([0, *map(len, rows)])
        idf = 1 + np.log(len(texts) / np.maximum(np.bincount(columns, minlength=1), 1))
        shape = (len(texts), max(len(vocabulary), 1))
        weights = sparse.csr_array((idf[columns], columns, bounds), shape=shape)
        weights.sort_indices()
        queries = list(dict.fromkeys(group.query for group in groups))
        cut = [list(dict.fromkeys(tokens(query))) for query in queries]
        return _summed(groups, weights, texts, queries, cut, vocabulary)


class RankBM25:
    """BM25Okapi of rank-bm25 over all documents, as the retriever of that name."""

    name = "rank-bm25"
    noise = 0.0

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        from rank_bm25 import BM25Okapi

        texts = _distinct(groups)
        index = BM25Okapi([tokens(text) for text in texts])
        result = []
        for group in _reported(groups, self.name, progress):
            terms = [term for term in tokens(group.query) if index.idf.get(term)]
            rows = [texts[text] for text in group.texts]
            result.append(np.array(index.get_batch_scores(terms, rows)))
        return result


class CapRetrieval:
    """BM25 over all documents under CapRetrieval's protocol, as the retriever of that name."""

    noise = 0.0

    def __init__(self, name: str) -> None:
        self.name = name

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        from rank_bm25 import BM25Okapi

        texts = _distinct(groups)
        cut = protocol(self.name, [group.query for group in groups])
        index = BM25Okapi([cut.document(text) for text in texts])
        result = []
        for group in _reported(groups, self.name, progress):
            every = matching_scores(index, cut.query(group.query))
            result.append(every[[texts[text] for text in group.texts]])
        return result


def _distinct(groups: Sequence[CandidateSet]) -> dict[str, int]:
    """Every candidate's row."""
    result: dict[str, int] = {}
    for group in groups:
        for text in group.texts:
            result.setdefault(text, len(result))
    return result


def _summed(
    groups: Sequence[CandidateSet],
    weights: Any,
    texts: dict[str, int],
    queries: Sequence[str],
    terms: Sequence[Sequence[str]],
    vocabulary: dict[str, int],
) -> list[NDArray[np.float64]]:
    """Scores of groups, of `weights` (texts, vocabulary) in sorted rows: a query's terms, summed.

    Only terms that match are added, in the order of the vocabulary: two documents that share the
    same words with a query get the same score to the last digit, and tie.
    """
    asked = {
        query: np.array([vocabulary[t] for t in cut if t in vocabulary], np.int64)
        for query, cut in zip(queries, terms, strict=True)
    }
    times = np.zeros(weights.shape[1])
    result = []
    for group in groups:
        times[:] = 0
        np.add.at(times, asked[group.query], 1)
        scores = np.zeros(len(group.texts))
        for i, text in enumerate(group.texts):
            row = slice(*weights.indptr[texts[text] : texts[text] + 2])
            matched = times[weights.indices[row]]
            there = matched > 0
            scores[i] = (weights.data[row][there] * matched[there]).sum()
        result.append(scores)
    return result
