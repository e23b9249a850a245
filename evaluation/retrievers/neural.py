"""Models that sentence-transformers runs: dense, sparse, late interaction, cross-encoders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from retgen.errors import UsageError
from retgen.evaluation import retrievers
from retgen.evaluation.retrievers.llm import Chat
from retgen.search.base import (
    EMBEDDERS,
    Retriever,
    RetrieverType,
    names_embedder,
)
from retgen.search.embedders.options import Options

NEEDS = ("torch", "sentence-transformers")


class Dense(RetrieverType):
    """An embedder: one vector a text."""

    names: ClassVar[Mapping[str, str]] = EMBEDDERS
    form = "a folder or Hub id (owner/name)"
    about = "any sentence-transformers model, with its prompts"
    needs = NEEDS
    trainable = True

    def accepts(self, name: str) -> bool:
        return super().accepts(name) if self.prefix else names_embedder(name)

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.search.embedders.base import load_embedder
        from retgen.search.vectors import VectorRetriever

        return VectorRetriever(name, load_embedder(name, options), options)


class Sparse(Dense):
    """Weights over a vocabulary."""

    names: ClassVar[Mapping[str, str]] = {}
    prefix = "sparse"
    form = "sparse:MODEL"
    about = (
        "a sparse encoder of sentence-transformers (SPLADE and others), by its own similarity; "
        "nothing is cached, `--dims` does not apply"
    )


class Late(Dense):
    """Late interaction."""

    names: ClassVar[Mapping[str, str]] = {}
    prefix = "late"
    form = "late:MODEL"
    about = (
        "MaxSim over the token embeddings of MODEL, exact, in blocks that fit into memory; nothing "
        "is cached, `--dims` does not apply"
    )

    def check(self, name: str) -> None:
        super().check(name)
        retrievers.check_name(name.partition(":")[2])


class Rerank(RetrieverType):
    """A first stage, and a cross-encoder or a chat model."""

    prefix = "rerank"
    form = "rerank:FIRST+CROSSENCODER"
    about = (
        "the first stage's best documents, scored by a cross-encoder; or ordered by a chat model "
        "in one request a query, as `rerank:bm25+llm:PROVIDER:NAME`"
    )
    needs = NEEDS

    def check(self, name: str) -> None:
        super().check(name)
        parts = name.partition(":")[2].split("+")
        if len(parts) != 2 or not all(parts):
            raise UsageError(f"--model {name}: write for example rerank:bm25+owner/cross-encoder")
        retrievers.check_name(parts[0])
        if ":" not in parts[1] or Path(parts[1]).exists():
            return  # a cross-encoder
        retrievers.check_name(parts[1])
        if not isinstance(retrievers.type_of(parts[1]), Chat):
            raise UsageError(
                f"--model {name}: behind + stands a cross-encoder (owner/name, or a folder), or a "
                "chat model, as llm:openai:gpt-5-mini"
            )

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.search.rerank import CrossScorer, RerankRetriever

        first, _, model = name.partition(":")[2].partition("+")
        kind = retrievers.type_of(model)
        scorer: Any = None
        if isinstance(kind, Chat):
            scorer = kind.load(model, options)
        else:
            scorer = CrossScorer(name, model, options)
        return RerankRetriever(name, retrievers.retriever(first, options), scorer, options)


class Cross(RetrieverType):
    """A cross-encoder over candidate sets."""

    prefix = "cross"
    form = "cross:CROSSENCODER"
    about = "a cross-encoder scores every pair of a candidate set"
    needs = NEEDS
    trainable = True
    ranks = False

    def load(self, name: str, options: Options) -> Any:
        from retgen.search.rerank import CrossScorer

        return CrossScorer(name, name.partition(":")[2], options)
