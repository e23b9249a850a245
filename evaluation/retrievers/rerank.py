"""A first stage and a cross-encoder."""

from __future__ import annotations

from typing import Any

from retgen.errors import UsageError
from retgen.evaluation import retrievers
from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType, System


class Rerank(RetrieverType):
    prefix = "rerank"
    form = "rerank:FIRST+CROSSENCODER"
    about = "the first stage's best documents, scored by a cross-encoder"
    needs = ("torch", "sentence-transformers")

    def check(self, name: str) -> None:
        super().check(name)
        parts = name.partition(":")[2].split("+")
        if len(parts) != 2 or not all(parts):
            raise UsageError(f"--model {name}: write for example rerank:bm25+owner/cross-encoder")
        retrievers.check_name(parts[0])

    def load(self, name: str, options: Options) -> Retriever:

        first, _, model = name.partition(":")[2].partition("+")
        from retgen.evaluation.search.rerank import RerankRetriever

        return RerankRetriever(name, retrievers.retriever(first, options), model, options)

    def systems(self, name: str, retriever: Any, options: Options) -> list[System]:
        from retgen.evaluation.search.candidates.neural import Crossed

        scorer = retriever.scorer
        return [System(None, Crossed(name, scorer), lambda: scorer.details)]
