"""Requests in batches, through the ledger, at servers of both protocols."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from retgen.agents.backends import backend
from retgen.agents.batch_queue import BatchQueue
from retgen.agents.batches import batch_apis
from retgen.agents.caller import Caller
from retgen.agents.flow import Flight, Stop, Stopped
from retgen.agents.ledger import Ledger, Writer
from retgen.agents.models import ModelSettings
from retgen.agents.prices import Price
from retgen.agents.prompt import Message, Request
from retgen.errors import BatchUnfinished, BudgetReached, EndpointFailed
from tests.agents import batch_server

PRICE = Price(token_in=1000, token_out=1000)
NAMES = {"openai": "batch_", "google_genai": "batches/"}
LOOK = 0.5  # seconds: longer than until a batch is looked at


@pytest.fixture(params=NAMES)
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    def say(body: dict[str, Any]) -> str:
        return "answer to " + str(body["messages"][-1]["content"])

    with batch_server.serving(request.param, say) as made:
        made.protocol, made.usage = request.param, (40, 10)
        yield made


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger.sqlite")
    yield made
    made.close()


def question(number: int) -> Request:
    return Request("x", "m", (Message("user", f"question {number}"),), room=20)


@asynccontextmanager
async def calling(
    server: Any, ledger: Ledger, stop: Stop, told: list[str], *, hours: float = 1.0,
    limits: dict[str, int] | None = None, **options: Any,
) -> AsyncIterator[Caller]:  # fmt: skip
    """A caller in batches. An agent's answers have been whole before, so that all go at once."""
    settings = ModelSettings(provider=server.protocol, name="m", concurrency=1000)
    ledger.learn(*(settings.endpoint(), "m"), "write", 0, 5)
    known, writer = backend(server.protocol), Writer(ledger)
    chat = known.open(
        server.protocol, base_url=server.url, api_key="k" * 20, timeout=5.0, connections=9
    )

    async def note_batch(sends: list[int], tag: str) -> None:
        await asyncio.wrap_future(writer.submit(lambda: ledger.note_batch(sends, tag)))

    api = type("Limited", (batch_apis()[server.protocol],), limits or {})(chat)
    queue = BatchQueue(
        api, run="a", whom="the model", stop=stop, note_batch=note_batch, hours=hours,
        notice=told.append,
    )  # fmt: skip
    caller = Caller(
        ledger, writer, chat, settings, run="a", stop=stop, flight=Flight(), price=PRICE,
        batches=queue, first_delay=0.01, notice=told.append, **options,
    )  # fmt: skip
    try:
        async with asyncio.timeout(50):
            yield caller
    finally:
        await queue.close()
        await caller.close()
        writer.close()


def ask(server: Any, ledger: Ledger, count: int, **options: Any) -> tuple[list[Any], list[str]]:
    """So many questions at once: answers and errors in order, and what was told."""
    told: list[str] = []

    async def run() -> list[Any]:
        async with calling(server, ledger, Stop(), told, **options) as caller:
            asked = (caller.ask(question(number), "write") for number in range(count))
            return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(run()), told


def answers(count: int) -> list[str]:
    return [f"answer to question {number}" for number in range(count)]


def states(ledger: Ledger) -> dict[str, int]:
    with sqlite3.connect(ledger.path) as database:
        return dict(database.execute("select state, count(*) from sends group by state"))


@pytest.mark.slow
def test_one_batch_of_all_that_wait(server: Any, ledger: Ledger) -> None:
    result, told = ask(server, ledger, 30)
    name = NAMES[server.protocol] + "0001"
    assert result == answers(30)
    assert (server.sizes, server.direct, server.paid_twice) == ([30], 0, 0)
    assert ledger.spent("a")[1:] == (30, 0, 1200, 300, 1_500_000)
    ended = {"openai": "completed", "google_genai": "succeeded"}[server.protocol]
    assert told == [
        f"the model: 30 requests submitted as {name}",
        f"the model: {name} {ended} after 0 s of waiting",
    ]
    assert ask(server, ledger, 30) == (answers(30), [])  # from the ledger


@pytest.mark.slow
def test_a_batch_is_tagged_with_its_run(server: Any, ledger: Ledger) -> None:
    ask(server, ledger, 2)
    (made,) = server.made.values()
    if server.protocol == "openai":
        assert made["metadata"]["run"] == "a"
    tag = made["metadata"]["retgen" if server.protocol == "openai" else "displayName"]
    assert tag.startswith("retgen-ca978112-")  # SHA-256 of "a"


@pytest.mark.slow
def test_what_expired_is_asked_again_and_what_was_answered_is_used(
    server: Any, ledger: Ledger
) -> None:
    server.modes = ["expired"]
    result, told = ask(server, ledger, 10)
    assert result == answers(10)
    assert (server.sizes, server.paid_twice) == ([10, 5], 0)
    assert states(ledger) == {"answered": 10, "failed": 5}
    assert ledger.spent("a").nano_usd == 500_000  # expired ones are free
    if server.protocol == "google_genai":
        assert told[1].endswith(
            "5 requests without an answer (the batch expired before this request was worked on)"
        )


@pytest.mark.slow
def test_what_failed_is_asked_again(server: Any, ledger: Ledger) -> None:
    server.modes = ["faulty"]
    assert ask(server, ledger, 9)[0] == answers(9)
    assert (server.sizes, server.paid_twice) == ([9, 3], 0)
    # Google documents that a 500 costs nothing
    kept = {"openai": "void", "google_genai": "failed"}[server.protocol]
    assert states(ledger) == {"answered": 9, kept: 3}


@pytest.mark.slow
def test_less_at_a_time_where_too_much_is_queued(server: Any, ledger: Ledger) -> None:
    server.modes = ["full"]
    result, told = ask(server, ledger, 8)
    assert result == answers(8)
    assert (server.sizes, server.paid_twice) == ([8, 4, 4], 0)
    assert states(ledger) == {"answered": 8}
    assert told[1].endswith("What is left is submitted when there is room")


@pytest.mark.slow
def test_a_batch_that_is_not_valid_stops_the_run(server: Any, ledger: Ledger) -> None:
    server.modes = ["invalid"]
    result, _ = ask(server, ledger, 3)
    error = next(one for one in result if isinstance(one, EndpointFailed))
    assert "no batches for this" in str(error)
    assert str(error).endswith("What was answered is kept; correct this, and run again.")
    assert (states(ledger), ledger.spent("a").nano_usd) == ({"failed": 3}, 0)


@pytest.mark.slow
def test_a_batch_that_never_ends_is_taken_up_by_the_next_call(server: Any, ledger: Ledger) -> None:
    server.modes = ["never"]
    result, _ = ask(server, ledger, 4, hours=LOOK / 3600)
    error = next(one for one in result if isinstance(one, BatchUnfinished))
    state = {"openai": "in progress", "google_genai": "running"}[server.protocol]
    name = NAMES[server.protocol] + "0001"
    assert str(error) == (
        f"the model: {name} has not ended in 0 s of waiting ({state}, 0 of 4 done). It stays there "
        "and is not paid for again: the same command takes it up"
    )
    reserved = ledger.spent("a").nano_usd
    assert (ledger.abandon("a"), ledger.count_in_batches("a")) == (4, 4)

    server.made[name]["_mode"] = "done"
    assert ask(server, ledger, 5)[0] == answers(5)
    assert (server.sizes, server.paid_twice) == ([4, 1], 0)
    assert ledger.count_in_batches("a") == 0
    assert ledger.spent("a").nano_usd == 250_000 < reserved


@pytest.mark.slow
def test_a_stop_leaves_batches_where_they_are(server: Any, ledger: Ledger) -> None:
    server.modes = ["never"]
    told: list[str] = []

    async def run() -> list[Any]:
        stop = Stop()
        async with calling(server, ledger, stop, told) as caller:
            asked = [asyncio.ensure_future(caller.ask(question(n), "write")) for n in range(3)]
            while not server.sizes:
                await asyncio.sleep(0.01)
            stop.set()
            return await asyncio.gather(*asked, return_exceptions=True)

    result = asyncio.run(run())
    assert [type(one) for one in result] == [Stopped] * 3
    assert states(ledger) == {"sent": 3}
    assert (ledger.abandon("a"), ledger.count_in_batches("a")) == (3, 3)


@pytest.mark.slow
def test_a_batch_whose_making_was_not_heard_of_is_found(server: Any, ledger: Ledger) -> None:
    server.faults = [("created", 0)]  # it was made, and the connection broke
    assert ask(server, ledger, 3)[0] == answers(3)
    assert (server.sizes, server.paid_twice) == ([3], 0)


@pytest.mark.slow
def test_calls_that_fail_on_the_way_are_made_again(server: Any, ledger: Ledger) -> None:
    server.faults = [("upload", 503), ("poll", 503), ("poll", 0), ("download", 500)]
    result, told = ask(server, ledger, 3)
    assert result == answers(3)
    assert (server.faults, server.sizes, server.paid_twice) == ([], [3], 0)
    assert next(one for one in told if "503" in one).startswith(
        "m at x: the batch could not be submitted: 503: "
    )
    assert states(ledger) == {"answered": 3, "failed": 3}


@pytest.mark.slow
def test_a_key_that_is_refused_leaves_batches_where_they_are(server: Any, ledger: Ledger) -> None:
    server.faults = [("poll", 401)]
    result, _ = ask(server, ledger, 3)
    error = next(one for one in result if isinstance(one, EndpointFailed))
    assert str(error).startswith("the model: what became of its batches cannot be seen: 401: ")
    assert states(ledger) == {"sent": 3}
    ledger.abandon("a")
    assert ask(server, ledger, 3)[0] == answers(3)
    assert (server.sizes, server.paid_twice) == ([3], 0)


@pytest.mark.slow
def test_answers_that_are_gone_are_charged_and_asked_for_again(server: Any, ledger: Ledger) -> None:
    def at(step: str) -> None:
        if step == "download" and len(server.sizes) == 1:
            server.files.clear()

    server.at = at
    result, told = ask(server, ledger, 3)
    assert result == answers(3)
    assert (server.sizes, server.paid_twice) == ([3, 3], 3)
    assert states(ledger) == {"sent": 3, "answered": 3}
    assert ledger.count_in_batches("a") == 0
    assert ledger.spent("a").nano_usd > 2 * 150_000  # the lost ones at their most
    assert "are gone: 404" in told[1]


def test_a_server_without_a_batch_api_is_named(server: Any, ledger: Ledger) -> None:
    server.faults = [("upload", 404)]
    (error,), _ = ask(server, ledger, 1)
    assert str(error).startswith(
        "m at x: there is no batch API for it, so leave --batch out (404: "
    )
    assert states(ledger) == {"failed": 1}


@pytest.mark.slow
def test_the_cap_holds_what_a_batch_may_cost(server: Any, ledger: Ledger) -> None:
    worst = PRICE.worst(question(0), 20)
    result, _ = ask(server, ledger, 9, cap=3 * worst)
    assert server.sizes[0] == 3  # reserved before it is submitted
    assert len(server.sizes) > 1  # what was not used is reserved again
    assert any(isinstance(one, BudgetReached) for one in result)
    assert ledger.spent("a").nano_usd <= 3 * worst
    assert [one for one in result if isinstance(one, str)] == answers(9)[: sum(server.sizes)]


@pytest.mark.slow
def test_chunks_keep_to_the_limits_of_a_file(server: Any, ledger: Ledger) -> None:
    assert ask(server, ledger, 7, limits={"most_requests": 3})[0] == answers(7)
    assert server.sizes == [3, 3, 1]
    asked = [data.splitlines() for data in server.files.values() if b"question 0" in data]
    longest = max(len(line) for line in asked[0]) + 1

    server.sizes.clear()
    server.files.clear()
    result, _ = ask(server, ledger, 14, limits={"most_bytes": 2 * longest + 8})
    assert result == answers(14)
    assert server.sizes == [2, 2, 2, 1]
    assert server.paid_twice == 0


@pytest.mark.slow
def test_a_batch_is_found_behind_many_others(server: Any, ledger: Ledger) -> None:
    server.modes = ["never"]
    ask(server, ledger, 2, hours=LOOK / 3600)
    ledger.abandon("a")
    (name, first), *_ = server.made.items()
    for number in range(250):
        server.made[f"{name}-{number}"] = {
            **first, "id": f"{name}-{number}", "name": f"{name}-{number}",
            "metadata": {**first["metadata"], "retgen": "", "displayName": ""},
        }  # fmt: skip
    first["_mode"] = "done"
    assert ask(server, ledger, 2)[0] == answers(2)
    assert (server.sizes, server.paid_twice) == ([2], 0)
