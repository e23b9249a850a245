"""What a chat model is to us: a rendered request in, whatever comes back out.

A backend sends each request once and describes what came in the same few words as all others;
`outcomes` says what that stands for, and whoever calls it (`caller`) acts on it, since only he
knows the ledger.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from retgen.agents.prompt import Request
from retgen.agents.wire import Usage

# in the place of a status: the package in use cannot make the request; there was no connection,
# so nothing was sent; it was sent, and nobody knows what became of it
NOT_SENT, NO_CONNECTION, SILENCE = -2, -1, 0


class Response(NamedTuple):
    """What came back for one request.

    `raw`: the bytes that are kept, without our key. `status`: of HTTP, or one of the three above;
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
