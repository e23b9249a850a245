"""A provider's batch API: a file of requests is uploaded, a batch made of it, its answers fetched.

One line of OpenAI's file, and one of Gemini's:

    {"custom_id": "17-9f2c", "method": "POST", "url": "/v1/chat/completions", "body": {...}}
    {"key": "17-9f2c", "request": {"contents": [...], "generationConfig": {...}}}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable
from typing import Any, ClassVar, NamedTuple

import orjson

from retgen.agents.chat import NO_CONNECTION, NOT_RUN, SILENCE, Response
from retgen.agents.outcomes import WAITED
from retgen.agents.prompt import Request

_NO_ANSWER = Response(b"", SILENCE, "the batch ended without an answer to this request")
ENDED_EARLY = Response(b"", NOT_RUN, "the batch {state} before this request was worked on")


class Batch(NamedTuple):
    """A batch as its provider has it.

    `tag`: what we named it by, "" for one that is not ours. `state`: in the provider's word.
    `done`, `failed`: requests so far, as far as it says. `files`: of answers. `rest`: what stands
    for the answer to a request that these do not have. `full`: it was not begun, since too much is
    queued already.
    """

    name: str
    tag: str
    state: str
    ended: bool = False
    done: int = 0
    failed: int = 0
    files: tuple[str, ...] = ()
    rest: Response = _NO_ANSWER
    full: bool = False


class ApiFailure(Exception):
    """A call of a batch API failed. `response`: what came, as of a chat model."""

    def __init__(self, response: Response) -> None:
        status, words = response.status, response.error
        super().__init__(f"{status}: {words}" if status > 0 else words)
        self.response = response

    @property
    def passing(self) -> bool:
        """Whether the same call may succeed later."""
        status = self.response.status
        return status in (NO_CONNECTION, SILENCE, 409, 425, 429, *WAITED) or status >= 500

    @property
    def unsure(self) -> bool:
        """Whether the call may have been carried out all the same."""
        return self.response.status in (SILENCE, *WAITED) or self.response.status >= 500


class BatchApi(ABC):
    """The batches of one chat model, which its provider's backend has opened.

    `most_requests`, `most_bytes`: what a file may hold. What goes over the network is sent once,
    and raises `ApiFailure`.
    """

    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]

    @abstractmethod
    def __init__(self, chat: Any) -> None:
        """`chat`: the model; whoever opened it closes it."""

    @abstractmethod
    def line(self, item: str, request: Request, room: int) -> bytes:
        """A request in a file, without the end of its line. `item`: what its answer is named by."""

    @abstractmethod
    async def upload(self, data: bytes, tag: str) -> str:
        """Upload a file of requests; returns its name."""

    @abstractmethod
    async def create(self, file: str, model: str, tag: str, run: str) -> Batch:
        """Make a batch of an uploaded file."""

    @abstractmethod
    def batches(self) -> AsyncIterator[Batch]:
        """All batches of the account, the latest first."""

    @abstractmethod
    async def get(self, name: str) -> Batch:
        """A batch as it is now."""

    @abstractmethod
    async def answers(self, batch: Batch) -> dict[str, Response]:
        """The answers of a batch that has ended, by item."""


def rest_of(state: str) -> Response:
    """What stands for the answers that a batch lacks which ended early."""
    return ENDED_EARLY._replace(error=ENDED_EARLY.error.format(state=state))


def lines_of(data: bytes) -> Iterable[dict[str, Any]]:
    """The objects of a file of JSON Lines; what is none is left out."""
    for line in data.splitlines():
        try:
            tree = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(tree, dict):
            yield tree
