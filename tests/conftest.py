"""What tests share: small recipes on disk, and the command line in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SMALL = """# gen run small.yaml
name: small
family: limit
seed: 42
params: {pattern: dense, docs: 400, queries: 100, k: 2, attributes_per_doc: 20}
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A recipe of 400 documents and 100 queries over 15 relevant documents."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def recipe_file(tmp_path: Path) -> Callable[[str], Path]:
    """Write a recipe and return its path."""

    def write(text: str, name: str = "recipe.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def gen(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `gen ARGS` in tmp_path, as a user would."""

    def call(*args: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "retgen.cli", *map(str, args)]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, timeout=120, **options
        )

    return call


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """All rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
