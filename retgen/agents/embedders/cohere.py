"""Embeddings of Cohere, version 2 of its API: https://docs.cohere.com/reference/embed."""

from __future__ import annotations

from typing import Any

from retgen.agents.embedders import EmbeddingBackend, Row, texts_of
from retgen.agents.prompt import Request


class Cohere(EmbeddingBackend):
    keys = ("COHERE_API_KEY", "CO_API_KEY")
    variable = "CO_API_URL"
    server = "https://api.cohere.com"
    path = "v2/embed"
    about = "Cohere"
    texts = 96
    query, document = "search_query", "search_document"
    shortens = True

    def parameters(self, input_type: str, *, prompted: bool, shorten: bool) -> dict[str, Any]:
        # Cohere requires a type of input, even beside a prompt of the user's
        kinds = {"input_type": input_type, "embedding_types": ["float"]}
        return {**kinds, "truncate": "END" if shorten else "NONE"}

    def body(self, request: Request, max_tokens: int) -> dict[str, Any]:
        return {"model": request.model, "texts": texts_of(request), **request.sampling}

    def rows(self, tree: dict[str, Any]) -> list[Row]:
        return list(tree["embeddings"]["float"])
