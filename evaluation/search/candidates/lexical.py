"""Lexical scorers: BM25 as the paper's code has it, and three that count words over all documents.

All but the first take their statistics from the distinct texts of one call, so a call holds the
documents of a whole collection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.search.candidates.sets import CandidateSet
from retgen.evaluation.search.capretrieval import matching_scores, protocol
from retgen.evaluation.search.lexical import TFIDFIndex, load_bm25s, stem_all
from retgen.progress import Progress
from retgen.tokenizer import tokens

_REPORT = 2000  # groups between two reports of progress

Array = NDArray[np.float64]
RowScores = Callable[[str, list[int]], Array]  # of a query: scores of some texts, by their rows


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
        for number, group in enumerate(groups):
            index = indices.get(group.texts)
            if index is None:
                index = BM25Okapi([text.lower().split() for text in group.texts])
                indices[group.texts] = index
            # a term without weight adds 0 to every score, and takes as long as any other
            terms = [term for term in group.query.lower().split() if index.idf.get(term)]
            result.append(index.get_scores(terms))
            if number % _REPORT == 0:
                progress(self.name, number, len(groups))
        return result


class WordScorer:
    """Words counted over all documents, as the retriever of that name counts them.

    `index`: of distinct texts and the queries of all sets. `noise`: see `Scorer`.
    """

    def __init__(
        self,
        name: str,
        index: Callable[[list[str], list[str]], RowScores],
        noise: float = 0.0,
    ) -> None:
        self.name, self.noise, self._index = name, noise, index

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        texts = list(dict.fromkeys(text for group in groups for text in group.texts))
        rows = {text: row for row, text in enumerate(texts)}
        scores = self._index(texts, [group.query for group in groups])
        result = []
        for number, group in enumerate(groups):
            result.append(scores(group.query, [rows[text] for text in group.texts]))
            if number % _REPORT == 0:
                progress(self.name, number, len(groups))
        return result


def word_scorer(name: str) -> WordScorer:
    """The scorer of a retriever that counts words."""
    match name:
        case "bm25":
            return WordScorer(name, _bm25)
        case "tfidf":
            return WordScorer(name, _tfidf, noise=1e-6)  # weights are 32-bit floats
        case "rank-bm25":
            return WordScorer(name, _rank_bm25)
    return WordScorer(name, partial(_capretrieval, name))


def _bm25(texts: list[str], queries: list[str]) -> RowScores:
    """bm25s with its defaults, Snowball stemmer and stopwords."""
    from scipy import sparse

    vocabulary: dict[str, int] = {}
    documents = [
        [vocabulary.setdefault(term, len(vocabulary)) for term in terms]
        for terms in stem_all(texts)
    ]
    index = load_bm25s().BM25()
    index.index((documents, vocabulary or {"": 0}), show_progress=False)
    data, indices, indptr = (index.scores[key] for key in ("data", "indices", "indptr"))
    shape = (len(texts), len(indptr) - 1)
    weights = sparse.csc_array((data, indices, indptr), shape=shape).tocsr()
    queries = list(dict.fromkeys(queries))
    asked = {
        query: Counter(vocabulary[term] for term in terms if term in vocabulary)
        for query, terms in zip(queries, stem_all(queries), strict=True)
    }
    return _summed(weights, asked)


def _tfidf(texts: list[str], queries: list[str]) -> RowScores:
    index, queries = TFIDFIndex([texts]), list(dict.fromkeys(queries))
    return _summed(index.weights, dict(zip(queries, index.terms(queries), strict=True)))


def _rank_bm25(texts: list[str], queries: list[str]) -> RowScores:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([tokens(text) for text in texts])

    def scores(query: str, rows: list[int]) -> Array:
        terms = [term for term in tokens(query) if index.idf.get(term)]
        return np.array(index.get_batch_scores(terms, rows))

    return scores


def _capretrieval(name: str, texts: list[str], queries: list[str]) -> RowScores:
    from rank_bm25 import BM25Okapi

    cut = protocol(name, queries)
    index = BM25Okapi([cut.document(text) for text in texts])
    return lambda query, rows: matching_scores(index, cut.query(query))[rows]


def _summed(weights: Any, asked: Mapping[str, Mapping[int, float]]) -> RowScores:
    """`weights` (texts, vocabulary) in sorted rows: a query's terms, summed.

    `asked`: by query, how much each of its terms weighs. Only terms that match are added, in the
    order of the vocabulary: two documents that share the same words with a query get the same score
    to the last digit, and tie.
    """
    times = np.zeros(weights.shape[1])

    def scores(query: str, rows: list[int]) -> Array:
        times[:] = 0
        times[list(asked[query])] = list(asked[query].values())
        result = np.zeros(len(rows))
        for i, text in enumerate(rows):
            row = slice(*weights.indptr[text : text + 2])
            matched = times[weights.indices[row]]
            there = matched > 0
            result[i] = (weights.data[row][there] * matched[there]).sum()
        return result

    return scores
