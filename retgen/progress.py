"""How long work reports where it is: a function of (stage, done, total, note)."""

from __future__ import annotations

import os
from typing import Protocol

__all__ = ["Progress", "silent", "usable_cores"]


class Progress(Protocol):
    """Called again and again while work goes on. `note`: what else there is to say."""

    def __call__(self, stage: str, done: int, total: int, note: str = "", /) -> None:
        """`done` of `total` steps of a stage are done."""
        ...


def silent(stage: str, done: int, total: int, note: str = "") -> None:
    """Report nothing."""


def usable_cores() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
