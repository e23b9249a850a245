"""Engines: pure work done task by task, and again where a worker dies. `Local`: by processes here.

A result comes back as bytes, and the caller writes it. A worker may run on another machine, which
sees neither the run directory nor the user's files: work that reads these is for `Engine.local`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

from retgen.errors import WorkerLost

Context = TypeVar("Context")
Task = TypeVar("Task")

Work = Callable[[Context, Task], bytes]

RETRIES = 3  # of a task whose process or machine is lost


class Engine(ABC):
    """Does the same work on many tasks. The result of a task depends on nothing but the task.

    `workers`: how many tasks are worked on at a time.
    """

    workers: int

    @abstractmethod
    def map(
        self, work: Work[Context, Task], context: Context, tasks: Iterable[tuple[str, Task]]
    ) -> Generator[tuple[str, bytes]]:
        """(name, `work(context, task)`) for each (name, task), in the order of the tasks.

        `work` is a function of a module, and pure: a task whose worker dies is done again, and one
        may be done twice. `context` goes to each worker once, so it may keep there what is costly
        to make. A task is taken from `tasks` when it is about to begin, and at most `ahead` are
        begun from the first on that has not ended: tasks and results that wait stay few. Errors of
        `work` are raised here as they are. Raises `WorkerLost` where workers die again and again.
        """

    @property
    def local(self) -> Engine:
        """Processes of this machine, for work that reads files."""
        return self

    def __str__(self) -> str:
        return f"{self.workers} workers"

    @property
    def ahead(self) -> int:
        """Tasks begun at most, from the first on that has not ended."""
        return 2 * self.workers + 2


SPAWN = multiprocessing.get_context("spawn")  # a fork would copy the locks of other threads
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
START = 2.0  # seconds that a worker takes until it can begin: it imports this package and prepares


@contextlib.contextmanager
def process_pool(workers: int, *shared: Any) -> Iterator[ProcessPoolExecutor]:
    """A pool of spawned processes, each of which holds `shared` in `_shared`.

    None of them outlives this process: each watches a pipe whose other end only this process
    holds. An error in the block closes it too, so that nobody waits for work that is of no use.
    Raises `WorkerLost` where one of them is killed.
    """
    watched, held = SPAWN.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        workers,
        mp_context=SPAWN,
        initializer=_start,
        initargs=(watched, os.getpid(), shared),
    )
    try:
        with pool:
            try:
                _start_workers(pool, workers)
                yield pool
            except BaseException:
                held.close()
                pool.shutdown(cancel_futures=True)  # they end, so this is soon done
                raise
    except BrokenProcessPool as error:
        raise WorkerLost(
            "a worker process was killed, most likely because memory ran out. What is finished is "
            "kept: the same command again goes on, with --workers 1 in less memory. A script of "
            'your own calls retgen below `if __name__ == "__main__":`, since each worker reads it'
        ) from error
    finally:
        held.close()
        watched.close()


def _start_workers(pool: ProcessPoolExecutor, workers: int) -> None:
    """Start all processes with Ctrl-C held back: until they ignore it, it would end them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for _ in range(workers):
            pool.submit(os.getpid)  # starts one where none is idle
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Local(Engine):
    """Processes of this machine.

    This process does the first `START` seconds of computing itself, and all as the only worker:
    what is done by then is not worth starting others for.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def map(
        self, work: Work[Context, Task], context: Context, tasks: Iterable[tuple[str, Task]]
    ) -> Generator[tuple[str, bytes]]:
        left, spent = iter(tasks), 0.0
        for name, task in left:
            began = time.process_time()
            result = work(context, task)
            spent += time.process_time() - began
            yield name, result
            if self.workers > 1 and spent > START:
                yield from self._map_in_pool(work, context, left)

    def _map_in_pool(
        self, work: Work[Context, Task], context: Context, left: Iterator[tuple[str, Task]]
    ) -> Generator[tuple[str, bytes]]:
        begun = deque(islice(left, self.ahead))
        lost = 0
        while begun:
            try:
                with (
                    tempfile.TemporaryDirectory(prefix="retgen-") as folder,
                    process_pool(min(self.workers, len(begun)), work, context, folder) as pool,
                ):
                    results = deque(pool.submit(_do, task) for _, task in begun)
                    while begun:
                        path = Path(results.popleft().result())
                        result = path.read_bytes()
                        path.unlink()
                        yield begun.popleft()[0], result
                        lost = 0
                        for further in islice(left, 1):
                            begun.append(further)
                            results.append(pool.submit(_do, further[1]))
            except WorkerLost:
                lost += 1
                if lost > RETRIES:
                    raise


_shared: tuple[Any, ...]  # in a process of the pool: work, its context, a folder for results


def _do(task: Any) -> str:
    """Write the result of a task, and return the name of its file.

    A pipe takes less than 4,096 bytes at once (PIPE_BUF): a worker that is killed with half a
    result in one would have all others wait for the rest.
    """
    work, context, folder = _shared
    handle, path = tempfile.mkstemp(dir=str(folder))
    with open(handle, "wb") as file:
        file.write(work(context, task))
    return path


def _start(watched: Connection, parent: int, shared: tuple[Any, ...]) -> None:
    """First thing in a worker: see to it that it ends with its parent."""
    global _shared
    _shared = shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: one answers
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
    if sys.platform == "linux":
        import ctypes

        # the kernel's word is heard at once, also while a long call holds the interpreter
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was gone before that was asked for
            os._exit(1)


def _end_with(watched: Connection) -> None:
    wait([watched])  # nothing is ever sent: it is the end of the other side
    os._exit(1)


_MOST = 31 << 20  # bytes; of larger blocks glibc learns nothing (its limit is 32 MiB)


@cache
def keep_freed_memory() -> None:
    """Have the C library keep freed blocks that arrays of a few MB would ask for again.

    glibc gives every freed block above a size back to the system, which costs a page fault for
    each of its 4 KB next time; that size grows to the largest block freed so far, in this process
    for good. Elsewhere this does nothing.
    """
    bytes(_MOST)  # calloc: nobody writes to its pages, so it costs nothing


def return_freed_memory() -> None:
    """Give freed blocks back to the system, after a stage of which little is left: those of Arrow,
    and on glibc all others.
    """
    import ctypes

    if "pyarrow" in sys.modules:
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)
