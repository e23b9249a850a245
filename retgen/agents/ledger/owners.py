"""Which process sent a request, whether it has ended, and how long to wait for its answer.

A process is named by the machine, its start (boot), the space that its number is taken from
(containers count for themselves), its number, and when it was started, so that a number that was
given out again is told apart. What cannot be seen from here counts as running: then time decides.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_FIRST_SPACE = "pid:[4026531836]"  # Linux: the numbers of the machine itself, in no container


class Owner(NamedTuple):
    """A process. Empty texts: not known."""

    machine: str
    name: str  # of the machine
    boot: str
    space: str
    pid: int
    started: str

    def has_ended(self, here: Owner | None = None) -> bool:
        """Whether it is known to have ended, as seen by `here`: by default, this process."""
        here = here or this_process()
        if self._seen_from(here):
            return _has_ended(self.pid, self.started)
        # this machine, before it was started anew
        return (
            bool(self.machine)
            and (self.machine, self.name) == (here.machine, here.name)
            and self.boot != here.boot
            and self.space == here.space == _FIRST_SPACE
        )

    def runs_here(self) -> bool:
        """Whether it is seen to run."""
        return self._seen_from(this_process()) and not self.has_ended()

    def _seen_from(self, here: Owner) -> bool:
        return bool(self.boot) and (self.boot, self.space) == (here.boot, here.space)

    def __str__(self) -> str:
        if self._seen_from(this_process()):
            return f"process {self.pid} on this machine"
        return f"{self.name or 'another machine'}, process {self.pid}"


def this_process() -> Owner:
    """The process that calls this."""
    return _process(os.getpid())


@functools.lru_cache(maxsize=4)
def _process(pid: int) -> Owner:
    return Owner(*_machine(), pid, _start_of(pid))


@functools.cache
def _machine() -> tuple[str, str, str, str]:
    machine = boot = space = ""
    if sys.platform == "linux":
        for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
            machine = machine or _line(path)
        boot = _line("/proc/sys/kernel/random/boot_id")
        with contextlib.suppress(OSError):
            space = os.readlink("/proc/self/ns/pid")
        boot = boot if space else ""  # another container's numbers could be taken for ours
    elif sys.platform == "darwin":
        boot = _output("sysctl", "-n", "kern.bootsessionuuid")
    return machine, platform.node(), boot, space


def _has_ended(pid: int, started: str) -> bool:
    try:
        os.kill(pid, 0)  # asks whether it is there
    except ProcessLookupError:
        return True
    except OSError:  # it is there, and another user's
        pass
    now = _start_of(pid)
    return now == _ZOMBIE or bool(started and now and now != started)


_ZOMBIE = "ended"


def _start_of(pid: int) -> str:
    """When it was started: clock ticks since the boot on Linux, else as `ps` says it."""
    if sys.platform == "linux":
        # PID (NAME) STATE ... with the start as the 22nd; a name may hold spaces and brackets
        fields = _line(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if len(fields) < 20:
            return ""
        return _ZOMBIE if fields[0] in "ZX" else fields[19]
    return _output("ps", "-o", "lstart=", "-p", str(pid)) if sys.platform == "darwin" else ""


def _line(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


class Leases:
    """What this process has seen of the leases of others. `clock`: monotonic, in seconds.

    A lease is a duration, and no time of day is written down or read: it ends with the process that
    holds it, where that can be seen from here, or once this process has seen it unchanged for so
    long by its own monotonic clock. Setting a clock can neither stretch nor shorten it.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[bytes, tuple[int, float]] = {}  # by key: which send, first seen when

    def left(self, key: bytes, send: int, lease: float) -> float:
        """Seconds until the lease ends at the latest."""
        now = self._clock()
        which, since = self._seen.get(key, (send, now))
        if which != send:
            since = now
        self._seen[key] = send, since
        return since + lease - now

    def over(self, key: bytes) -> None:
        """Nobody waits for this request any longer."""
        self._seen.pop(key, None)
