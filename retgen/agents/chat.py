"""What a chat model is to us: a rendered request in, the bytes of an answer out.

A backend sends each request once. Whoever calls it decides about retries, since he knows the
ledger: what was refused cost nothing, what was never answered may have been paid for.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from retgen.agents.request import Request

__all__ = ["ChatModel", "Refused", "Reply", "Unanswered", "Unusable", "count"]


class Reply(NamedTuple):
    """The body of an answer as it came, and the tokens that it says it took.

    `tokens_in` and `tokens_out` are None where it does not say. A request that was turned down for
    what it holds (too long, filtered) is answered too, by the error's body, and cost nothing:
    0 and 0.
    """

    raw: bytes
    tokens_in: int | None
    tokens_out: int | None


class Refused(Exception):
    """The other side did not do it. `retry`: it may later, after `wait` seconds if it said so."""

    def __init__(self, reason: str, *, retry: bool, wait: float | None = None) -> None:
        super().__init__(reason)
        self.retry = retry
        self.wait = wait


class Unanswered(Exception):
    """The request went out, and nobody knows what became of it."""


class Unusable(Exception):
    """An answer came that holds no text.

    `why`: cut_off (at max_tokens), filtered (or the model refused), too_long (the request, for the
    model), no_text (of another form).
    """

    def __init__(
        self, reason: str, why: Literal["cut_off", "filtered", "too_long", "no_text"]
    ) -> None:
        super().__init__(reason)
        self.why = why


def count(value: object) -> int | None:
    """A number of tokens as an answer states it; None where it states none that can be true."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40
    return int(value) if whole else None  # type: ignore[call-overload]


class ChatModel(Protocol):
    """A backend."""

    async def send(self, request: Request) -> Reply:
        """Send once. Raises `Refused` or `Unanswered`."""
        ...

    def text(self, raw: bytes) -> str:
        """The text of an answer that `send` returned, then or years ago. Raises `Unusable`."""
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...
