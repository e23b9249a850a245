"""What the clients of one run share: a stop flag and its budget; and a concurrency limit.

`Stop` ends all sending. `Budget` is the cap: what was charged, and what is in flight may cost at
most. `ConcurrencyGate` bounds what is in flight by a number that adapts: twice as many a round
until the first failure, which halves it, and one more a round from then on (slow start, then
additive increase and multiplicative decrease).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakValueDictionary

from retgen.agents.ledger import Ledger
from retgen.agents.report import CallReport
from retgen.errors import BudgetReached


class Stopped(Exception):
    """Nothing is sent any more; what is in flight is waited for."""


class Stop:
    """Whether to stop sending. Made and used within one event loop, except `request`."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._requested = False
        self.error: Exception | None = None  # why, where it is an error

    def set(self, error: Exception | None = None) -> None:
        """Send nothing from now on."""
        if not self._event.is_set():
            self.error = error
            self._event.set()

    def request(self) -> None:
        """Have `check` raise from now on. Any thread may call it while work holds up the loop."""
        self._requested = True

    def check(self) -> None:
        """Raise `Stopped` if it is set, or requested."""
        if self._requested or self._event.is_set():
            raise Stopped

    async def sleep(self, seconds: float) -> None:
        """Sleep so long. Raises `Stopped` as soon as it is set."""
        await self.wait_for(asyncio.Event(), seconds)

    async def wait_for(self, event: asyncio.Event, seconds: float | None = None) -> None:
        """Wait for an event, so long at most. Raises `Stopped` as soon as it is set."""
        waits = [asyncio.ensure_future(one.wait()) for one in (self._event, event)]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
        self.check()


class Changes:
    """Wakes all who wait for a change."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def notify(self) -> None:
        """Wake all who wait."""
        self.event.set()
        self.event = asyncio.Event()


class Budget:
    """The cap of a run, in nano-dollars (None: no cap), what was charged, and what is reserved."""

    def __init__(self, cap: int | None, charged: int, stop: Stop) -> None:
        self.cap, self.charged = cap, charged
        self._stop, self._reserved, self._in_flight, self._changes = stop, 0, 0, Changes()

    async def reserve(self, worst: int) -> None:
        """Reserve what a call may cost, once what is in flight leaves enough of the cap.

        Raises `BudgetReached` where nothing is in flight that could cost less than was reserved.
        """
        while self.cap is not None and self.charged + self._reserved + worst > self.cap:
            self._stop.check()
            if not self._in_flight:
                left = max(0, self.cap - self.charged)
                raise BudgetReached(
                    f"the next call could cost ${worst / 1e9:.4f}, and ${left / 1e9:.4f} of the "
                    "cap are left. Raise --max-usd to go on; what was answered is kept."
                )
            await self._stop.wait_for(self._changes.event)
        self._reserved += worst
        self._in_flight += 1

    def take_up(self, worst: int) -> None:
        """Count a call as in flight that is charged already."""
        self.charged -= worst
        self._reserved += worst
        self._in_flight += 1

    def settle(self, worst: int, cost: int) -> None:
        """Charge what a call has cost in place of what was reserved for it."""
        self.charged += cost
        self._reserved -= worst
        self._in_flight -= 1
        self._changes.notify()


@dataclass
class Session:
    """What all clients of one run share. `run`: its name in the ledger.

    `notice`: called with a message for the user, once for each kind of delay. `replay`: the file
    whose answers the ledger holds; then nothing is sent. `locks`: of requests under way, by key.
    """

    ledger: Ledger
    run: str
    stop: Stop
    budget: Budget
    report: CallReport = field(default_factory=CallReport)
    notice: Callable[[str], None] = lambda text: None
    replay: Path | None = None
    locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)


class ConcurrencyGate:
    """Lets so many through at a time: `limit`, between 1 and `most`."""

    def __init__(self, most: int, begin: int = 8) -> None:
        self.most, self.limit = most, float(min(begin, most))
        self._places = int(self.limit)  # free ones and those that are taken
        self._free = asyncio.Semaphore(self._places)
        self._slowed = -1.0

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[float]:
        """Wait for room; gives the time of entering, which `slow_down` takes."""
        await self._free.acquire()
        try:
            yield time.monotonic()
        finally:
            if self._places > int(self.limit):  # fewer are let through since
                self._places -= 1
            else:
                self._free.release()

    def speed_up(self) -> None:
        """Let more through: until the first failure twice as many a round, then one more."""
        more = 1.0 if self._slowed < 0 else 1 / self.limit
        self.limit = min(float(self.most), self.limit + more)
        while self._places < int(self.limit):
            self._places += 1
            self._free.release()

    def slow_down(self, entered: float) -> bool:
        """Let half as many through; returns whether that was done.

        Of requests that were in flight together only the first failure counts.
        """
        if entered <= self._slowed:
            return False
        self.limit = max(1.0, self.limit / 2)
        self._slowed = time.monotonic()
        return True
