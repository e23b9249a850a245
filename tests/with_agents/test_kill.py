"""Killed at any instant, resumed, and the same in the end: nothing lost, nothing paid twice.

The short proof runs with all tests; the long one (2,000 queries of two steps, 20 kills) by

    make proof
"""

from __future__ import annotations

import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agents.minds import mind
from tests.agents.server import serving
from tests.with_agents.conftest import contents, environment, recipe_of

LONG = bool(os.environ.get("RETGEN_LONG_PROOFS"))


@pytest.mark.parametrize(
    ("queries", "kills"),
    [
        pytest.param(150, 5, marks=pytest.mark.slow),
        pytest.param(2000, 20, marks=pytest.mark.skipif(not LONG, reason="minutes: make proof")),
    ],
)
def test_killed_and_resumed(tmp_path: Path, queries: int, kills: int) -> None:
    recipe = tmp_path / "asked.yaml"
    recipe.write_text(recipe_of(queries, queries * 8 // 5))
    command = [sys.executable, "-m", "retgen.cli", "run", str(recipe), "-q", "--out"]

    with serving(mind, delay=0.02) as server:
        env = environment(server)
        whole = tmp_path / "whole" / "run"
        subprocess.run([*command, str(whole)], env=env, check=True, timeout=900)
        unique = len(server.requests)

        server.requests.clear()
        run = tmp_path / "killed" / "run"
        chance = random.Random(queries)
        for moment in sorted(chance.sample(range(1, unique), kills)):
            process = subprocess.Popen([*command, str(run)], env=env)
            # some die while they start, the others when so many requests have come
            early = time.monotonic() + chance.uniform(0.1, 1.5) if moment % 5 == 0 else math.inf
            while len(server.requests) < moment and time.monotonic() < early:
                assert process.poll() is None
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            process.wait()
            time.sleep(0.1)  # what was on its way still reaches the server
        in_flight = still_open(run.parent / "ledger.sqlite")
        subprocess.run([*command, str(run)], env=env, check=True, timeout=900)

        assert contents(run / "dataset") == contents(whole / "dataset")
        assert (run / "rejected.jsonl").read_bytes() == (whole / "rejected.jsonl").read_bytes()
        assert contents(run / "sources") == contents(whole / "sources")
        assert len((run / "dataset" / "queries.jsonl").read_bytes().splitlines()) == queries
        # paid: what a run without kills pays, and what was out when a process was killed
        assert in_flight > 0
        assert unique < len(server.requests) <= unique + in_flight
        print(f"{queries} queries: {unique} requests; {kills} kills cost "
              f"{len(server.requests) - unique} more, {in_flight} were in flight")  # fmt: skip


def still_open(ledger: Path) -> int:
    """Requests that were sent and never answered, in all that was killed so far."""
    if not ledger.is_file():
        return 0
    with sqlite3.connect(ledger) as database:
        there = database.execute("select 1 from sqlite_master where name = 'sends'").fetchone()
        if not there:
            return 0
        return int(
            database.execute("select count(*) from sends where state = 'sent'").fetchone()[0]
        )
