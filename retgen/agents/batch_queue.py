"""Requests that wait at the same time go into one batch, and get its results when it has ended.

The ledger has a batch's tag before the batch is created, and its id afterwards. A process that
finds a tag without an id looks for the tag in the provider's list for as long as a provider may
take to list a batch; if it never appears, its requests stay charged at their worst case.

Only the provider's own words end a request: a result, or the statement that its batch failed or
expired. Whatever else is in their place (an empty body, a cut file, a page of a proxy, a 404) is
asked for again, for minutes.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Container, Coroutine
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import tenacity

from retgen.agents.batches import Batch, BatchApi, CallFailed
from retgen.agents.chat import NO_CONNECTION, NOT_RUN, SILENCE, Response, parse_object
from retgen.agents.ledger import Call
from retgen.agents.limits import Changes, Session
from retgen.agents.prompt import Request
from retgen.errors import EndpointFailed

T = TypeVar("T")

_QUIET = 0.5  # seconds without a new request after which those that wait are submitted
_FIRST, _LAST = 0.25, 60.0  # seconds between two looks at a batch, or two tries
_PAGES = 1_000  # of a list of batches, at most
# statuses after which a call fails however often it is made
_FINAL = frozenset({400, 401, 402, 403, 405, 413, 422, 501})
# of the creation of a batch: it may have been created; it was not, and may be later
_UNSURE = frozenset({SILENCE, 408, 499, *range(500, 600)}) - _FINAL
_LATER = (429, NO_CONNECTION)


class _Item(NamedTuple):
    """A request that waits for its response. `name`: of its line, and of its result."""

    call: Call
    model: str
    name: str
    line: bytes
    response: asyncio.Future[Response]


class _NotListed(CallFailed):
    """No batch in the provider's list has our tag."""


class BatchQueue:
    """The batches of one run at one model. `model`: its name in messages.

    `hours`: how long to wait for a batch, an hour more than any provider takes to end one.
    `listing_seconds`: how long a provider may take until it lists a batch, shows its results, or
    answers at all.
    """

    hours = 49.0
    listing_seconds = 600.0

    def __init__(self, api: BatchApi, session: Session, model: str) -> None:
        self._api, self._session, self._stop, self._model = api, session, session.stop, model
        self._notice = cache(lambda text: session.notice(f"{model}: {text}"))  # the same text once
        self._most = api.most_requests  # in a batch
        self._waiting = list[_Item]()
        self._tasks = set[asyncio.Task[None]]()
        self._submitting, self._ended = asyncio.Lock(), Changes()
        self._open = dict[str, tuple[Batch, int]]()  # by id, with the number of requests

    async def send(self, call: Call, request: Request) -> Response:
        """The response to a request, when its batch has ended.

        Raises `Stopped` and `EndpointFailed`; the batch goes on.
        """
        self._stop.check()
        name = f"{call.id}-{request.key[:32]}"
        line = self._api.line(name, request, call.max_tokens) + b"\n"
        response: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Item(call, request.model, name, line, response))
        if len(self._waiting) == 1:
            self._start(self._waiting, self._collect())
        return await response

    def note(self) -> str:
        """What is waited for, for the progress line: "" where nothing is."""
        done = sum(batch.done for batch, _ in self._open.values())
        total = sum(size for _, size in self._open.values())
        return f"batches: {len(self._open):,}, {done:,} of {total:,} done" if self._open else ""

    async def close(self) -> None:
        """End all waiting; batches go on at the provider."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, items: list[_Item], work: Coroutine[Any, Any, None]) -> None:
        """Do something for requests beside all else. If it fails, they get the error.

        Those of a batch that is never listed stay charged.
        """

        async def run() -> None:
            try:
                await work
            except _NotListed as error:
                _settle(items, error.response)
            except Exception as error:
                if isinstance(error, CallFailed):
                    error = EndpointFailed(
                        f"{self._model}: its batch API fails: {error}. Batches stay there and are "
                        "not paid for again: when this is set right, the same command takes them up"
                    )
                for item in items:
                    if not item.response.done():
                        item.response.set_exception(error)

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- submitting ----------------------------------------------------------------------------

    async def _collect(self) -> None:
        """Begin with the requests that wait, once no more come."""
        before = 0
        while len(self._waiting) > before:
            before = len(self._waiting)
            await self._stop.sleep(_QUIET)
        items, self._waiting = self._waiting, []
        groups = defaultdict[tuple[str, str], list[_Item]](list)
        for item in items:
            groups[item.call.tag, item.call.batch].append(item)
        for (tag, batch), group in groups.items():
            # those with a tag were submitted by an earlier process
            for part in [group] if tag else self._files(group):
                work = self._wait(part, tag, batch) if tag else self._submit(part)
                self._start(part, work)

    def _files(self, items: list[_Item]) -> list[list[_Item]]:
        """Halve requests until each part keeps to the limits of a batch."""
        size, half = sum(len(item.line) for item in items), len(items) // 2
        if not half or (len(items) <= self._most and size <= self._api.most_bytes):
            return [items]
        return [*self._files(items[:half]), *self._files(items[half:])]

    async def _submit(self, items: list[_Item]) -> None:
        """Make a batch and wait for it; its tag is committed before it, its id after it."""
        tag, model, file, batch_id = f"retgen-{secrets.token_hex(16)}", items[0].model, "", ""
        try:
            async with self._submitting:
                data = b"".join(item.line for item in items)
                file = await self._patiently(partial(self._api.upload, data, tag), {*_FINAL, 404})
                del data  # it may be large
                await self._note(items, tag)
                batch_id = (await self._api.create(file, model, tag, self._session.run)).id
                await self._note(items, tag, batch_id)
        except CallFailed as error:
            status = error.response.status
            if not file or status not in _UNSURE:
                await self._note(items, "")
                if not file or status not in _LATER:
                    raise
                await self._hand_back(items, error.response)
                return
        await self._wait(items, tag, batch_id)

    async def _hand_back(self, items: list[_Item], response: Response) -> None:
        """Hand back requests for which the queue is full, when one of its batches has ended.

        Where none of them is ours they are handed back at once, and fewer go into a batch.
        """
        if self._open:
            self._notice(f"{response.error}. What is left is submitted later")
            await self._stop.wait_for(self._ended.event)
        else:
            self._most = max(1, len(items) // 2)
        _settle(items, response._replace(status=NOT_RUN))

    async def _note(self, items: list[_Item], tag: str, batch: str | None = None) -> None:
        await self._session.ledger.note_batch((item.call for item in items), tag, batch)

    # --- waiting -------------------------------------------------------------------------------

    async def _wait(self, items: list[_Item], tag: str, batch_id: str) -> None:
        """Wait until a batch has ended, and all its requests have their responses.

        Without an id it is looked for.
        """
        if not batch_id:
            self._notice(f"looking for batch {tag}, which may have been created")
            batch_id = await self._patiently(partial(self._find, tag))
            await self._note(items, tag, batch_id)
        self._notice(f"requests in {batch_id}: {len(items):,}")
        batch, began, delay = Batch(batch_id), time.monotonic(), _FIRST
        try:
            while not batch.ended:
                self._open[batch_id] = batch, len(items)
                await self._stop.sleep(delay)
                delay = min(_LAST, 1.5 * delay)
                batch = await self._patiently(partial(self._look, batch_id, items))
                if not batch.ended and time.monotonic() > began + 3600 * self.hours:
                    words = f"{batch_id} is {batch.state} after {self.hours:g} hours"
                    raise CallFailed(Response(b"", SILENCE, words))
        finally:
            del self._open[batch_id]
        self._notice(f"{batch_id} {batch.state}")
        if batch.full:
            await self._hand_back(items, batch.error)
        else:
            self._ended.notify()

    async def _find(self, tag: str) -> str:
        """The id of the batch with a tag. Raises `_NotListed`."""
        token = ""
        for _ in range(_PAGES):
            batches, token = await self._api.list(token)
            for batch in batches:
                if batch.tag == tag:
                    return batch.id
            if not token:
                break
        raise _NotListed(Response(b"", SILENCE, f"batch {tag} was never listed"))

    async def _look(self, batch_id: str, items: list[_Item]) -> Batch:
        """The batch as it is now. If it has ended, its requests get their responses.

        An answer is never replaced, by an error or another answer. Raises `CallFailed` while
        results are missing; the requests that have answers get them all the same.
        """
        batch = await self._api.get(batch_id)
        if not batch.ended or batch.full:
            return batch
        problem = None
        answers, errors = dict[str, Response](), dict[str, Response]()
        for file in batch.files:
            try:
                data = await self._api.download(file)
            except CallFailed as error:
                problem = error
                continue
            for line in map(parse_object, data.splitlines()):
                name, response = line.get(self._api.name), self._api.read(line)
                if response and isinstance(name, str):
                    answered = response.status == 200 or response.begun
                    (answers if answered else errors).setdefault(name, response)
        results = answers | errors
        whole = len(answers) >= batch.done and len(results) >= batch.done + batch.failed
        complete = problem is None and (whole or not batch.files)
        for item in items:
            response = answers.get(item.name)
            if response is None and complete:
                response = errors.get(item.name, batch.rest)
            if response is not None:
                _settle([item], response)
        if not all(item.response.done() for item in items):
            words = f"of the results of {batch_id} only {len(results):,} could be read"
            raise problem or CallFailed(Response(b"", SILENCE, words))
        return batch

    async def _patiently(
        self, call: Callable[[], Awaitable[T]], final: Container[int] = _FINAL
    ) -> T:
        """Make a call again until it succeeds, has a final status, or time is up."""

        def is_passing(error: BaseException) -> bool:
            passes = isinstance(error, CallFailed) and error.response.status not in final
            if passes:
                self._notice(f"{error}. It is tried again")
            return passes

        self._stop.check()
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(is_passing),
            # a call that takes all of the time is made once more
            stop=tenacity.stop_all(
                tenacity.stop_after_delay(self.listing_seconds), tenacity.stop_after_attempt(2)
            ),
            wait=tenacity.wait_exponential(_FIRST, _LAST) + tenacity.wait_exception(_retry_after),
            sleep=self._stop.sleep,
            reraise=True,
        )
        result: T = await retrying(call)
        return result


def _retry_after(error: BaseException) -> float:
    """Seconds that the server asks to wait."""
    return error.response.wait or 0.0 if isinstance(error, CallFailed) else 0.0


def _settle(items: list[_Item], response: Response) -> None:
    for item in items:
        if not item.response.done():
            item.response.set_result(response)
