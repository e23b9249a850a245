"""Chat completions of OpenAI, and of every server that speaks its protocol.

The SDK says where requests go and with what headers. They are put together here and sent by its
aiohttp client, since its methods, and even its `post`, cost more than all the rest of a call. The
number of connections is that of requests in flight.
"""

from __future__ import annotations

import functools
from typing import Any

import orjson

from retgen.agents.chat import Refused, Reply, Unanswered, Unusable, count
from retgen.agents.request import Request
from retgen.agents.wire import Secrets, failure, parsed, part, seconds

__all__ = ["OpenAIChat"]

# how servers of this protocol say that a request does not fit their model's context
_TOO_LONG = ("maximum context length", "context length", "context window", "context size")


class OpenAIChat:
    """A chat model behind `base_url` (None: OpenAI's own). Keys appear in no message."""

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
            f"{str(client.base_url).rstrip('/')}/chat/completions",
            headers=httpx2.Headers({k: one for k, one in given.items() if isinstance(one, str)}),
            extensions={"timeout": httpx2.Timeout(timeout).as_dict()},
        )
        self._host = client.base_url.host
        self._official = base_url is None
        self._secrets = Secrets([client.api_key])

    async def send(self, request: Request) -> Reply:
        """See `ChatModel`."""
        import aiohttp
        import httpx2

        body = orjson.dumps(_body(request, official=self._official))
        try:
            found = await self._http.send(self._request(content=body))
        except httpx2.RequestError as error:
            if _never_stood(error):
                raise Refused(f"no connection to {self._host}", retry=True) from None
            raise Unanswered(_silence(error)) from None
        except (aiohttp.ClientError, OSError) as error:  # what the transport does not know
            raise Unanswered(self._secrets.text(f"{type(error).__name__}: {error}")) from None
        raw = self._secrets.raw(found.content)
        if not found.is_success:
            if found.status_code == 400 and _about_the_request(raw) is not None:
                return Reply(raw, 0, 0)
            wait = seconds(found.headers.get("retry-after"))
            raise failure(found.status_code, _reason(raw), wait)
        usage = part(parsed(raw), "usage")
        return Reply(raw, count(usage.get("prompt_tokens")), count(usage.get("completion_tokens")))

    def text(self, raw: bytes) -> str:
        """See `ChatModel`."""
        turned_down = _about_the_request(raw)
        if turned_down is not None:
            raise turned_down
        choices = parsed(raw).get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise Unusable("the answer is no chat completion", "no_text")
        message, ended = part(choices[0], "message"), choices[0].get("finish_reason")
        content = message.get("content")
        if ended == "length":
            raise Unusable("the answer was cut off at max_tokens", "cut_off")
        if ended == "content_filter" or message.get("refusal"):
            raise Unusable("the model refused, or its answer was filtered", "filtered")
        if not isinstance(content, str) or not content:
            raise Unusable("the answer holds no text", "no_text")
        return content

    async def close(self) -> None:
        """See `ChatModel`."""
        await self._http.aclose()


def _about_the_request(raw: bytes) -> Unusable | None:
    """What an error's body says of the request itself; None where it speaks of something else."""
    error = part(parsed(raw), "error")
    code, message = str(error.get("code")), str(error.get("message")).casefold()
    if code == "context_length_exceeded" or any(words in message for words in _TOO_LONG):
        return Unusable("the request is too long for the model", "too_long")
    if code in ("content_filter", "content_policy_violation"):
        return Unusable("the request was filtered", "filtered")
    return None


def _reason(body: bytes) -> str:
    """What the body of an error says, in any of the forms that servers have for it."""
    tree = parsed(body)
    error = tree.get("error")
    said = error.get("message") if isinstance(error, dict) else error
    said = said or tree.get("message") or tree.get("detail")
    return said if isinstance(said, str) else body.decode("utf-8", "replace")


def _below(error: BaseException) -> BaseException | None:
    """aiohttp's own exception below one of the SDK's, which calls most things a timeout."""
    import aiohttp

    found: BaseException | None = error
    while found is not None and not isinstance(found, aiohttp.ClientError):
        found = found.__cause__
    return found


def _never_stood(error: BaseException) -> bool:
    """Whether there was no connection, so that nothing can have been sent."""
    import aiohttp

    return isinstance(_below(error), aiohttp.ClientConnectorError)


def _silence(error: BaseException) -> str:
    import aiohttp

    found = _below(error)
    if found is None or isinstance(found, aiohttp.ServerTimeoutError):
        return "no answer in time"
    return "the connection was lost before the answer came"


def _body(request: Request, *, official: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [message._asdict() for message in request.messages],
        **request.sampling,
    }
    if official and "max_tokens" in body:  # its reasoning models know the new name only
        body["max_completion_tokens"] = body.pop("max_tokens")
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
