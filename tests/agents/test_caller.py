"""Asking a model on loopback through the ledger: once paid, never again, and never past the cap."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.caller import Caller
from retgen.agents.chat import Unusable
from retgen.agents.flow import Flight, Stop, Stopped
from retgen.agents.ledger import Ledger, Spent, Writer
from retgen.agents.models import ModelSettings
from retgen.agents.prices import Price
from retgen.agents.prompt import Message, Request
from retgen.agents.sending import Tally
from retgen.errors import BudgetReached, EndpointFailed
from tests.agents.server import Server, serving

PRICE = Price(token_in=200_000, token_out=1_000_000)
COST = 5 * 200_000 + 2 * 1_000_000  # of an answer of the server, $0.003


def request(number: int = 0, model: str = "ok") -> Request:
    return Request("loopback", model, (Message("user", f"question {number}"),), room=9)


@asynccontextmanager
async def calling(
    server: Server, ledger: Ledger, limits: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[Caller]:
    settings = ModelSettings(provider="openai", name="any", **(limits or {}))
    writer, chat = (
        Writer(ledger),
        OpenAIChat(base_url=server.url, api_key="sk-planted", timeout=5.0),
    )
    defaults = {"run": "a", "price": PRICE, "stop": Stop(), "flight": Flight(), "first_delay": 0.01}
    caller = Caller(ledger, writer, chat, settings, **{**defaults, **options})
    try:
        async with asyncio.timeout(50):
            yield caller
    finally:
        await caller.close()
        writer.close()


def ask(server: Server, ledger: Ledger, *requests: Request, **options: Any) -> list[Any]:
    """All at once; answers and errors in order."""

    async def run() -> list[Any]:
        async with calling(server, ledger, **options) as caller:
            asked = (caller.ask(one, "write") for one in requests)
            return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(run())


def kinds(result: list[Any]) -> dict[type, int]:
    return dict(Counter(map(type, result)))


def test_what_was_answered_is_not_asked_again(server: Server, ledger: Ledger) -> None:
    wanted = [request(i) for i in range(40)]
    first = ask(server, ledger, *wanted)
    assert kinds(first) == {str: 40}
    assert len(server.requests) == 40
    assert ask(server, ledger, *wanted, run="b") == first
    assert len(server.requests) == 40
    assert ledger.runs() == [
        Spent("a", 40, 0, 40 * 5, 40 * 2, 40 * COST),
        Spent("b", 0, 40, 0, 0, 0),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("timeout", "grows"), [(0.4, False), (60, True)])
def test_a_slow_server_does_not_get_more_at_a_time(
    ledger: Ledger, timeout: float, grows: bool
) -> None:
    """Where an answer takes a large part of the time limit, more of them would pass it."""
    out, most, lock = 0, 0, threading.Lock()

    def say(body: dict[str, Any]) -> str:
        nonlocal out, most
        with lock:
            out += 1
            most = max(most, out)
        time.sleep(0.2)
        with lock:
            out -= 1
        return "hello"

    with serving(say) as server:
        result = ask(
            server, ledger, *(request(i) for i in range(80)),
            limits={"timeout": timeout, "concurrency": 24},
        )  # fmt: skip
    assert kinds(result) == {str: 80}
    assert (most > 8) == grows


def test_the_tally_counts_by_agent(server: Server, ledger: Ledger) -> None:
    ask(server, ledger, request(0))
    tally = Tally()
    ask(server, ledger, *(request(i) for i in range(3)), tally=tally)
    assert (tally.calls, tally.cached) == ({"write": 2}, {"write": 1})
    assert (tally.tokens_in, tally.tokens_out) == ({"write": 3 * 5}, {"write": 3 * 2})
    assert (tally.tokens, tally.nano_usd) == (2 * 7, 2 * COST)


def test_the_same_question_at_the_same_time_is_sent_once(server: Server, ledger: Ledger) -> None:
    result = ask(server, ledger, *[request()] * 10)
    assert len({*result}) == 1
    assert len(server.requests) == 1


def test_what_passes_is_retried(server: Server, ledger: Ledger) -> None:
    (result,) = ask(server, ledger, request(model="flaky"))
    assert result == "hello"
    assert len(server.requests) == 3
    (spent,) = ledger.runs()
    # nobody documents that a 503 costs nothing
    assert (spent.calls, spent.nano_usd) == (3, 2 * PRICE.worst(request(model="flaky"), 9) + COST)


def test_what_does_not_pass_ends_as_documented(server: Server, ledger: Ledger) -> None:
    (error,) = ask(server, ledger, request(model="status-401"))
    assert isinstance(error, EndpointFailed)
    assert (error.exit_code, len(server.requests)) == (4, 1)
    assert str(error) == (
        "status-401 at loopback: 401: not with [key], asked by write. What was answered is kept; "
        "correct this, and run again."
    )
    (error,) = ask(server, ledger, request(model="status-500"), attempts=3)
    assert str(error) == (
        "status-500 at loopback: 500: not with [key] (6 tries), asked by write. What was answered "
        "is kept; run the command again to go on."
    )
    assert len(server.requests) == 1 + 6  # alone, it is tried as often once more


# --- what ends a run ----------------------------------------------------------------------------


def test_a_refusal_for_good_stops_the_others(server: Server, ledger: Ledger) -> None:
    wanted = [request(model="status-401"), *(request(i) for i in range(30))]

    async def run() -> tuple[list[Any], Exception | None]:
        stop = Stop()
        async with calling(server, ledger, {"concurrency": 1}, stop=stop) as caller:
            asked = (caller.ask(one, "write") for one in wanted)
            return await asyncio.gather(*asked, return_exceptions=True), stop.error

    result, reason = asyncio.run(run())
    assert kinds(result) == {EndpointFailed: 1, Stopped: 30}
    assert result[0] is reason
    assert len(server.requests) == 1


def test_what_is_in_flight_when_it_stops_is_kept(ledger: Ledger) -> None:
    stopped = threading.Event()

    def say(body: dict[str, Any]) -> str:
        if body["model"] == "ok":
            stopped.wait(30)
        return "hello"

    async def run(server: Server) -> list[Any]:
        async with calling(server, ledger) as caller:  # four go out at first
            others = [caller.ask(request(i), "write") for i in range(30)]
            bad = asyncio.create_task(caller.ask(request(model="status-401"), "write"))
            tasks = [bad, *map(asyncio.create_task, others)]
            await asyncio.wait([bad])
            stopped.set()
            return await asyncio.gather(*tasks, return_exceptions=True)

    with serving(say) as server:
        result = asyncio.run(run(server))
    assert kinds(result) == {EndpointFailed: 1, str: 3, Stopped: 27}
    (spent,) = ledger.runs()
    assert (spent.calls, spent.nano_usd) == (4, 3 * COST)


def test_a_stop_ends_a_back_off_at_once(server: Server, ledger: Ledger) -> None:
    async def run() -> None:
        stop = Stop()
        # the first delay is a minute, and `calling` does not wait so long
        async with calling(server, ledger, stop=stop, first_delay=3600.0) as caller:
            asked = asyncio.create_task(caller.ask(request(model="status-500"), "write"))
            while not server.requests or any(part.open for part in ledger.parts()):
                await asyncio.sleep(0.01)
            stop.set()
            await asked

    with pytest.raises(Stopped):
        asyncio.run(run())
    assert len(server.requests) == 1


# --- what it costs ------------------------------------------------------------------------------


def test_an_answer_that_does_not_say_costs_the_most(server: Server, ledger: Ledger) -> None:
    assert ask(server, ledger, request(model="no-usage")) == ["hello"]
    assert ledger.runs()[0].nano_usd == PRICE.worst(request(model="no-usage"), 9)


def test_silence_stays_charged_at_its_worst(server: Server, ledger: Ledger) -> None:
    (error,) = ask(server, ledger, request(model="drop"), attempts=2)
    assert isinstance(error, EndpointFailed)
    (spent,) = ledger.runs()
    assert spent.nano_usd == 2 * PRICE.worst(request(model="drop"), 9)


def test_a_request_that_is_too_long_is_refused_for_good(server: Server, ledger: Ledger) -> None:
    for _ in range(2):
        (error,) = ask(server, ledger, request(model="too-long"))
        assert isinstance(error, Unusable)
        assert (str(error), error.why) == (
            "the request is too long for the model (400: context_length_exceeded: maximum context "
            "length is 9 tokens)",
            "too_long",
        )
    assert len(server.requests) == 1
    assert ledger.runs() == [Spent("a", 1, 0, 0, 0, PRICE.worst(request(model="too-long"), 9))]


def test_the_cap_is_never_passed_and_can_be_raised(server: Server, ledger: Ledger) -> None:
    wanted = [request(i) for i in range(10, 70)]  # all of one length
    worst = PRICE.worst(wanted[0], 9)
    assert worst == 34_600_000
    # room for three at their worst: each that is answered leaves room for more
    result = ask(server, ledger, *wanted, cap=3 * worst)
    done = (3 * worst - worst) // COST + 1
    assert kinds(result) == {str: done, BudgetReached: 1, Stopped: 59 - done}
    assert ledger.runs()[0].nano_usd == done * COST <= 3 * worst
    assert len(server.requests) == done == 24
    (error,) = [one for one in result if isinstance(one, BudgetReached)]
    assert error.exit_code == 3
    assert str(error) == (
        "the next call could cost $0.0346, and $0.0318 of the cap are left. Raise --max-usd to go "
        "on; what was answered is kept."
    )
    assert kinds(ask(server, ledger, *wanted)) == {str: 60}
    assert len(server.requests) == 60


def test_a_cap_below_one_call_sends_nothing(server: Server, ledger: Ledger) -> None:
    result = ask(server, ledger, request(10), request(11), cap=34_599_999)
    assert kinds(result) == {BudgetReached: 1, Stopped: 1}
    assert (server.requests, ledger.runs()) == ([], [])


# --- so many a minute ---------------------------------------------------------------------------

TOKENS = len(request(10).body) / 4 + 9


@pytest.mark.slow
@pytest.mark.parametrize(
    "limits", [{"requests_per_minute": 1200}, {"tokens_per_minute": 1200 * TOKENS}]
)
def test_requests_go_out_evenly_spaced(ledger: Ledger, limits: dict[str, float]) -> None:
    came: list[float] = []

    def say(body: dict[str, Any]) -> str:
        came.append(time.monotonic())
        return "hello"

    with serving(say) as server:
        began = time.monotonic()
        result = ask(server, ledger, *(request(i) for i in range(10, 22)), limits=limits)
    assert kinds(result) == {str: 12}
    assert len(came) == 12
    assert all(when - began >= 0.05 * i - 0.005 for i, when in enumerate(sorted(came)))


def test_what_the_ledger_holds_does_not_wait_for_that(server: Server, ledger: Ledger) -> None:
    wanted = [request(i) for i in range(30)]
    first = ask(server, ledger, *wanted)
    # one in ten minutes, and one new request among them, which is the first
    again = ask(server, ledger, *wanted, request(30), limits={"requests_per_minute": 0.1})
    assert again[:30] == first
    assert kinds(again) == {str: 31}
    assert len(server.requests) == 31


def test_cancelled_at_any_moment_the_writer_goes_on(server: Server, ledger: Ledger) -> None:
    async def main() -> str:
        writer, stop, flight = Writer(ledger), Stop(), Flight()
        settings = ModelSettings(provider="openai", name="ok", base_url=server.url)
        chat = OpenAIChat(base_url=server.url, api_key="sk-planted")
        caller = Caller(ledger, writer, chat, settings, run="a", stop=stop, flight=flight)
        tasks = [asyncio.create_task(caller.ask(request(i), "write")) for i in range(200)]
        await asyncio.sleep(0.15)
        for task in tasks:
            task.cancel()
        _, pending = await asyncio.wait(tasks, timeout=30)
        assert not pending
        try:
            return await asyncio.wait_for(caller.ask(request(1000), "write"), 30)
        finally:
            await caller.close()
            await asyncio.to_thread(writer.close)

    assert asyncio.run(main()) == "hello"
    # whatever reached the server was written down before, and what was not sent was given back
    (part,) = ledger.parts()
    assert part.calls - part.failed >= len(server.requests)
    assert part.open < 64
