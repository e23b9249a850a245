"""A data set of 15 documents and 100 queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen.search.collection import Collection, load


@pytest.fixture(scope="session")
def collection(limit_run: Path) -> Collection:
    return load(limit_run)
