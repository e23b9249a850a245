"""Embeddings of Gemini (`batchEmbedContents`): https://ai.google.dev/api/embeddings.

Its API does not say whether it cut a text that is too long, and may not say how many tokens it
counted: such an answer is charged at the most that it could cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from retgen.agents.backends.google_genai import GoogleChat
from retgen.agents.chat import usage_of
from retgen.agents.embedding import EmbeddingBackend, Embeddings, Kind, Row, texts_of
from retgen.agents.prompt import Request


class GoogleEmbeddings(Embeddings, GoogleChat):
    """A Gemini embedder behind `base_url`, without a version (None: Google's own)."""

    method = "batchEmbedContents"


class GoogleGenAI(EmbeddingBackend):
    keys = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    address = "GOOGLE_GEMINI_BASE_URL"
    about = "Google (Gemini)"
    texts = 100
    input_types: ClassVar[Mapping[Kind, str]] = {
        "query": "RETRIEVAL_QUERY",
        "document": "RETRIEVAL_DOCUMENT",
    }

    def open(self, provider: str, **options: Any) -> GoogleEmbeddings:
        return GoogleEmbeddings(self, **options)

    def parameters(self, kind: Kind, *, prompted: bool, own_server: bool) -> dict[str, Any]:
        return {} if prompted else {"taskType": self.input_types[kind]}

    def body(self, request: Request) -> dict[str, Any]:
        model = request.model if "/" in request.model else f"models/{request.model}"
        return {
            "requests": [
                {"model": model, "content": {"parts": [{"text": text}]}, **request.sampling}
                for text in texts_of(request)
            ]
        }

    def rows(self, tree: dict[str, Any]) -> list[Row]:
        return [one["values"] for one in tree["embeddings"]]

    def tokens(self, tree: dict[str, Any]) -> int | None:
        return usage_of(tree.get("usageMetadata")).tokens_in
