"""Embeddings of Voyage AI: OpenAI's protocol, with types of input and limits of its own.

https://docs.voyageai.com/reference/embeddings-api
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from retgen.agents.chat import ChatModel, count, part
from retgen.agents.embedders import openai
from retgen.agents.embedding import HttpEmbeddings, Kind


class Voyage(openai.OpenAI):
    keys = ("VOYAGE_API_KEY",)
    address = "VOYAGE_BASE_URL"
    about = "Voyage AI"
    texts, size = 128, 100_000  # 1,000 texts and, of its largest models, 120,000 tokens
    input_types: ClassVar[Mapping[Kind, str]] = {"query": "query", "document": "document"}
    shorten: ClassVar[Mapping[str, Any]] = {"truncation": True}

    def open(self, provider: str, **options: Any) -> ChatModel:
        address = options.pop("base_url") or "https://api.voyageai.com/v1"
        return HttpEmbeddings(self, f"{address}/embeddings", **options)

    def parameters(self, kind: Kind, *, prompted: bool, own_server: bool) -> dict[str, Any]:
        named = {} if prompted else {"input_type": self.input_types[kind]}
        return {**named, "truncation": False, "encoding_format": "base64"}

    def tokens(self, tree: dict[str, Any]) -> int | None:
        return count(part(tree, "usage").get("total_tokens"))
