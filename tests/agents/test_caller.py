"""Asking a model on loopback through the ledger: once paid, never again, and never past the cap."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen.agents.caller import Caller, Gate, Price
from retgen.agents.ledger import Ledger
from retgen.agents.openai_chat import OpenAIChat
from retgen.agents.prompt import Message
from retgen.agents.request import Request
from retgen.errors import BudgetReached, EndpointFailed
from tests.agents.server import Server, serving

PRICE = Price(token_in=2, token_out=10)  # an answer of the server costs 5 * 2 + 2 * 10 = 30


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger.sqlite")
    yield made
    made.close()


def request(number: int = 0, model: str = "ok") -> Request:
    return Request("loopback", model, (Message("user", f"question {number}"),), {"max_tokens": 9})


def ask(
    server: Server, ledger: Ledger, *requests: Request, timeout: float = 5.0, **options: Any
) -> list[Any]:
    """All at once; answers and errors in order."""

    async def run() -> list[Any]:
        chat = OpenAIChat(base_url=server.url, api_key="sk-x", timeout=timeout)
        caller = Caller(
            ledger, chat, **{"run": "a", "price": PRICE, "first_delay": 0.01, **options}
        )
        try:
            return await asyncio.gather(
                *(caller.ask(one, "write") for one in requests), return_exceptions=True
            )
        finally:
            await caller.close()

    return asyncio.run(run())


def test_what_was_answered_is_not_asked_again(server: Server, ledger: Ledger) -> None:
    wanted = [request(i) for i in range(40)]
    first = ask(server, ledger, *wanted)
    assert all(isinstance(one, bytes) for one in first)
    assert len(server.requests) == 40
    assert ask(server, ledger, *wanted, run="b") == first
    assert len(server.requests) == 40
    assert [(row.run, row.calls, row.cache_hits, row.nano_usd) for row in ledger.runs()] == [
        ("a", 40, 0, 40 * 30), ("b", 0, 40, 0),
    ]  # fmt: skip


def test_the_same_question_at_the_same_time_is_sent_once(server: Server, ledger: Ledger) -> None:
    found = ask(server, ledger, *[request()] * 10)
    assert len({*found}) == 1
    assert len(server.requests) == 1


def test_what_passes_is_retried(server: Server, ledger: Ledger) -> None:
    (found,) = ask(server, ledger, request(model="flaky"))
    assert b"hello" in found
    assert len(server.requests) == 3
    (spent,) = ledger.runs()
    assert (spent.calls, spent.nano_usd) == (3, 30)  # refusals cost nothing


def test_what_does_not_pass_ends_as_documented(server: Server, ledger: Ledger) -> None:
    (error,) = ask(server, ledger, request(model="status-401"))
    assert isinstance(error, EndpointFailed)
    assert (error.exit_code, len(server.requests)) == (4, 1)
    assert str(error) == (
        "status-401 at loopback: 401: not with [key]. What was answered is kept; run the command "
        "again to go on."
    )
    (error,) = ask(server, ledger, request(model="status-500"), attempts=3)
    assert str(error).startswith("status-500 at loopback: 500: not with [key] (3 tries).")
    assert len(server.requests) == 4


def test_silence_stays_charged_at_its_worst(server: Server, ledger: Ledger) -> None:
    (error,) = ask(server, ledger, request(model="drop"), attempts=2)
    assert isinstance(error, EndpointFailed)
    (spent,) = ledger.runs()
    assert spent.nano_usd == 2 * PRICE.worst(request(model="drop"))


def test_a_broken_answer_is_kept_and_paid(server: Server, ledger: Ledger) -> None:
    (raw,) = ask(server, ledger, request(model="broken"))
    assert raw == b'{"choices": [{"mess'
    assert ask(server, ledger, request(model="broken")) == [raw]
    assert len(server.requests) == 1
    # it did not say what it took, so it counts as the most that it can have
    assert ledger.runs()[0].nano_usd == PRICE.worst(request(model="broken"))


def test_the_cap_is_never_passed_and_can_be_raised(server: Server, ledger: Ledger) -> None:
    wanted = [request(i) for i in range(60)]
    cap = 20 * 30 + PRICE.worst(wanted[-1])
    found = ask(server, ledger, *wanted, cap=cap)
    stopped = [one for one in found if isinstance(one, BudgetReached)]
    assert stopped
    assert stopped[0].exit_code == 3
    assert "of the cap are left. Raise --max-usd to go on" in str(stopped[0])
    assert ledger.runs()[0].nano_usd <= cap
    done = len(server.requests)
    assert done == len(found) - len(stopped)
    assert all(isinstance(one, bytes) for one in ask(server, ledger, *wanted))
    assert len(server.requests) == 60


def test_the_gate_adapts() -> None:
    async def run() -> list[float]:
        gate, limits = Gate(64, begin=8), []
        together = [await gate.enter() for _ in range(8)]
        await gate.leave(together[0], well=False)
        limits.append(gate.limit)
        for entered in together[1:4]:  # they were in flight with the first
            await gate.leave(entered, well=False)
        limits.append(gate.limit)
        for entered in together[4:]:
            await gate.leave(entered, well=True)
        limits.append(round(gate.limit, 3))
        for _ in range(2000):
            await gate.leave(await gate.enter(), well=True)
        limits.append(round(gate.limit))
        for _ in range(10):
            await asyncio.sleep(0.001)
            await gate.leave(await gate.enter(), well=False)
        limits.append(gate.limit)
        return [*limits, gate.inside]

    found = asyncio.run(run())
    assert found[:2] == [4.0, 4.0]
    assert 4.9 < found[2] < 5.0
    assert found[3:] == [63, 1.0, 0] or found[3:] == [64, 1.0, 0]
