"""Half of the time of a small evaluation is that of its pictures: only tests of pictures draw them.

For a conftest.py: `from tests.evaluation.pictures import no_pictures, pictures`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_pictures() -> Iterator[None]:
    """Evaluate as where matplotlib is not installed: pages say so in the place of pictures."""
    with _matplotlib(None):
        yield


@pytest.fixture
def pictures() -> Iterator[None]:
    """Draw them in one test."""
    with with_pictures():
        yield


@contextmanager
def with_pictures() -> Iterator[None]:
    """Draw them in a fixture."""
    with _matplotlib(_installed()):
        yield


@contextmanager
def _matplotlib(module: ModuleType | None) -> Iterator[None]:
    _installed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", module)  # None: importing it fails
        yield


@cache
def _installed() -> ModuleType:
    import matplotlib.figure

    return matplotlib
