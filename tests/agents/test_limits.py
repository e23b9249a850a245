"""How much is in flight, within which cap, and how all of it ends."""

from __future__ import annotations

import asyncio

import pytest

from retgen.agents.limits import Budget, Changes, ConcurrencyGate, Stop, Stopped
from retgen.errors import BudgetReached

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


def test_who_waits_at_the_gate_is_let_in_by_turns() -> None:
    async def run() -> list[str]:
        gate, came, inside = ConcurrencyGate(2), list[str](), set[str]()

        async def pass_through(name: str) -> None:
            async with gate():
                came.append(name)
                inside.add(name)
                assert len(inside) <= 2
                await asyncio.sleep(0)
                inside.remove(name)

        await asyncio.gather(*map(pass_through, "abcdefgh"))
        return came

    assert asyncio.run(run()) == list("abcdefgh")


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


# --- the cap --------------------------------------------------------------------------------------


def test_a_budget_waits_for_what_is_in_flight() -> None:
    async def run() -> None:
        budget = Budget(250, 0, Stop())
        await budget.reserve(100)
        await budget.reserve(100)
        waiting = asyncio.create_task(budget.reserve(100))
        await asyncio.sleep(0)
        assert (budget.charged, waiting.done()) == (0, False)
        budget.settle(100, 60)  # not enough
        await asyncio.sleep(0)
        assert not waiting.done()
        budget.settle(100, 90)
        await waiting
        assert budget.charged == 150
        refused = asyncio.create_task(budget.reserve(1))
        await asyncio.sleep(0)
        budget.settle(100, 100)
        with pytest.raises(BudgetReached) as error:
            await refused
        assert str(error.value) == (
            "the next call could cost $0.0000, and $0.0000 of the cap are left. Raise --max-usd to "
            "go on; what was answered is kept."
        )

    asyncio.run(run())


def test_what_is_charged_already_can_be_waited_for() -> None:
    """As a batch of an earlier process."""

    async def run() -> None:
        budget = Budget(150, 100, Stop())
        budget.take_up(100)
        waiting = asyncio.create_task(budget.reserve(100))
        await asyncio.sleep(0)
        assert not waiting.done()
        budget.settle(100, 10)
        await waiting
        assert budget.charged == 10

    asyncio.run(run())


def test_no_cap_and_a_stop() -> None:
    async def run() -> None:
        stop = Stop()
        budget = Budget(None, 0, stop)
        await budget.reserve(10**18)
        budget.settle(10**18, 10**18)
        assert budget.charged == 10**18
        budget = Budget(100, 0, stop)
        await budget.reserve(100)
        waiting = asyncio.create_task(budget.reserve(100))
        await asyncio.sleep(0)
        stop.set()
        with pytest.raises(Stopped):
            await waiting
        assert budget.charged == 0

    asyncio.run(run())


# --- the end --------------------------------------------------------------------------------------


def test_a_stop_is_set_once_and_wakes_all_who_wait() -> None:
    async def run() -> None:
        stop, first, changes = Stop(), ValueError("first"), Changes()
        stop.check()
        await stop.sleep(0)
        waiting = [asyncio.create_task(stop.sleep(3600)) for _ in range(5)]
        waiting.append(asyncio.create_task(stop.wait_for(changes.event)))
        await asyncio.sleep(0)
        stop.set(first)
        stop.set(ValueError("second"))
        assert stop.error is first
        result = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(one) for one in result] == [Stopped] * 6
        for wait in (stop.sleep(0), stop.sleep(3600), stop.wait_for(asyncio.Event())):
            with pytest.raises(Stopped):
                await wait

    asyncio.run(run())


def test_a_stop_that_a_thread_requests_is_seen_at_the_next_look() -> None:
    async def run() -> None:
        stop = Stop()
        await asyncio.to_thread(stop.request)
        with pytest.raises(Stopped):
            stop.check()
        assert stop.error is None

    asyncio.run(run())


def test_changes_wake_all_who_wait() -> None:
    async def run() -> None:
        stop, changes = Stop(), Changes()
        waiting = [asyncio.create_task(stop.wait_for(changes.event)) for _ in range(3)]
        await asyncio.sleep(0)
        changes.notify()
        await asyncio.gather(*waiting)
        assert not changes.event.is_set()

    asyncio.run(run())
