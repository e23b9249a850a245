"""A run in a bucket: started in a process, killed at a request, and read from the bucket."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.publishing.s3_server import BUCKET, State

PROGRAM = """
import sys
import retgen.cli, retgen.generate, retgen.validation.scan
retgen.generate.MOST = sys.modules["retgen.validation.scan"].MOST = 100_000
sys.exit(retgen.cli.main())
"""
HERE = "runs/small/"
TO = f"s3://{BUCKET}/runs/small"
LIMIT = """name: small
family: limit
params: {pattern: dense, docs: 6000, queries: 100, k: 2, attributes_per_doc: 20}
output: {shards: 4}
"""
CORPUS = [f"dataset/corpus-{number:05}-of-00004.jsonl" for number in range(4)]
STANDING = [".files.json", ".lock", "manifest.json", "report.html", "report.json", "run.log"]


def limit(folder: Path) -> Path:
    (folder / "recipe.yaml").write_text(LIMIT)
    return folder / "recipe.yaml"


def tables(run: Path) -> dict[str, bytes]:
    folders = ("dataset", "training", "tables", "sources", "inputs")
    files = [path for name in folders for path in (run / name).rglob("*") if path.is_file()]
    return {
        str(path.relative_to(run)): path.read_bytes() for path in [*files, run / "rejected.jsonl"]
    }


def stored(s3: State) -> dict[str, bytes]:
    """The tables of the run in the bucket; beside them stands what stands beside a run's."""
    found = {key.removeprefix(HERE): data for key, data in s3.objects(HERE).items()}
    for name, info in json.loads(found["manifest.json"])["files"].items():
        assert hashlib.sha256(found[name]).hexdigest() == info["sha256"], name
    beside = {*STANDING, "recipe.yaml"}
    assert beside <= set(found)
    return {name: data for name, data in found.items() if name not in beside}


def start(recipe: Path, work: Path, *words: str) -> subprocess.Popen[str]:
    """`gen run` in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, "run", str(recipe), "--out", TO, "-q"]
    return subprocess.Popen(
        [*command, "--work", str(work), *words], cwd=work.parent, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def kill_at(s3: State, number: int, request: str, process: Callable[[], Any]) -> None:
    """Kill a process when the server gets a request for the so many-th time."""
    seen = 0

    def before(got: str) -> None:
        nonlocal seen
        seen += got == request
        if seen == number and got == request:
            os.kill(process().pid, signal.SIGKILL)
            process().wait()

    s3.before = before
