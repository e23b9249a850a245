"""Runs that ask a model on loopback: a server in a thread, `gen` in this process or its own."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
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
    with serving(mind, usage=USAGE) as result:
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
    return gen_at(server, tmp_path)


def gen_at(server: Server, folder: Path) -> Gen:
    """`gen ARGS` in a folder, where the server is the provider."""

    def call(*args: str | Path, env: Mapping[str, str] | None = None) -> Done:
        return in_process(*args, cwd=folder, env=environment(server) if env is None else env)

    return call


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by relative path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# --- a run that is interrupted --------------------------------------------------------------------


@contextmanager
def holding(free: int = 0) -> Iterator[tuple[Server, threading.Event, threading.Event]]:
    """A server that answers so many requests, and the others when the second event is set.

    The first event tells that one of the others has come.
    """
    full, released = threading.Event(), threading.Event()

    def say(asked: dict[str, Any]) -> str:
        if len(held.requests) > free and not released.is_set():
            full.set()
            released.wait(120)
        return mind(asked)

    with serving(say, delay=0.05) as held:
        try:
            yield held, full, released
        finally:
            released.set()


def begin(
    recipe: Path, server: Server, number: int = signal.SIGINT, action: Any = signal.SIG_DFL
) -> subprocess.Popen[str]:
    """A run in a process; `action`: what the shell has said of a signal."""
    return subprocess.Popen(
        [sys.executable, "-m", "retgen.cli", "run", str(recipe), "--out", "runs/a"],
        env=environment(server),
        cwd=recipe.parent,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, action),
    )


def read_to(process: subprocess.Popen[str], words: str) -> str:
    """What a process says, to the line with some words."""
    assert process.stderr is not None
    message = ""
    while words not in message:
        line = process.stderr.readline()
        assert line, message
        message += line
    return message


def arrived(server: Server, ledger: Path) -> int:
    """Wait until a stopped run's requests, which its ledger counts, have reached the server.

    Return how many have. One that was cancelled on its way never does, so not for ever.
    """
    until = time.monotonic() + 10
    with closing(sqlite3.connect(ledger)) as database:
        (sent,) = database.execute("select count(*) from calls").fetchone()
    while len(server.requests) < sent and time.monotonic() < until:
        time.sleep(0.01)
    return len(server.requests)
