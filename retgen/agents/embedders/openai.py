"""Embeddings of OpenAI, and of every server that speaks its protocol (`/v1/embeddings`)."""

from __future__ import annotations

from typing import Any

from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.embedders import EmbeddingBackend, Row, texts_of
from retgen.agents.prompt import Request


class OpenAI(EmbeddingBackend, OpenAIChat):
    about = "OpenAI, or a server with its protocol (`OPENAI_BASE_URL`: vLLM, TEI, Ollama)"
    path = "embeddings"
    texts = 128  # OpenAI takes 2,048, with 300,000 tokens of at least a byte each

    def parameters(self, kind: str, *, prompted: bool) -> dict[str, Any]:
        return {} if self.base_url else {"encoding_format": "base64"}

    def body(self, request: Request, max_tokens: int) -> dict[str, Any]:
        return {"model": request.model, "input": texts_of(request), **request.sampling}

    def rows(self, tree: dict[str, Any]) -> list[Row]:
        data = sorted(tree["data"], key=lambda row: row.get("index", 0))
        return [row["embedding"] for row in data]
