"""What counts words: BM25 as several codes have it, and TF-IDF.

`bm25-capretrieval` follows the protocol of CapRetrieval (arXiv 2506.08592), as its run.py has it:
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
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

from retgen.search.base import Retriever, RetrieverType
from retgen.search.embedders.options import Options
from retgen.search.lexical import OkapiIndex, WordRetriever, word_retriever

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
        if name.startswith(_CAPRETRIEVAL):
            return capretrieval_bm25(name)
        return word_retriever(name)


class BM25Paper(Lexical):
    names: ClassVar[Mapping[str, str]] = {
        "bm25-paper": "BM25 built over each candidate set alone, as MultiConIR's code does"
    }
    ranks = False


# --- CapRetrieval ---

Cut = Callable[[str], list[str]]
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


def capretrieval_bm25(name: str) -> WordRetriever:
    """The retriever `bm25-capretrieval` or `bm25-capretrieval-characters`."""

    def index(blocks: Iterable[list[str]], queries: list[str]) -> OkapiIndex:
        cut = protocol(name, queries)
        return OkapiIndex(blocks, cut.document, cut.query, _FOUND)

    def described(queries: list[str], scripts: set[str]) -> dict[str, Any]:
        return protocol(name, queries).described

    return WordRetriever(name, index, described, corpus_order=True)


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
