"""Runs that ask a model on loopback: a server in a thread, `gen` in this process or its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.minds import mind
from tests.agents.server import Server, serving
from tests.command import Done, in_process

Gen = Callable[..., Done]
KEY = "sk-planted-4f7a0c2e9b"
USAGE = 200, 12  # tokens of each prompt and answer: as many as they may have, none hidden
# two steps a query (describe, then recognise) after a catalogue in rounds
RECIPE = """# gen run asked.yaml
name: asked
family: limit
seed: 7
model: openai:gpt-5-mini
params:
  {pattern: random, docs: DOCS, queries: QUERIES, k: 2, attributes_per_doc: 10, form: {type: semantic},
   catalogue: {split: all, size: SIZE}}
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(mind) as result:
        result.usage = USAGE
        yield result


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """A recipe of 60 queries out of 100 attributes that a model proposes."""
    path = tmp_path / "asked.yaml"
    path.write_text(recipe_of(60, 100))
    return path


def recipe_of(queries: int, size: int) -> str:
    """The recipe with so many queries, out of so many attributes."""
    return (
        RECIPE.replace("DOCS", str(2 * queries))
        .replace("QUERIES", str(queries))
        .replace("SIZE", str(size))
    )


def environment(server: Server | None) -> dict[str, str]:
    """As a user has it, with a key and the address of the server."""
    result = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    if server is not None:
        result |= {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
    return result


@pytest.fixture
def ask(tmp_path: Path, server: Server) -> Gen:
    """Run `gen ARGS` in tmp_path against the server."""

    def call(*args: str | Path, **options: Any) -> Done:
        return in_process(*args, **{"cwd": tmp_path, "env": environment(server), **options})

    return call


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by relative path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
