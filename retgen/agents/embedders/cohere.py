"""Embeddings of Cohere, version 2 of its API: https://docs.cohere.com/reference/embed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from retgen.agents.chat import count, part
from retgen.agents.embedding import EmbeddingBackend, HttpEmbeddings, Kind, Row, texts_of
from retgen.agents.prompt import Request


class Cohere(EmbeddingBackend):
    keys = ("COHERE_API_KEY", "CO_API_KEY")
    address = "CO_API_URL"
    about = "Cohere"
    texts = 96
    input_types: ClassVar[Mapping[Kind, str]] = {
        "query": "search_query",
        "document": "search_document",
    }
    shorten: ClassVar[Mapping[str, Any]] = {"truncate": "END"}

    def open(self, provider: str, *, base_url: str | None, **options: Any) -> HttpEmbeddings:
        return HttpEmbeddings(self, f"{base_url or 'https://api.cohere.com'}/v2/embed", **options)

    def parameters(self, kind: Kind, *, prompted: bool, own_server: bool) -> dict[str, Any]:
        # it has to be told a type of input, whatever stands before the texts
        named = {"input_type": self.input_types[kind], "embedding_types": ["float"]}
        return {**named, "truncate": "NONE"}

    def body(self, request: Request) -> dict[str, Any]:
        return {"model": request.model, "texts": texts_of(request), **request.sampling}

    def rows(self, tree: dict[str, Any]) -> list[Row]:
        return list(tree["embeddings"]["float"])

    def tokens(self, tree: dict[str, Any]) -> int | None:
        return count(part(part(tree, "meta"), "billed_units").get("input_tokens"))
