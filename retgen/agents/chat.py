"""What a chat model is to us: a rendered request in, the bytes of an answer out.

A backend sends each request once. Whoever calls it decides about retries, since he knows the
ledger: what was refused cost nothing, what was never answered may have been paid for.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from retgen.agents.request import Request

__all__ = ["ChatModel", "Refused", "Reply", "Unanswered", "Unusable"]


class Reply(NamedTuple):
    """The body of an answer as it came, and the tokens that it says it took (0: does not say)."""

    raw: bytes
    tokens_in: int
    tokens_out: int


class Refused(Exception):
    """The other side did not do it. `retry`: it may later, after `wait` seconds if it said so."""

    def __init__(self, reason: str, *, retry: bool, wait: float | None = None) -> None:
        super().__init__(reason)
        self.retry = retry
        self.wait = wait


class Unanswered(Exception):
    """The request went out, and nobody knows what became of it."""


class Unusable(Exception):
    """An answer came that holds no text: cut at the limit, filtered, or of another form."""


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
