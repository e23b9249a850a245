"""Late interaction."""

from __future__ import annotations

from typing import Any

from retgen.evaluation import retrievers
from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType, System


class Late(RetrieverType):
    prefix = "late"
    form = "late:MODEL"
    about = (
        "MaxSim over the token embeddings of MODEL, exact, in blocks that fit into memory; nothing "
        "is cached, `--dims` does not apply"
    )
    needs = ("torch", "sentence-transformers")

    def check(self, name: str) -> None:
        super().check(name)
        retrievers.check_name(name.partition(":")[2])

    def load(self, name: str, options: Options) -> Retriever:

        from retgen.evaluation.search.late import LateRetriever

        return LateRetriever(name, name.partition(":")[2], options)

    def systems(self, name: str, retriever: Any, options: Options) -> list[System]:
        from retgen.evaluation.search.candidates.neural import Interacting

        scorer = Interacting(name, retriever)
        return [System(None, scorer, lambda: retriever.details, retriever.pieces)]
