"""BM25 under CapRetrieval's protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType, System


class CapRetrieval(RetrieverType):
    names: ClassVar[Mapping[str, str]] = {
        "bm25-capretrieval": "BM25Okapi under CapRetrieval's protocol: jieba or NLTK's tokens",
        "bm25-capretrieval-characters": "the same over single characters",
    }

    def needed(self, name: str) -> tuple[str, ...]:
        return () if name.endswith("-characters") else ("nltk",)

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.evaluation.search import capretrieval

        return capretrieval.CapRetrievalBM25(name)

    def systems(self, name: str, retriever: Retriever | None, options: Options) -> list[System]:
        from retgen.evaluation.search.candidates import lexical

        return [System(None, lexical.word_scorer(name))]
