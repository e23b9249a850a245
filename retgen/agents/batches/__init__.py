"""A provider's batch API: a file of requests is uploaded, a batch made of it, its results read.

A module here, named as its provider, exports one `BatchApi`; a third party adds one by an entry
point in the group `retgen.batches`. One line of OpenAI's file, and one of Gemini's:

    {"custom_id": "17-9f2c", "method": "POST", "url": "/v1/chat/completions", "body": {...}}
    {"key": "17-9f2c", "request": {"contents": [...], "generationConfig": {...}}}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeVar

import orjson

from retgen.agents.chat import NOT_RUN, SILENCE, Response, one_line
from retgen.agents.embedders import OTHER_FORM
from retgen.agents.http_model import HttpModel
from retgen.agents.prompt import Request
from retgen.plugins import load_all

T = TypeVar("T")

_BROKEN_OFF = ("failed", "expired", "cancelled")
_ENDED = ("completed", "succeeded", "partially succeeded", *_BROKEN_OFF)


class Batch(NamedTuple):
    """A batch as its provider states it.

    `tag`: our name for it, "" for a batch that is not ours. `state`: in the provider's word.
    `done`, `failed`: how many requests have succeeded and failed so far. `files`: addresses of
    results. `error`: why it failed; its status is 429 where too much was queued.
    """

    id: str
    tag: str = ""
    state: str = ""
    done: int = 0
    failed: int = 0
    files: tuple[str, ...] = ()
    error: Response = Response(b"", SILENCE)

    @property
    def full(self) -> bool:
        """Whether it was never begun, because too much is queued already."""
        return self.state == "failed" and self.error.status == 429 and not self.done

    @property
    def ended(self) -> bool:
        """Whether its results are there, as far as there will be any."""
        return self.state in _ENDED

    @property
    def rest(self) -> Response | None:
        """The response of every request without a result; None where each must have one."""
        if self.state not in _BROKEN_OFF:
            return None
        if self.done and not self.files:
            return Response(b"", SILENCE, f"the batch {self.state}, and its results with it")
        words = f"the batch {self.state} before this request was worked on"
        return self.error if self.state == "failed" else Response(b"", NOT_RUN, words)


class CallFailed(Exception):
    """A call of a batch API failed. `response`: what came back, as of a chat model."""

    def __init__(self, response: Response) -> None:
        status, words = response.status, response.error
        super().__init__(f"{status}: {words}" if status > 0 else words)
        self.response = response


class BatchApi(ABC):
    """The batches of one chat model, over its connections.

    `most_requests`, `most_bytes`: limits of a file. `name`: the member of a result that names its
    request. `version`: of the API, in its addresses. Every method makes one call and raises
    `CallFailed` for whatever is not the API's own answer to it.
    """

    most_requests: ClassVar[int] = 50_000
    most_bytes: ClassVar[int] = 200_000_000
    name: ClassVar[str]
    version: ClassVar[str] = ""

    def __init__(self, chat: Any) -> None:
        """`chat`: the model; its owner closes it."""
        self.chat: HttpModel = chat
        self.root = f"{self.chat.url}{self.version}"

    @abstractmethod
    def line(self, name: str, request: Request, max_tokens: int) -> bytes:
        """Write a request as a line of a file, without a line end."""

    @abstractmethod
    async def upload(self, data: bytes, tag: str) -> str:
        """Upload a file of requests; returns the provider's name of it."""

    @abstractmethod
    async def create(self, file: str, model: str, tag: str, run: str) -> Batch:
        """Make a batch of an uploaded file. Nothing is paid for before this call."""

    @abstractmethod
    async def list(self, token: str) -> tuple[list[Batch], str]:
        """A page of all batches, and the token of the next one: "" for none, and for the first."""

    @abstractmethod
    async def get(self, batch: str) -> Batch:
        """The batch with an id as it is now."""

    @abstractmethod
    def read(self, line: dict[str, Any]) -> Response | None:
        """Read a line of results; None for a line that is no result."""

    async def download(self, url: str, method: str = "GET", **content: Any) -> bytes:
        """The bytes at an address: a file of results, or the answer to a call."""
        response = await self.chat.call(method, url, **content)
        if response.status != 200:
            raise CallFailed(response)
        return response.raw

    async def call(self, read: Callable[[Any], T], url: str, **content: Any) -> T:
        """What `read` makes of the JSON that answers a call; it may raise `OTHER_FORM`."""
        raw = await self.download(url, "POST" if content else "GET", **content)
        try:
            return read(orjson.loads(raw))
        except OTHER_FORM as error:
            answer = raw.decode("utf-8", "replace") or "an empty body"
            words = one_line(f"not an answer of a batch API: {answer}")
            raise CallFailed(Response(b"", SILENCE, words)) from error


@cache
def batch_apis() -> dict[str, type[BatchApi]]:
    """All batch APIs, by the names of their providers."""
    return load_all(__name__, __path__, BatchApi, "retgen.batches")


def expect(kind: type[T], value: object) -> T:
    """Return a value of an answer. Raises `TypeError` where it is of another kind."""
    if not isinstance(value, kind):
        raise TypeError(f"not a {kind.__name__}: {value!r}")
    return value
