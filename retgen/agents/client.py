"""The client of one model for one run: from a request to its answer, through the ledger.

    Agent.request -> Client.request -> Client._exchange -> ledger.add_call (committed)
                  -> ChatModel.send (once) -> outcomes.classify -> ledger.end_call (committed)

Every response is committed with its charge before an agent sees it. `outcomes` says what a response
means, the client acts on it. What may pass is tried again until the server has answered nothing for
`outage_seconds` and `outage_attempts`; then the run stops, and no record is rejected. A failure
halves what is in flight, and lengthens the pause before each sending until an answer comes: an
outage costs twice as many tries as were in flight, and a few, however many requests wait.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from typing import NamedTuple, cast

from retgen.agents.batch_queue import BatchQueue
from retgen.agents.chat import SILENCE, ChatModel, Response, Unusable, Why
from retgen.agents.ledger import Answer, Call
from retgen.agents.limits import Changes, ConcurrencyGate, Session
from retgen.agents.models import ModelSettings
from retgen.agents.outcomes import Outcome, classify, usage_is_stated
from retgen.agents.prices import Price
from retgen.agents.prompt import Request
from retgen.agents.replay import missing_answer
from retgen.errors import EndpointFailed, RetgenError, UsageError

_MOST_TOKENS = 32_768  # of an answer that is cut off again and again
_LEAST_TOKENS = 16
_LONGEST_PAUSE = 60.0  # seconds before a sending, unless a server asks for more
# refusals in a row, after which it is not the records but the server: after answers, before any
_REFUSALS, _FIRST_REFUSALS = 20, 8
_STATES = {"answer": "answered", "reject": "refused"}  # in the ledger, by action; else failed
_SLOW = 4  # an answer within this part of the time limit shows that the server bears more


class Exchange(NamedTuple):
    """A call that was sent, and what came of it. `cost`: charged, in nano-dollars."""

    call: Call
    response: Response
    outcome: Outcome
    cost: int

    @property
    def reason(self) -> str:
        """What is wrong, as far as possible in the server's words."""
        status, error = self.response.status, self.response.error
        words = f"{status}: {error}" if error and status > 0 else error or self.response.finish
        if error and self.outcome.action != "reject":
            return words
        return self.outcome.meaning + (f" ({words})" if words else "")


class Client:
    """Requests of one run to one model. `price`: None where nobody knows it.

    `batches`: the queue through which requests are sent, if not one by one.
    """

    def __init__(
        self,
        session: Session,
        chat: ChatModel,
        settings: ModelSettings,
        *,
        price: Price | None,
        batches: BatchQueue | None = None,
        first_delay: float = 0.5,
    ) -> None:
        self.session, self._chat, self._settings = session, chat, settings
        self._ledger, self._stop, self._budget = session.ledger, session.stop, session.budget
        self._price, self.priced = price or Price(), price is not None
        # a server that has stated more tokens than it was allowed may state even more
        excess = 1.0 if self._budget.cap is None else self._ledger.excess(settings.name)
        self._excess = excess if excess == 1.0 else 1.5 * excess
        self._report, self._batches = session.report, batches
        # the provider paces what is in its batches
        begin = {"begin": settings.concurrency} if batches else {}
        self._gate = ConcurrencyGate(settings.concurrency, **begin)
        # tokens of an answer: hidden ones, as cut answers have shown; at most, for the model
        self._hidden, self._most = 0, math.inf
        self._noticed = set[str]()
        # since the last answer: failures, when the first came, and the pause before each sending
        self._failures, self._failing_since, self._pause = 0, 0.0, 0.0
        self._first_delay = first_delay
        self._failed = set[str]()  # keys of requests that are to be sent again
        self._changes = Changes()
        self._answered = set[str]()  # agents that have had an answer, now or from the ledger
        self._refused = defaultdict[str, list[Exchange]](list)  # by agent, since its last answer

    async def request(self, request: Request, agent: str) -> str:
        """Return the text of an answer, from the ledger if it is there.

        Raises `Unusable` if there will be no answer; `BudgetReached` where sending could pass the
        cap, and `EndpointFailed` where the server answers nobody: from then on all others raise
        `Stopped`.
        """
        # of two tasks with the same request the second finds the answer of the first
        lock = self.session.locks.setdefault(request.key, asyncio.Lock())
        try:
            async with lock:
                known = self._ledger.find(request.key, self.session.run)
                if isinstance(known, Answer):
                    return self._stored(known, agent)
                if known is not None and self._batches is None:
                    raise UsageError(
                        f"a request of this run ({request.about}) is in a batch whose answers were "
                        "not fetched: --batch takes it up; --no-batch asks again, and pays for it "
                        "twice"
                    )
                if known is None and self.session.replay is not None:
                    raise missing_answer(self.session.replay, request)
                return await self._ask(request, agent, known)
        except RetgenError as error:
            self._stop.set(error)
            raise
        finally:
            self._failed.discard(request.key)
            self._changes.notify()

    def note(self) -> str:
        """What is waited for in batches, for the progress line; "" for nothing."""
        return self._batches.note() if self._batches else ""

    async def close(self) -> None:
        """Close the model's connections."""
        if self._batches is not None:
            await self._batches.close()
        await self._chat.close()

    def _stored(self, known: Answer, agent: str) -> str:
        """The text of an answer that the ledger holds. Raises `Unusable` for a refusal."""
        self._report.cached[agent] += 1
        self._report.count(agent, known.tokens_in, known.tokens_out)
        if known.why:
            raise Unusable(known.reason, cast(Why, known.why))
        self._answered.add(agent)
        return self._chat.read(known.raw).text

    async def _ask(self, request: Request, agent: str, in_batch: Call | None) -> str:
        """Send a request until it is answered or rejected.

        `in_batch`: the call that an earlier process left in a batch.
        """
        cuts, tries, max_tokens, most = 0, 0, request.max_tokens, math.inf
        while True:
            async with self._gate() as entered:
                self._stop.check()
                # while nothing is answered, those that have failed go first
                waits = bool(self._pause and self._failed) and request.key not in self._failed
                if not waits:
                    if self._pause:
                        await self._stop.sleep(self._pause)
                    # what others have shown while this one waited
                    max_tokens = max(max_tokens, request.max_tokens + self._hidden)
                    max_tokens = int(min(max_tokens, most, self._most))
                    one = await self._exchange(request, agent, max_tokens, in_batch)
            if waits:
                await self._stop.wait_for(self._changes.event)
                continue
            max_tokens, in_batch = one.call.max_tokens, None
            match one.outcome.action:
                case "answer":
                    if time.monotonic() - entered < self._settings.timeout / _SLOW:
                        self._gate.speed_up()
                    return one.response.text
                case "retry":
                    self._failed.add(request.key)
                    self._back_off(one, entered)
                    if self._is_outage():
                        raise self._endpoint_failed(one, request, agent)
                    # its own pause, too: what fails while others are answered may be paid for
                    own = min(_LONGEST_PAUSE, self._first_delay * 2**tries)
                    await self._stop.sleep(max(own, one.response.wait or 0.0))
                    tries += 1
                case "reject":
                    raise Unusable(one.reason, one.outcome.why)
                case "more":
                    cuts += 1
                    most = min(max(_MOST_TOKENS, request.max_tokens), most, self._most)
                    # visible text alone fills it, at two bytes a token: no hidden reasoning
                    rambles = len(one.response.text.encode()) >= 2 * max_tokens
                    if max_tokens >= most or (rambles and cuts > 1):
                        reason = f"the answer was cut off, even with {max_tokens:,} tokens"
                        await self._reject(one, reason)
                    max_tokens = int(min((2 if rambles else 4) * max_tokens, most))
                    if not rambles:  # so that others are not cut off, too
                        self._hidden = max(self._hidden, max_tokens - request.max_tokens)
                case "fewer" if max_tokens // 2 >= _LEAST_TOKENS:
                    most = max_tokens // 2
                    if one.outcome.of_model:
                        self._most = min(most, self._most)
                case "fewer" | "refuse" if await self._is_about_this(one, agent):
                    await self._reject(one, one.reason)
                case "fewer" | "refuse" if self._others_may_tell(agent):
                    pass  # it is sent again, after those that wait
                case _:
                    error = self._endpoint_failed(one, request, agent)
                    self._stop.set(error)
                    for refused in self._refused[agent]:  # which was nobody's fault
                        await self._end(refused, "failed", refused.reason)
                    raise error

    async def _exchange(
        self, request: Request, agent: str, max_tokens: int, in_batch: Call | None
    ) -> Exchange:
        """Reserve, commit, send, and commit what came."""
        if in_batch is None:
            worst = math.ceil(self._price.worst(request, max_tokens) * self._excess)
            await self._budget.reserve(worst)
        else:
            worst = in_batch.worst
            self._budget.take_up(worst)
        cost, began = worst, time.monotonic()
        self._report.in_flight += 1
        try:
            call = in_batch or await self._ledger.add_call(
                request,
                self.session.run,
                agent,
                worst=worst,
                max_tokens=max_tokens,
                priced=self.priced,
                batched=self._batches is not None,
            )
            if self._batches is None:
                response = await self._chat.send(request, call.max_tokens)
            else:
                response = await self._batches.send(call, request)
            one = self._charged(call, response, request)
            cost = one.cost
            await self._commit(one, agent, request)
        finally:
            self._report.in_flight -= 1
            self._report.milliseconds[agent] += round(1e3 * (time.monotonic() - began))
            self._budget.settle(worst, cost)
        return one

    def _charged(self, call: Call, response: Response, request: Request) -> Exchange:
        """What a response means and costs: nothing, the usage that it states, or the most."""
        outcome, cost = classify(response), 0
        if not outcome.free or response.begun:
            # a number that is too small, or stands alone, may still be more than was reserved
            spent = self._price.of(response.usage.tokens_in or 0, response.usage.tokens_out or 0)
            cost = max(spent, 0 if usage_is_stated(response, request) else call.worst)
        return Exchange(call, response, outcome, cost)

    async def _commit(self, one: Exchange, agent: str, request: Request) -> None:
        """Commit what came, whatever it is, before anybody acts on it."""
        call, response, outcome, cost = one
        state = "lost" if response.status == SILENCE else _STATES.get(outcome.action, "failed")
        await self._end(one, state, "" if state == "answered" else one.reason)
        if response.status == 200:
            self._report.calls[agent] += 1
            if usage_is_stated(response, request):
                self._report.count(agent, *response.usage)
            else:
                self._report.unstated += 1
                self._report.count(agent, len(request.body), call.max_tokens)
        if outcome.action in ("answer", "reject", "more"):  # the server works
            self._failures, self._pause = 0, 0.0
            self._changes.notify()
            if outcome.action == "answer":
                self._answered.add(agent)
            self._refused[agent].clear()
        if cost > call.worst and self._budget.cap is not None:
            error = EndpointFailed(
                f"{self._whom(request, agent)}: an answer took more tokens than its request "
                f"allowed, and costs ${cost / 1e9:.4f} where at most ${call.worst / 1e9:.4f} were "
                "reserved, so the cap could be passed. Nothing more is sent; the answer is kept. "
                "The same command goes on if --max-usd allows it, and reserves half as much again "
                "as that for every call."
            )
            self._stop.set(error)
            raise error

    async def _end(self, one: Exchange, state: str, reason: str) -> None:
        raw, usage = one.response.raw, one.response.usage
        why = one.outcome.why if state == "refused" else ""
        answer = Answer(raw, usage.tokens_in or 0, usage.tokens_out or 0, why, reason)
        await self._ledger.end_call(one.call, state, one.cost, answer)

    async def _reject(self, one: Exchange, reason: str) -> None:
        """Keep that a request is refused for good, and raise `Unusable`."""
        await self._end(one, "refused", reason)
        raise Unusable(reason, one.outcome.why)

    async def _is_about_this(self, one: Exchange, agent: str) -> bool:
        """Whether a refusal is about its request alone: the server answers others of the agent."""
        self._stop.check()
        self._refused[agent].append(one)
        if agent not in self._answered and (self._batches or self._others_may_tell(agent)):
            await self._stop.sleep(self._first_delay)  # an answer may be on its way
            await self._ledger.flush()
            self._stop.check()  # the run may have ended meanwhile
        return agent in self._answered and len(self._refused[agent]) < _REFUSALS

    def _others_may_tell(self, agent: str) -> bool:
        """Whether too few requests were refused, before any answer, to blame the server."""
        few = len(self._refused[agent]) < _FIRST_REFUSALS
        return few and self._batches is None and agent not in self._answered

    def _back_off(self, one: Exchange, entered: float) -> None:
        """Send fewer at a time, with longer pauses, and tell the user once of a kind."""
        if self._batches is None and self._gate.slow_down(entered):
            self._pause = min(_LONGEST_PAUSE, max(2 * self._pause, self._first_delay))
        if one.outcome.meaning not in self._noticed:
            self._noticed.add(one.outcome.meaning)
            settings = self._settings
            paid = "; every try is charged at its most" if one.cost else ""
            self.session.notice(
                f"{settings.name} at {settings.endpoint()}: {one.reason}. It is tried again, until "
                f"the server has answered nobody for {settings.outage_seconds:,.0f} seconds and "
                f"{settings.outage_attempts} tries{paid}"
            )

    def _is_outage(self) -> bool:
        """Whether the server has answered nobody for so long, and so often, that the run stops."""
        if not self._failures:
            self._failing_since = time.monotonic()
        self._failures += 1
        seconds, settings = time.monotonic() - self._failing_since, self._settings
        return self._failures >= settings.outage_attempts and seconds >= settings.outage_seconds

    def _endpoint_failed(self, one: Exchange, request: Request, agent: str) -> EndpointFailed:
        """The error of a server that answers nobody: what it said, to which request."""
        outage = one.outcome.action == "retry"
        often = f" ({self._failures} tries without an answer)" if outage else ""
        hint = f" {one.outcome.hint[:1].upper()}{one.outcome.hint[1:]}." if one.outcome.hint else ""
        then = "run the command again to go on" if outage else "correct this, and run again"
        reason = one.reason.rstrip(".") + often
        return EndpointFailed(
            f"{self._whom(request, agent)}: {reason}.{hint} No record was rejected for it, and "
            f"what was answered is kept; {then}."
        )

    def _whom(self, request: Request, agent: str) -> str:
        """The model and the request, as messages name them."""
        about = f" ({request.about})" if request.about else ""
        return f"{request.model} at {request.endpoint}, asked by {agent}{about}"
