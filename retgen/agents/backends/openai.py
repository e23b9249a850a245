"""Chat completions of OpenAI, and of every server that speaks its protocol.

The SDK says where requests go and with what headers.
"""

from __future__ import annotations

from typing import Any

from retgen.agents.chat import (
    Backend,
    Response,
    error_of,
    parse_object,
    part,
    parts,
    status_of,
    usage_of,
)
from retgen.agents.http_model import HttpModel
from retgen.agents.prompt import Request

_NEW_NAME = "max_completion_tokens"


class OpenAIChat(HttpModel):
    """A chat model behind `base_url` (None: OpenAI's own). Keys appear in no message."""

    path = "chat/completions"

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 600.0,
        connections: int = 512,
    ) -> None:
        from openai import AsyncOpenAI

        super().__init__(timeout=timeout, connections=connections)
        self.client = client = AsyncOpenAI(
            api_key=api_key, base_url=base_url, http_client=self._http, max_retries=0,
            timeout=timeout,
        )  # fmt: skip
        given = {**client.default_headers, **client.auth_headers}
        headers = {name: one for name, one in given.items() if isinstance(one, str)}
        self.post_to(f"{str(client.base_url).rstrip('/')}/{self.path}", headers, [client.api_key])
        # its reasoning models know the new name only, most other servers the old one
        self._room = _NEW_NAME if base_url is None else "max_tokens"

    def failure(self, raw: bytes, status: int, after: str | None = None) -> Response:
        result = super().failure(raw, status, after)
        if result.status == 400 and _NEW_NAME in result.error:
            self._room = _NEW_NAME  # from now on: OpenAI's own models, behind another address
        return result

    def body(self, request: Request, room: int) -> dict[str, Any]:
        """What is sent."""
        return _body(request, self._room, room)

    def read(self, raw: bytes) -> Response:
        """See `ChatModel`."""
        return read_completion(raw)


def read_completion(raw: bytes) -> Response:
    """A chat completion, or what stands in its place."""
    tree = parse_object(raw)
    usage = usage_of(tree.get("usage"))
    choices = parts(tree, "choices")
    if not choices:
        error = error_of(tree, raw if not tree else b"")
        return Response(raw, status_of(tree), error, usage=usage, begun=True)
    first = choices[0]
    message, ended = part(first, "message"), str(first.get("finish_reason") or "").casefold()
    text = _text(message.get("content"))
    if message.get("refusal"):
        ended = "refused"
    error = error_of({"error": first["error"]}) if first.get("error") and not text else ""
    status = status_of(first) if error else 200
    return Response(raw, status, error, ended, text, usage, begun=bool(error))


def _text(content: object) -> str:
    """An answer's text; some servers have it in parts, as prompts may be."""
    if isinstance(content, list):
        result = [one.get("text") for one in content if isinstance(one, dict)]
        return "".join(one for one in result if isinstance(one, str))
    return content if isinstance(content, str) else ""


def _body(request: Request, name: str, room: int) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [message._asdict() for message in request.messages],
        **request.sampling,
        name: room,
        "stream": False,  # some gateways stream unless they are told
    }
    if request.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": str(request.schema.get("title", "answer")),
                "schema": dict(request.schema),
                "strict": True,
            },
        }
    return body


class OpenAI(Backend):
    keys = ("OPENAI_API_KEY",)
    address = "OPENAI_BASE_URL"
    judge = "openai:gpt-5-mini"
    preference = 1

    def open(self, provider: str, **options: Any) -> OpenAIChat:
        return OpenAIChat(**options)
