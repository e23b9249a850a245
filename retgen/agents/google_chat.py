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

from retgen.agents.chat import Refused, Reply, Unanswered, Unusable, count
from retgen.agents.request import Request
from retgen.agents.wire import Secrets, failure, parsed, part, seconds

if TYPE_CHECKING:
    import aiohttp

__all__ = ["GoogleChat"]

_GOOGLE = "https://generativelanguage.googleapis.com"
_NAMES = {"top_p": "topP", "max_tokens": "maxOutputTokens"}  # others are called as ours are
_ROLES = {"user": "user", "assistant": "model"}
# how it says that a request does not fit the model's context
_TOO_LONG = ("exceeds the maximum number of tokens", "input token count")
_FILTERED = frozenset({"SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"})
# CONTINUATION: at the model's own limit for one answer, with an offer to go on
_CUT_OFF = frozenset({"MAX_TOKENS", "CONTINUATION"})


class GoogleChat:
    """A Gemini model behind `base_url`, without a version (None: Google's own).

    Keys appear in no message. Where requests go is part of what their answers are kept under, so
    the environment variables by which the SDK would send them elsewhere do not count.
    """

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
            timeout=math.ceil(1000 * timeout),
            # without this a request goes out again after a hang-up, and nobody is told
            retry_options=types.HttpRetryOptions(attempts=1),
            # a redirect would take the key to another host
            async_client_args={"allow_redirects": False},
        )
        self._client = genai.Client(vertexai=False, api_key=api_key, http_options=options)
        self._api = self._client._api_client
        self._secrets = Secrets([self._api.api_key])

    async def send(self, request: Request) -> Reply:
        """See `ChatModel`."""
        import aiohttp

        if self._api._http_options.aiohttp_client is None:  # not before: it needs a running loop
            self._api._http_options.aiohttp_client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                raise_for_status=_check,
                trust_env=bool(getproxies()),
            )
        name = request.model if "/" in request.model else f"models/{request.model}"
        try:
            found = await self._api.async_request("post", f"{name}:generateContent", _body(request))
            raw = self._secrets.raw((found.body or "").encode())
        except UnicodeDecodeError as error:  # not UTF-8, but paid for
            raw = self._secrets.raw(error.object)
        except _NotOK as error:
            if error.code == 400 and _is_too_long(parsed(error.raw)):
                return Reply(self._secrets.raw(error.raw), 0, 0)
            raise self._failure(error) from None
        except aiohttp.ClientConnectorError:
            raise Refused(f"no connection to {urlsplit(self._url).hostname}", retry=True) from None
        except TimeoutError:
            raise Unanswered(f"no answer within {self._timeout:g} seconds") from None
        except aiohttp.ClientError as error:
            raise Unanswered(self._secrets.text(str(error))) from None
        tree = parsed(raw)
        usage = part(tree, "usageMetadata")
        spent = [count(usage.get(f"{kind}TokenCount")) for kind in ("candidates", "thoughts")]
        out = [tokens for tokens in spent if tokens is not None]
        if part(tree, "promptFeedback").get("blockReason"):
            out.append(0)  # nothing was written, so nothing is counted
        return Reply(raw, count(usage.get("promptTokenCount")), sum(out) if out else None)

    def text(self, raw: bytes) -> str:
        """See `ChatModel`."""
        tree = parsed(raw)
        if _is_too_long(tree):
            raise Unusable("the request is too long for the model", "too_long")
        if part(tree, "promptFeedback").get("blockReason"):
            raise Unusable("the request was filtered", "filtered")
        candidates = _parts(tree, "candidates")
        if not candidates:
            raise Unusable("the answer is no generated content", "no_text")
        ended = candidates[0].get("finishReason")
        if ended in _CUT_OFF:
            raise Unusable("the answer was cut off at max_tokens", "cut_off")
        if ended in _FILTERED:
            raise Unusable("the answer was filtered", "filtered")
        parts = _parts(part(candidates[0], "content"), "parts")
        text = "".join(str(one.get("text") or "") for one in parts if not one.get("thought"))
        if not text:
            raise Unusable("the answer holds no text", "no_text")
        return text

    async def close(self) -> None:
        """See `ChatModel`."""
        session = self._api._http_options.aiohttp_client
        if session is not None:  # the SDK leaves a session open that it was given
            await session.close()
        await self._client.aio.aclose()
        self._client.close()

    def _failure(self, answer: _NotOK) -> Refused | Unanswered:
        raw = self._secrets.raw(answer.raw)
        error = part(parsed(raw), "error")
        why = str(error.get("message") or raw.decode(errors="replace"))
        delays = [one["retryDelay"] for one in _parts(error, "details") if "retryDelay" in one]
        return failure(answer.code, why, seconds(answer.after or next(iter(delays), None)))


class _NotOK(Exception):
    """An answer with a status that is not 200. `after`: its Retry-After header."""

    def __init__(self, code: int, raw: bytes, after: str | None) -> None:
        super().__init__(code)
        self.code, self.raw, self.after = code, raw, after


async def _check(response: aiohttp.ClientResponse) -> None:
    if response.status != 200:
        after = response.headers.get("retry-after")
        raise _NotOK(response.status, await response.read(), after)


def _is_too_long(tree: dict[str, Any]) -> bool:
    message = str(part(tree, "error").get("message")).casefold()
    return any(words in message for words in _TOO_LONG)


def _body(request: Request) -> dict[str, Any]:
    system = [{"text": one.content} for one in request.messages if one.role == "system"]
    contents = [
        {"role": _ROLES[one.role], "parts": [{"text": one.content}]}
        for one in request.messages
        if one.role != "system"
    ]
    config = {_NAMES.get(name, name): value for name, value in request.sampling.items()}
    if request.schema is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = dict(request.schema)
    body = {"contents": contents, "generationConfig": config}
    return {**body, "systemInstruction": {"parts": system}} if system else body


def _parts(tree: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = tree.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
