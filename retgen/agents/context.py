"""What a family asks its models with: agents, stages of work, the records that were not taken.

Work on many records goes on side by side and comes back in the records' order. No more of them are
under way than are still wanted, so what is asked is the shortest beginning of the candidates that
yields enough: the same whatever finishes first.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from retgen.agents.agent import A, Agent, Q, RepairsFailed
from retgen.agents.client import Client
from retgen.agents.limits import Session, Stop
from retgen.agents.models import OFFLINE, ModelSettings
from retgen.agents.prompt import Request
from retgen.agents.report import CallReport, Rejection, Stage
from retgen.errors import ChecksFailed
from retgen.progress import Progress, no_progress
from retgen.work import Engine, Local

T = TypeVar("T")
R = TypeVar("R")

_HOPELESS = 50  # rejected for two that are accepted: to go on would only cost
_EXAMPLES = 3  # of what was accepted, for a pilot to show
_TICK = 0.25  # seconds between two reports of progress


class Context:
    """Agents and stages of one run, as a family's `generate_with_agents` uses them.

    `models`: settings and client of each agent that a model answers; the others are offline.
    `folder`: where the family leaves what it was told. `report`: counts what comes of it.
    `pilot`: records of a stage that are enough. `engine`: who does what no model does. `progress`:
    what is told how far the work is. `session`: what the clients share; None if no model is asked,
    and then `stop` is the work's own.
    """

    def __init__(
        self,
        folder: Path,
        models: Mapping[str, tuple[ModelSettings, Client]],
        report: CallReport,
        *,
        pilot: int | None = None,
        engine: Engine | None = None,
        session: Session | None = None,
        stop: Stop | None = None,
        progress: Progress = no_progress,
    ) -> None:
        self.folder, self.pilot, self.engine = folder, pilot, engine or Local(1)
        self.report = report
        self._models, self._session, self._progress = models, session, progress
        self._stop = session.stop if session else stop or Stop()
        self._under_way: Collection[asyncio.Future[Any]] = ()  # of the stage that is shown
        most = max((settings.concurrency for settings, _ in models.values()), default=1)
        self._ahead = 4 * most

    def offline(self, agent: Agent[Any, Any]) -> bool:
        """Whether an agent's baseline answers in place of a model."""
        return agent.name not in self._models

    def model(self, agent: Agent[Any, Any]) -> str:
        """Who answers for an agent, as a user names it: "openai:gpt-5-mini", or "offline"."""
        known = self._models.get(agent.name)
        return known[0].full_name if known else OFFLINE

    def notice(self, text: str) -> None:
        """Tell the user what has to be waited or paid for."""
        if self._session is not None:
            self._session.notice(text)

    def pilot_size(self, count: int) -> int:
        """So many, or fewer in a pilot."""
        return count if self.pilot is None else min(count, self.pilot)

    async def answer(self, agent: Agent[Q, A], question: Q) -> A:
        """An agent's answer. Raises `RepairsFailed` where there is none that passes its check."""
        if self.offline(agent):
            self._stop.check()
            if agent.offline is None:
                message = f"{agent.name} is a model's work: name one (--model)"
                raise RepairsFailed(f"{agent.name}/offline", message, ())
            result = agent.offline(question)
            reason = agent.check(question, result)
            if reason is not None:
                raise RepairsFailed(f"{agent.name}/check", reason, ())
            return result
        settings, client = self._models[agent.name]
        return await agent.request(question, settings, client, self.report.answers[agent.name])

    async def request(self, agent: str, request: Request) -> str:
        """Return the text of an answer to a request of one's own; see `Client.request`."""
        return await self._models[agent][1].request(request, agent)

    def stage(
        self, name: str, total: int, *agents: Agent[Any, Any], candidates: int | None = None
    ) -> Stage:
        """Begin a part of the work."""
        made = Stage(name, total, tuple(a.name for a in agents), candidates=candidates)
        self.report.stages.append(made)
        self.show(made)
        return made

    def reject(self, stage: Stage, error: RepairsFailed, record: Any) -> None:
        """Keep what failed after repairs, with its history."""
        history = [{"answer": one.answer, "reason": one.reason} for one in error.history]
        self.report.rejected.append(
            Rejection(error.rule, error.reason, {"record": record, "history": history})
        )
        stage.rejected += 1

    def show(self, stage: Stage) -> None:
        """Report where the work is."""
        wanted = self.pilot_size(stage.total)
        done = stage.done + sum(task.done() for task in self._under_way)
        self._progress(stage.name, min(done, wanted), wanted, self._note(stage))

    def progress(self, stage: str, done: int, total: int, note: str = "", /) -> None:
        """Report where work in one piece is. Raises `Stopped` where it was interrupted."""
        self._stop.check()
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
        tried, tasks, failed = deque[T](), deque[asyncio.Future[R]](), 0
        self._under_way = tasks
        async with self._watched(stage, tasks):
            while True:
                room = min(self._ahead, wanted - stage.done) - len(tasks)
                for candidate in itertools.islice(source, max(0, room)):
                    tasks.append(asyncio.ensure_future(work(candidate)))
                    tried.append(candidate)
                if not tasks:
                    break
                candidate = tried.popleft()
                try:
                    made = await tasks.popleft()
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
        if stage.done < (wanted if exact else 1) and self.pilot is None:
            raise self.too_few(stage, wanted, exact)

    async def gather(self, stage: Stage, work: Iterable[Awaitable[R]]) -> list[R]:
        """The results of a round, all of it at a time. Raises the first error, when all ended."""
        tasks = [asyncio.ensure_future(one) for one in work]
        async with self._watched(stage, tasks):
            return [await task for task in tasks]

    def too_few(self, stage: Stage, wanted: int, exact: bool = True) -> ChecksFailed:
        """The error of a stage that had too few candidates. `exact`: it wanted just so many."""
        rejected = self.report.rejected
        last = itertools.islice(rejected, len(rejected) - stage.rejected, None)
        rules = Counter(one.rule for one in last)
        message = f"{stage.name}: {stage.done:,} of {wanted:,} were accepted"
        if rules:
            times = ", ".join(f"{rule} {count:,} times" for rule, count in rules.items())
            message += (
                f"; rejected were {stage.rejected:,} ({times}), see {self.report.rejected_file}"
            )
        return ChecksFailed(message + "." + " Ask for fewer, or try another model." * exact)

    @asynccontextmanager
    async def _watched(
        self, stage: Stage, tasks: Collection[asyncio.Future[Any]]
    ) -> AsyncIterator[None]:
        """Show how far a stage is. If tasks are left at the end, stop sending, and wait for what is
        in flight: it may be paid for.
        """

        async def watch() -> None:
            while True:
                await asyncio.sleep(_TICK)
                self.show(stage)

        watching = asyncio.create_task(watch())
        try:
            yield
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            raise
        finally:
            watching.cancel()
            if not all(task.done() for task in tasks):
                self._stop.set()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._under_way = ()
            self.show(stage)

    def _note(self, stage: Stage) -> str:
        """The price so far, what is in flight, and how many records are rejected."""
        if self._session is None:
            return ""
        budget = self._session.budget
        clients = {client for _, client in self._models.values()}
        priced = all(client.priced for client in clients)
        price = f"${budget.charged / 1e9:.4f}" if priced else "price not known"
        price += f" of ${budget.cap / 1e9:g}" if budget.cap else ""
        batches = "; ".join(filter(None, (client.note() for client in clients)))
        waiting = batches or f"{self.report.in_flight} in flight"
        return f"{price}, {waiting}, {stage.rejected} rejected"
