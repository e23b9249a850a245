"""BM25 as MultiConIR's code has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType, System


class BM25Paper(RetrieverType):
    names: ClassVar[Mapping[str, str]] = {
        "bm25-paper": "BM25 built over each candidate set alone, as MultiConIR's code does"
    }
    ranks = False

    def load(self, name: str, options: Options) -> None:
        return None

    def systems(self, name: str, retriever: Retriever | None, options: Options) -> list[System]:
        from retgen.evaluation.search.candidates import lexical

        return [System(None, lexical.BM25PaperScorer())]
