"""Embeddings of Gemini (`batchEmbedContents`): https://ai.google.dev/api/embeddings.

The API cuts a text that is too long without a word, and may state no tokens: such an answer is
charged at the most that it could cost.
"""

from __future__ import annotations

from typing import Any, ClassVar

from retgen.agents.backends.google_genai import GoogleChat, model_path
from retgen.agents.embedders import EmbeddingBackend, Row, texts_of
from retgen.agents.prompt import Request


class GoogleGenAI(EmbeddingBackend, GoogleChat):
    about = "Google (Gemini)"
    path = "batchEmbedContents"
    texts = 100
    input_types: ClassVar = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}

    def parameters(self, kind: str, *, prompted: bool) -> dict[str, Any]:
        return {} if prompted else {"taskType": self.input_types[kind]}

    def body(self, request: Request, max_tokens: int) -> dict[str, Any]:
        parameters = {"model": model_path(request), **request.sampling}
        contents = [{"parts": [{"text": text}]} for text in texts_of(request)]
        return {"requests": [{"content": content, **parameters} for content in contents]}

    def rows(self, tree: dict[str, Any]) -> list[Row]:
        return [one["values"] for one in tree["embeddings"]]
