"""A model behind a URL that takes JSON: each request is sent once, over openai's aiohttp client.

Requests are built here, because the methods of the SDKs cost more CPU than all the rest of a call
(`client.post` of openai 3.57: .75 ms more). There are as many connections as requests in flight.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import urlsplit

import orjson

from retgen.agents.chat import NO_CONNECTION, SILENCE, ChatModel, Response, failed
from retgen.agents.prompt import Request
from retgen.version import __version__


class HttpModel(ChatModel):
    """A `ChatModel` that builds the body of a request, and reads its answer.

    `server`: the provider's own; `path`: of a request. The key is masked in every message and every
    answer.
    """

    server: ClassVar[str]
    path: ClassVar[str]

    @abstractmethod
    def body(self, request: Request, max_tokens: int) -> dict[str, Any]:
        """Build the JSON of a request."""

    @property
    def url(self) -> str:
        """Address of the server."""
        return self.base_url or self.server

    def url_of(self, request: Request) -> str:
        """Address of a request."""
        return f"{self.url}/{self.path}"

    @cached_property
    def headers(self) -> dict[str, str]:
        """Headers of a request, their names in lower case."""
        return {"authorization": f"Bearer {self.api_key}"}

    async def send(self, request: Request, max_tokens: int) -> Response:
        body = orjson.dumps(self.body(request, max_tokens))
        response = await self.call("POST", self.url_of(request), content=body)
        return self.read(response.raw) if response.status == 200 else response

    async def call(self, method: str, url: str, **content: Any) -> Response:
        """Make one HTTP call. If it succeeds, the status is 200 and `raw` the body.

        `content`: as httpx has it; bytes are JSON.
        """
        import aiohttp
        import httpx2

        headers = {"user-agent": f"retgen/{__version__}", **self.headers}
        timeout = {"timeout": self.http.timeout.as_dict()}
        http_request = httpx2.Request(method, url, headers=headers, extensions=timeout, **content)
        http_request.headers.setdefault("content-type", "application/json")
        try:
            result = await self.http.send(http_request)
        except (httpx2.RequestError, aiohttp.ClientError, OSError) as error:
            return no_response(error, urlsplit(self.url).hostname)
        if result.is_success:
            return Response(self.mask(result.content), 200)
        return self.failure(result.content, result.status_code, result.headers.get("retry-after"))

    def failure(self, raw: bytes, status: int, after: str | None = None) -> Response:
        """Describe an error of the server. `after`: its Retry-After header."""
        return failed(self.mask(raw), status, after)


def no_response(error: BaseException, host: str | None) -> Response:
    """Describe a request without a response by aiohttp's exception below the one of the SDK.

    The SDK calls nearly every failure a timeout.
    """
    import aiohttp

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, aiohttp.ClientError):
        cause = cause.__cause__
    if isinstance(cause, aiohttp.ClientConnectorError):
        return Response(b"", NO_CONNECTION, f"no connection to {host}")
    if cause is None or isinstance(cause, aiohttp.ServerTimeoutError):
        return Response(b"", SILENCE, "no answer in time")
    return Response(b"", SILENCE, "the connection was lost before the answer came")
