"""What counts words: BM25 as several codes have it, and TF-IDF."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from retgen.search.base import Retriever, RetrieverType
from retgen.search.embedders.options import Options

_CAPRETRIEVAL = "bm25-capretrieval"


class Lexical(RetrieverType):
    names: ClassVar[Mapping[str, str]] = {
        "bm25": "bm25s with its defaults, English Snowball stemmer and stopwords",
        "rank-bm25": "BM25Okapi with its defaults, no stemmer, no stopwords",
        "tfidf": "cosine of tf-idf vectors as scikit-learn has them, no stemmer, no stopwords",
        _CAPRETRIEVAL: "BM25Okapi under CapRetrieval's protocol: jieba or NLTK's tokens",
        f"{_CAPRETRIEVAL}-characters": "the same over single characters",
    }

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.evaluation.search import capretrieval
        from retgen.search import lexical

        if name.startswith(_CAPRETRIEVAL):
            return capretrieval.capretrieval_bm25(name)
        return lexical.word_retriever(name)


class BM25Paper(Lexical):
    names: ClassVar[Mapping[str, str]] = {
        "bm25-paper": "BM25 built over each candidate set alone, as MultiConIR's code does"
    }
    ranks = False
