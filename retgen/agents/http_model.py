"""A model behind one URL that takes JSON: each request is sent once, by openai's aiohttp client.

Requests are put together here, since the methods of SDKs cost more than all the rest of a call. The
number of connections is that of requests in flight.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson

from retgen.agents.chat import (
    NO_CONNECTION,
    SILENCE,
    KeyMask,
    Response,
    error_of,
    one_line,
    parse_object,
    seconds,
)
from retgen.agents.prompt import Request


class HttpModel(ABC):
    """A `ChatModel` over HTTP: what is sent and how an answer is read is up to a protocol.

    Its keys appear in no message.
    """

    def __init__(self, *, timeout: float, connections: int) -> None:
        import httpx2
        from openai import DefaultAioHttpClient

        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        # a redirect would carry the key elsewhere
        self._http = DefaultAioHttpClient(limits=limits, follow_redirects=False)
        self._timeout = timeout

    def post_to(self, url: str, headers: Mapping[str, str], keys: Iterable[str | None]) -> None:
        """Name where all requests go, before the first."""
        import httpx2

        self._request = functools.partial(
            httpx2.Request, "POST", url, headers=httpx2.Headers(dict(headers)),
            extensions={"timeout": httpx2.Timeout(self._timeout).as_dict()},
        )  # fmt: skip
        self._host = urlsplit(url).hostname
        self.secrets = KeyMask(keys)

    @abstractmethod
    def body(self, request: Request, room: int) -> dict[str, Any]:
        """What is sent."""

    @abstractmethod
    def read(self, raw: bytes) -> Response:
        """See `ChatModel`."""

    async def send(self, request: Request, room: int) -> Response:
        """See `ChatModel`."""
        import aiohttp
        import httpx2

        body = orjson.dumps(self.body(request, room))
        try:
            result = await self._http.send(self._request(content=body))
        except httpx2.RequestError as error:
            return no_response(error, self._host)
        except (aiohttp.ClientError, OSError) as error:  # what the transport does not know
            words = self.secrets.text(f"{type(error).__name__}: {error}")
            return Response(b"", SILENCE, one_line(words))
        if result.is_success:
            return self.read(self.secrets.raw(result.content))
        return self.failure(result.content, result.status_code, result.headers.get("retry-after"))

    def failure(self, raw: bytes, status: int, after: str | None = None) -> Response:
        """What an error says. `after`: its Retry-After header."""
        raw = self.secrets.raw(raw)
        text = error_of(parse_object(raw), raw) or "no reason given"
        return Response(raw, status, text, wait=seconds(after))

    async def close(self) -> None:
        """See `ChatModel`."""
        await self._http.aclose()


def no_response(error: BaseException, host: str | None) -> Response:
    """What an exception of the SDK, or of its transport, says of a request without a response."""
    if _never_stood(error):
        return Response(b"", NO_CONNECTION, f"no connection to {host}")
    return Response(b"", SILENCE, _silence(error))


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
