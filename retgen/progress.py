"""How long work reports where it is: a function of (stage, done, total)."""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["Progress", "silent", "usable_cores"]

Progress = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def usable_cores() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
