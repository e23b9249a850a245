"""From a request to its answer: the ledger first, then the model, with care for its limits.

What the ledger holds is never asked again. What can be retried is, with growing delays; what
cannot ends the run, and all that was answered is kept.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from retgen.agents.chat import ChatModel, Refused, Reply, Unanswered
from retgen.agents.flow import Flight, Gate, Rate, Stop
from retgen.agents.ledger import Answer, Busy, Ledger, OverCap, Refusal, Send, Writer
from retgen.agents.models import ModelSettings
from retgen.agents.prices import Price
from retgen.agents.request import Request
from retgen.errors import BudgetReached, EndpointFailed, RetgenError

__all__ = ["Caller", "Tally"]

T = TypeVar("T")

_LEASE = 60.0  # seconds that a lease outlasts the time limit of a request
_LOOK = 0.5  # seconds between two looks at a request that another process has out


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

    def answered(self, agent: str, answer: Answer) -> bytes:
        """Count an answer that the ledger held."""
        self.cached[agent] += 1
        self.tokens_in[agent] += answer.tokens_in
        self.tokens_out[agent] += answer.tokens_out
        return answer.raw


class Caller:
    """Answers of one model for one run. `cap`: of the run, in nano-dollars."""

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
    ) -> None:
        self._ledger, self._writer, self._chat, self._run = ledger, writer, chat, run
        self._price, self._priced, self._cap = price or Price(), price is not None, cap
        self._stop, self._flight = stop, flight
        self.tally = tally or Tally()
        self._gate = Gate(settings.concurrency)
        self._requests = Rate(settings.requests_per_minute)
        self._tokens = Rate(settings.tokens_per_minute)
        self._limited = bool(settings.requests_per_minute or settings.tokens_per_minute)
        self._attempts, self._lease = attempts, settings.timeout + _LEASE
        self._delay = wait_exponential_jitter(first_delay, 60.0, jitter=first_delay)

    async def ask(self, request: Request, agent: str) -> bytes:
        """The answer's bytes, from the ledger if they are there.

        Raises `BudgetReached` where sending could pass the cap, and `EndpointFailed` for what
        cannot be retried, or was so often enough; from then on all others raise `Stopped`.
        `request.sampling` must name max_tokens.
        """
        try:
            return await self._often(request, agent)
        except RetgenError as error:
            self._stop.set(error)
            raise

    async def _often(self, request: Request, agent: str) -> bytes:
        try:
            return await self._once(request, agent)
        except (Refused, Unanswered) as error:
            failed: Exception | None = error
        try:
            # only now, since it costs more than all the rest and is mostly not needed
            async for attempt in self._retrying():
                with attempt:
                    if failed is not None:
                        first, failed = failed, None
                        raise first
                    return await self._once(request, agent)
        except (Refused, Unanswered) as error:
            often = f" ({self._attempts} tries)" if _retried(error) else ""
            again = "run the command again to go on" if often else "correct this, and run again"
            raise EndpointFailed(
                f"{request.model} at {request.endpoint}: {error or 'no answer'}{often}. What was "
                f"answered is kept; {again}."
            ) from error
        raise AssertionError("tenacity returns or raises")

    def text(self, raw: bytes) -> str:
        """The text of an answer. Raises `Unusable`."""
        return self._chat.text(raw)

    async def close(self) -> None:
        """Close the model's connections."""
        await self._chat.close()

    async def _once(self, request: Request, agent: str) -> bytes:
        paced = not self._limited
        while True:
            entered = await self._gate.enter()
            well: bool | None = None
            try:
                self._stop.check()
                if not paced and (known := await self._known(request, agent)) is not None:
                    return known
                paced = True
                found = await self._reserved(request, agent)
                if isinstance(found, Send):
                    raw = await self._send(request, found, agent)
                    well = True
                    return raw
            except (Refused, Unanswered):
                well = False
                raise
            finally:
                self._gate.leave(entered, well=well)
            if isinstance(found, Answer):
                return self.tally.answered(agent, found)
            if isinstance(found, Refusal):
                raise EndpointFailed(found.reason)
            await self._stop.sleep(min(_LOOK, max(0.01, found.left)))

    async def _reserved(self, request: Request, agent: str) -> Answer | Refusal | Send | Busy:
        """What the ledger says, when the cap leaves room for the worst case."""
        worst = self._price.worst(request)

        def reserve() -> Answer | Refusal | Send | Busy | OverCap:
            return self._ledger.reserve(
                request, run=self._run, agent=agent, worst=worst, lease=self._lease,
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

    async def _known(self, request: Request, agent: str) -> bytes | None:
        """The answer if the ledger holds it; else waits until another request may go out."""
        found = await self._do(lambda: self._ledger.find(request, run=self._run))
        if isinstance(found, Refusal):
            raise EndpointFailed(found.reason)
        if found is not None:
            return self.tally.answered(agent, found)
        now = time.monotonic()
        # as providers count: a quarter of the prompt's bytes, and all the room for the answer
        tokens = len(request.body) / 4 + int(request.sampling["max_tokens"])
        await self._stop.sleep(max(self._requests.wait(1, now), self._tokens.wait(tokens, now)))
        return None

    async def _send(self, request: Request, send: Send, agent: str) -> bytes:
        tally, began = self.tally, time.monotonic()
        self._flight.begin()
        try:
            raw = await self._keep(request, send, await self._chat.send(request), agent)
        except Refused as error:
            reason = str(error)
            await self._do(lambda: self._ledger.failed(send, reason))
            raise
        except (Unanswered, asyncio.CancelledError) as error:
            reason = str(error) or type(error).__name__
            await self._do(lambda: self._ledger.lost(send, reason))
            raise
        finally:
            self._flight.end()
        tally.milliseconds[agent] += round(1e3 * (time.monotonic() - began))
        return raw

    async def _keep(self, request: Request, send: Send, reply: Reply, agent: str) -> bytes:
        """Commit an answer, whatever it holds, before anybody reads it."""
        tokens_in, tokens_out = reply.tokens_in or 0, reply.tokens_out or 0
        cost_is_most = reply.tokens_in is None or reply.tokens_out is None  # it does not say
        cost = send.worst if cost_is_most else self._price.of(tokens_in, tokens_out)
        self.tally.silent += cost_is_most
        raw = await self._do(
            lambda: self._ledger.answered(send, reply.raw, tokens_in, tokens_out, cost)
        )
        if self._cap is not None and cost > send.worst:
            raise EndpointFailed(
                f"an answer states {tokens_in:,} and {tokens_out:,} tokens, more than its request "
                f"had room for, so a cap cannot be kept: ${cost / 1e9:.4f} were charged where at "
                f"most ${send.worst / 1e9:.4f} were reserved. It is kept; run again without "
                "--max-usd to go on."
            )
        if cost_is_most:
            tokens_in, tokens_out = len(request.body), int(request.sampling["max_tokens"])
        self.tally.calls[agent] += 1
        self.tally.tokens_in[agent] += tokens_in
        self.tally.tokens_out[agent] += tokens_out
        self.tally.tokens += tokens_in + tokens_out
        self.tally.nano_usd += cost
        return raw

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
            asked = failure.wait if isinstance(failure, Refused) and failure.wait else 0.0
            return max(asked, self._delay(state))

        return AsyncRetrying(
            stop=stop_after_attempt(self._attempts),
            wait=wait,
            retry=retry_if_exception(_retried),
            sleep=self._stop.sleep,
            reraise=True,
        )


def _retried(error: BaseException) -> bool:
    return isinstance(error, Unanswered) or (isinstance(error, Refused) and error.retry)
