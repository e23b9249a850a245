"""Worker processes: a pool that ends with this process, freed memory, and pickles of data only."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import is_dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, BinaryIO, TypeVar

from retgen.errors import WorkerLost

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
            "kept: the same command again goes on, with --workers 1 in less memory"
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


Context = TypeVar("Context")
Task = TypeVar("Task")
Made = TypeVar("Made")


def map_in_order(
    work: Callable[[Context, Task], Made],
    context: Context,
    tasks: Sequence[Task],
    workers: int,
) -> Iterator[Made]:
    """What `work` makes of each task, in their order; `workers` processes, or none for 1.

    `context` is sent to each process once. `work` is a function of a module.
    """
    if workers <= 1 or len(tasks) <= 1:
        yield from (work(context, task) for task in tasks)
        return
    left = iter(tasks)
    with process_pool(min(workers, len(tasks)), _set_context, (context,)) as pool:
        under_way = deque(
            pool.submit(_with_context, work, one) for one in islice(left, 2 * workers)
        )
        while under_way:
            yield under_way.popleft().result()
            under_way += [pool.submit(_with_context, work, one) for one in islice(left, 1)]


_context: Any = None  # in a process of `map_in_order`


def _set_context(context: Any) -> None:
    global _context
    _context = context


def _with_context(work: Callable[[Any, Task], Made], task: Task) -> Made:
    return work(_context, task)


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
    wait([watched])  # nothing is ever sent: it is the end of the other side
    os._exit(1)


_MOST = 31 << 20  # bytes; of larger blocks glibc learns nothing (its limit is 32 MiB)


def keep_freed_memory() -> None:
    """Have the C library keep freed blocks that arrays of a few MB would ask for again.

    glibc gives every freed block above a size back to the system, which costs a page fault for
    each of its 4 KB next time; that size grows to the largest block freed so far. Here one that
    nobody wrote to, so it costs nothing. Elsewhere this does nothing.
    """
    bytearray(_MOST)


_ALLOWED = {
    "builtins": {"bool", "bytearray", "complex", "dict", "float", "frozenset", "int", "list",
                 "set", "str", "tuple"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.numeric": {"_frombuffer"},
}  # fmt: skip


def pickle_data(value: Any) -> bytes:
    """A pickle of `value`."""
    return pickle.dumps(value, protocol=5)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in _ALLOWED.get(module, ()):
            return super().find_class(module, name)
        if module in ("retgen.data", "retgen.rows") or module.startswith("retgen.validators."):
            result = super().find_class(module, name) if "." not in name else None
            if isinstance(result, type) and (is_dataclass(result) or issubclass(result, tuple)):
                return result
        raise pickle.UnpicklingError(f"{module}.{name} has no place here")


def unpickle_data(file: BinaryIO) -> Any:
    """The next pickle of a file. Raises `UnpicklingError` where it holds more than data."""
    return _Reader(file).load()
