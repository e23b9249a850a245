"""Failure attribution: is one record at fault, or the server? What happens to the others tells.

A server that refuses one request and goes on to answer others like it has something against that
request, so its record is rejected and the run goes on. A server that answers nobody any more stops
the run, and nothing is rejected for it. So a refusal waits for the next answer to another request,
and what fails again and again for whether others were answered between its last tries.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Literal

from retgen.agents.flow import Stop

# refusals of an agent in a row after which it is not the records: while it has no answer at all,
# when it has some, and where nothing else is under way that could be answered
_NEVER, _SINCE, _FEW = 8, 32, 3

Attribution = Literal["only this", "all", "alone"]


class Tries:
    """One request and its failures. `mark`: how many others were answered at a failure halfway."""

    def __init__(self, halfway: int) -> None:
        self.failures, self.mark, self._halfway = 0, 0, halfway

    def note_failure(self, answers: int) -> None:
        """One more failure, when so many had been answered."""
        self.failures += 1
        if self.failures <= self._halfway:
            self.mark = answers


class FailureAttribution:
    """Of one caller, within one event loop."""

    def __init__(self) -> None:
        self.answers = 0  # that came from the server
        self._known: set[str] = set()  # agents that have an answer, if only from the ledger
        self._active: Counter[str] = Counter()
        self._holding: Counter[str] = Counter()  # of the active ones, those that wait to be judged
        self._row: dict[str, set[str]] = {}  # keys refused since an agent's last answer
        self._early: dict[str, list[Callable[[], Awaitable[None]]]] = {}
        self._failing: set[Tries] = set()
        self._first: set[object] = set()  # in flight for the first time
        self._alone = False  # a request was rejected that had no other beside it
        self._change = asyncio.Event()

    def begin(self, agent: str) -> None:
        """A request is wanted."""
        self._active[agent] += 1

    def end(self, agent: str) -> None:
        """It has its answer, or none."""
        self._active[agent] -= 1
        self._notify()

    def start(self) -> object:
        """A request goes out for the first time; returns a token for `finish`."""
        token = object()
        self._first.add(token)
        self._notify()
        return token

    def finish(self, token: object) -> None:
        """It came back, whatever it brought."""
        self._first.discard(token)
        self._notify()

    def begin_retries(self, tries: Tries) -> None:
        """A request has failed and is tried again."""
        self._failing.add(tries)

    def end_retries(self, tries: Tries) -> None:
        """It fails no more, or is given no more tries."""
        self._failing.discard(tries)
        self._notify()

    async def note_answer(self, agent: str, *, fresh: bool) -> None:
        """A request of an agent was answered: by the server (`fresh`), or by the ledger."""
        self._known.add(agent)
        if fresh:
            self.answers += 1
            self._alone = False
            self._row.pop(agent, None)
        for keep in self._early.pop(agent, ()):
            await keep()
        self._notify()

    async def only_this(
        self, agent: str, key: str, keep: Callable[[], Awaitable[None]], stop: Stop
    ) -> bool:
        """Whether a refusal is about its request alone; `keep` is called to write that down.

        Waits until another request of the agent is answered, or none can be any more. A few may
        be rejected before any is answered: they are written down when one is.
        """
        row = self._row.setdefault(agent, set())
        row.add(key)
        self._holding[agent] += 1
        self._notify()
        try:
            while self._row.get(agent) is row:  # until the next answer
                stop.check()
                known = agent in self._known
                if len(row) >= (_SINCE if known else _NEVER):
                    return False
                if self._holding[agent] == self._active[agent]:  # nothing else can tell
                    if known:
                        break
                    if len(row) >= _FEW:
                        return False
                    self._early.setdefault(agent, []).append(keep)
                    return True
                await self._changes(stop)
        finally:
            self._holding[agent] -= 1
        await keep()
        return True

    async def judge(self, tries: Tries, stop: Stop) -> Attribution:
        """What a request stands for that has failed as often as it may."""
        others = set(self._first)
        while self.answers == tries.mark:
            waiting = self._active.total() - self._holding.total() - len(self._failing)
            if not others and waiting > 0:  # those that go out next will tell
                others = set(self._first)
            elif not others & self._first:
                break
            await self._changes(stop)
        if self.answers > tries.mark:
            return "only this"
        return "all" if self._failing - {tries} else "alone"

    def rejected_alone(self, agent: str) -> bool:
        """Whether one that failed with no other beside it may be taken for the only one: once."""
        may = agent in self._known and not self._alone
        self._alone = True
        return may

    def _notify(self) -> None:
        self._change.set()
        self._change = asyncio.Event()

    async def _changes(self, stop: Stop) -> None:
        waiting = asyncio.ensure_future(self._change.wait())
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait((waiting, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            stopping.cancel()
        stop.check()
