"""Embeddings of OpenAI, and of every server that speaks its protocol (`/v1/embeddings`)."""

from __future__ import annotations

from typing import Any

from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.chat import ChatModel, usage_of
from retgen.agents.embedding import EmbeddingBackend, Embeddings, Kind, Row, texts_of
from retgen.agents.prompt import Request


class OpenAIEmbeddings(Embeddings, OpenAIChat):
    """An embedder behind `base_url` (None: OpenAI's own)."""

    path = "embeddings"


class OpenAI(EmbeddingBackend):
    keys = ("OPENAI_API_KEY",)
    address = "OPENAI_BASE_URL"
    about = "OpenAI, or a server with its protocol (`OPENAI_BASE_URL`: vLLM, TEI, Ollama)"
    texts = 128  # OpenAI takes 2,048 of them and 300,000 tokens, and a token has a byte or more

    def open(self, provider: str, **options: Any) -> ChatModel:
        return OpenAIEmbeddings(self, **options)

    def parameters(self, kind: Kind, *, prompted: bool, own_server: bool) -> dict[str, Any]:
        return {} if own_server else {"encoding_format": "base64"}

    def body(self, request: Request) -> dict[str, Any]:
        return {"model": request.model, "input": texts_of(request), **request.sampling}

    def rows(self, tree: dict[str, Any]) -> list[Row]:
        data = enumerate(tree["data"])
        rows = {int(row.get("index", place)): row["embedding"] for place, row in data}
        return [rows[place] for place in sorted(rows)]

    def tokens(self, tree: dict[str, Any]) -> int | None:
        return usage_of(tree.get("usage")).tokens_in
