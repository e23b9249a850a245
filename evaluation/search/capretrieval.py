"""BM25 under the protocol of CapRetrieval (arXiv 2506.08592), as its run.py has it.

BM25Okapi of rank-bm25 with its defaults; scores below 0.001 do not count as found, and equal ones
stand in the order of the corpus.

| language | documents | queries (lower-cased, white space normalised) |
|---|---|---|
| Chinese | jieba, cut for search, as they are | jieba |
| any other | NLTK's words, Porter's stems | the same |

Differs in one point: sentences end where Punkt sees an end without its English abbreviations, since
they are a download. With `characters` every character is a token, lower-cased.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from retgen.progress import Progress
from retgen.search.base import Array, CandidateSet, System, SystemRanks
from retgen.search.collection import Collection
from retgen.search.lexical import okapi
from retgen.search.rankings import Rankings

Cut = Callable[[str], list[str]]
_BLOCK = 8192
_QUERIES = 50  # between two reports of progress
_FOUND = 1e-3
_HAN = re.compile(r"[\u3400-\u9fff]")
_TIES = (
    "equal scores stand in the order of the corpus, as in the paper's code; who reads runs/*.trec "
    "may break ties by id"
)


class Protocol(NamedTuple):
    """How documents and queries are cut; `described` is what the details say of it."""

    document: Cut
    query: Cut
    described: dict[str, Any]


class CapRetrievalBM25:
    """The retrievers `bm25-capretrieval` and `bm25-capretrieval-characters`."""

    noise = 0.0

    def __init__(self, name: str) -> None:
        self._name = name

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        cut = protocol(self._name, [query.text for query in collection.queries])
        terms: list[list[str]] = []
        for first, texts in collection.blocks(_BLOCK):
            terms += map(cut.document, texts)
            progress(f"{self._name}: documents", first + len(texts), collection.documents)
        index = okapi(terms)
        documents = np.full((len(collection.queries), depth), -1, np.int64)
        scores = np.zeros(documents.shape, np.float32)
        for row, query in enumerate(collection.queries):
            values = matching_scores(index, cut.query(query.text))
            order = np.argsort(-values, kind="stable")[:depth]
            order = order[values[order] > 0]
            documents[row, : len(order)], scores[row, : len(order)] = order, values[order]
            if (row + 1) % _QUERIES == 0:
                progress(f"{self._name}: queries", row + 1, len(collection.queries))
        yield SystemRanks(self._name, None, Rankings(documents, scores), cut.described)

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        cut = protocol(self._name, [group.query for group in groups])
        texts = list(dict.fromkeys(text for group in groups for text in group.texts))
        rows = {text: row for row, text in enumerate(texts)}
        index = okapi([cut.document(text) for text in texts])
        return [
            matching_scores(index, cut.query(group.query))[[rows[text] for text in group.texts]]
            for group in groups
        ]

    def systems(self) -> list[System]:
        """Itself, as a scorer of candidate sets."""
        return [System(None, self)]


def matching_scores(index: Any, query: list[str]) -> Array:
    """(documents,) scores of a query, 0 for what does not count as found."""
    values = np.asarray(index.get_scores(query), np.float64)
    return np.where(values >= _FOUND, values, 0)


def protocol(name: str, queries: Sequence[str]) -> Protocol:
    """The protocol of a name for the language of some queries: Chinese if most hold Han."""
    chinese = 2 * sum(bool(_HAN.search(query)) for query in queries) > len(queries)
    details: dict[str, Any] = {
        "protocol": "CapRetrieval, arXiv 2506.08592",
        "language": "Chinese" if chinese else "English",
        "stopwords": None,
        "stemmer": None if chinese else "Porter, NLTK",
    }
    if name.endswith("-characters"):
        details |= {"tokenizer": "characters", "stemmer": None, "notes": [_TIES]}
        return Protocol(_characters, _characters, details)
    if chinese:
        words = "jieba: documents as they are and cut for search, queries lower-cased"
        details |= {"tokenizer": words, "notes": [words, _TIES]}
        return Protocol(_jieba().lcut_for_search, lambda q: _jieba().lcut(_normal(q)), details)
    words = "NLTK's words and Porter's stems, sentences by Punkt without its abbreviations"
    details |= {"tokenizer": words, "notes": [words, _TIES]}
    return Protocol(_english(), lambda q: _english()(_normal(q)), details)


def _normal(text: str) -> str:
    return " ".join(text.lower().split())


def _characters(text: str) -> list[str]:
    return list(_normal(text))


@cache
def _jieba() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own deprecated calls
        import jieba

    cutter = jieba.Tokenizer()
    # what its initialize() does, but for messages and a cache in the folder that all users share
    cutter.FREQ, cutter.total = cutter.gen_pfdict(cutter.get_dict_file())
    cutter.initialized = True
    return cutter


@cache
def _english() -> Cut:
    from nltk.stem.porter import PorterStemmer
    from nltk.tokenize.destructive import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    sentences, words, stem = (
        PunktSentenceTokenizer(),
        NLTKWordTokenizer(),
        cache(PorterStemmer().stem),
    )
    return lambda text: [
        stem(word) for sentence in sentences.tokenize(text) for word in words.tokenize(sentence)
    ]
