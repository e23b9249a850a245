"""Needles and worlds that a model writes, killed at any instant: the same bytes, nothing paid twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agents.server import serving
from tests.generators.niah import test_agents as needles
from tests.generators.world import mind as worlds
from tests.with_agents.conftest import contents, environment
from tests.with_agents.test_kill import still_open

WORLD = """name: told
family: world
seed: 3
params: {domain: films, documents: 40, operators: [eq, and], answer_sizes: [1, 3],
         wordings: [literal], queries_per_cell: 1}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "mind", "kills"),
    [(needles.RECIPE, needles.mind, 5), (WORLD, worlds.mind, 8)],
    ids=["niah", "world"],
)
def test_killed_and_resumed(tmp_path: Path, recipe: str, mind: object, kills: int) -> None:
    (tmp_path / "asked.yaml").write_text(recipe)
    command = [sys.executable, "-m", "retgen.cli", "run", "asked.yaml", "-q", "--model",
               "openai:gpt-5-mini", "--max-usd", "5", "--out"]  # fmt: skip
    with serving(mind, delay=0.02) as server:  # type: ignore[arg-type]
        env = environment(server)
        subprocess.run([*command, "whole/run"], cwd=tmp_path, env=env, check=True, timeout=600)
        unique = len(server.requests)
        server.requests.clear()
        chance = random.Random(unique)
        for moment in sorted(chance.sample(range(1, unique), kills)):
            with subprocess.Popen([*command, "killed/run"], cwd=tmp_path, env=env) as process:
                while len(server.requests) < moment and process.poll() is None:
                    time.sleep(0.002)
                time.sleep(chance.uniform(0, 0.03))
                process.send_signal(signal.SIGKILL)
            time.sleep(0.1)  # what was on its way still reaches the server
        in_flight = still_open(tmp_path / "killed" / "ledger.sqlite")
        subprocess.run([*command, "killed/run"], cwd=tmp_path, env=env, check=True, timeout=600)
    run, whole = tmp_path / "killed" / "run", tmp_path / "whole" / "run"
    for name in ("dataset", "sources"):
        assert contents(run / name) == contents(whole / name)
    assert (run / "rejected.jsonl").read_bytes() == (whole / "rejected.jsonl").read_bytes()
    assert unique <= len(server.requests) <= unique + in_flight
