"""What the ledger's operations take and return."""

from __future__ import annotations

from typing import NamedTuple


class LedgerAnswer(NamedTuple):
    """An answer that is there: the bytes as they came, and the tokens that they took."""

    raw: bytes
    tokens_in: int
    tokens_out: int


class Refusal(NamedTuple):
    """A request that is refused for good: it is not sent again. `why`: a class of reasons."""

    why: str
    reason: str
    tokens_in: int
    tokens_out: int


class Send(NamedTuple):
    """Leave to send a request once. `worst`: what `run` is charged until it is known better."""

    id: int
    run: str
    worst: int


class Busy(NamedTuple):
    """Another has sent the request.

    `owner`: who, in words ("process 4711 on this machine"); `left`: seconds until its lease ends
    at the latest.
    """

    owner: str
    left: float


class OverCap(NamedTuple):
    """Sending could cost more than the cap leaves: `worst` against `left`, in nano-dollars."""

    worst: int
    left: int


class LearnedBudget(NamedTuple):
    """What was learned of an agent's answers, in tokens.

    `room`: what they are given; `most`: what the longest whole answer took.
    """

    room: int
    most: int


class StoredAnswer(NamedTuple):
    """An answered request as the ledger keeps it. `why`, `reason`: of one refused for good."""

    key: str
    agent: str
    model: str
    request: bytes
    answer: bytes
    tokens_in: int
    tokens_out: int
    why: str = ""
    reason: str = ""


class Spent(NamedTuple):
    """A run so far. `nano_usd`: with what is out at its worst case."""

    run: str
    calls: int
    cache_hits: int
    tokens_in: int
    tokens_out: int
    nano_usd: int


class PartSums(NamedTuple):
    """What one agent of a run asked one model. `open`: sent and never answered."""

    run: str
    agent: str
    model: str
    calls: int
    failed: int
    open: int
    tokens_in: int
    tokens_out: int
    nano_usd: int
    priced: bool
    answered: int = 0
