"""One request: its answer from the ledger, or leave to send it, what came back, what it cost.

Whatever comes is committed with its charge before anybody acts on it. What is to be done about it
is `caller`'s business.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar, cast

from tenacity.wait import wait_exponential_jitter

from retgen.agents.answer_budget import HIDDEN, PROMPT, AnswerBudgets
from retgen.agents.attribution import FailureAttribution
from retgen.agents.batch_queue import BatchQueue
from retgen.agents.chat import SILENCE, ChatModel, Response, Unusable, Why
from retgen.agents.flow import ConcurrencyGate, Flight, Probe, Stop
from retgen.agents.ledger import Busy, Ledger, LedgerAnswer, OverCap, Refusal, Send, Writer
from retgen.agents.ledger.owners import this_process
from retgen.agents.models import ModelSettings
from retgen.agents.outcomes import OutcomeRow, classify, costs_nothing, states_all
from retgen.agents.prices import Price
from retgen.agents.prompt import Request
from retgen.errors import BudgetReached, EndpointFailed

T = TypeVar("T")

_LEASE = 60.0  # seconds that a lease outlasts the time limit of a request
_LOOK = 0.5  # seconds between two looks at a request that another process has out
_LOOP = 80  # characters of a text that repeats itself
_SLOW = 4  # answers in this part of the time limit: more at a time would come too late
_SILENT = 2.0  # seconds of waiting for another process after which it is said


@dataclass
class Tally:
    """What was done since the process began, by agent where it is a counter."""

    calls: Counter[str] = field(default_factory=Counter)
    cached: Counter[str] = field(default_factory=Counter)
    # of all answers, those from the ledger too
    tokens_in: Counter[str] = field(default_factory=Counter)
    tokens_out: Counter[str] = field(default_factory=Counter)
    milliseconds: Counter[str] = field(default_factory=Counter)  # that calls took, summed
    tokens: int = 0  # in and out, of calls
    silent: int = 0  # calls whose answers did not say, or not credibly, what they took
    nano_usd: int = 0
    # what they were worth (`answers`), by agent, those from the ledger too
    answers: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def count_cached(self, agent: str, answer: LedgerAnswer | Refusal) -> None:
        """Count an answer that the ledger held."""
        self.cached[agent] += 1
        self.tokens_in[agent] += answer.tokens_in
        self.tokens_out[agent] += answer.tokens_out


class Sent(NamedTuple):
    """A request that was sent, and what came of it. `cost`: charged, in nano-dollars."""

    send: Send
    response: Response
    row: OutcomeRow
    room: int
    cost: int

    @property
    def rambles(self) -> bool:
        """Whether visible text alone fills the room: two bytes a token, no thoughts in the open."""
        text = self.response.text
        return len(text.encode()) >= 2 * self.room and not text.lstrip().startswith("<")

    @property
    def loops(self) -> bool:
        """Whether what fills the room ends in words that stood there before, so that more room is
        no use. Numbers may differ, but not in JSON, whose items are alike."""
        text = self.response.text
        text = text if "{" in text else re.sub(r"\d+", "", text)
        tail = text[-max(_LOOP, len(text) // 4) :]
        return self.rambles and tail in text[: -len(tail)]

    @property
    def reason(self) -> str:
        """What is wrong, as far as possible in the server's words."""
        status, error = self.response.status, self.response.error
        words = f"{status}: {error}" if error and status > 0 else error or self.response.finish
        if error and self.row.outcome != "reject":
            return words
        return self.row.what + (f" ({words})" if words else "")


class RetryError(Exception):
    """Something that is worth another try."""

    def __init__(self, sent: Sent) -> None:
        super().__init__(sent.reason)
        self.sent = sent


class Sender:
    """Sends the requests of one run to one model. `cap`: of the run, in nano-dollars.

    `batches`: what requests are sent through, if not one by one. `attempts`: of one request, the
    first included; `first_delay`: seconds before the second. `notice`: is told, once each, what a
    user has to wait for.
    """

    def __init__(
        self,
        ledger: Ledger,
        writer: Writer,
        chat: ChatModel,
        settings: ModelSettings,
        *,
        run: str,
        stop: Stop,
        flight: Flight,
        price: Price | None = None,
        cap: int | None = None,
        tally: Tally | None = None,
        batches: BatchQueue | None = None,
        attempts: int = 6,
        first_delay: float = 0.5,
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._ledger, self._writer, self._chat, self._run = ledger, writer, chat, run
        self._price, self._priced, self._cap = price or Price(), price is not None, cap
        self._stop, self._flight, self._attribution = stop, flight, FailureAttribution()
        self._notice, self._noticed = notice, set[str]()
        self.tally = tally or Tally()
        self._attempts = attempts
        # what one batch has failed goes into the next one together
        jitter = first_delay if batches is None else 0.0
        self._delay = wait_exponential_jitter(first_delay, 60.0, jitter=jitter)
        self._batches, most = batches, settings.concurrency
        self._gate, self._probe = ConcurrencyGate(most, begin=most if batches else 8), Probe()
        self._requests, self._tokens = settings.requests_per_minute, settings.tokens_per_minute
        self._limited = bool(self._requests or self._tokens)
        self._timeout = settings.timeout
        self._lease = batches.lease if batches else settings.timeout + _LEASE
        self._whom = settings.endpoint(), settings.name
        # whose documentation says what costs nothing; nobody's, of a server of one's own
        self._provider = "" if settings.address() else settings.provider
        self.budgets = AnswerBudgets(ledger.learned_budgets(*self._whom))
        for agent in self.budgets.agents():
            self._probe.open(agent)

    async def once(
        self, request: Request, agent: str, least: int, *, first: bool = False
    ) -> str | Sent:
        """Its answer from the ledger, or what came back. Raises `RetryError` for another try."""
        paced = not self._limited
        while True:
            turn = nullcontext() if self._probe.is_open(agent) else self._probe(agent)
            async with turn:
                entered = await self._gate.enter()
                well: bool | None = None
                try:
                    self._stop.check()
                    # only now: what others learned meanwhile helps this one too
                    room = self.budgets.of(agent, request.room, least)
                    if not paced:
                        known = await self._find_or_pace(request, agent, room)
                        if known is not None:
                            return known
                    paced = True
                    result = await self._reserve(request, agent, room)
                    if isinstance(result, Send):
                        if result.batch is not None:  # what it may cost is counted already
                            self.tally.nano_usd -= result.worst
                        token = self._attribution.start() if first else None
                        try:
                            # a batch that it is in may have had another
                            sent = await self._send(request, result, agent, result.room or room)
                        finally:
                            self._attribution.finish(token)
                        again = sent.row.outcome in ("retry", "later")
                        # of no account for the pace: an answer that was cut off, or refused
                        in_time = time.monotonic() - entered < self._timeout / _SLOW
                        if self._batches is None:
                            whole = in_time and sent.row.outcome == "answer"
                            well = False if again else whole or None
                        if again:
                            raise RetryError(sent)
                        return sent
                finally:
                    self._gate.leave(entered, well=well)
            if isinstance(result, Busy):
                await self._wait(result)
                continue
            text = await self._from_ledger(request, agent, result)
            if text is not None:
                return text

    async def refuse(self, sent: Sent, why: Why, reason: str) -> None:
        """Have the ledger keep that a request is refused for good."""
        raw, usage = sent.response.raw, sent.response.usage
        spent = usage.tokens_in or 0, usage.tokens_out or 0
        await self._do(
            lambda: self._ledger.record_refusal(sent.send, raw, why, reason, *spent, sent.cost)
        )

    async def _from_ledger(
        self, request: Request, agent: str, result: LedgerAnswer | Refusal
    ) -> str | None:
        """The text of an answer that was kept; None where it turns out to be none. Raises
        `Unusable`."""
        if isinstance(result, Refusal):
            self.tally.count_cached(agent, result)
            raise Unusable(result.reason, cast(Why, result.why))
        raw = result.raw
        response = self._chat.read(raw)
        row = classify(response)
        if row.outcome not in ("answer", "reject"):  # of an earlier version, which kept anything
            state = "cut" if row.outcome == "room" else "void"
            await self._do(lambda: self._ledger.withdraw(request, state, row.what, raw))
            return None
        self.tally.count_cached(agent, result)
        if row.outcome == "reject":
            raise Unusable(row.what, row.why)
        await self._note_answer(agent, fresh=False)
        return response.text

    async def _wait(self, busy: Busy) -> None:
        """Wait a little for a request that somebody else has out."""
        # not of this process, which has the same request twice
        if busy.owner not in {*self._noticed, str(this_process())} and busy.left > _SILENT:
            self._noticed.add(busy.owner)
            self._notice(
                f"waiting for {busy.owner}, which has sent a request that this run needs: until "
                f"its answer comes, {busy.left:,.0f} seconds at most"
            )
        await self._stop.sleep(min(_LOOK, max(0.01, busy.left)))

    async def _reserve(
        self, request: Request, agent: str, room: int
    ) -> LedgerAnswer | Refusal | Send | Busy:
        """What the ledger says, when the cap leaves room for the worst case."""
        worst = self._price.worst(request, room, self.budgets.prompt())

        def reserve() -> LedgerAnswer | Refusal | Send | Busy | OverCap:
            return self._ledger.reserve(
                request, run=self._run, agent=agent, worst=worst, lease=self._lease, room=room,
                cap=self._cap, priced=self._priced, batch=self._batches is not None,
            )  # fmt: skip

        result = await self._reservation(reserve)
        if not isinstance(result, OverCap):
            return result
        async with self._flight.turn:
            while True:
                ended = self._flight.ended
                result = await self._reservation(reserve)
                if not isinstance(result, OverCap):
                    return result
                self._stop.check()
                if not await self._flight.wait_for_change(ended):
                    raise BudgetReached(
                        f"the next call could cost ${result.worst / 1e9:.4f}, and "
                        f"${result.left / 1e9:.4f} of the cap are left. Raise --max-usd to go on; "
                        "what was answered is kept."
                    )

    async def _find_or_pace(self, request: Request, agent: str, room: int) -> str | None:
        """The answer if the ledger holds it; else waits until another request may go out."""
        result = await self._do(lambda: self._ledger.find(request, run=self._run))
        if result is not None:
            text = await self._from_ledger(request, agent, result)
            if text is not None:
                return text
        # as providers count: a quarter of the prompt's bytes, and all the room for the answer
        tokens = len(request.body) / 4 + room
        limits = ("requests", 1.0, self._requests), ("tokens", tokens, self._tokens)
        # one key may be all an account has, wherever it is used
        turns = {
            f"{what} {' '.join(self._whom)}": amount * 60 / rate
            for what, amount, rate in limits
            if rate
        }
        await self._stop.sleep(await self._do(lambda: self._ledger.take_turns(turns)))
        return None

    async def _send(self, request: Request, send: Send, agent: str, room: int) -> Sent:
        began = time.monotonic()
        token = self._flight.begin(agent)
        try:
            response = (
                await self._chat.send(request, room)
                if self._batches is None
                else await self._batches.send(send, request, room)
            )
            sent = await self._keep(request, send, response, agent, room)
        except asyncio.CancelledError:
            if self._batches is None:  # a batch goes on, and is taken up
                await self._do(lambda: self._ledger.record_lost(send, "CancelledError"))
            raise
        finally:
            self._flight.end(token)
        self.tally.milliseconds[agent] += round(1e3 * (time.monotonic() - began))
        return sent

    async def _keep(
        self, request: Request, send: Send, response: Response, agent: str, room: int
    ) -> Sent:
        """Commit what came, whatever it is, with what it cost, before anybody acts on it."""
        row, usage = classify(response), response.usage
        stated = states_all(response, request)
        spent = usage.tokens_in or 0, usage.tokens_out or 0
        free = costs_nothing(response, self._provider)
        # a number that is too small, or stands alone, may still be more than was reserved
        cost = 0 if free else max(self._price.of(*spent), 0 if stated else send.worst)
        sent = Sent(send, response, row, room, cost)
        raw, ledger, reason = response.raw, self._ledger, sent.reason
        excess = self._excess(request, sent, agent, *spent)
        match row.outcome:
            case "answer":
                kept = await self._do(lambda: ledger.record_answer(send, raw, *spent, cost))
                if kept != raw:  # somebody else was faster, and his answer stands
                    sent = sent._replace(response=self._chat.read(kept))
            case "reject":
                await self._do(
                    lambda: ledger.record_refusal(send, raw, row.why, reason, *spent, cost)
                )
            case _ if free:
                await self._do(lambda: ledger.record_failure(send, reason))
            case _ if response.status == SILENCE:
                await self._do(lambda: ledger.record_lost(send, reason))
            case _:
                state = "cut" if row.outcome == "room" else "void"
                await self._do(
                    lambda: ledger.record_spoiled(send, raw, state, reason, *spent, cost)
                )
        self._count(request, sent, agent, *spent, silent=not stated)
        if row.outcome == "answer":
            visible = len(response.text.encode())
            if stated:
                self._note(agent, spent[1], max(usage.hidden, spent[1] - visible))
            else:
                self.budgets.note_silent(agent, visible)
            await self._note_answer(agent, fresh=True)
        if excess is not None:
            raise excess
        return sent

    def _excess(
        self, request: Request, sent: Sent, agent: str, tokens_in: int, tokens_out: int
    ) -> EndpointFailed | None:
        """What ends a run under a cap: a server that spends more than a request had room for.

        Set at once, so that nothing is sent any more; what is in flight may do the same.
        """
        over = tokens_in - len(request.body)
        if over <= 0 and tokens_out <= sent.room:
            return None
        if self.budgets.note(PROMPT, max(0, over)):
            self.learn(PROMPT)
        if self.budgets.note(agent, tokens_out):
            self.learn(agent)
        if self._cap is None:
            return None
        where = f"{request.model} at {request.endpoint}, asked by {agent}"
        error = EndpointFailed(
            f"{where}: an answer states {tokens_in:,} and {tokens_out:,} tokens, more than its "
            f"request had room for ({len(request.body):,} and {sent.room:,}), so the cap could be "
            f"passed. ${sent.cost / 1e9:.4f} were charged for it where at most "
            f"${sent.send.worst / 1e9:.4f} were reserved. Nothing more is sent; it is kept. The "
            "same command goes on, and reserves half as much again as that for every call."
        )
        self._stop.set(error)
        return error

    def _count(
        self, request: Request, sent: Sent, agent: str, tokens_in: int, tokens_out: int, *,
        silent: bool,
    ) -> None:  # fmt: skip
        tally = self.tally
        tally.nano_usd += sent.cost
        if sent.response.status != 200:
            return
        tally.silent += silent
        if silent:
            tokens_in, tokens_out = len(request.body), sent.room
        tally.calls[agent] += 1
        tally.tokens_in[agent] += tokens_in
        tally.tokens_out[agent] += tokens_out
        tally.tokens += tokens_in + tokens_out

    async def _note_answer(self, agent: str, *, fresh: bool) -> None:
        self._probe.open(agent)
        await self._attribution.note_answer(agent, fresh=fresh)

    def _note(self, agent: str, tokens: int, hidden: int) -> None:
        for name, needed in ((agent, tokens), (HIDDEN, hidden)):
            if self.budgets.note(name, needed):
                self.learn(name)

    def learn(self, agent: str) -> None:
        """Have the ledger keep what is known of an agent's room; nobody waits for it."""
        known, whom = self.budgets.to_keep(agent), self._whom
        self._writer.submit(lambda: self._ledger.learn(*whom, agent, *known))

    async def _reservation(self, reserve: Callable[[], T]) -> T:
        """A reservation, given back where the task that wanted it is cancelled meanwhile."""
        future = self._writer.submit(reserve)
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except asyncio.CancelledError:
            future.add_done_callback(self._give_back)
            raise

    def _give_back(self, future: Future[T]) -> None:
        send = future.result() if not future.exception() else None
        if isinstance(send, Send) and send.batch is None:
            self._writer.submit(lambda: self._ledger.record_failure(send, "not sent"))

    async def _do(self, call: Callable[[], T]) -> T:
        # once begun it is done, even for a task that is cancelled: an answer may have been paid
        return await asyncio.shield(asyncio.wrap_future(self._writer.submit(call)))
