"""Calls in a ledger, and the client of a server on loopback that keeps its calls there."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypeVar

from retgen.agents.batch_queue import BatchQueue
from retgen.agents.chat import ChatModel
from retgen.agents.client import Client
from retgen.agents.ledger import Answer, Call, Ledger, LedgerReader
from retgen.agents.limits import Budget, Session, Stop
from retgen.agents.models import ModelSettings, open_chat
from retgen.agents.prices import Price
from retgen.agents.prompt import Message, Request

T = TypeVar("T")

PRICE = Price(token_in=1_000, token_out=10_000)


def request(number: int = 0, *, max_tokens: int = 100, sample: int = 0) -> Request:
    """All of two digits have the same length, and so the same worst case."""
    message = Message("user", f"question {number}.")
    return Request(
        "loopback", "m", (message,), sample=sample, max_tokens=max_tokens, about=f"number {number}"
    )


WORST = PRICE.worst(request(10), 100)


def states(path: Path) -> dict[str, int]:
    """How many calls of a ledger are in each state."""
    with closing(sqlite3.connect(path)) as database:
        return dict(database.execute("SELECT state, count(*) FROM calls GROUP BY state"))


def spent(ledger: LedgerReader) -> dict[str, tuple[int, ...]]:
    """By run: calls, answers of other runs, tokens in and out, nano-dollars."""
    return {
        one.run: (one.calls, one.cache_hits, one.tokens_in, one.tokens_out, one.nano_usd)
        for one in ledger.sums(by_agent=False)
    }


# --- calls without a client -----------------------------------------------------------------------


def run(ledger: Ledger, work: Awaitable[T]) -> T:
    """The result of work in an event loop, once all of it is committed."""

    async def main() -> T:
        try:
            return await work
        finally:
            await ledger.flush()

    return asyncio.run(main())


async def add_call(
    ledger: Ledger, number: int = 0, *, run: str = "a", worst: int = 100, **options: Any
) -> Call:
    """Commit a call of the agent `write`."""
    given = {"worst": worst, "max_tokens": 9, "priced": True, **options}
    agent = given.pop("agent", "write")
    return await ledger.add_call(request(number), run, agent, **given)


async def add_answer(
    ledger: Ledger, number: int, raw: bytes | None = None, *, run: str = "a", cost: int = 10
) -> None:
    """Commit a call and its answer, "answer NUMBER", of one token in and one out."""
    call = await add_call(ledger, number, run=run)
    raw = b"answer %d" % number if raw is None else raw
    await ledger.end_call(call, "answered", cost, Answer(raw, 1, 1))


def fill(ledger: Ledger, *numbers: int, run: str = "a") -> None:
    """Commit calls and their answers side by side."""

    async def main() -> None:
        await asyncio.gather(*(add_answer(ledger, number, run=run) for number in numbers))

    asyncio.run(main())


def find(ledger: Ledger, number: int, run: str) -> Answer | Call | None:
    """What the ledger holds for a request; that the run has used it is committed."""

    async def main() -> Answer | Call | None:
        result = ledger.find(request(number).key, run)
        await ledger.flush()
        return result

    return asyncio.run(main())


# --- a client -------------------------------------------------------------------------------------


@asynccontextmanager
async def open_client(
    ledger: Ledger,
    url: str,
    *,
    run: str = "a",
    cap: int | None = None,
    stop: Stop | None = None,
    budget: Budget | None = None,
    chat: ChatModel | None = None,
    batches: Callable[[ChatModel, Session], BatchQueue] | None = None,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[Client]:
    """The client of the model `m` at `url`, for which five failures in a row are an outage.

    It closes when its test is done, after five minutes at most, so that no fault hangs a suite.
    """
    known = {"provider": "openai", "name": "m", "base_url": url, "timeout": 120.0}
    outage = {"outage_seconds": 0.0, "outage_attempts": 5}
    model = ModelSettings(**{**known, **outage, **(settings or {})})
    stop = stop or Stop()
    shared = {name: options.pop(name) for name in ("report", "notice", "replay") if name in options}
    session = Session(ledger, run, stop, budget or Budget(cap, ledger.begin(run), stop), **shared)
    chat = chat or open_chat(model, "sk-planted-0123")
    options["batches"] = batches and batches(chat, session)
    client = Client(session, chat, model, **{"price": PRICE, "first_delay": 0.01, **options})
    try:
        async with asyncio.timeout(300):
            yield client
    finally:
        await client.close()
        await ledger.flush()


def request_all(
    ledger: Ledger, url: str, *requests: Request, agent: str = "write", **options: Any
) -> list[Any]:
    """Texts and errors of requests that are made at once, in their order."""

    async def main() -> list[Any]:
        async with open_client(ledger, url, **options) as client:
            work = (client.request(one, agent) for one in requests)
            return await asyncio.gather(*work, return_exceptions=True)

    return asyncio.run(main())
