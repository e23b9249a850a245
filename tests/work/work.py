"""Work that engines do in tests: functions of a module, as workers need them."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Generator, Iterable
from pathlib import Path

from retgen.work import Local
from retgen.work.local import Context, Task, Work

# a busy machine answers late, and is not dead for that; a dead one refuses twenty times in a row
RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_health_check_timeout_ms": "30000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_failure_threshold": "20",
}


class Eager(Local):
    """Starts processes from the first task on."""

    def map(
        self, work: Work[Context, Task], context: Context, tasks: Iterable[tuple[str, Task]]
    ) -> Generator[tuple[str, bytes]]:
        if self.workers == 1:
            return super().map(work, context, tasks)
        return self._map_in_pool(work, context, iter(tasks))


class Elsewhere(Local):
    """Works where a folder of this machine is not there."""

    def __init__(self, hidden: Path) -> None:
        super().__init__(1)
        self._hidden = hidden

    @property
    def local(self) -> Local:
        return Local(1)

    def map(
        self, work: Work[Context, Task], context: Context, tasks: Iterable[tuple[str, Task]]
    ) -> Generator[tuple[str, bytes]]:
        data = pickle.dumps((work, context))
        sent = None
        for name, task in tasks:
            packed = pickle.dumps(task)
            away = self._hidden.rename(self._hidden.with_suffix(".away"))
            try:
                sent = sent or pickle.loads(data)
                result = sent[0](sent[1], pickle.loads(packed))
            finally:
                away.rename(self._hidden)
            yield name, result


def double(context: int, task: int) -> bytes:
    """Twice the task, and the context."""
    return f"{context} {2 * task}".encode()


def large(size: int, task: int) -> bytes:
    """So many bytes of the task."""
    return bytes([task]) * size


def fail(_: None, task: int) -> bytes:
    """Raise an error of this package at task 3."""
    from retgen.errors import DatasetError

    if task == 3:
        raise DatasetError("row 3 is no document")
    return b""


def die_once(folder: Path, task: int) -> bytes:
    """Be killed, the first time that task 3 is done."""
    mark = folder / "killed"
    if task == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return str(task).encode()


def die(_: None, task: int) -> bytes:
    """Be killed whenever task 3 is done."""
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return str(task).encode()


def slow(folder: Path, task: int) -> bytes:
    """Say that the task has begun, and take a moment."""
    (folder / f"{task}-{os.getpid()}").touch()
    time.sleep(0.3)
    return str(task).encode()


def killed_soon(context: tuple[Path, int], task: int) -> bytes:
    """Have this process killed so many milliseconds after its tenth task, the first time."""
    folder, moment = context
    if task >= 10 and not (folder / "killed").exists():
        (folder / "killed").touch()
        threading.Timer(moment / 1000, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return bytes(300_000)
