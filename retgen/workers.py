"""Processes that work for this one, and end when it ends, however it ends."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import Connection, wait
from typing import Any

SPAWN = multiprocessing.get_context("spawn")  # a fork would copy the locks of other threads
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


@contextlib.contextmanager
def process_pool(
    workers: int, initializer: Callable[..., None] | None = None, initargs: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """A pool of spawned processes.

    None of them outlives this process: each watches a pipe whose other end only this process
    holds. An error in the block closes it too, so that nobody waits for work that is of no use.
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
                yield pool
            except BaseException:
                held.close()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        held.close()
        watched.close()


def _start(
    watched: Connection, parent: int, initializer: Callable[..., None] | None, initargs: Any
) -> None:
    """First thing in a worker: see to it that it ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: one answers
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
