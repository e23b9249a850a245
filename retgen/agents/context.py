"""What a family asks its models with: agents, stages of work, the records that were not taken.

Work on many records goes on side by side and comes back in the records' order. No more of them are
under way than are still wanted, so what is asked is the shortest beginning of the candidates that
yields enough: the same whatever finishes first.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from retgen.agents.agent import A, Agent, Q, Rejection, RepairsFailed
from retgen.agents.answers import FAILED, REPAIRED, TAKEN, count_unusable
from retgen.agents.caller import RECORD, Caller
from retgen.agents.flow import Flight, Stop
from retgen.agents.models import OFFLINE, ModelSettings
from retgen.agents.prompt import Request
from retgen.agents.rejections import Rejections
from retgen.agents.sending import Tally
from retgen.engines import Engine, Local
from retgen.errors import ChecksFailed
from retgen.progress import Progress, no_progress

T = TypeVar("T")
R = TypeVar("R")

_HOPELESS = 50  # rejected for two that are accepted: to go on would only cost
_EXAMPLES = 3  # of what was accepted, for a pilot to show
_LABEL = 60  # characters of a record in a message
_TICK = 0.25  # seconds between two reports of progress
_FIRST = 3  # answers to an agent that all fail, after which it is said
_LONG = 2.0  # seconds in flight after which it is said who is waited for


@dataclass
class Stage:
    """A part of the work: `done` of `total` records accepted. `agents`: whose work it is.

    `candidates`: how many can be tried at most; None where nobody knows.
    """

    name: str
    total: int
    agents: tuple[str, ...] = ()
    done: int = 0
    rejected: int = 0
    candidates: int | None = None
    examples: list[Any] = field(default_factory=list, compare=False)


class Context:
    """Made by whoever runs a family's `generate_with_agents`, one for a run.

    `models`: settings and caller of each agent that a model answers; the others are offline.
    `folder`: where the family leaves what it was told. `pilot`: records of a stage that are enough.
    `engine`: who does what no model does. `progress`: what is told how far the work is. `batches`:
    what is waited for in batches, "" for nothing.
    """

    def __init__(
        self,
        folder: Path,
        models: Mapping[str, tuple[ModelSettings, Caller]],
        *,
        pilot: int | None = None,
        engine: Engine | None = None,
        tally: Tally | None = None,
        stop: Stop | None = None,
        flight: Flight | None = None,
        progress: Progress = no_progress,
        cap: int | None = None,
        priced: bool = True,
        notice: Callable[[str], None] = lambda text: None,
        batches: Callable[[], str] = lambda: "",
    ) -> None:
        self.folder, self.pilot, self.engine = folder, pilot, engine or Local(1)
        self.tally = tally or Tally()
        self.stages: list[Stage] = []
        self.rejected = Rejections()
        self._models, self._stop, self._flight = models, stop, flight
        self._progress, self._cap, self._priced = progress, cap, priced
        self.notice, self._batches = notice, batches
        # failed answers of agents without a good one; None once there is one
        self._failing: dict[str, int | None] = {}
        self._began, self._last_report = time.monotonic(), 0.0
        # of the stage that is shown
        self._under_way: deque[tuple[Any, asyncio.Task[Any]]] = deque()
        most = max((settings.concurrency for settings, _ in models.values()), default=1)
        self._ahead = 4 * most

    def offline(self, agent: Agent[Any, Any]) -> bool:
        """Whether an agent's baseline answers in place of a model."""
        return agent.name not in self._models

    def model(self, agent: Agent[Any, Any]) -> str:
        """Who answers for an agent, as a user names it: "openai:gpt-5-mini", or "offline"."""
        known = self._models.get(agent.name)
        return known[0].full_name if known else OFFLINE

    def pilot_size(self, count: int) -> int:
        """So many, or fewer in a pilot."""
        return count if self.pilot is None else min(count, self.pilot)

    async def answer(self, agent: Agent[Q, A], question: Q) -> A:
        """An agent's answer. Raises `RepairsFailed` where there is none that passes its check."""
        if self.offline(agent):
            self.check_stopped()
            result = agent.offline(question)
            reason = agent.check(question, result)
            if reason is not None:
                raise RepairsFailed(f"{agent.name}/check", reason, ())
            return result
        settings, caller = self._models[agent.name]
        counts, faults = self.tally.answers[agent.name], 0

        def note_check(text: str, fault: str, reason: str) -> None:
            nonlocal faults
            faults += bool(fault)
            counts[fault or TAKEN] += 1
            self._note_check(agent.name, settings, text, reason)

        try:
            result = await agent.converse(question, settings, caller, note_check)
        except RepairsFailed:
            counts[FAILED] += 1
            raise
        counts[REPAIRED] += bool(faults)
        return result

    async def ask(self, agent: str, request: Request) -> str:
        """The text of an answer to a request of one's own. Raises `Unusable`, see `Caller.ask`."""
        return await self._models[agent][1].ask(request, agent)

    def stage(
        self, name: str, total: int, *agents: Agent[Any, Any], candidates: int | None = None
    ) -> Stage:
        """Begin a part of the work."""
        made = Stage(name, total, tuple(a.name for a in agents), candidates=candidates)
        self.stages.append(made)
        self.show(made, now=True)
        return made

    def reject(self, stage: Stage, error: RepairsFailed, record: Any) -> None:
        """Keep what failed after repairs, with its history."""
        history = [turn._asdict() for turn in error.history]
        self.rejected.append(
            Rejection(error.rule, error.reason, {"record": record, "history": history})
        )
        stage.rejected += 1

    def show(self, stage: Stage, *, now: bool = False) -> None:
        """Report where the work is, a few times a second."""
        passed = time.monotonic()
        if now or passed - self._last_report >= _TICK:
            self._last_report = passed
            wanted = self.pilot_size(stage.total)
            done = stage.done + sum(task.done() for _, task in self._under_way)
            self._progress(stage.name, min(done, wanted), wanted, self._note(stage))

    def check_stopped(self) -> None:
        """Raises `Stopped` where the work was interrupted."""
        if self._stop is not None:
            self._stop.check()

    def progress(self, stage: str, done: int, total: int, note: str = "", /) -> None:
        """Report where work in one piece is. Raises `Stopped` where it was interrupted."""
        self.check_stopped()
        self._progress(stage, done, total, note)

    async def accepted_records(
        self,
        stage: Stage,
        candidates: Iterable[T],
        work: Callable[[T], Awaitable[R]],
        record: Callable[[T], Any],
        admit: Callable[[R], str | None] = lambda made: None,
        *,
        exact: bool = True,
    ) -> AsyncIterator[R]:
        """What `work` makes of the first candidates that pass, in their order.

        As many as the stage says, or as a pilot needs. A candidate whose work raises
        `RepairsFailed` is rejected, as `record` has it, and so is one for which `admit`, which sees
        what was made in its order, has a reason. Raises `ChecksFailed` where the candidates do not
        suffice (where `exact` is off: where none passes), or hardly any passes.
        """
        wanted = self.pilot_size(stage.total)
        source = iter(candidates)
        under_way: deque[tuple[T, asyncio.Task[R]]] = deque()
        self._under_way = under_way
        watch = asyncio.create_task(self._watch(stage))
        failed = 0
        try:
            while True:
                room = min(self._ahead, wanted - stage.done) - len(under_way)
                for candidate in itertools.islice(source, max(0, room)):
                    named = RECORD.set(_label(record(candidate)))
                    task = asyncio.ensure_future(work(candidate))
                    RECORD.reset(named)
                    under_way.append((candidate, task))
                if not under_way:
                    break
                candidate, task = under_way.popleft()
                try:
                    made = await task
                    if (reason := admit(made)) is not None:
                        raise RepairsFailed(f"{stage.name}/admitted", reason, ())
                except RepairsFailed as error:
                    self.reject(stage, error, record(candidate))
                    failed += 1
                    if failed >= _HOPELESS * (stage.done // 2 + 1):
                        raise self.too_few(stage, wanted) from error
                    continue
                stage.done += 1
                if len(stage.examples) < _EXAMPLES:
                    stage.examples.append(made)
                yield made
        except asyncio.CancelledError:
            for _, left in under_way:
                left.cancel()
            raise
        finally:
            watch.cancel()
            await self._settle([task for _, task in under_way])
            under_way.clear()
            self.show(stage, now=True)
        if stage.done < (wanted if exact else 1) and self.pilot is None:
            raise self.too_few(stage, wanted, exact)

    async def gather(self, stage: Stage, work: Iterable[Awaitable[R]]) -> list[R]:
        """The results of a round, all of it at a time. Raises the first error, when all ended."""
        tasks = [asyncio.ensure_future(one) for one in work]
        watch = asyncio.create_task(self._watch(stage))
        try:
            return [await task for task in tasks]
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            raise
        finally:
            watch.cancel()
            await self._settle(tasks)

    def too_few(self, stage: Stage, wanted: int, exact: bool = True) -> ChecksFailed:
        """The error of a stage whose candidates did not suffice; all, unless `exact`, do."""
        rules: dict[str, int] = {}
        for one in itertools.islice(self.rejected, len(self.rejected) - stage.rejected, None):
            rules[one.rule] = rules.get(one.rule, 0) + 1
        message = ", ".join(f"{rule} {count:,} times" for rule, count in rules.items())
        return ChecksFailed(
            f"{stage.name}: {stage.done:,} of {wanted:,} were accepted"
            + (
                f"; rejected were {stage.rejected:,} ({message}), see rejected.jsonl"
                if message
                else ""
            )
            + (". Ask for fewer, or try another model." if exact else ".")
        )

    def _note_check(self, agent: str, settings: ModelSettings, text: str, reason: str) -> None:
        """Say it at once where the first answers to an agent all fail: all of them may."""
        failures = self._failing.get(agent, 0)
        if failures is None:
            return
        self._failing[agent] = failures + 1 if reason else None
        if self._failing[agent] != _FIRST:
            return
        words = " ".join(text.split())
        begins = f" begins {words[:_LABEL]!r} and" if words else ""
        constrained = (
            "leaving out `structured: prompt`" if settings.structured == "prompt"
            else "a server that keeps to the JSON schema it is sent"
        )  # fmt: skip
        cooler = ", or `temperature: 0`" if settings.temperature != 0 else ""
        self.notice(
            f"the first {_FIRST} answers of {settings.full_name} to {agent} cannot be used. The "
            f"last one{begins} fails: {reason}. If the others are like these, nothing will be "
            f"accepted: try a larger model, {constrained}{cooler}. Ctrl-C stops; what was "
            "answered is kept"
        )

    async def _settle(self, tasks: list[asyncio.Task[Any]] | list[asyncio.Future[Any]]) -> None:
        """Stop sending if work is left, and wait for what is in flight: it may be paid for."""
        left = [task for task in tasks if not task.done()]
        if left and self._stop is not None:
            self._stop.set()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, stage: Stage) -> None:
        while True:
            await asyncio.sleep(_TICK)
            self.show(stage)

    def _note(self, stage: Stage) -> str:
        """The price so far, in flight, rejected, and how fast."""
        if not self._models:
            return ""
        tally, passed = self.tally, max(1e-9, time.monotonic() - self._began)
        price = f"${tally.nano_usd / 1e9:.4f}" if self._priced else "price not known"
        parts = [price + (f" of ${self._cap / 1e9:g}" if self._cap else "")]
        if self._flight is not None:
            held = ", held back by the cap" if self._flight.turn.locked() else ""
            agent, out = self._flight.oldest()
            oldest = f", {agent} for {out:.0f} s" if out >= _LONG else ""
            waiting = self._batches() or f"{self._flight.count} in flight{oldest}"
            parts.append(f"{waiting}{held}")
        parts.append(f"{stage.rejected} rejected")
        unusable, answers = count_unusable(tally.answers.values())
        if unusable:
            parts.append(f"{unusable} of {answers} answers unusable")
        parts.append(f"{sum(tally.calls.values()) / passed:.1f} requests/s")
        parts.append(f"{tally.tokens / passed:.0f} tokens/s")
        return ", ".join(parts)


def _label(record: Any) -> str:
    """What a message calls a record: its id, its title, or how it begins."""
    if isinstance(record, Mapping):
        record = next((record[name] for name in ("id", "_id", "title") if record.get(name)), record)
    return " ".join(str(record).split())[:_LABEL]
