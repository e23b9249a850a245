"""What is dear to make and only read: made once, whichever of the test processes needs it first."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder `name` (PARENT/NAME) of these tests, filled by `make` the first time."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # the processes have folders of their own in one
        base = base.parent
    folder, done = base / name, base / f"{name}.done"
    folder.parent.mkdir(exist_ok=True)
    with filelock.FileLock(base / f"{name}.lock"):
        if not done.exists():
            make(folder)
            done.touch()
    return folder
