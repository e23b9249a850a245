"""Embeddings of Voyage AI: OpenAI's protocol, with its own types of input and limits.

https://docs.voyageai.com/reference/embeddings-api
"""

from __future__ import annotations

from typing import Any

from retgen.agents.embedders import openai
from retgen.agents.http_model import HttpModel


class Voyage(openai.OpenAI):
    keys = ("VOYAGE_API_KEY",)
    variable = "VOYAGE_BASE_URL"
    server = "https://api.voyageai.com/v1"
    about = "Voyage AI"
    size = 100_000  # it takes 1,000 texts and, of its largest models, 120,000 tokens
    query, document = "query", "document"
    shortens = True
    headers = HttpModel.headers  # nothing of an account at OpenAI

    def parameters(self, input_type: str, *, prompted: bool, shorten: bool) -> dict[str, Any]:
        kinds = {} if prompted else {"input_type": input_type}
        return {**kinds, "truncation": shorten, "encoding_format": "base64"}
