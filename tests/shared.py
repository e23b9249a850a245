"""What tests share: things dear to make, made once, whichever process needs them first; samples."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def sample(cases: list[Any]) -> list[Any]:
    """Every third case by default, since each is a run copied and checked; all of them if slow."""
    return [
        pytest.param(*case, marks=[pytest.mark.slow] if number % 3 else [])
        for number, case in enumerate(cases)
    ]
