"""Runs in a bucket that are cut into many pieces, under a lease that ends soon."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import retgen.generate
from tests.bucket_run.bucket import limit


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return limit(tmp_path)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    # reason: the sizes are no behaviour, and small ones make small data sets many pieces
    monkeypatch.setattr(retgen.generate, "MOST", 100_000)
    scan: Any = sys.modules["retgen.validation.scan"]
    monkeypatch.setattr(scan, "MOST", 100_000)


@pytest.fixture(autouse=True)
def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETGEN_LEASE", "3")
