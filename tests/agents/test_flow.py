"""What is in flight, how many a minute, and how all of it ends."""

from __future__ import annotations

import asyncio

import pytest

from retgen.agents.flow import ConcurrencyGate, Flight, Stop, Stopped


def test_the_gate_adapts() -> None:
    async def run() -> None:
        gate = ConcurrencyGate(64, begin=8)
        together = [await gate.enter() for _ in range(8)]
        gate.leave(together[0], well=False)
        assert gate.limit == 4.0
        for entered in together[1:3]:  # they were in flight with the first
            gate.leave(entered, well=False)
        assert gate.limit == 4.0
        gate.leave(together[3], well=None)
        assert gate.limit == 4.0
        for entered in together[4:]:
            gate.leave(entered, well=True)
        assert 4.9 < gate.limit < 5.0  # one more for as many as there are in flight
        for _ in range(2100):
            gate.leave(await gate.enter(), well=True)
        assert gate.limit == 64.0
        limits = []
        for _ in range(8):
            await asyncio.sleep(0.001)
            gate.leave(await gate.enter(), well=False)
            limits.append(gate.limit)
        assert limits == [32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 1.0, 1.0]
        assert gate.inside == 0

    asyncio.run(run())


def test_a_gate_for_few_begins_with_these() -> None:
    assert (ConcurrencyGate(3).limit, ConcurrencyGate(64).limit) == (3.0, 8.0)


def test_who_waits_at_the_gate_is_let_in_by_turns() -> None:
    async def run() -> list[str]:
        gate, came = ConcurrencyGate(2), list[str]()

        async def pass_through(name: str) -> None:
            entered = await gate.enter()
            came.append(name)
            assert gate.inside <= 2
            await asyncio.sleep(0)
            gate.leave(entered, well=None)

        await asyncio.gather(*map(pass_through, "abcdefgh"))
        assert gate.inside == 0
        return came

    assert asyncio.run(run()) == list("abcdefgh")


@pytest.mark.parametrize("let_in", [False, True])
def test_who_goes_away_while_waiting_takes_no_place(let_in: bool) -> None:
    async def run() -> None:
        gate = ConcurrencyGate(1)
        inside = await gate.enter()
        gone, next_one = (asyncio.create_task(gate.enter()) for _ in range(2))
        await asyncio.sleep(0)
        if let_in:  # its turn has come, but it goes before it knows
            gate.leave(inside, well=None)
            gone.cancel()
        else:
            gone.cancel()
            await asyncio.sleep(0)
            gate.leave(inside, well=None)
        entered = await asyncio.wait_for(next_one, 30)
        assert gone.cancelled()
        assert gate.inside == 1
        gate.leave(entered, well=None)
        assert gate.inside == 0
        await asyncio.wait_for(gate.enter(), 30)

    asyncio.run(run())


def test_a_flight_tells_of_its_ends() -> None:
    async def run() -> None:
        flight = Flight()
        assert not await flight.wait_for_change(0)  # nothing is out
        assert flight.oldest()[0] == ""
        first, second = flight.begin("write"), flight.begin("judge")
        waiting = [asyncio.create_task(flight.wait_for_change(0)) for _ in range(2)]
        await asyncio.sleep(0)
        assert not any(one.done() for one in waiting)
        assert flight.oldest()[0] == "write"
        await asyncio.sleep(0.01)
        assert flight.oldest()[1] >= 0.01
        flight.end(first)
        assert flight.oldest()[0] == "judge"
        assert await asyncio.gather(*waiting) == [True, True]
        assert (flight.count, flight.ended) == (1, 1)
        assert await flight.wait_for_change(0)  # it has ended before one asked
        flight.end(second)
        assert await flight.wait_for_change(1)
        assert not await flight.wait_for_change(2)

    asyncio.run(asyncio.wait_for(run(), 30))


def test_a_stop_is_set_once() -> None:
    async def run() -> None:
        stop, first = Stop(), ValueError("first")
        stop.check()
        await stop.sleep(0)
        await stop.sleep(0.001)
        stop.set(first)
        stop.set(ValueError("second"))
        assert stop.error is first
        with pytest.raises(Stopped):
            stop.check()
        for seconds in (0, 3600):
            with pytest.raises(Stopped):
                await asyncio.wait_for(stop.sleep(seconds), 30)

    asyncio.run(run())


def test_a_stop_wakes_all_who_sleep() -> None:
    async def run() -> list[object]:
        stop = Stop()
        sleeping = [asyncio.create_task(stop.sleep(3600)) for _ in range(5)]
        await asyncio.sleep(0.01)
        stop.set()
        result = asyncio.gather(*sleeping, return_exceptions=True)
        assert stop.error is None
        return [type(one) for one in await asyncio.wait_for(result, 30)]

    assert asyncio.run(run()) == [Stopped] * 5
