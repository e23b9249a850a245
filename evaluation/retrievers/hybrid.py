"""Retrievers fused."""

from __future__ import annotations

from retgen.errors import UsageError
from retgen.evaluation import retrievers
from retgen.search.base import Retriever, RetrieverType
from retgen.search.embedders.options import Options


class Hybrid(RetrieverType):
    prefix = "hybrid"
    form = "hybrid:A+B"
    about = "reciprocal rank fusion"
    by_score = False

    def check(self, name: str) -> None:
        super().check(name)
        parts = name.partition(":")[2].split("+")
        if len(parts) < 2 or not all(parts):
            raise UsageError(f"--model {name}: write for example {self.prefix}:bm25+minilm")
        for part in parts:
            retrievers.check_name(part)

    def runs_a_model(self, name: str) -> bool:
        return any(map(retrievers.runs_a_model, name.partition(":")[2].split("+")))

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.evaluation.search.fusion import HybridRetriever

        parts = [retrievers.retriever(part, options) for part in name.partition(":")[2].split("+")]
        return HybridRetriever(name, parts, by_score=self.by_score)


class MinMax(Hybrid):
    prefix = "minmax"
    form = "minmax:A+B"
    about = "fusion of scores that are scaled to 0..1 for each query, the same weight each"
    by_score = True
