"""Offline runs of every family, killed again and again: the same bytes in the end."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 20 if os.environ.get("RETGEN_LONG_PROOFS") else 3
# kills itself at a step that changes the disk: before it by construction, whatever this machine does
PROGRAM = """
import os, signal, sys
from retgen.cli import main

left = int(sys.argv.pop(1))

def step(event, args):
    global left
    writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
    if writes or event in ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(step)
main()
"""
RECIPES = {
    "capretrieval": [],
    "capretrieval_album": [],
    "limit_small": ["output.shards=4"],
    "multiconir_movies": ["params.ladders=20"],
    "niah_train": [],
    "world_small": ["output.shards=3"],
    "world_twins": [],
}


def test_a_recipe_of_every_family_is_killed() -> None:
    from retgen.generators import families
    from retgen.recipe import load_recipe

    assert {load_recipe(name).family.name for name in RECIPES} == set(families())


def data(run: Path) -> dict[str, str]:
    folders = ("dataset", "training", "tables", "sources", "inputs")
    files = [path for name in folders for path in (run / name).rglob("*") if path.is_file()]
    return {
        str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in [*files, run / "rejected.jsonl"]
    }


@pytest.mark.slow  # a process a kill
@pytest.mark.parametrize("name", RECIPES)
def test_a_run_that_is_killed_again_and_again(name: str, tmp_path: Path) -> None:
    changes = [word for change in RECIPES[name] for word in ("--set", change)]
    words = ["run", name, *changes, "--workers", "1", "--quiet", "--out"]
    command = [sys.executable, "-m", "retgen.cli", *words]
    subprocess.run([*command, "whole"], cwd=tmp_path, check=True)
    steps, killed = random.Random(name), 0
    for _ in range(100 * KILLS):
        if killed == KILLS:
            break
        program = [sys.executable, "-c", PROGRAM, str(steps.randint(1, 60)), *words, "out"]
        done = subprocess.run(program, cwd=tmp_path, stderr=subprocess.DEVNULL)
        killed += done.returncode == -signal.SIGKILL
        if done.returncode == 0:  # it has ended before that step: all over again
            assert data(tmp_path / "out") == data(tmp_path / "whole")
            program[3] = str(steps.randint(1, 20))
            killed += subprocess.run([*program, "--fresh"], cwd=tmp_path).returncode != 0
    assert killed == KILLS
    subprocess.run([*command, "out"], cwd=tmp_path, check=True)
    assert data(tmp_path / "out") == data(tmp_path / "whole")
    names = {path.name for path in (tmp_path / "out").rglob("*")}
    assert not [one for one in names if one.endswith(".partial")]
