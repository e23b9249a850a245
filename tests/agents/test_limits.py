"""How much is in flight: a number that adapts to a server."""

from __future__ import annotations

import asyncio

from retgen.agents.limits import ConcurrencyGate


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
