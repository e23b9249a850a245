"""From a request to its answer: what is done about whatever comes back.

`sending` has what the ledger holds, or sends the request. `outcomes` says what a response stands
for; here it is done. Whether a refusal is about one record or about all of them is told by the
others: `attribution`.
"""

from __future__ import annotations

from contextvars import ContextVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from retgen.agents.attribution import Tries
from retgen.agents.chat import SILENCE, Unusable
from retgen.agents.outcomes import WAITED
from retgen.agents.prompt import Request
from retgen.agents.sending import RetryError, Sender, Sent
from retgen.errors import EndpointFailed, RetgenError

# what is worked on, as messages name it: the tasks of a record inherit it
RECORD: ContextVar[str] = ContextVar("RECORD", default="")

_CUTS = 3  # answers to one request that may be cut off where others are whole


class Caller(Sender):
    """Answers of one model for one run; made as a `Sender` is."""

    async def ask(self, request: Request, agent: str) -> str:
        """The text of an answer, from the ledger if it is there.

        Raises `Unusable` where the record has to do without; `BudgetReached` where sending could
        pass the cap, and `EndpointFailed` where the server answers nobody: from then on all others
        raise `Stopped`.
        """
        self._attribution.begin(agent)
        try:
            return await self._ask(request, agent)
        except RetgenError as error:
            self._stop.set(error)
            raise
        finally:
            self._attribution.end(agent)

    async def close(self) -> None:
        """Close the model's connections."""
        await self._chat.close()

    async def _ask(self, request: Request, agent: str) -> str:
        budgets, least, cuts, rounds = self.budgets, 0, 0, 0
        while True:
            tries = Tries(self._attempts // 2)
            sent = await self._try(request, agent, least, tries)
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
                    least = budgets.more(agent, room, request.room, rambles=sent.rambles)
                    self.learn(agent)
                    enough = cuts > 1 if sent.rambles else cuts >= _CUTS and budgets.whole(agent)
                    if least <= room or enough or sent.loops:
                        # paid for, so it is kept whatever becomes of the others
                        reason = f"the answer was cut off, even with room for {room:,} tokens"
                        if sent.loops:
                            reason = f"the answer repeats itself, to the end of {room:,} tokens"
                        await self.refuse(sent, "cut_off", reason)
                        raise Unusable(reason, "cut_off")
                case "less":
                    least = 0
                    if not budgets.less(room):
                        await self._handle_refusal(request, sent, agent)
                case "refuse":
                    await self._handle_refusal(request, sent, agent)
                case "retry":
                    rounds += 1
                    await self._handle_failures(request, sent, agent, tries, rounds)
                case outcome:
                    tried = self._attempts if outcome == "later" else 1
                    raise self._failure(request, sent, agent, tried)

    async def _try(self, request: Request, agent: str, least: int, tries: Tries) -> str | Sent:
        """What comes of a request, after as many tries as it takes, or as there may be."""
        try:
            return await self.once(request, agent, least, first=True)
        except RetryError as error:
            failed: RetryError | None = error
            self._note_retry(request, error.sent)
        try:
            # only now, since it costs more than all the rest and is mostly not needed
            self._attribution.begin_retries(tries)
            async for attempt in self._retrying():
                with attempt:
                    try:
                        if failed is not None:
                            first, failed = failed, None
                            raise first
                        result = await self.once(request, agent, least)
                    except RetryError:
                        tries.note_failure(self._attribution.answers)
                        raise
                    self._attribution.end_retries(tries)
                    return result
        except RetryError as error:
            return error.sent  # and it counts as failing until it is judged
        except BaseException:
            self._attribution.end_retries(tries)
            raise
        raise AssertionError("tenacity returns or raises")

    async def _handle_refusal(self, request: Request, sent: Sent, agent: str) -> None:
        """Reject the record if others are answered. Raises `Unusable` or `EndpointFailed`."""

        async def keep() -> None:
            await self.refuse(sent, sent.row.why, sent.reason)

        if not await self._attribution.only_this(agent, request.key, keep, self._stop):
            raise self._failure(request, sent, agent, 1)
        raise Unusable(sent.reason, sent.row.why)

    async def _handle_failures(
        self, request: Request, sent: Sent, agent: str, tries: Tries, rounds: int
    ) -> None:
        """The same after many tries: a body on which the server fails, or a server that is ill.

        Returns where it is to be tried once more: with no other beside it nobody can tell.
        """
        try:
            verdict = await self._attribution.judge(tries, self._stop)
        finally:
            self._attribution.end_retries(tries)
        often = rounds * self._attempts
        slow = sent.response.status in (SILENCE, *WAITED)
        if verdict == "alone" and rounds == 1 and not slow:
            return
        if verdict == "all" or (verdict == "alone" and not self._attribution.rejected_alone(agent)):
            raise self._failure(request, sent, agent, often)
        reason = f"{sent.reason} ({often} tries; the server answers others)"
        await self.refuse(sent, "refused", reason)
        raise Unusable(reason, "refused")

    def _note_retry(self, request: Request, sent: Sent) -> None:
        """Tell the user what is tried again, once of a kind: it may take minutes."""
        if sent.row.what not in self._noticed:
            self._noticed.add(sent.row.what)
            wait = sent.response.wait or 0.0
            later = f" in {wait:,.0f} seconds, as it says" if wait > 1 else ""
            paid = "; every try is charged at its most" if sent.cost else ""
            self._notice(
                f"{request.model} at {request.endpoint}: {sent.reason}. It is tried again{later}, "
                f"{self._attempts} times in all{paid}"
            )

    def _failure(self, request: Request, sent: Sent, agent: str, tries: int) -> EndpointFailed:
        """The server answers nobody: what it said, to which request, and what to do."""
        whom = f"{request.model} at {request.endpoint}"
        often = f" ({tries} tries)" if tries > 1 else ""
        parts = [f"record {record!r}"] if (record := RECORD.get()) else []
        parts += [request.about] if request.about else []
        named = f", asked by {agent}" + (f" ({'; '.join(parts)})" if parts else "")
        hint = f" {sent.row.hint[:1].upper()}{sent.row.hint[1:]}." if sent.row.hint else ""
        passing = sent.row.outcome in ("retry", "later")
        then = "run the command again to go on" if passing else "correct this, and run again"
        return EndpointFailed(
            f"{whom}: {sent.reason}{often}{named}.{hint} What was answered is kept; {then}."
        )

    def _retrying(self) -> AsyncRetrying:
        def wait(state: RetryCallState) -> float:
            failure = state.outcome.exception() if state.outcome else None
            asked = failure.sent.response.wait if isinstance(failure, RetryError) else None
            return max(asked or 0.0, self._delay(state))

        return AsyncRetrying(
            stop=stop_after_attempt(self._attempts),
            wait=wait,
            retry=retry_if_exception(lambda error: isinstance(error, RetryError)),
            sleep=self._stop.sleep,
            reraise=True,
        )
