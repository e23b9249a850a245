"""Embedders behind an API: they are asked through the ledger, so nothing is paid for twice."""

from __future__ import annotations

from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType


class OpenAIEmbedder(RetrieverType):
    prefix = "openai"
    form = "openai:MODEL"
    about = (
        "an embedder of OpenAI, or of a server with its protocol (`OPENAI_BASE_URL`: vLLM, TEI, "
        "Ollama); through the ledger, under `--max-usd`"
    )
    needs = ("torch",)
    asks = True

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.evaluation.embedders.api import ApiEmbedder
        from retgen.evaluation.search.dense import DenseRetriever

        return DenseRetriever(name, ApiEmbedder(name, options), options)
