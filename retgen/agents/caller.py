"""From a request to its answer: the ledger first, then the model, with care for its limits.

What the ledger holds is never asked again. `outcomes` says what each thing that comes back stands
for; here it is done. Whether a refusal is about one record or about all of them is told by the
others: `suspects`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar, cast

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from retgen.agents.chat import ChatModel, Response, Unusable, Why
from retgen.agents.flow import Flight, Gate, Probe, Rate, Stop
from retgen.agents.ledger import Answer, Busy, Ledger, OverCap, Refusal, Send, Writer
from retgen.agents.models import ModelSettings
from retgen.agents.outcomes import Row, classify
from retgen.agents.prices import Price
from retgen.agents.request import Request
from retgen.agents.rooms import HIDDEN, PROMPT, Rooms
from retgen.agents.suspects import Suspects, Tries
from retgen.errors import BudgetReached, EndpointFailed, RetgenError

__all__ = ["RECORD", "Caller", "Tally"]

# what is worked on, as messages name it: the tasks of a record inherit it
RECORD: ContextVar[str] = ContextVar("RECORD", default="")

T = TypeVar("T")

_LEASE = 60.0  # seconds that a lease outlasts the time limit of a request
_LOOK = 0.5  # seconds between two looks at a request that another process has out
_SILENT = 2.0  # seconds of waiting for another process after which it is said
_CUTS = 3  # answers to one request that may be cut off where others are whole


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
    silent: int = 0  # calls whose answers did not say what they took
    nano_usd: int = 0

    def answered(self, agent: str, answer: Answer | Refusal) -> None:
        """Count an answer that the ledger held."""
        self.cached[agent] += 1
        self.tokens_in[agent] += answer.tokens_in
        self.tokens_out[agent] += answer.tokens_out


class _Sent(NamedTuple):
    """A request that was sent, and what came of it. `cost`: charged, in nano-dollars."""

    send: Send
    response: Response
    row: Row
    room: int
    cost: int

    @property
    def reason(self) -> str:
        """What is wrong, as far as possible in the server's words."""
        status, error = self.response.status, self.response.error
        words = f"{status}: {error}" if error and status > 0 else error or self.response.finish
        if error and self.row.outcome != "reject":
            return words
        return self.row.what + (f" ({words})" if words else "")


class _Failed(Exception):
    """Something that is worth another try."""

    def __init__(self, sent: _Sent) -> None:
        super().__init__(sent.reason)
        self.sent = sent


class Caller:
    """Answers of one model for one run. `cap`: of the run, in nano-dollars.

    `notice`: is told, once each, what a user has to wait for.
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
        attempts: int = 6,
        first_delay: float = 0.5,
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._ledger, self._writer, self._chat, self._run = ledger, writer, chat, run
        self._price, self._priced, self._cap = price or Price(), price is not None, cap
        self._stop, self._flight, self._notice = stop, flight, notice
        self.tally = tally or Tally()
        self._gate, self._probe = Gate(settings.concurrency), Probe()
        self._requests = Rate(settings.requests_per_minute)
        self._tokens = Rate(settings.tokens_per_minute)
        self._limited = bool(settings.requests_per_minute or settings.tokens_per_minute)
        self._attempts, self._lease = attempts, settings.timeout + _LEASE
        self._delay = wait_exponential_jitter(first_delay, 60.0, jitter=first_delay)
        self._whom = settings.endpoint(), settings.name
        self._rooms = Rooms(ledger.rooms(*self._whom))
        for agent in self._rooms.agents():
            self._probe.open(agent)
        self._suspects = Suspects()
        self._waited: set[str] = set()

    async def ask(self, request: Request, agent: str) -> str:
        """The text of an answer, from the ledger if it is there.

        Raises `Unusable` where the record has to do without; `BudgetReached` where sending could
        pass the cap, and `EndpointFailed` where the server answers nobody: from then on all others
        raise `Stopped`.
        """
        self._suspects.begin(agent)
        try:
            return await self._asked(request, agent)
        except RetgenError as error:
            self._stop.set(error)
            raise
        finally:
            self._suspects.end(agent)

    async def close(self) -> None:
        """Close the model's connections."""
        await self._chat.close()

    # --- what is done about what comes back ---------------------------------------------------

    async def _asked(self, request: Request, agent: str) -> str:
        rooms, least, cuts, rounds = self._rooms, 0, 0, 0
        while True:
            tries = Tries(self._attempts // 2)
            sent = await self._often(request, agent, least, tries)
            if isinstance(sent, str):
                return sent
            room = sent.room
            match sent.row.outcome:
                case "answer":
                    return sent.response.text
                case "reject":
                    raise Unusable(sent.reason, sent.row.why)
                case "room":
                    cuts += 1
                    least = rooms.more(agent, room)
                    self._learn(agent)
                    if least <= room or (cuts >= _CUTS and rooms.whole(agent)):
                        # paid for, so it is kept whatever becomes of the others
                        reason = f"the answer was cut off, even with room for {room:,} tokens"
                        await self._keep_refusal(sent, "cut_off", reason)
                        raise Unusable(reason, "cut_off")
                case "less":
                    least = 0
                    if not rooms.less(room):
                        await self._refused(request, sent, agent)
                case "refuse":
                    await self._refused(request, sent, agent)
                case "retry":
                    rounds += 1
                    await self._failing(request, sent, agent, tries, rounds)
                case outcome:
                    tried = self._attempts if outcome == "later" else 1
                    raise self._failed(request, sent, agent, tried)

    async def _often(self, request: Request, agent: str, least: int, tries: Tries) -> str | _Sent:
        """What comes of a request, after as many tries as it takes, or as there may be."""
        try:
            return await self._once(request, agent, least, first=True)
        except _Failed as error:
            failed: _Failed | None = error
        try:
            # only now, since it costs more than all the rest and is mostly not needed
            self._suspects.failing(tries)
            async for attempt in self._retrying():
                with attempt:
                    try:
                        if failed is not None:
                            first, failed = failed, None
                            raise first
                        found = await self._once(request, agent, least)
                    except _Failed:
                        tries.failed(self._suspects.answers)
                        raise
                    self._suspects.settled(tries)
                    return found
        except _Failed as error:
            return error.sent  # and it counts as failing until it is judged
        except BaseException:
            self._suspects.settled(tries)
            raise
        raise AssertionError("tenacity returns or raises")

    async def _refused(self, request: Request, sent: _Sent, agent: str) -> None:
        """Reject the record if others are answered. Raises `Unusable` or `EndpointFailed`."""

        async def keep() -> None:
            await self._keep_refusal(sent, sent.row.why, sent.reason)

        if not await self._suspects.only_this(agent, request.key, keep, self._stop):
            raise self._failed(request, sent, agent, 1)
        raise Unusable(sent.reason, sent.row.why)

    async def _failing(
        self, request: Request, sent: _Sent, agent: str, tries: Tries, rounds: int
    ) -> None:
        """The same after many tries: a body on which the server fails, or a server that is ill.

        Returns where it is to be tried once more: with no other beside it nobody can tell.
        """
        try:
            verdict = await self._suspects.judge(agent, tries, self._stop)
        finally:
            self._suspects.settled(tries)
        often = rounds * self._attempts
        if verdict == "alone" and rounds == 1 and sent.row.charge != "most":
            return
        if verdict == "all" or (verdict == "alone" and not self._suspects.rejected_alone(agent)):
            raise self._failed(request, sent, agent, often)
        reason = f"{sent.reason} ({often} tries; the server answers others)"
        await self._keep_refusal(sent, "refused", reason)
        raise Unusable(reason, "refused")

    async def _keep_refusal(self, sent: _Sent, why: Why, reason: str) -> None:
        raw, usage = sent.response.raw, sent.response.usage
        spent = usage.tokens_in or 0, usage.tokens_out or 0
        await self._do(lambda: self._ledger.refused(sent.send, raw, why, reason, *spent, sent.cost))

    def _failed(self, request: Request, sent: _Sent, agent: str, tries: int) -> EndpointFailed:
        """The server answers nobody: what it said, to which request, and what to do."""
        whom = f"{request.model} at {request.endpoint}"
        often = f" ({tries} tries)" if tries > 1 else ""
        told = [f"record {record!r}"] if (record := RECORD.get()) else []
        told += [request.about] if request.about else []
        named = f", asked by {agent}" + (f" ({'; '.join(told)})" if told else "")
        hint = f" {sent.row.hint[:1].upper()}{sent.row.hint[1:]}." if sent.row.hint else ""
        passing = sent.row.outcome in ("retry", "later")
        then = "run the command again to go on" if passing else "correct this, and run again"
        return EndpointFailed(
            f"{whom}: {sent.reason}{often}{named}.{hint} What was answered is kept; {then}."
        )

    # --- one request ----------------------------------------------------------------------------

    async def _once(
        self, request: Request, agent: str, least: int, *, first: bool = False
    ) -> str | _Sent:
        """Its answer from the ledger, or what came back. Raises `_Failed` for another try."""
        paced = not self._limited
        while True:
            few = nullcontext() if self._probe.is_open(agent) else self._probe(agent)
            async with few:
                entered = await self._gate.enter()
                well: bool | None = None
                try:
                    self._stop.check()
                    # only now: what others learned meanwhile helps this one too
                    room = self._rooms.of(agent, request.room, least)
                    if not paced:
                        known = await self._known(request, agent, room)
                        if known is not None:
                            return known
                    paced = True
                    found = await self._reserved(request, agent, room)
                    if isinstance(found, Send):
                        token = self._suspects.fly() if first else None
                        try:
                            sent = await self._send(request, found, agent, room)
                        finally:
                            self._suspects.land(token)
                        again = sent.row.outcome in ("retry", "later")
                        # of no account for the pace: an answer that was cut off, or refused
                        well = False if again else sent.row.outcome == "answer" or None
                        if again:
                            raise _Failed(sent)
                        return sent
                finally:
                    self._gate.leave(entered, well=well)
            if isinstance(found, Busy):
                await self._wait(found)
                continue
            text = await self._from_ledger(request, agent, found)
            if text is not None:
                return text

    async def _from_ledger(
        self, request: Request, agent: str, found: Answer | Refusal
    ) -> str | None:
        """The text of an answer that was kept; None where it turns out to be none. Raises
        `Unusable`."""
        if isinstance(found, Refusal):
            self.tally.answered(agent, found)
            raise Unusable(found.reason, cast(Why, found.why))
        raw = found.raw
        response = self._chat.read(raw)
        row = classify(response)
        if row.outcome not in ("answer", "reject"):  # of an earlier version, which kept anything
            state = "cut" if row.outcome == "room" else "void"
            await self._do(lambda: self._ledger.withdraw(request, state, row.what, raw))
            return None
        self.tally.answered(agent, found)
        if row.outcome == "reject":
            raise Unusable(row.what, row.why)
        await self._answered(agent, fresh=False)
        return response.text

    async def _wait(self, busy: Busy) -> None:
        """Wait a little for a request that somebody else has out."""
        if busy.owner not in self._waited and busy.left > _SILENT:
            self._waited.add(busy.owner)
            self._notice(
                f"waiting for {busy.owner}, which has sent a request that this run needs: until "
                f"its answer comes, {busy.left:,.0f} seconds at most"
            )
        await self._stop.sleep(min(_LOOK, max(0.01, busy.left)))

    async def _reserved(
        self, request: Request, agent: str, room: int
    ) -> Answer | Refusal | Send | Busy:
        """What the ledger says, when the cap leaves room for the worst case."""
        worst = self._price.worst(request, room, self._rooms.prompt())

        def reserve() -> Answer | Refusal | Send | Busy | OverCap:
            return self._ledger.reserve(
                request, run=self._run, agent=agent, worst=worst, lease=self._lease, room=room,
                cap=self._cap, priced=self._priced,
            )  # fmt: skip

        found = await self._left(reserve)
        if not isinstance(found, OverCap):
            return found
        async with self._flight.turn:
            while True:
                ended = self._flight.ended
                found = await self._left(reserve)
                if not isinstance(found, OverCap):
                    return found
                self._stop.check()
                if not await self._flight.changed(ended):
                    raise BudgetReached(
                        f"the next call could cost ${found.worst / 1e9:.4f}, and "
                        f"${found.left / 1e9:.4f} of the cap are left. Raise --max-usd to go on; "
                        "what was answered is kept."
                    )

    async def _known(self, request: Request, agent: str, room: int) -> str | None:
        """The answer if the ledger holds it; else waits until another request may go out."""
        found = await self._do(lambda: self._ledger.find(request, run=self._run))
        if found is not None:
            text = await self._from_ledger(request, agent, found)
            if text is not None:
                return text
        now = time.monotonic()
        # as providers count: a quarter of the prompt's bytes, and all the room for the answer
        tokens = len(request.body) / 4 + room
        await self._stop.sleep(max(self._requests.wait(1, now), self._tokens.wait(tokens, now)))
        return None

    async def _send(self, request: Request, send: Send, agent: str, room: int) -> _Sent:
        began = time.monotonic()
        self._flight.begin()
        try:
            response = await self._chat.send(request, room)
            sent = await self._keep(request, send, response, agent, room)
        except asyncio.CancelledError:
            await self._do(lambda: self._ledger.lost(send, "CancelledError"))
            raise
        finally:
            self._flight.end()
        self.tally.milliseconds[agent] += round(1e3 * (time.monotonic() - began))
        return sent

    async def _keep(
        self, request: Request, send: Send, response: Response, agent: str, room: int
    ) -> _Sent:
        """Commit what came, whatever it is, with what it cost, before anybody acts on it."""
        row, usage = classify(response), response.usage
        tokens_in, tokens_out = usage.tokens_in, usage.tokens_out
        if response.text and not tokens_out:
            tokens_out = None  # it cannot have taken none
        stated = tokens_in is not None and tokens_out is not None
        paid = row.charge == "most" or (row.charge == "stated or most" and not stated)
        spent = tokens_in or 0, tokens_out or 0
        cost = send.worst if paid else self._price.of(*spent)
        sent = _Sent(send, response, row, room, cost)
        raw, ledger, reason = response.raw, self._ledger, sent.reason
        excess = self._excess(request, sent, agent, *spent)
        match row.outcome:
            case "answer":
                kept = await self._do(lambda: ledger.answered(send, raw, *spent, cost))
                if kept != raw:  # somebody else was faster, and his answer stands
                    sent = sent._replace(response=self._chat.read(kept))
            case "reject":
                await self._do(lambda: ledger.refused(send, raw, row.why, reason, *spent, cost))
            case _ if row.charge == "most":
                await self._do(lambda: ledger.lost(send, reason))
            case _ if response.status == 200:
                state = "cut" if row.outcome == "room" else "void"
                await self._do(lambda: ledger.spoiled(send, raw, state, reason, *spent, cost))
            case _:
                await self._do(lambda: ledger.failed(send, reason))
        self._count(request, sent, agent, *spent, silent=paid)
        if row.outcome == "answer":
            self._note(agent, spent[1], max(usage.hidden, spent[1] - len(response.text.encode())))
            await self._answered(agent, fresh=True)
        if excess is not None:
            raise excess
        return sent

    def _excess(
        self, request: Request, sent: _Sent, agent: str, tokens_in: int, tokens_out: int
    ) -> EndpointFailed | None:
        """What ends a run under a cap: a server that spends more than a request had room for.

        Set at once, so that nothing is sent any more; what is in flight may do the same.
        """
        over = tokens_in - len(request.body)
        if over <= 0 and tokens_out <= sent.room:
            return None
        if self._rooms.note(PROMPT, max(0, over)):
            self._learn(PROMPT)
        if self._rooms.note(agent, tokens_out):
            self._learn(agent)
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
        self, request: Request, sent: _Sent, agent: str, tokens_in: int, tokens_out: int, *,
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

    async def _answered(self, agent: str, *, fresh: bool) -> None:
        self._probe.open(agent)
        await self._suspects.answered(agent, fresh=fresh)

    def _note(self, agent: str, tokens: int, hidden: int) -> None:
        for name, needed in ((agent, tokens), (HIDDEN, hidden)):
            if self._rooms.note(name, needed):
                self._learn(name)

    def _learn(self, agent: str) -> None:
        """Have the ledger keep what is known of an agent's room; nobody waits for it."""
        known, whom = self._rooms.known(agent), self._whom
        self._writer.submit(lambda: self._ledger.learn(*whom, agent, *known))

    async def _left(self, reserve: Callable[[], T]) -> T:
        """A reservation, given back where the task that wanted it is cancelled meanwhile."""
        future = self._writer.submit(reserve)
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except asyncio.CancelledError:
            future.add_done_callback(self._give_back)
            raise

    def _give_back(self, future: Future[T]) -> None:
        send = future.result() if not future.exception() else None
        if isinstance(send, Send):
            self._writer.submit(lambda: self._ledger.failed(send, "not sent"))

    async def _do(self, call: Callable[[], T]) -> T:
        # once begun it is done, even for a task that is cancelled: an answer may have been paid
        return await asyncio.shield(asyncio.wrap_future(self._writer.submit(call)))

    def _retrying(self) -> AsyncRetrying:
        def wait(state: RetryCallState) -> float:
            failure = state.outcome.exception() if state.outcome else None
            asked = failure.sent.response.wait if isinstance(failure, _Failed) else None
            return max(asked or 0.0, self._delay(state))

        return AsyncRetrying(
            stop=stop_after_attempt(self._attempts),
            wait=wait,
            retry=retry_if_exception(lambda error: isinstance(error, _Failed)),
            sleep=self._stop.sleep,
            reraise=True,
        )
