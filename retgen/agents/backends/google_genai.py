"""Gemini's generateContent, at Google or at whoever speaks its protocol.

The SDK's `async_request`, on which all its typed methods stand, with the body put together here:
these transform every parameter and the answer again, which costs more than all the rest of a call.
The session is our own: the SDK's has no limit of connections, looks for a proxy and for ~/.netrc
anew at every request, in threads, and loses the status of an error whose body is no JSON.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from retgen.agents.chat import (
    NO_CONNECTION,
    SILENCE,
    Backend,
    KeyMask,
    Response,
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

if TYPE_CHECKING:
    import aiohttp
    from google import genai

_GOOGLE = "https://generativelanguage.googleapis.com"
_NAMES = {"top_p": "topP"}  # others are called as ours are
_ROLES = {"user": "user", "assistant": "model"}


class GoogleChat:
    """A Gemini model behind `base_url`, without a version (None: Google's own).

    Keys appear in no message. Where requests go is part of what their answers are kept under, so
    environment variables that only the SDK knows send none elsewhere.
    """

    method = "generateContent"

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 600.0,
        connections: int = 512,
    ) -> None:
        from google import genai
        from google.genai import types

        self._url, self._timeout, self._connections = base_url or _GOOGLE, timeout, connections
        options = types.HttpOptions(
            base_url=self._url,
            api_version="v1beta",  # it has all fields; the default depends on the SDK's release
            timeout=math.ceil(1000 * timeout),
            # without this a request goes out again after a hang-up, and nobody is told
            retry_options=types.HttpRetryOptions(attempts=1),
            # a redirect would take the key to another host
            async_client_args={"allow_redirects": False},
        )
        self._client = genai.Client(vertexai=False, api_key=api_key, http_options=options)
        self._api = self._client._api_client
        self.secrets = KeyMask([self._api.api_key])

    def connect(self) -> genai.Client:
        """The SDK's client, with a session of our own: in a running loop."""
        import aiohttp

        if self._api._http_options.aiohttp_client is None:
            self._api._http_options.aiohttp_client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                raise_for_status=_check,
                trust_env=bool(getproxies()),
            )
        return self._client

    async def send(self, request: Request, room: int) -> Response:
        """See `ChatModel`."""
        import aiohttp

        self.connect()
        name = request.model if "/" in request.model else f"models/{request.model}"
        body = self.body(request, room)
        try:
            result = await self._api.async_request("post", f"{name}:{self.method}", body)
            raw = self.secrets.raw((result.body or "").encode("utf-8", "replace"))
        except UnicodeDecodeError as error:  # not UTF-8, but it may have been paid for
            raw = self.secrets.raw(error.object)
        except (NotOK, TimeoutError, aiohttp.ClientError) as error:
            return self.no_answer(error)
        return self.read(raw)

    def no_answer(self, error: Exception) -> Response:
        """What an exception of a call says: an error of the server, or no connection to it."""
        import aiohttp

        if isinstance(error, NotOK):
            return self.failure(error.raw, error.code, error.after)
        if isinstance(error, aiohttp.ClientConnectorError):
            where = urlsplit(self._url).hostname
            return Response(b"", NO_CONNECTION, f"no connection to {where}")
        if isinstance(error, TimeoutError):
            return Response(b"", SILENCE, f"no answer within {self._timeout:g} seconds")
        return Response(b"", SILENCE, one_line(self.secrets.text(str(error))))

    def body(self, request: Request, room: int) -> dict[str, Any]:
        """What is sent."""
        return _body(request, room)

    def read(self, raw: bytes) -> Response:
        """See `ChatModel`."""
        tree = parse_object(raw)
        usage = usage_of(tree.get("usageMetadata"))
        candidates = parts(tree, "candidates")
        if part(tree, "promptFeedback").get("blockReason"):
            return Response(raw, 200, finish="blocked", usage=usage)
        if not candidates:
            error = error_of(tree, raw if not tree else b"")
            return Response(raw, status_of(tree), error, usage=usage, begun=True)
        ended = str(candidates[0].get("finishReason") or "").casefold()
        stated = parts(part(candidates[0], "content"), "parts")
        text = "".join(str(one.get("text") or "") for one in stated if not one.get("thought"))
        words = "" if text else one_line(str(candidates[0].get("finishMessage") or ""))
        return Response(raw, 200, words, ended, text, usage)

    async def close(self) -> None:
        """See `ChatModel`."""
        session = self._api._http_options.aiohttp_client
        if session is not None:  # the SDK leaves a session open that it was given
            await session.close()
        await self._client.aio.aclose()
        self._client.close()

    def failure(self, raw: bytes, status: int, after: str | None = None) -> Response:
        """What an error says. `after`: its Retry-After header."""
        raw = self.secrets.raw(raw)
        tree = parse_object(raw)
        details = parts(part(tree, "error"), "details")
        delays = [one["retryDelay"] for one in details if "retryDelay" in one]
        reasons = [str(one["reason"]) for one in details if "reason" in one]
        # whether a quota is of a minute or of a day
        broken = (limit for one in details for limit in parts(one, "violations"))
        reasons += [str(limit["quotaId"]) for limit in broken if "quotaId" in limit]
        wait = seconds(after or next(iter(delays), None))
        error = one_line(": ".join([*reasons, error_of(tree, raw) or "no reason given"]))
        return Response(raw, status, error, wait=wait)


class NotOK(Exception):
    """An answer with a status that is not 200. `after`: its Retry-After header."""

    def __init__(self, code: int, raw: bytes, after: str | None) -> None:
        super().__init__(code)
        self.code, self.raw, self.after = code, raw, after


async def _check(response: aiohttp.ClientResponse) -> None:
    if response.status != 200:
        after = response.headers.get("retry-after")
        raise NotOK(response.status, await response.read(), after)


def _body(request: Request, room: int) -> dict[str, Any]:
    system = [{"text": one.content} for one in request.messages if one.role == "system"]
    contents = [
        {"role": _ROLES[one.role], "parts": [{"text": one.content}]}
        for one in request.messages
        if one.role != "system"
    ]
    config = {_NAMES.get(name, name): value for name, value in request.sampling.items()}
    config["maxOutputTokens"] = room
    if request.schema is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = dict(request.schema)
    body = {"contents": contents, "generationConfig": config}
    return {**body, "systemInstruction": {"parts": system}} if system else body


class GoogleGenAI(Backend):
    keys = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    address = "GOOGLE_GEMINI_BASE_URL"
    judge = "google_genai:gemini-2.5-flash"

    def open(self, provider: str, **options: Any) -> GoogleChat:
        return GoogleChat(**options)
