"""BM25 as rank-bm25 has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType, System


class RankBM25(RetrieverType):
    names: ClassVar[Mapping[str, str]] = {
        "rank-bm25": "BM25Okapi with its defaults, no stemmer, no stopwords"
    }

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.evaluation.search import lexical

        return lexical.RankBM25Retriever()

    def systems(self, name: str, retriever: Retriever | None, options: Options) -> list[System]:
        from retgen.evaluation.search.candidates import lexical

        return [System(None, lexical.RankBM25Scorer())]
