"""How long work reports where it is: a function of (stage, done, total, note)."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Protocol


class Progress(Protocol):
    """Called again and again while work goes on. `note`: what else there is to say."""

    def __call__(self, stage: str, done: int, total: int, note: str = "", /) -> None:
        """`done` of `total` steps of a stage are done."""
        ...


def no_progress(stage: str, done: int, total: int, note: str = "") -> None:
    """Report nothing."""


class ProgressLines:
    """Progress as plain lines on stderr, for logs.

    A line says where the work is when it reports, every `EVERY` seconds at most. Stages that have
    more to say than their count (calls and their price) speak more often, and at their end, unless
    `notes` is off.
    """

    EVERY = 30.0
    NOTES = 10.0

    def __init__(self, notes: bool = True) -> None:
        self._notes = notes
        self._last_line = time.monotonic()
        self._began: dict[str, float] = {}
        self._done: dict[str, int] = {}

    def __call__(self, stage: str, done: int, total: int, note: str = "", /) -> None:
        now = time.monotonic()
        if done < self._done.get(stage, done + 1):  # a stage that begins, or begins again
            self._began[stage] = now
        self._done[stage] = done
        silent = now - self._last_line
        noted = bool(note) and self._notes and (silent >= self.NOTES or done >= total)
        if silent < self.EVERY and not noted:
            return
        self._last_line = now
        took = now - self._began[stage]
        parts = [f"{stage}: {done:,} of {total:,}", note or f"{took:.0f} s so far"]
        if 0 < done < total:
            parts.append(f"about {took / done * (total - done):.0f} s left")
        with contextlib.suppress(OSError, ValueError):  # nobody reads any more
            print(", ".join(parts), file=sys.stderr, flush=True)


def usable_cores() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
