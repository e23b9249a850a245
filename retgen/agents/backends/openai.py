"""Chat completions and embeddings of OpenAI, and of every server that speaks its protocol.

The SDK says where requests go and with what headers. They are put together here and sent by its
aiohttp client, since its methods, and even its `post`, cost more than all the rest of a call. The
number of connections is that of requests in flight.
"""

from __future__ import annotations

import functools
from typing import Any

import orjson

from retgen.agents.chat import (
    NO_CONNECTION,
    SILENCE,
    Backend,
    KeyMask,
    Response,
    Usage,
    error_of,
    one_line,
    parse_object,
    part,
    parts,
    seconds,
    status_of,
    usage_of,
)
from retgen.agents.prompt import Request

_NEW_NAME = "max_completion_tokens"


class OpenAIChat:
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
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient

        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        # a redirect would carry the key elsewhere
        self._http = DefaultAioHttpClient(limits=limits, follow_redirects=False)
        client = AsyncOpenAI(api_key=api_key, base_url=base_url, http_client=self._http)
        given = {**client.default_headers, **client.auth_headers}
        self._request = functools.partial(
            httpx2.Request,
            "POST",
            f"{str(client.base_url).rstrip('/')}/{self.path}",
            headers=httpx2.Headers({k: one for k, one in given.items() if isinstance(one, str)}),
            extensions={"timeout": httpx2.Timeout(timeout).as_dict()},
        )
        self._host = client.base_url.host
        # its reasoning models know the new name only, most other servers the old one
        self._room = _NEW_NAME if base_url is None else "max_tokens"
        self._secrets = KeyMask([client.api_key])

    async def send(self, request: Request, room: int) -> Response:
        """See `ChatModel`."""
        import aiohttp
        import httpx2

        body = orjson.dumps(self.body(request, room))
        try:
            result = await self._http.send(self._request(content=body))
        except httpx2.RequestError as error:
            if _never_stood(error):
                return Response(b"", NO_CONNECTION, f"no connection to {self._host}")
            return Response(b"", SILENCE, _silence(error))
        except (aiohttp.ClientError, OSError) as error:  # what the transport does not know
            words = self._secrets.text(f"{type(error).__name__}: {error}")
            return Response(b"", SILENCE, one_line(words))
        raw = self._secrets.raw(result.content)
        if result.is_success:
            return self.read(raw)
        wait = seconds(result.headers.get("retry-after"))
        text = error_of(parse_object(raw), raw) or "no reason given"
        if result.status_code == 400 and _NEW_NAME in text:
            self._room = _NEW_NAME  # from now on: OpenAI's own models, behind another address
        return Response(raw, result.status_code, text, wait=wait)

    def body(self, request: Request, room: int) -> dict[str, Any]:
        """What is sent."""
        return _body(request, self._room, room)

    def read(self, raw: bytes) -> Response:
        """See `ChatModel`."""
        return read_completion(raw)

    async def close(self) -> None:
        """See `ChatModel`."""
        await self._http.aclose()


class OpenAIEmbeddings(OpenAIChat):
    """An embedder behind `base_url`: the messages of a request are its texts, and the text of the
    answer is the whole answer.
    """

    path = "embeddings"

    def body(self, request: Request, room: int) -> dict[str, Any]:
        """What is sent."""
        texts = [message.content for message in request.messages]
        return {"model": request.model, "input": texts, **request.sampling}

    def read(self, raw: bytes) -> Response:
        """See `ChatModel`."""
        tree = parse_object(raw)
        if not parts(tree, "data"):
            error = error_of(tree, raw if not tree else b"")
            return Response(raw, status_of(tree), error, begun=True)
        usage = Usage(usage_of(tree.get("usage")).tokens_in, 0)
        return Response(raw, 200, "", "stop", raw.decode("utf-8", "replace"), usage)


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


def _below(error: BaseException) -> BaseException | None:
    """aiohttp's own exception below one of the SDK's, which calls most things a timeout."""
    import aiohttp

    result: BaseException | None = error
    while result is not None and not isinstance(result, aiohttp.ClientError):
        result = result.__cause__
    return result


def _never_stood(error: BaseException) -> bool:
    """Whether there was no connection, so that nothing can have been sent."""
    import aiohttp

    return isinstance(_below(error), aiohttp.ClientConnectorError)


def _silence(error: BaseException) -> str:
    import aiohttp

    result = _below(error)
    if result is None or isinstance(result, aiohttp.ServerTimeoutError):
        return "no answer in time"
    return "the connection was lost before the answer came"


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

    def open_embedder(self, provider: str, **options: Any) -> OpenAIEmbeddings:
        return OpenAIEmbeddings(**options)
