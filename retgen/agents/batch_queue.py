"""The requests that wait at the same time, put into batches, and their answers handed back.

Which batch a request goes into is written down before anything is submitted. So whoever comes after
a kill finds the batch among those that the provider lists, and submits only what is in none.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, cast

from retgen.agents.batch_api import ApiFailure, Batch, BatchApi
from retgen.agents.chat import NOT_RUN, NOT_SENT, SILENCE, Response
from retgen.agents.flow import Stop, Stopped
from retgen.agents.ledger import Send
from retgen.agents.prompt import Request
from retgen.errors import BatchUnfinished, EndpointFailed

T = TypeVar("T")

_QUIET = 0.5  # seconds without a new request after which those that wait are submitted
_LOOK = 0.25  # seconds between two looks at whether any waits
_FIRST, _GROWTH, _LAST = 0.25, 1.5, 60.0  # seconds between two looks at a batch
# seconds until a batch is listed that was created before a process was killed, or while a
# connection broke
_LISTED, _LISTED_AT_LAST = (0.0, 1.0), (0.0, 2.0, 4.0, 8.0, 16.0)
_NO_API = (404, 405, 501)


@dataclass(eq=False)
class _Item:
    """A request that waits. `tag`: of the batch that it is in."""

    send: Send
    request: Request
    room: int
    tag: str
    answer: asyncio.Future[Response]

    @property
    def name(self) -> str:
        """What its answer is named by: no other send of this ledger, and no other request."""
        return f"{self.send.id}-{self.request.key[:32]}"


class BatchQueue:
    """The batches of one run at one model. `whom`: the model, as messages name it.

    `note_batch`: writes down which sends go into a batch; `hours`: that a batch is waited for.
    """

    def __init__(
        self,
        api: BatchApi,
        *,
        run: str,
        whom: str,
        stop: Stop,
        note_batch: Callable[[list[int], str], Awaitable[None]],
        hours: float,
        notice: Callable[[str], None],
    ) -> None:
        self._api, self._run, self._whom, self._stop = api, run, whom, stop
        self._note_batch, self._notice, self._hours = note_batch, notice, hours
        self._most = api.most_requests
        self._waiting: list[_Item] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._worker: asyncio.Task[None] | None = None
        # waited for, by the first item: of how many, since when
        self._out: dict[_Item, tuple[Batch, int, float]] = {}
        self._ended = 0
        self._full = 0.0  # seconds to wait where the provider's queue is full
        self._noticed: set[str] = set()

    @property
    def lease(self) -> float:
        """Seconds after which others may send what is in a batch."""
        return 3600 * (self._hours + 1)

    async def send(self, send: Send, request: Request, room: int) -> Response:
        """The answer to a request, when its batch has ended.

        Raises `Stopped`, `BatchUnfinished` and `EndpointFailed` where the batch goes on without us.
        """
        self._stop.check()
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Item(send, request, room, send.batch or "", answer))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await answer

    def note(self) -> str:
        """What is waited for, for the progress: "" where nothing is."""
        if not self._out:
            return ""
        done, failed, total = 0, 0, 0
        for batch, size, _ in self._out.values():
            done, failed, total = done + batch.done, failed + batch.failed, total + size
        oldest = time.monotonic() - min(since for *_, since in self._out.values())
        faults = f", {failed:,} failed" if failed else ""
        many = "1 batch" if len(self._out) == 1 else f"{len(self._out):,} batches"
        return f"{many} for {_duration(oldest)}: {done:,} of {total:,} done{faults}"

    async def close(self) -> None:
        """Wait for nothing any more."""
        tasks = [*self._tasks, *filter(None, [self._worker])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- what waits ----------------------------------------------------------------------------

    async def _work(self) -> None:
        items: list[_Item] = []
        try:
            while True:
                await self._gather()
                items, self._waiting = self._waiting, []
                try:
                    await self._dispatch(items)
                except ApiFailure as error:
                    _fail(items, self._unreachable(error))
                except EndpointFailed as error:
                    _fail(items, error)
        except Exception as error:  # Stopped, or a fault of ours: nobody waits for ever
            _fail([*items, *self._waiting], error)
            self._waiting.clear()
            if not isinstance(error, Stopped):
                raise
        finally:
            self._worker = None

    async def _gather(self) -> None:
        """Wait until something waits, and nothing more comes."""
        while not self._waiting:
            await self._stop.sleep(_LOOK)
        ended = self._ended
        while self._full and self._tasks and self._ended == ended:
            await self._stop.sleep(_LOOK)  # what ends makes room
        if self._full and not self._tasks:
            await self._stop.sleep(self._full)
        before = 0
        while len(self._waiting) > before:
            before = len(self._waiting)
            await self._stop.sleep(_QUIET)

    async def _dispatch(self, items: list[_Item]) -> None:
        """Find the batches that some of them are in, and submit the others."""
        tags = {item.tag for item in items if item.tag}
        found = await self._find(tags, _LISTED) if tags else {}
        for tag, batch in found.items():
            inside = [item for item in items if item.tag == tag]
            self._notice(f"{self._whom}: {_requests(len(inside))} taken up from {batch.name}")
            self._watch(batch, inside)
        fresh = [item for item in items if item.tag not in found]
        for chunk in self._chunks(fresh):
            await self._submit(*chunk)

    def _chunks(self, items: Iterable[_Item]) -> Iterator[tuple[list[_Item], bytes]]:
        """As many as a batch may hold at a time, and the file that they make."""
        chunk, data = list[_Item](), bytearray()
        for item in items:
            line = self._api.line(item.name, item.request, item.room) + b"\n"
            if len(chunk) >= self._most or (chunk and len(data) + len(line) > self._api.most_bytes):
                yield chunk, bytes(data)
                chunk, data = [], bytearray()
            chunk.append(item)
            data += line
        if chunk:
            yield chunk, bytes(data)

    async def _find(self, tags: set[str], delays: Iterable[float]) -> dict[str, Batch]:
        """Those of some batches that the provider lists, by tag."""

        async def listed() -> None:
            async for batch in self._api.batches():
                if batch.tag in tags:
                    found.setdefault(batch.tag, batch)
                    if len(found) == len(tags):
                        return

        found: dict[str, Batch] = {}
        for delay in delays:
            await self._stop.sleep(delay)
            await self._patiently(listed)
            if len(found) == len(tags):
                break
        return found

    # --- submitting ----------------------------------------------------------------------------

    async def _submit(self, chunk: list[_Item], data: bytes) -> None:
        self._stop.check()
        tag = self._tag(chunk)
        await self._note_batch([item.send.id for item in chunk], tag)
        for item in chunk:
            item.tag = tag
        uploaded = False
        try:
            file = await self._api.upload(data, tag)
            uploaded = True
            batch = await self._api.create(file, chunk[0].request.model, tag, self._run)
        except ApiFailure as error:
            doubtful = uploaded and error.unsure
            found = await self._find({tag}, _LISTED_AT_LAST) if doubtful else {}
            if tag not in found:
                self._refused(chunk, error)
                return
            batch = found[tag]
        self._full = 0.0
        self._notice(f"{self._whom}: {_requests(len(chunk))} submitted as {batch.name}")
        self._watch(batch, chunk)

    def _tag(self, chunk: Iterable[_Item]) -> str:
        """What a batch is named by: its run, the keys of its requests, and nothing else's name."""
        keys = hashlib.sha256("\n".join(item.name for item in chunk).encode()).hexdigest()
        run = hashlib.sha256(self._run.encode()).hexdigest()
        return f"retgen-{run[:8]}-{keys[:16]}-{secrets.token_hex(8)}"

    def _refused(self, chunk: list[_Item], error: ApiFailure) -> None:
        """A batch could not be submitted, so nothing in it is paid for."""
        status, wait = error.response.status, error.response.wait
        if status == 429:
            self._hold(chunk, str(error))
            return
        words = f"the batch could not be submitted: {error}"
        if status in _NO_API:
            words = f"there is no batch API for it, so leave --batch out ({error})"
        status = NOT_RUN if error.passing else NOT_SENT
        for item in chunk:
            _settle(item, Response(error.response.raw, status, words, wait=wait))

    def _hold(self, chunk: list[_Item], words: str) -> None:
        """Too much is queued: submit later, when a batch of ours has ended; or less at a time."""
        if not self._tasks and len(chunk) == 1:
            _settle(chunk[0], Response(b"", NOT_RUN, words))
            return
        if not self._tasks:
            self._most = len(chunk) // 2
        self._once("full", f"{self._whom}: {words}. What is left is submitted when there is room")
        self._full = min(_LAST, max(_FIRST, 2 * self._full))
        for item in chunk:
            item.tag = ""
        self._waiting[:0] = chunk

    # --- waiting -------------------------------------------------------------------------------

    def _watch(self, batch: Batch, items: list[_Item]) -> None:
        self._tasks.add(asyncio.create_task(self._hand_back(batch, items)))

    async def _hand_back(self, batch: Batch, items: list[_Item]) -> None:
        began, task = time.monotonic(), cast("asyncio.Task[None]", asyncio.current_task())
        try:
            batch = await self._wait(batch, items, began)
            batch, answers = await self._fetch(batch)
        except Exception as error:
            _fail(items, self._unreachable(error) if isinstance(error, ApiFailure) else error)
            return
        finally:
            self._ended += 1
            self._out.pop(items[0], None)
            self._tasks.discard(task)
        if batch.full:
            self._hold(items, batch.rest.error)
            return
        self._most = min(self._api.most_requests, 2 * self._most)
        missing = sum(item.name not in answers for item in items)
        without = f", {_requests(missing)} without an answer ({batch.rest.error})" * bool(missing)
        self._notice(
            f"{self._whom}: {batch.name} {batch.state} after "
            f"{_duration(time.monotonic() - began)} of waiting{without}"
        )
        for item in items:  # in their order, so that a refusal stands among answers
            _settle(item, answers.get(item.name, batch.rest))

    async def _wait(self, batch: Batch, items: list[_Item], began: float) -> Batch:
        """The batch when it has ended."""
        delay, limit, size = _FIRST, 3600 * self._hours, len(items)
        while not batch.ended:
            self._out[items[0]] = batch, size, began
            left = began + limit - time.monotonic()
            if left <= 0:
                raise BatchUnfinished(
                    f"{self._whom}: {batch.name} has not ended in {_duration(limit)} of waiting "
                    f"({batch.state}, {batch.done:,} of {size:,} done). It stays there and is not "
                    "paid for again: the same command takes it up"
                )
            await self._stop.sleep(min(delay, left))
            delay = min(_LAST, _GROWTH * delay)
            batch = await self._patiently(partial(self._api.get, batch.name))
        return batch

    async def _fetch(self, batch: Batch) -> tuple[Batch, dict[str, Response]]:
        """The answers of a batch that has ended, and what stands for those that are not there."""
        try:
            return batch, await self._patiently(partial(self._api.answers, batch))
        except ApiFailure as error:
            if error.response.status != 404:
                raise
            lost = Response(b"", SILENCE, f"the answers of {batch.name} are gone: {error}")
            return batch._replace(rest=lost), {}

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """What a call returns that may be made again, whatever happens on the way to the server."""
        began, delay = time.monotonic(), _FIRST
        while True:
            try:
                return await call()
            except ApiFailure as error:
                if not error.passing or time.monotonic() - began > 3600 * self._hours:
                    raise
                self._once(str(error), f"{self._whom}: {error}. It is tried again")
                await self._stop.sleep(max(delay, error.response.wait or 0.0))
                delay = min(_LAST, 2 * delay)

    def _unreachable(self, error: ApiFailure) -> EndpointFailed:
        return EndpointFailed(
            f"{self._whom}: what became of its batches cannot be seen: {error}. They stay there "
            "and are not paid for again: when this is set right, the same command takes them up"
        )

    def _once(self, which: str, text: str) -> None:
        if which not in self._noticed:
            self._noticed.add(which)
            self._notice(text)


def _settle(item: _Item, response: Response) -> None:
    if not item.answer.done():
        item.answer.set_result(response)


def _fail(items: Iterable[_Item], error: Exception) -> None:
    for item in items:
        if not item.answer.done():
            item.answer.set_exception(error)
            item.answer.exception()  # whoever waited may be gone


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count:,} requests"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
