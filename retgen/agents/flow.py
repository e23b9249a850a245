"""How many requests are in flight: what a model's owner can bear.

`ConcurrencyGate` bounds what is in flight by a number that adapts: twice as many a round until the
first answer that is to be retried, or silence, which halves it, and one more a round from then on
(slow start, then additive increase and multiplicative decrease).
`Probe` lets few through until the first answer, which tells how much room others need. `Flight`
counts what is out, `Stop` ends all. What a user has limited by the minute, the ledger spaces.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Stopped(Exception):
    """Nothing is sent any more; what is in flight is waited for."""


class Stop:
    """Whether to stop sending. Made and used within one event loop, except `request`."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._requested = False
        self.error: Exception | None = None  # why, where it is an error

    def set(self, error: Exception | None = None) -> None:
        """From now on nothing is sent."""
        if not self._event.is_set():
            self.error = error
            self._event.set()

    def request(self) -> None:
        """Have `check` raise from now on. Of any thread: work in one piece holds up the loop."""
        self._requested = True

    def check(self) -> None:
        """Raises `Stopped` if it is set, or requested."""
        if self._requested or self._event.is_set():
            raise Stopped

    async def wait(self) -> None:
        """Wait until it is set."""
        await self._event.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleep so long. Raises `Stopped` as soon as it is set."""
        if seconds > 0:
            try:
                await asyncio.wait_for(self._event.wait(), seconds)
            except TimeoutError:
                return
        self.check()


class ConcurrencyGate:
    """Lets so many through at a time: `limit`, between 1 and `most`."""

    def __init__(self, most: int, begin: int = 8) -> None:
        self.most = most
        self.limit = float(min(begin, most))
        self.inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._slowed = -1.0

    async def enter(self) -> float:
        """Wait for room; returns when it was entered."""
        if self._waiting or self.inside >= int(self.limit):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # it was let in, and goes away
                    self.inside -= 1
                    self._let_in()
                raise
        else:
            self.inside += 1
        return time.monotonic()

    def leave(self, entered: float, *, well: bool | None) -> None:
        """Make room, and let more or fewer through from now on (None: as many).

        Of requests that were in flight together only the first failure counts.
        """
        self.inside -= 1
        if well:
            # until the first failure twice as many a round, then one more a round
            more = 1.0 if self._slowed < 0 else 1 / self.limit
            self.limit = min(float(self.most), self.limit + more)
        elif well is not None and entered > self._slowed:
            self.limit = max(1.0, self.limit / 2)
            self._slowed = time.monotonic()
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self.inside < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)


class Probe:
    """Lets few requests of an agent through at a time, until one of them has a whole answer."""

    def __init__(self, at_once: int = 4) -> None:
        self._at_once = at_once
        self._open: dict[str, asyncio.Event] = {}
        self._turns: dict[str, asyncio.Semaphore] = {}

    def is_open(self, agent: str) -> bool:
        """Whether all may go through."""
        return agent in self._open and self._open[agent].is_set()

    def open(self, agent: str) -> None:
        """Let all through from now on, those that wait too."""
        self._open.setdefault(agent, asyncio.Event()).set()

    @asynccontextmanager
    async def __call__(self, agent: str) -> AsyncIterator[None]:
        """One of those let through at a time, or one of all."""
        opened = self._open.setdefault(agent, asyncio.Event())
        turns = self._turns.setdefault(agent, asyncio.Semaphore(self._at_once))
        turn = asyncio.ensure_future(turns.acquire())
        waiting = asyncio.ensure_future(opened.wait())
        try:
            await asyncio.wait((turn, waiting), return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            waiting.cancel()
            if turn.done() and not turn.cancelled():
                turns.release()
            else:
                turn.cancel()


class Flight:
    """What a run has in flight, with all its models: what is reserved may soon be free again.

    `turn`: held by the one who waits for that, since what one sets free is mostly room for one.
    """

    def __init__(self) -> None:
        self.ended = 0
        self.turn = asyncio.Lock()
        self._change = asyncio.Event()
        self._out: dict[object, tuple[str, float]] = {}  # the oldest first

    @property
    def count(self) -> int:
        """Requests in flight."""
        return len(self._out)

    def begin(self, agent: str) -> object:
        """One more is in flight, of this agent; returns a token for `end`."""
        token = object()
        self._out[token] = agent, time.monotonic()
        return token

    def oldest(self) -> tuple[str, float]:
        """Whose request has been out longest, and for how many seconds; "" if none is."""
        agent, began = next(iter(self._out.values()), ("", time.monotonic()))
        return agent, time.monotonic() - began

    def end(self, token: object) -> None:
        """One less."""
        del self._out[token]
        self.ended += 1
        self._change.set()
        self._change = asyncio.Event()

    async def wait_for_change(self, since: int) -> bool:
        """Wait until one has ended since `ended` was so many; False if none is in flight."""
        if self.ended == since:
            if not self.count:
                return False
            await self._change.wait()
        return True
