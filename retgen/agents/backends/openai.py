"""Chat completions of OpenAI, and of every server that speaks its protocol."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from retgen.agents.chat import Response, no_answer, parse_object, part, parts, text_of, usage_of
from retgen.agents.http_model import HttpModel
from retgen.agents.prompt import Request

_NEW_NAME = "max_completion_tokens"


class OpenAIChat(HttpModel):
    """A chat model behind `base_url` (None: OpenAI's own)."""

    keys = ("OPENAI_API_KEY",)
    variable = "OPENAI_BASE_URL"
    server = "https://api.openai.com/v1"
    path = "chat/completions"
    _new_name = False  # set for a server that turns out to know max_tokens by its new name only

    @cached_property
    def headers(self) -> dict[str, str]:
        """Headers of OpenAI's SDK: of the key, of an organization, of a project."""
        from openai import AsyncOpenAI

        client = AsyncOpenAI(api_key=self.api_key, base_url=self.url, http_client=self.http)
        stated = {**client.default_headers, **client.auth_headers}
        named = {name.lower(): value for name, value in stated.items() if isinstance(value, str)}
        return {name: value for name, value in named.items() if name != "content-type"}

    def failure(self, raw: bytes, status: int, after: str | None = None) -> Response:
        result = super().failure(raw, status, after)
        self._new_name |= status == 400 and _NEW_NAME in result.error
        return result

    def body(self, request: Request, max_tokens: int) -> dict[str, Any]:
        # OpenAI's reasoning models know the new name only, most other servers the old one
        new_name = self._new_name or self.base_url is None
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [message._asdict() for message in request.messages],
            **request.sampling,
            _NEW_NAME if new_name else "max_tokens": max_tokens,
            "stream": False,  # some gateways stream by default
        }
        if request.schema is not None:
            name, schema = str(request.schema.get("title", "answer")), dict(request.schema)
            form = {"name": name, "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def read(self, raw: bytes) -> Response:
        tree = parse_object(raw)
        usage, choices = usage_of(tree.get("usage")), parts(tree, "choices")
        first = choices[0] if choices else {}
        message, ended = part(first, "message"), first.get("finish_reason")
        text = text_of(message.get("content"))
        ended = "refused" if message.get("refusal") else ended
        ended = ended.casefold() if isinstance(ended, str) else ""
        if first.get("error") and not text:
            return no_answer(raw, first, usage)._replace(finish=ended)
        if not message:
            return no_answer(raw, tree, usage)
        return Response(raw, 200, "", ended, text, usage)
