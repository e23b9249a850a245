"""An embedder: one vector a text, compared by product."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import (
    EMBEDDERS,
    Retriever,
    RetrieverType,
    System,
    names_embedder,
)


class EmbedderType(RetrieverType):
    names: ClassVar[Mapping[str, str]] = EMBEDDERS
    form = "a folder or Hub id (owner/name)"
    about = "any sentence-transformers model, with its prompts"
    needs = ("torch", "sentence-transformers")
    trainable = True

    def accepts(self, name: str) -> bool:
        return names_embedder(name)

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.evaluation.embedders.base import load_embedder
        from retgen.evaluation.search.dense import DenseRetriever

        return DenseRetriever(name, load_embedder(name, options), options)

    def systems(self, name: str, retriever: Any, options: Options) -> list[System]:
        from retgen.evaluation.search.candidates.neural import embeddings_of

        return embeddings_of(name, retriever)
