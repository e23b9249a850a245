"""What a chat model is to us: a rendered request in, whatever comes back out.

A backend sends each request once and describes what came in the same few words as all others;
`outcomes` says what that stands for, and whoever calls it (`caller`) acts on it, since only he
knows the ledger.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from retgen.agents.request import Request
from retgen.agents.usage import Usage

__all__ = ["NOT_SENT", "NO_CONNECTION", "SILENCE", "ChatModel", "Response", "Unusable", "Why"]

# in the place of a status: the package in use cannot make the request; there was no connection,
# so nothing was sent; it was sent, and nobody knows what became of it
NOT_SENT, NO_CONNECTION, SILENCE = -2, -1, 0


class Response(NamedTuple):
    """What came back for one request.

    `raw`: the bytes that are kept, without our key. `status`: of HTTP, or one of the three above;
    where a body of status 200 states an error with a status of its own, that one. `error`: what
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
    """A backend."""

    async def send(self, request: Request, room: int) -> Response:
        """Send once, with `room` tokens for the answer. What a server does is no exception."""
        ...

    def read(self, raw: bytes) -> Response:
        """What the bytes of an answer say that `send` returned, then or years ago."""
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...
