"""What a chat model is to us: a rendered request in, whatever comes back out.

A backend sends each request once and describes what came in the same few words as all others;
`outcomes` says what that stands for, and whoever calls it (`caller`) acts on it, since only he
knows the ledger. Below the interface stands what all backends need.

Servers state in many shapes how many tokens an answer took:

    {"prompt_tokens": 27, "completion_tokens": 40, "total_tokens": 767}        -> 27 in, 740 out
    {"promptTokenCount": 27, "candidatesTokenCount": 40, "thoughtsTokenCount": 700} -> 27, 740
    {"input_tokens": 7, "cache_read_input_tokens": 20, "output_tokens": 740}   -> 27, 740

Reasoning tokens are charged as output wherever they are stated: inside the output, beside it
(xAI, Gemini), or only in the total. What is stated twice counts as the larger of both, since a cap
has to hold.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import orjson

from retgen.agents.prompt import Request

NO_KEY = "none"  # for a server that asks for none, where a client wants one
# in the place of a status: it was to be in a batch, and nobody worked on it; the package in use
# cannot make the request, or the batch API refuses it; there was no connection, so nothing was
# sent; it was sent, and nobody knows what became of it
NOT_RUN, NOT_SENT, NO_CONNECTION, SILENCE = -3, -2, -1, 0

# of a run that asks no model
OFFLINE_COSTS: dict[str, Any] = {
    "calls": 0, "cache_hits": 0, "unanswered": 0, "tokens": {"in": 0, "out": 0}, "usd": 0.0,
}  # fmt: skip


class Usage(NamedTuple):
    """Tokens of a request and of its answer; None where they are not stated.

    `hidden`: of `tokens_out` those that are stated to be reasoning.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None
    hidden: int = 0


class Response(NamedTuple):
    """What came back for one request.

    `raw`: the bytes that are kept, without our key. `status`: of HTTP, or one of the four above;
    where a body of status 200 states an error with a status of its own, that one. `begun`: whatever
    the status says, a model may have worked on it. `error`: what
    is wrong, as the server words it, its code first; "" where it says nothing of an error.
    `finish`: why the answer ended, in lower case. `text`: of the answer. `wait`: seconds after
    which to try again, if it says so.
    """

    raw: bytes
    status: int
    error: str = ""
    finish: str = ""
    text: str = ""
    usage: Usage = Usage()
    wait: float | None = None
    begun: bool = False


Why = Literal["cut_off", "filtered", "too_long", "refused"]


class Unusable(Exception):
    """A request has no answer, and will have none: its record is rejected.

    `why`: cut_off (even with much room), filtered (the request or its answer, or the model
    refused), too_long (the request, for the model), refused (by the server, which answers others).
    """

    def __init__(self, reason: str, why: Why) -> None:
        super().__init__(reason)
        self.why: Why = why


class ChatModel(Protocol):
    """A model behind some protocol, with its connections."""

    async def send(self, request: Request, room: int) -> Response:
        """Send once, with `room` tokens for the answer. What a server does is no exception."""
        ...

    def read(self, raw: bytes) -> Response:
        """What the bytes of an answer say that `send` returned, then or years ago."""
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...


class Backend(ABC):
    """A provider's protocol, in a module of its own under `retgen.agents.backends`.

    `keys`: environment variables that may hold the key, the first that is set counts; none: the
    provider's own package looks for it. `address`: the variable that may name another server.
    `judge`: the model that judges where the writer is another provider's, "" for none;
    `preference`: among several such, the highest comes first.
    """

    keys: ClassVar[tuple[str, ...]] = ()
    address: ClassVar[str] = ""
    judge: ClassVar[str] = ""
    preference: ClassVar[int] = 0

    @abstractmethod
    def open(
        self,
        provider: str,
        *,
        base_url: str | None,
        api_key: str | None,
        timeout: float,
        connections: int,
    ) -> ChatModel:
        """A chat model. `timeout`: seconds; `connections`: so many at a time at most."""

    def check(
        self, provider: str, name: str, sampling: Mapping[str, Any], **options: Any
    ) -> str | None:
        """Why a model cannot be asked, as far as that is known without sending; None: it can.
        `options`: as `open` takes them.

        Raises `UsageError` for a provider that nobody knows.
        """
        return None


# --- what all backends need: JSON that may be none, errors in any form, masked keys ---------------

_PATIENCE = 600.0  # seconds that a server may have us wait
_LONGEST = 300  # characters of a reason
_METADATA = ("raw", "reasons", "limit_source", "error_type")
_SHORTEST = 8  # characters of a key; what is shorter is a stand-in, and may be a word of an answer


def one_line(text: str) -> str:
    """A server's words, in one line and not too long, with "?" for lone surrogates."""
    return " ".join(text.split())[:_LONGEST].encode("utf-8", "replace").decode()


def error_of(tree: dict[str, Any], raw: bytes = b"") -> str:
    """What a body says of an error, in any of the forms that servers have for it: code and words.

    "" where it states none and `raw`, to be quoted in its place, is empty.
    """
    error = tree.get("error")
    inner = error if isinstance(error, dict) else {}
    words = error if isinstance(error, str) else inner.get("message")
    words = words or tree.get("message") or tree.get("detail") or ""
    if not isinstance(words, str):
        words = orjson.dumps(words, default=str).decode()
    codes = [inner.get(name) for name in ("code", "type", "status")]
    codes += [tree.get("code"), part(inner, "details").get("error_code")]
    named = [one for one in codes if isinstance(one, str) and one and one not in words]
    metadata = part(inner, "metadata")  # OpenRouter's: what its provider said, and moderation
    more = [f"{name}: {metadata[name]}" for name in _METADATA if metadata.get(name)]
    if not words and not named and error:
        words = orjson.dumps(error, default=str).decode()
    result = ": ".join([*dict.fromkeys(named), *filter(None, [words, *more])])
    return one_line(result) or one_line(raw.decode("utf-8", "replace"))


def status_of(tree: dict[str, Any]) -> int:
    """The status that counts of a body of status 200: that of an error which it states, if any."""
    code = part(tree, "error").get("code")
    stated = int(code) if isinstance(code, str) and code.isdecimal() else code
    return stated if isinstance(stated, int) and 400 <= stated < 600 else 200


def seconds(stated: object) -> float | None:
    """Of a Retry-After header, or of a duration as in "3s"; None for a date, or nothing."""
    try:
        result = float(str(stated).removesuffix("s"))
    except ValueError:  # our own delay will do
        return None
    return min(result, _PATIENCE) if result >= 0 and math.isfinite(result) else None


def parse_object(raw: bytes) -> dict[str, Any]:
    """A JSON object; empty where the bytes are none. Of a list that begins with an error, that."""
    try:
        result = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    if isinstance(result, list) and result and isinstance(result[0], dict) and "error" in result[0]:
        result = result[0]  # as Gemini has it where it streams
    return result if isinstance(result, dict) else {}


def part(tree: dict[str, Any], name: str) -> dict[str, Any]:
    """An object in an object; empty where there is none."""
    result = tree.get(name)
    return result if isinstance(result, dict) else {}


def parts(tree: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list in an object; empty where there are none."""
    result = tree.get(name)
    return [one for one in result if isinstance(one, dict)] if isinstance(result, list) else []


class KeyMask:
    """Keys, and texts and answers without them: servers repeat them, in errors above all."""

    def __init__(self, keys: Iterable[str | None] = ()) -> None:
        self._keys: set[str] = set()
        self.add(keys)

    def add(self, keys: Iterable[str | None]) -> None:
        """Hide these too."""
        self._keys |= {key for key in keys if key and len(key) >= _SHORTEST}

    def text(self, text: str) -> str:
        """A text with [key] in the place of each."""
        for key in self._keys:
            text = text.replace(key, "[key]")
        return text

    def raw(self, raw: bytes) -> bytes:
        """The same of an answer, before it is kept."""
        for key in self._keys:
            raw = raw.replace(key.encode(), b"[key]")
        return raw


# --- how many tokens an answer took ---------------------------------------------------------------

_IN = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count")
_OUT = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_TOTAL = ("total_tokens", "totalTokenCount")
# counts beside the one of the prompt: Anthropic's `input_tokens` are those that no cache held,
# Gemini counts the prompts of its tools apart; others that name a cache mean a part of the prompt
_BESIDE = {
    "input_tokens": ("cache_creation_input_tokens", "cache_read_input_tokens"),
    "promptTokenCount": ("toolUsePromptTokenCount",),
}
# where the reasoning tokens stand: in one of these objects, or beside the other counts
_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_REASONING = ("reasoning_tokens", "reasoning", "thinking_tokens", "thoughtsTokenCount")


def usage_of(stated: object) -> Usage:
    """The usage in a server's object of counts, or in LangChain's; what it lacks is None."""
    if not isinstance(stated, Mapping):
        return Usage()
    tokens_in, tokens_out, total = (_first(stated, names) for names in (_IN, _OUT, _TOTAL))
    hidden = _hidden_tokens(stated)
    if tokens_in is not None:
        for name, beside in _BESIDE.items():
            if name in stated and (name != "input_tokens" or total is None):
                tokens_in += sum(count(stated.get(one)) or 0 for one in beside)
    if "candidatesTokenCount" in stated or ("thoughtsTokenCount" in stated and total is not None):
        inside = total is not None and total == (tokens_in or 0) + (tokens_out or 0)
        tokens_out = (tokens_out or 0) + (0 if inside else hidden)
    elif tokens_out is not None and hidden > tokens_out:  # so it cannot be a part of it
        tokens_out += hidden
    if total is not None:
        if tokens_in is None and tokens_out is not None:
            tokens_in = max(0, total - tokens_out)
        elif tokens_in is not None:
            tokens_out = max(tokens_out or 0, total - tokens_in)
    return Usage(tokens_in, tokens_out, hidden)


def count(value: object) -> int | None:
    """A number of tokens as a server states it; None where it states none that can be true."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < 2**40 else None


def _first(stated: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((n for name in names if (n := count(stated.get(name))) is not None), None)


def _hidden_tokens(stated: Mapping[str, Any]) -> int:
    places = [stated, *(stated.get(name) for name in _DETAILS)]
    result = (_first(place, _REASONING) for place in places if isinstance(place, Mapping))
    return max((tokens for tokens in result if tokens is not None), default=0)
