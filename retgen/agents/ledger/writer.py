"""Many callers, one transaction."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from retgen.agents.ledger.ledger import Ledger

T = TypeVar("T")


class Writer:
    """A thread that does the ledger's work for many callers, several calls a transaction.

    A call's future is done when its transaction is, so what it reports is durable. A call that
    fails fails alone; a transaction that fails fails all of its calls.
    """

    def __init__(self, ledger: Ledger, most: int = 512) -> None:
        self._ledger, self._most = ledger, most
        self._waiting: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None]
        self._waiting = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)
        self._thread.start()

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Do `call`, a method of the ledger with its arguments, in the next transaction."""
        future: Future[T] = Future()
        self._waiting.put((call, future))
        return future

    def close(self) -> None:
        """Do what is waiting, then end."""
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        ended = False
        while not ended:
            batch = [self._waiting.get()]
            while len(batch) < self._most and not self._waiting.empty():
                batch.append(self._waiting.get())
            ended = None in batch
            calls = [item for item in batch if item and item[1].set_running_or_notify_cancel()]
            results: list[tuple[Future[Any], Any, BaseException | None]] = []
            try:
                with self._ledger.transaction():
                    for call, future in calls:
                        try:
                            results.append((future, call(), None))
                        except (ValueError, OverflowError) as error:  # before it changed anything
                            results.append((future, None, error))
            except BaseException as error:
                results = [(future, None, error) for _, future in calls]
            for future, value, failure in results:
                if failure is not None:
                    future.set_exception(failure)
                else:
                    future.set_result(value)
