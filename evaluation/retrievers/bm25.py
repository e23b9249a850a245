"""BM25 as bm25s has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType, System


class BM25(RetrieverType):
    names: ClassVar[Mapping[str, str]] = {
        "bm25": "bm25s with its defaults, English Snowball stemmer and stopwords"
    }

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.evaluation.search import lexical

        return lexical.BM25Retriever()

    def systems(self, name: str, retriever: Retriever | None, options: Options) -> list[System]:
        from retgen.evaluation.search.candidates import lexical

        return [System(None, lexical.BM25Scorer())]
