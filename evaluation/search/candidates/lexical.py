"""Lexical scorers: BM25 as the paper's code has it, and three that count words over all documents.

All but the first take their statistics from the distinct texts of one call, so a call holds the
documents of a whole collection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.search.candidates.sets import CandidateSet
from retgen.evaluation.search.capretrieval import matching_scores, protocol
from retgen.evaluation.search.lexical import TFIDFIndex, stem_all
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


class BM25PaperScorer:
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


class BM25Scorer:
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
            for terms in stem_all(list(texts))
        ]
        index = bm25s.BM25()
        index.index((documents, vocabulary or {"": 0}), show_progress=False)
        data, indices, indptr = (index.scores[key] for key in ("data", "indices", "indptr"))
        shape = (len(texts), len(indptr) - 1)
        weights = sparse.csc_array((data, indices, indptr), shape=shape).tocsr()
        queries = list(dict.fromkeys(group.query for group in groups))
        asked = {
            query: Counter(vocabulary[term] for term in terms if term in vocabulary)
            for query, terms in zip(queries, stem_all(queries), strict=True)
        }
        return _summed(groups, weights, texts, asked)


class TFIDFScorer:
    """Cosines of tf-idf vectors, as the retriever of that name."""

    name = "tfidf"
    noise = 1e-6  # weights are 32-bit floats

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        texts = _distinct(groups)
        index = TFIDFIndex(texts)
        queries = list(dict.fromkeys(group.query for group in groups))
        asked = dict(zip(queries, index.weighted(queries), strict=True))
        return _summed(groups, index.weights, texts, asked)


class RankBM25Scorer:
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


class CapRetrievalScorer:
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
    asked: Mapping[str, Mapping[int, float]],
) -> list[NDArray[np.float64]]:
    """Scores of groups, of `weights` (texts, vocabulary) in sorted rows: a query's terms, summed.

    `asked`: by query, how much each of its terms weighs. Only terms that match are added, in the
    order of the vocabulary: two documents that share the same words with a query get the same score
    to the last digit, and tie.
    """
    times = np.zeros(weights.shape[1])
    result = []
    for group in groups:
        times[:] = 0
        times[list(asked[group.query])] = list(asked[group.query].values())
        scores = np.zeros(len(group.texts))
        for i, text in enumerate(group.texts):
            row = slice(*weights.indptr[texts[text] : texts[text] + 2])
            matched = times[weights.indices[row]]
            there = matched > 0
            scores[i] = (weights.data[row][there] * matched[there]).sum()
        result.append(scores)
    return result
