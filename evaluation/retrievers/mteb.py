"""MTEB's models."""

from __future__ import annotations

from typing import Any

from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType, System


class Mteb(RetrieverType):
    prefix = "mteb"
    form = "mteb:NAME"
    about = (
        "a model of MTEB's registry, with its loader and prompts; options that its loader cannot "
        "take are refused by name"
    )
    needs = ("torch", "mteb")

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.evaluation.search.mteb_model import mteb_retriever

        return mteb_retriever(name, name.partition(":")[2], options)

    def systems(self, name: str, retriever: Any, options: Options) -> list[System]:
        from retgen.evaluation.search.candidates.neural import embedded
        from retgen.evaluation.search.dense import Dense

        # one that searches by itself has no score of a pair
        return embedded(name, retriever) if isinstance(retriever, Dense) else []
