"""Retrievers by name.

| name | what |
|---|---|
| `bm25` | bm25s, its defaults, English stemmer and stopwords, tokens by script |
| `rank-bm25` | BM25Okapi of rank-bm25, its defaults, tokens by script |
| `bm25-capretrieval` | BM25Okapi under CapRetrieval's protocol: jieba for Chinese, else NLTK |
| `bm25-capretrieval-characters` | the same over single characters |
| `tfidf` | LIMIT's oracle: each listed item is a token (footnote 9); else words |
| `minilm` | all-MiniLM-L6-v2 from a PyPI package, no network |
| `static:minilm` | its word embeddings alone, averaged |
| a folder, a Hub id | any sentence-transformers model |
| `mteb:NAME` | MTEB's loader with its prompts |
| `late:MODEL` | late interaction: MaxSim over token embeddings |
| `hybrid:A+B` | reciprocal rank fusion |
| `rerank:FIRST+CROSSENCODER` | the first stage's best documents, scored by a cross-encoder |
"""

from __future__ import annotations

from retgen.evaluation.embedders.options import Options
from retgen.evaluation.retrievers.base import Ranked, Retriever
from retgen.evaluation.retrievers.names import NAMES, check_name

__all__ = ["NAMES", "Options", "Ranked", "Retriever", "retriever"]


def retriever(name: str, options: Options) -> Retriever:
    """The retriever of a name. Raises `UsageError` for what cannot be loaded, with the reason."""
    check_name(name)
    kind, colon, rest = name.partition(":")
    if name in ("bm25", "rank-bm25", "tfidf"):
        from retgen.evaluation.retrievers import lexical

        return lexical.LEXICAL[name]()
    if name in ("bm25-capretrieval", "bm25-capretrieval-characters"):
        from retgen.evaluation.retrievers.capretrieval import CapRetrieval

        return CapRetrieval(name)
    if colon and kind == "hybrid":
        from retgen.evaluation.retrievers.hybrid import Hybrid

        return Hybrid(name, [retriever(part, options) for part in rest.split("+")])
    if colon and kind == "rerank":
        from retgen.evaluation.retrievers.rerank import Rerank

        first, _, model = rest.partition("+")
        return Rerank(name, retriever(first, options), model, options)
    if colon and kind == "late":
        from retgen.evaluation.retrievers.late import Late

        return Late(name, rest, options)
    if colon and kind == "mteb":
        from retgen.evaluation.retrievers.from_mteb import mteb_retriever

        return mteb_retriever(name, rest, options)
    from retgen.evaluation.embedders.base import load_embedder
    from retgen.evaluation.retrievers.dense import Dense

    return Dense(name, load_embedder(name, options), options)
