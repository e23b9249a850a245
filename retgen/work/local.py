"""Processes of this machine: a pool that ends with this process, and freed memory that is kept."""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import Any

from retgen.errors import WorkerLost
from retgen.work.engine import RETRIES, Context, Engine, Result, Task, Window, Work

SPAWN = multiprocessing.get_context("spawn")  # a fork would copy the locks of other threads
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


@contextlib.contextmanager
def process_pool(
    workers: int, initializer: Callable[..., None] | None = None, initargs: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """A pool of spawned processes.

    None of them outlives this process: each watches a pipe whose other end only this process
    holds. An error in the block closes it too, so that nobody waits for work that is of no use.
    Raises `WorkerLost` where one of them is killed.
    """
    watched, held = SPAWN.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        workers,
        mp_context=SPAWN,
        initializer=_start,
        initargs=(watched, os.getpid(), initializer, initargs),
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
    """Processes of this machine. One worker is this process itself."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def map(
        self, work: Work[Context, Task], context: Context, tasks: Mapping[str, Task]
    ) -> Generator[tuple[str, Result]]:
        if self.workers <= 1 or len(tasks) <= 1:
            for name, task in tasks.items():
                yield name, work(context, task)
            return
        left = dict.fromkeys(tasks)
        lost = 0
        while left:
            before = len(left)
            try:
                yield from self._in_pool(work, context, tasks, left)
            except WorkerLost:
                lost = lost + 1 if len(left) == before else 1
                if lost > RETRIES:
                    raise

    def _in_pool(
        self,
        work: Work[Context, Task],
        context: Context,
        tasks: Mapping[str, Task],
        left: dict[str, None],
    ) -> Generator[tuple[str, Result]]:
        """Those that end, of the tasks named in `left`, until all have ended or a worker is lost;
        they leave `left`.
        """
        workers = min(self.workers, len(left))
        window = Window(left, self.ahead)
        with (
            tempfile.TemporaryDirectory(prefix="retgen-") as folder,
            process_pool(workers, _set_work, (work, context, folder)) as pool,
        ):
            under_way: dict[Future[bytes | str], str] = {}
            while left:
                under_way |= {pool.submit(_do, tasks[name]): name for name in window.begin()}
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    name = under_way.pop(future)
                    result = future.result()
                    del left[name]
                    window.end(name)
                    yield name, result if isinstance(result, bytes) else _received(result)


# bytes; a larger result is handed over as a file: that costs a quarter of a pipe, and a pipe takes
# less than 4,096 at once (PIPE_BUF), so no worker can be killed with half a result in it, for which
# all others would wait
_LARGE = 2048
_work: tuple[Work[Any, Any], Any, str]  # in a process of the pool; a folder for large results


def _set_work(work: Work[Context, Task], context: Context, folder: str) -> None:
    global _work
    _work = work, context, folder


def _do(task: Any) -> bytes | str:
    """The result of a task, or the name of its file."""
    work, context, folder = _work
    result = work(context, task)
    if len(result) < _LARGE:
        return result
    handle, path = tempfile.mkstemp(dir=folder)
    with open(handle, "wb", buffering=0) as file:
        view = memoryview(result)
        while view:
            view = view[file.write(view) :]
    return path


def _received(path: str) -> memoryview:
    with open(path, "rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    os.unlink(path)
    return view


def _start(
    watched: Connection, parent: int, initializer: Callable[..., None] | None, initargs: Any
) -> None:
    """First thing in a worker: see to it that it ends with its parent."""
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
    if initializer is not None:
        initializer(*initargs)


def _end_with(watched: Connection) -> None:
    wait_for([watched])  # nothing is ever sent: it is the end of the other side
    os._exit(1)


_MOST = 31 << 20  # bytes; of larger blocks glibc learns nothing (its limit is 32 MiB)


def keep_freed_memory() -> None:
    """Have the C library keep freed blocks that arrays of a few MB would ask for again.

    glibc gives every freed block above a size back to the system, which costs a page fault for
    each of its 4 KB next time; that size grows to the largest block freed so far. Here one that
    nobody wrote to, so it costs nothing. Elsewhere this does nothing.
    """
    bytearray(_MOST)


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
