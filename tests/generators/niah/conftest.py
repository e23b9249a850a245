"""Finished runs, which tests read only."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen import run


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("niah") / "small"
    return run("niah", overrides={"params.lengths": [128, 256]}, out=out).path
