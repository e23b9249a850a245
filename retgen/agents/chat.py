"""The interface of a chat model: it takes a rendered request and returns a `Response`.

A backend sends each request once and describes every reply in the terms of `Response`. `outcomes`
says what a response means, and the client acts on it. The second half of this module is what all
backends share.

Servers state the tokens of an answer in many forms:

    {"prompt_tokens": 27, "completion_tokens": 40, "total_tokens": 767}        -> 27 in, 740 out
    {"promptTokenCount": 27, "candidatesTokenCount": 40, "thoughtsTokenCount": 700} -> 27, 740
    {"input_tokens": 7, "cache_read_input_tokens": 20, "output_tokens": 740}   -> 27, 740

Reasoning tokens are charged as output wherever they are stated: inside the output, beside it
(xAI, Gemini), or only in the total. If two counts disagree, the larger one is charged, because the
cap has to hold.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import orjson

from retgen.agents.prompt import Request

if TYPE_CHECKING:
    import httpx2

NO_KEY = "none"  # placeholder for a server that asks for no key: some clients insist on one
# Pseudo statuses. NOT_RUN: left in a batch that ended before it. NOT_SENT: the package cannot make
# the request, or the batch API refuses it. NO_CONNECTION: nothing was sent. SILENCE: sent, and no
# response came.
NOT_RUN, NOT_SENT, NO_CONNECTION, SILENCE = -3, -2, -1, 0


class Usage(NamedTuple):
    """Tokens of a request and of its answer; None where they are not stated."""

    tokens_in: int | None = None
    tokens_out: int | None = None


class Response(NamedTuple):
    """The response to one request.

    `raw`: the bytes to keep, with keys masked. `status`: the HTTP status, the status of an error
    inside a body of status 200, or one of the pseudo statuses above. `error`: the server's own
    words, its code first; "" without an error. `finish`: why the answer ended, in lower case.
    `text`: the answer. `wait`: seconds of a Retry-After. `begun`: a model may have worked on the
    request, whatever the status says.
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
    """A request that will never have an answer: its record is rejected.

    `why`: cut_off (even with a large max_tokens), filtered (request or answer, or the model
    refused), too_long (the request, for the model), refused (by a server that answers others).
    """

    def __init__(self, reason: str, why: Why) -> None:
        super().__init__(reason)
        self.why: Why = why


@dataclass(eq=False, repr=False)  # a repr would show the key
class ChatModel(ABC):
    """A provider's protocol, and the connections to one server that speaks it.

    A module of `retgen.agents.backends` exports one. `keys`: environment variables of the key, the
    first that is set counts; empty: the provider's package finds it. `variable`: the environment
    variable that names another server. `base_url` None: the provider's own server. `timeout`:
    seconds of a request. `connections`: the most at a time.
    """

    keys: ClassVar[tuple[str, ...]] = ()
    variable: ClassVar[str] = ""

    provider: str = ""
    base_url: str | None = None
    api_key: str | None = None
    timeout: float = 600.0
    connections: int = 512

    def check(self, name: str, sampling: Mapping[str, Any]) -> str:
        """Say why a model cannot be used, without sending anything; "" if it can."""
        return ""

    @abstractmethod
    async def send(self, request: Request, max_tokens: int) -> Response:
        """Send once. A failure of the server is a response too."""

    @abstractmethod
    def read(self, raw: bytes) -> Response:
        """Read the bytes of an answer that `send` returned, now or from the ledger."""

    @cached_property
    def secrets(self) -> set[bytes]:
        """Keys that are masked, as servers repeat them, mostly in errors."""
        return {self.api_key.encode()} if self.api_key else set()

    def mask(self, raw: bytes) -> bytes:
        """Replace each key in an answer by [key], before it is kept."""
        for key in self.secrets:
            if len(key) >= _SHORTEST:
                raw = raw.replace(key, b"[key]")
        return raw

    def mask_text(self, text: str) -> str:
        """Replace each key in a text by [key], and put the text on one line."""
        return one_line(self.mask(text.encode("utf-8", "replace")).decode())

    @cached_property
    def http(self) -> httpx2.AsyncClient:
        """An HTTP client; a redirect would carry the key elsewhere, so it follows none."""
        import httpx2
        from openai import DefaultAioHttpClient

        most = self.connections
        limits = httpx2.Limits(max_connections=most, max_keepalive_connections=most)
        return DefaultAioHttpClient(limits=limits, follow_redirects=False, timeout=self.timeout)

    async def close(self) -> None:
        """Close the connections."""
        if "http" in vars(self):
            await self.http.aclose()


# --- what all backends share: JSON of any shape, errors in any form, masked keys ------------------

_PATIENCE = 600.0  # seconds of a Retry-After, at most
_LONGEST = 300  # characters of a reason
_METADATA = ("raw", "reasons", "limit_source", "error_type")
_SHORTEST = 8  # characters of a key; a shorter one is a placeholder, and may be a word of an answer


def one_line(text: str) -> str:
    """Put a server's words on one line of at most 300 characters, with "?" for lone surrogates."""
    return " ".join(text.split())[:_LONGEST].encode("utf-8", "replace").decode()


def error_of(tree: dict[str, Any], raw: bytes = b"") -> str:
    """Describe the error in a body, in any of the forms that servers use: code, then words.

    Without an error, quote `raw`.
    """
    error, inner = tree.get("error"), part(tree, "error")
    words = error if isinstance(error, str) else inner.get("message")
    words = words or tree.get("message") or tree.get("detail") or ""
    stated = [inner.get(name) for name in ("code", "type", "status")]
    stated += [tree.get("code"), part(inner, "details").get("error_code")]
    codes = [one for one in stated if isinstance(one, str) and one and one not in str(words)]
    words = words or (not codes and error) or ""
    if not isinstance(words, str):
        words = orjson.dumps(words).decode()
    metadata = part(inner, "metadata")  # OpenRouter's: the provider's words, and moderation
    more = [f"{name}: {metadata[name]}" for name in _METADATA if metadata.get(name)]
    result = ": ".join(filter(None, [*dict.fromkeys(codes), words, *more]))
    return one_line(result or raw.decode("utf-8", "replace"))


def no_answer(raw: bytes, tree: dict[str, Any], usage: Usage) -> Response:
    """Describe a body of status 200 that holds no answer: an error, a page, cut JSON."""
    code = str(part(tree, "error").get("code"))
    status = int(code) if re.fullmatch("[45][0-9]{2}", code) else 200
    return Response(raw, status, error_of(tree, b"" if tree else raw), usage=usage, begun=True)


def failed(raw: bytes, status: int, after: object = None, words: str = "") -> Response:
    """Describe an error of a server. `words`: for a body without any.

    `after`: a Retry-After in seconds, or a duration such as "3s"; a date is passed over.
    """
    try:
        wait = min(float(str(after).removesuffix("s")), _PATIENCE)
    except ValueError:  # our own delay is used
        wait = -1.0
    text = error_of(parse_object(raw), raw) or words or "no reason given"
    return Response(raw, status, text, wait=wait if wait >= 0 else None)


def parse_object(raw: bytes) -> dict[str, Any]:
    """Parse a JSON object, or one that Gemini streams in a list with an error; else {}."""
    try:
        result = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    if isinstance(result, list) and result and isinstance(result[0], dict) and "error" in result[0]:
        result = result[0]
    return result if isinstance(result, dict) else {}


def part(tree: dict[str, Any], name: str) -> dict[str, Any]:
    """Object under a name; {} if there is none."""
    result = tree.get(name)
    return result if isinstance(result, dict) else {}


def parts(tree: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Objects of the list under a name; [] if there is none."""
    result = tree.get(name)
    return [one for one in result if isinstance(one, dict)] if isinstance(result, list) else []


def text_of(content: object) -> str:
    """Text of an answer: a string, or a list of parts with a text each."""
    if isinstance(content, list):
        texts = [one.get("text") for one in content if isinstance(one, dict)]
        return "".join(one for one in texts if isinstance(one, str))
    return content if isinstance(content, str) else ""


# --- token counts ---------------------------------------------------------------------------------

_IN = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count")
_OUT = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_TOTAL = ("total_tokens", "totalTokenCount")
# Anthropic's `input_tokens` leave these out; other servers' cached counts are part of the prompt
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")
# reasoning tokens stand in one of these objects, or beside the other counts
_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_REASONING = ("reasoning_tokens", "reasoning", "thinking_tokens", "thoughtsTokenCount")


def usage_of(stated: object) -> Usage:
    """Read the usage from a server's object of counts, or LangChain's; a missing count is None."""
    if not isinstance(stated, Mapping):
        return Usage()
    tokens_in, tokens_out, total = (_first(stated, names) for names in (_IN, _OUT, _TOTAL))
    details = [one for name in _DETAILS if isinstance(one := stated.get(name), Mapping)]
    hidden = max(_first(one, _REASONING) or 0 for one in (stated, *details))
    if tokens_in is not None and total is None and "input_tokens" in stated:
        tokens_in += sum(_first(stated, (name,)) or 0 for name in _CACHED)
    beside = "candidatesTokenCount" in stated and total is None  # Gemini's thoughts
    if tokens_out is not None and (beside or hidden > tokens_out):
        tokens_out += hidden
    if total is not None:
        if tokens_in is None and tokens_out is not None:
            tokens_in = max(0, total - tokens_out)
        elif tokens_in is not None:
            tokens_out = max(tokens_out or 0, total - tokens_in)
    return Usage(tokens_in, tokens_out)


def count(value: object) -> int | None:
    """Number of tokens that a server states; None unless it is a credible whole number."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < 2**40 else None


def _first(stated: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((n for name in names if (n := count(stated.get(name))) is not None), None)
