from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def kb(limit_run: Path, tmp_path: Path) -> Path:
    """A run of its own: 15 documents, 100 queries, 200 qrels."""
    return Path(shutil.copytree(limit_run, tmp_path / "kb"))


@pytest.fixture(autouse=True)
def unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    """MTEB and torch take some 20 s to score a run: tests of that ask for it."""
    monkeypatch.setenv("RETGEN_SCORE_UP_TO", "0")
