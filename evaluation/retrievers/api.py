"""Embedders behind an API: they are asked through the ledger, so nothing is paid for twice."""

from __future__ import annotations

from retgen.agents.embedders import embedding_backends
from retgen.agents.models import ModelSettings, embedder_settings
from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType


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
        return [embedder_settings(name)]

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.evaluation.embedders.api import ApiEmbedder
        from retgen.evaluation.search.api import ApiRetriever

        return ApiRetriever(name, ApiEmbedder(name, options), options)
