"""How much is in flight, and how all of it ends."""

from __future__ import annotations

import asyncio

import pytest

from retgen.agents.limits import ConcurrencyGate, Stop, Stopped

# --- the gate -------------------------------------------------------------------------------------


def test_the_gate_adapts() -> None:
    async def run() -> None:
        gate = ConcurrencyGate(64)
        assert (gate.limit, ConcurrencyGate(3).limit) == (8.0, 3.0)
        async with gate() as first:
            pass
        for _ in range(8):  # twice as many a round, at first
            gate.speed_up()
        assert gate.limit == 16.0
        gate.slow_down(first)
        assert gate.limit == 8.0
        gate.slow_down(first)  # it was in flight with the first that failed
        assert gate.limit == 8.0
        for _ in range(8):  # one more a round, from now on
            gate.speed_up()
        assert 8.9 < gate.limit < 9.0
        for _ in range(2100):
            gate.speed_up()
        assert gate.limit == 64.0
        limits = []
        for later in range(1, 9):
            gate.slow_down(first + 3600.0 * later)
            limits.append(gate.limit)
        assert limits == [32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 1.0, 1.0]

    asyncio.run(run())


@pytest.mark.parametrize("let_in", [False, True])
def test_who_goes_away_while_waiting_takes_no_place(let_in: bool) -> None:
    async def run() -> None:
        gate, entered, leave = ConcurrencyGate(1), list[str](), asyncio.Event()

        async def enter(name: str) -> None:
            async with gate():
                entered.append(name)
                await leave.wait()

        tasks = [asyncio.create_task(enter(name)) for name in ("first", "gone", "next")]
        await asyncio.sleep(0)
        if let_in:  # its turn has come, but it goes before it knows
            leave.set()
            while not tasks[0].done():
                await asyncio.sleep(0)
        tasks[1].cancel()
        leave.set()
        await asyncio.wait(tasks)
        assert entered == ["first", "next"]
        assert tasks[1].cancelled()
        async with gate():  # the one place is free, and it is one
            another = asyncio.create_task(enter("another"))
            await asyncio.sleep(0)
            assert entered == ["first", "next"]
        await another

    asyncio.run(run())


# --- the end --------------------------------------------------------------------------------------


def test_a_stop_that_a_thread_requests_is_seen_at_the_next_look() -> None:
    async def run() -> None:
        stop = Stop()
        await asyncio.to_thread(stop.request)
        with pytest.raises(Stopped):
            stop.check()
        assert stop.error is None

    asyncio.run(run())
