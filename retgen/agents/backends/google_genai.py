"""Gemini's generateContent, at Google or at a server that speaks its protocol.

Requests of the chat are built here: the SDK's typed methods transform every parameter and answer
again, which costs more CPU than all the rest of a call. Files go through the SDK (`client`), over
the same connections.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

from retgen.agents.chat import Response, no_answer, parse_object, part, parts, text_of, usage_of
from retgen.agents.http_model import HttpModel
from retgen.agents.prompt import Request

if TYPE_CHECKING:
    from google import genai

_VERSION = "v1beta"  # it has all fields
_ROLES = {"user": "user", "assistant": "model"}


class GoogleChat(HttpModel):
    """A Gemini model behind `base_url`, without a version (None: Google's own).

    No environment variable of the SDK sends requests elsewhere, because the address is part of the
    key under which the ledger keeps their answers.
    """

    keys = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    variable = "GOOGLE_GEMINI_BASE_URL"
    server = "https://generativelanguage.googleapis.com"
    path = "generateContent"

    @cached_property
    def headers(self) -> dict[str, str]:
        return {"x-goog-api-key": str(self.api_key)}

    @cached_property
    def client(self) -> genai.Client:
        """Google's SDK, for files; it tries nothing again by itself."""
        from google import genai
        from google.genai import types

        options = types.HttpOptions(
            base_url=self.url,
            api_version=_VERSION,
            timeout=math.ceil(1000 * self.timeout),
            retry_options=types.HttpRetryOptions(attempts=1),
            httpx_async_client=self.http,
        )
        return genai.Client(vertexai=False, api_key=self.api_key, http_options=options)

    def url_of(self, request: Request) -> str:
        """Address of a request, which names its model."""
        return f"{self.url}/{_VERSION}/{model_path(request)}:{self.path}"

    def body(self, request: Request, max_tokens: int) -> dict[str, Any]:
        system = [{"text": one.content} for one in request.messages if one.role == "system"]
        contents = [
            {"role": _ROLES[one.role], "parts": [{"text": one.content}]}
            for one in request.messages
            if one.role != "system"
        ]
        config = {**request.sampling, "maxOutputTokens": max_tokens}
        if request.schema is not None:
            config["responseMimeType"] = "application/json"
            config["responseJsonSchema"] = dict(request.schema)
        body = {"contents": contents, "generationConfig": config}
        return {**body, "systemInstruction": {"parts": system}} if system else body

    def read(self, raw: bytes) -> Response:
        tree = parse_object(raw)
        usage, candidates = usage_of(tree.get("usageMetadata")), parts(tree, "candidates")
        if part(tree, "promptFeedback").get("blockReason"):
            return Response(raw, 200, finish="blocked", usage=usage)
        if not candidates:
            return no_answer(raw, tree, usage)
        first = candidates[0]
        stated = parts(part(first, "content"), "parts")
        text = text_of([one for one in stated if not one.get("thought")])
        words = "" if text else self.mask_text(str(first.get("finishMessage") or ""))
        ended = str(first.get("finishReason") or "").casefold()
        return Response(raw, 200, words, ended, text, usage)

    def failure(self, raw: bytes, status: int, after: str | None = None) -> Response:
        """Describe an error: its reasons, and the id of a quota, which is of a minute or a day."""
        details = parts(part(parse_object(self.mask(raw)), "error"), "details")
        delay = next((one["retryDelay"] for one in details if "retryDelay" in one), None)
        quotas = [one for detail in details for one in parts(detail, "violations")]
        reasons = [one.get("reason") for one in details] + [one.get("quotaId") for one in quotas]
        result = super().failure(raw, status, after or delay)
        words = [str(one) for one in (*reasons, result.error) if one]
        return result._replace(error=self.mask_text(": ".join(words)))


def model_path(request: Request) -> str:
    """Name of a request's model in a URL."""
    return request.model if "/" in request.model else f"models/{request.model}"
