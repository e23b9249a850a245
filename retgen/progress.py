"""How long work reports where it is: a function of (stage, done, total, note)."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Protocol, Self


class Progress(Protocol):
    """Called again and again while work goes on. `note`: what else there is to say."""

    def __call__(self, stage: str, done: int, total: int, note: str = "", /) -> None:
        """`done` of `total` steps of a stage are done."""
        ...


def no_progress(stage: str, done: int, total: int, note: str = "") -> None:
    """Report nothing."""


class ProgressLines:
    """Progress as plain lines on stderr, for logs. Use as a context manager.

    Every `EVERY` seconds a line says where `command` is, also while it reports nothing. Stages
    that have more to say than their count (calls and their price) speak more often, and at their
    end, unless `notes` is off.
    """

    EVERY = 30.0
    NOTES = 10.0

    def __init__(self, notes: bool = True, command: str = "gen") -> None:
        self._notes, self._command = notes, command
        self._entered = self._last_report = time.monotonic()
        self._began: dict[str, float] = {}
        self._done: dict[str, int] = {}
        self._last: tuple[str, int, int, str] | None = None
        self._lock = threading.Lock()  # one line at a time
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def __call__(self, stage: str, done: int, total: int, note: str = "", /) -> None:
        now = time.monotonic()
        if done < self._done.get(stage, done + 1):  # a stage that begins, or begins again
            self._began[stage] = now
        self._done[stage] = done
        self._last = stage, done, total, note
        if note and self._notes and (now - self._last_report >= self.NOTES or done >= total):
            self._tell(now)

    def _watch(self) -> None:
        while not self._over.wait(max(0.0, self._last_report + self.EVERY - time.monotonic())):
            now = time.monotonic()
            if now - self._last_report >= self.EVERY:
                self._tell(now)

    def _tell(self, now: float) -> None:
        with self._lock:
            self._last_report = now
            if self._last is None:
                line = f"{self._command}: running, {now - self._entered:.0f} s so far"
            else:
                stage, done, total, note = self._last
                took = now - self._began[stage]
                parts = [f"{stage}: {done:,} of {total:,}", note or f"{took:.0f} s so far"]
                if 0 < done < total:
                    parts.append(f"about {took / done * (total - done):.0f} s left")
                line = ", ".join(parts)
            try:
                print(line, file=sys.stderr, flush=True)
            except (OSError, ValueError):  # nobody reads any more
                self._over.set()


def usable_cores() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
