"""Embedders behind an API: they are asked through the ledger, so nothing is paid for twice."""

from __future__ import annotations

from retgen.agents.embedders import embedding_backends
from retgen.agents.models import EmbedderSettings, ModelSettings
from retgen.search.base import Retriever, RetrieverType
from retgen.search.embedders.options import Options


class Api(RetrieverType):
    """An embedder of any provider that has an embedding backend."""

    form = ", ".join(f"{provider}:MODEL" for provider in embedding_backends())
    about = (
        f"an embedder of {'; '.join(one.about for one in embedding_backends().values())}: through "
        "the ledger, under `--max-usd`"
    )
    needs = ("torch",)

    def prefixes(self) -> tuple[str, ...]:
        return tuple(embedding_backends())

    def asked(self, name: str) -> list[ModelSettings]:
        return [EmbedderSettings.named(name)]

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.search.embedders.api import ApiEmbedder
        from retgen.search.vectors import VectorRetriever

        return VectorRetriever(name, ApiEmbedder(name, options), options)
