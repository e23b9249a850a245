"""A cross-encoder over candidate sets."""

from __future__ import annotations

from retgen.errors import UsageError
from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType, System


class Cross(RetrieverType):
    prefix = "cross"
    form = "cross:CROSSENCODER"
    about = "a cross-encoder scores every pair of a candidate set"
    needs = ("torch", "sentence-transformers")
    ranks = False

    def check(self, name: str) -> None:
        if not name.partition(":")[2]:
            raise UsageError(
                f"--model {name}: name a cross-encoder after cross:, as cross:owner/name"
            )

    def load(self, name: str, options: Options) -> None:
        return None

    def systems(self, name: str, retriever: Retriever | None, options: Options) -> list[System]:
        from retgen.evaluation.search.candidates.neural import Crossed
        from retgen.evaluation.search.rerank import CrossScorer

        scorer = CrossScorer(name, name.partition(":")[2], options)
        return [System(None, Crossed(name, scorer), lambda: scorer.details)]
