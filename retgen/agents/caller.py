"""From a request to its answer: the ledger first, then the model, with care for its limits.

Requests in flight are bounded by a number that adapts: one more for as many successes as there are
in flight, half as many after a refusal or a silence (additive increase, multiplicative decrease).
What can be retried is, with growing delays; what the ledger holds is never asked again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from retgen.agents.chat import ChatModel, Refused, Unanswered
from retgen.agents.ledger import Answer, Busy, Ledger, OverCap, Send, Writer
from retgen.agents.request import Request
from retgen.errors import BudgetReached, EndpointFailed

__all__ = ["Caller", "Gate", "Price"]

T = TypeVar("T")

_LEASE = 60.0  # seconds that a lease outlasts the time limit of a request
_LOOK = 0.5  # seconds between two looks at a request that another process has out


class Price(NamedTuple):
    """Nano-dollars a token; zeros for a model that costs nothing."""

    token_in: int = 0
    token_out: int = 0

    def of(self, tokens_in: int, tokens_out: int) -> int:
        """What so many tokens cost."""
        return self.token_in * tokens_in + self.token_out * tokens_out

    def worst(self, request: Request) -> int:
        """The most that a request can cost: no tokenizer makes more tokens than there are bytes."""
        return self.of(len(request.body), int(request.sampling["max_tokens"]))


class Gate:
    """Lets so many through at a time: `limit`, between 1 and `most`."""

    def __init__(self, most: int, begin: int = 8) -> None:
        self.most = most
        self.limit = float(min(begin, most))
        self.inside = 0
        self._room = asyncio.Condition()
        self._slowed = -1.0

    async def enter(self) -> float:
        """Wait for room; returns when it was entered."""
        async with self._room:
            await self._room.wait_for(lambda: self.inside < int(self.limit))
            self.inside += 1
        return time.monotonic()

    async def leave(self, entered: float, *, well: bool) -> None:
        """Make room, and let more or fewer through from now on.

        Of requests that were in flight together only the first failure counts.
        """
        async with self._room:
            self.inside -= 1
            if well:
                self.limit = min(float(self.most), self.limit + 1 / self.limit)
            elif entered > self._slowed:
                self.limit = max(1.0, self.limit / 2)
                self._slowed = time.monotonic()
            self._room.notify_all()


class Caller:
    """Answers of one model for one run. `cap`: of the run, in nano-dollars."""

    def __init__(
        self,
        ledger: Ledger,
        chat: ChatModel,
        *,
        run: str,
        price: Price | None = None,
        cap: int | None = None,
        concurrency: int = 64,
        attempts: int = 6,
        timeout: float = 600.0,
        first_delay: float = 0.5,
    ) -> None:
        self._ledger, self._chat, self._run, self._cap = ledger, chat, run, cap
        self._price = price or Price()
        self._writer = Writer(ledger)
        self._gate = Gate(concurrency)
        self._attempts, self._lease = attempts, timeout + _LEASE
        self._delay = wait_exponential_jitter(first_delay, 60.0, jitter=first_delay)

    async def ask(self, request: Request, agent: str) -> bytes:
        """The answer's bytes, from the ledger if they are there.

        Raises `BudgetReached` where sending could pass the cap, and `EndpointFailed` for what
        cannot be retried, or was so often enough. `request.sampling` must name max_tokens.
        """
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._attempts),
            wait=self._wait,
            retry=retry_if_exception(_retried),
            reraise=True,
        )
        try:
            return await retrying(self._once, request, agent)
        except (Refused, Unanswered) as error:
            tries = f" ({self._attempts} tries)" if _retried(error) else ""
            raise EndpointFailed(
                f"{request.model} at {request.endpoint}: {error or 'no answer'}{tries}. What was "
                "answered is kept; run the command again to go on."
            ) from error

    async def close(self) -> None:
        """Write what is waiting, and close the model's connections."""
        await asyncio.to_thread(self._writer.close)
        await self._chat.close()

    async def _once(self, request: Request, agent: str) -> bytes:
        worst = self._price.worst(request)
        while True:
            entered, well = await self._gate.enter(), True
            try:
                found = await self._do(
                    lambda: self._ledger.reserve(
                        request, run=self._run, agent=agent, worst=worst, lease=self._lease,
                        cap=self._cap,
                    )
                )  # fmt: skip
                if isinstance(found, Send):
                    return await self._send(request, found)
            except (Refused, Unanswered):
                well = False
                raise
            finally:
                await self._gate.leave(entered, well=well)
            if isinstance(found, Answer):
                return found.raw
            if isinstance(found, OverCap):
                raise BudgetReached(
                    f"the next call could cost ${found.worst / 1e9:.4f}, and "
                    f"${found.left / 1e9:.4f} of the cap are left. Raise --max-usd to go on; what "
                    "was answered is kept."
                )
            assert isinstance(found, Busy)
            await asyncio.sleep(min(_LOOK, max(0.0, found.until - time.time())))

    async def _send(self, request: Request, send: Send) -> bytes:
        try:
            reply = await self._chat.send(request)
        except Refused as error:
            reason = str(error)
            await self._do(lambda: self._ledger.failed(send, reason))
            raise
        except (Unanswered, asyncio.CancelledError) as error:
            reason = str(error) or type(error).__name__
            await self._do(lambda: self._ledger.lost(send, reason))
            raise
        tokens_in, tokens_out = reply.tokens_in or 0, reply.tokens_out or 0
        cost = self._price.of(tokens_in, tokens_out)
        if reply.tokens_in is None or reply.tokens_out is None:
            cost = send.worst  # it does not say
        await self._do(lambda: self._ledger.answered(send, reply.raw, tokens_in, tokens_out, cost))
        return reply.raw

    async def _do(self, call: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._writer.submit(call))

    def _wait(self, state: RetryCallState) -> float:
        failure = state.outcome.exception() if state.outcome else None
        asked = failure.wait if isinstance(failure, Refused) and failure.wait else 0.0
        return max(asked, self._delay(state))


def _retried(error: BaseException) -> bool:
    return isinstance(error, Unanswered) or (isinstance(error, Refused) and error.retry)
