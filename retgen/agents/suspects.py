"""Whether a failure is about one record, or about all: what happens to the others tells.

A server that refuses one request and answers others like it has something against that request,
so its record is rejected and the run goes on. A server that answers nobody stops the run, and
nothing is rejected for it. Where nobody has been answered yet, a refusal waits for the others.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

from retgen.agents.flow import Stop

__all__ = ["Suspects", "Tries"]

_ALL = 8  # requests of an agent that are refused, none being answered: it is not the records
_FEW = 3  # the same where nothing else is under way that could be answered

Verdict = Literal["only this", "all", "alone"]


class Tries:
    """One request and its failures. `mark`: how many others were answered at a failure halfway."""

    def __init__(self, halfway: int) -> None:
        self.failures, self.mark, self._halfway = 0, 0, halfway

    def failed(self, answers: int) -> None:
        """One more failure, when so many had been answered."""
        self.failures += 1
        if self.failures <= self._halfway:
            self.mark = answers


class _Refused(NamedTuple):
    """A record that was rejected before anybody was answered; `keep` writes that down."""

    keep: Callable[[], Awaitable[None]]


class Suspects:
    """Of one caller, within one event loop."""

    def __init__(self) -> None:
        self.answers = 0
        self._answered: set[str] = set()  # agents
        self._active: Counter[str] = Counter()
        self._holding: Counter[str] = Counter()  # of the active ones, those that wait to be judged
        self._refused: dict[str, set[str]] = {}  # keys by agent
        self._early: dict[str, list[_Refused]] = {}
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
        self._changed()

    def fly(self) -> object:
        """A request goes out for the first time; returns a token for `land`."""
        token = object()
        self._first.add(token)
        self._changed()
        return token

    def land(self, token: object) -> None:
        """It came back, whatever it brought."""
        self._first.discard(token)
        self._changed()

    def failing(self, tries: Tries) -> None:
        """A request has failed and is tried again."""
        self._failing.add(tries)

    def settled(self, tries: Tries) -> None:
        """It fails no more, or is given no more tries."""
        self._failing.discard(tries)
        self._changed()

    async def answered(self, agent: str) -> None:
        """A request of an agent was answered, so what it was refused before was its own fault."""
        self.answers += 1
        self._alone = False
        if agent not in self._answered:
            self._answered.add(agent)
            for refused in self._early.pop(agent, ()):
                await refused.keep()
        self._changed()

    async def only_this(
        self, agent: str, key: str, keep: Callable[[], Awaitable[None]], stop: Stop
    ) -> bool:
        """Whether a refusal is about its request alone; `keep` is called to write that down.

        Waits until another request of the agent is answered, or none can be any more. A few may
        be rejected before any is answered: they are written down when one is.
        """
        refused = self._refused.setdefault(agent, set())
        refused.add(key)
        self._holding[agent] += 1
        self._changed()
        try:
            while agent not in self._answered:
                stop.check()
                if len(refused) >= _ALL:
                    return False
                if self._holding[agent] == self._active[agent]:  # nothing else can tell
                    if len(refused) >= _FEW:
                        return False
                    self._early.setdefault(agent, []).append(_Refused(keep))
                    return True
                await self._changes(stop)
        finally:
            self._holding[agent] -= 1
        await keep()
        return True

    async def judge(self, agent: str, tries: Tries, stop: Stop) -> Verdict:
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
        if len(self._failing - {tries}):
            return "all"
        return "alone"

    def rejected_alone(self, agent: str) -> bool:
        """Whether one that failed with no other beside it may be taken for the only one: once."""
        may = agent in self._answered and not self._alone
        self._alone = True
        return may

    def _changed(self) -> None:
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
