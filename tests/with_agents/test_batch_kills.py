"""Runs with --batch, killed at every step of a batch: nothing is paid for twice."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.agents import batch_server
from tests.agents.minds import mind
from tests.with_agents.conftest import contents, recipe_of

MODELS = {"openai": "openai:gpt-5-mini", "google_genai": "google_genai:gemini-2.5-flash"}
# as the server sees them: before and after a file is stored, before and after a batch is made, when
# batches are listed and looked at, before and after answers are fetched; `answered` and `recorded`
# are moments after the last. Some are met only by what a kill before them has left
STEPS = [
    "upload",
    "uploaded",
    "create",
    "created",
    "list",
    "poll",
    "download",
    "downloaded",
    "answered",
    "recorded",
]
AFTER = {"answered": 0.02, "recorded": 0.2}  # seconds after the answers went out
# a twentieth of what providers take, and of what they are given
LISTED_AFTER, LISTING = {10: 0.5, 60: 3.0}, 6.0
# `gen`, with less time to find a batch in
GEN = f"""
from retgen.agents.batch_queue import BatchQueue
from retgen.cli import main
BatchQueue.listing_seconds = {LISTING}
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "seconds"), [("google_genai", 10), ("openai", 60)])
def test_twenty_kills_at_every_step(tmp_path: Path, protocol: str, seconds: int) -> None:
    """At a server that lists a batch so many seconds after it was created."""
    recipe = tmp_path / "asked.yaml"
    recipe.write_text(recipe_of(20, 40).replace("openai:gpt-5-mini", MODELS[protocol]))
    command = [sys.executable, "-c", GEN, "run", str(recipe), "-q", "--max-usd", "1", "--out"]
    others = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OPENAI_", "GOOGLE_", "GEMINI_"))
    }

    with batch_server.serving(protocol, mind) as server:
        env = others | batch_server.environment(protocol, server)
        whole = tmp_path / "whole" / "run"
        subprocess.run([*command, str(whole)], env=env, check=True, timeout=300)
        unique = server.direct
        assert server.paid_twice == 0

    with batch_server.serving(protocol, mind) as server:
        server.unlisted_seconds = LISTED_AFTER[seconds]
        env = others | batch_server.environment(protocol, server)
        run, chance = tmp_path / "killed" / "run", random.Random(protocol)
        for step in [*STEPS, *STEPS]:
            assert killed([*command, str(run), "--batch"], env, server, step, chance), step
        subprocess.run([*command, str(run), "--batch"], env=env, check=True, timeout=300)

        assert server.paid_twice == 0
        assert sum(server.worked.values()) == unique
        assert server.direct == 0
        for part in ("dataset", "sources"):
            assert contents(run / part) == contents(whole / part)
        assert (run / "rejected.jsonl").read_bytes() == (whole / "rejected.jsonl").read_bytes()
        calls = states(run)
        # each answer is charged half of what it costs one by one
        assert calls["answered"] == (unique, states(whole)["answered"][1] // 2)
        # those of a batch that may have been created at their most, those never submitted nothing
        assert calls.keys() == {"answered", "lost", "failed"}
        assert calls["lost"][1] > 0 == calls["failed"][1]
        print(f"{protocol}: {unique} requests in {len(server.sizes)} batches, 20 kills: {calls}")


def killed(
    command: list[str],
    env: dict[str, str],
    server: batch_server.BatchServer,
    step: str,
    chance: random.Random,
) -> bool:
    """Whether a process was killed when the server saw the step."""
    seen = "downloaded" if step in AFTER else step
    died = False

    def at(now: str) -> None:
        nonlocal died
        if now == seen and not died:
            time.sleep(AFTER.get(step, 0.0) * chance.uniform(0.2, 1.0))
            died = process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
            if step == "create":  # else the batch is made all the same
                server.faults.append((step, 0))

    with server.lock:
        process = subprocess.Popen(command, env=env)
        server.at = at
    process.wait(timeout=120)
    with server.lock:
        server.at = lambda step: None
    return died


def states(run: Path) -> dict[str, tuple[int, int]]:
    """Calls by state: how many, and their nano-dollars."""
    with closing(sqlite3.connect(run.parent / "ledger.sqlite")) as database:
        query = "select state, count(*), sum(cost) from calls group by state"
        return {state: (count, cost) for state, count, cost in database.execute(query)}
