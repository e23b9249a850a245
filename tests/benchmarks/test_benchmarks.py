"""Every script of benchmarks/ runs to its end at its smallest size, and prints its result."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
N = r"-?[\d,]+"
F = r"-?\d+\.\d+"

# arguments, and a line of the result as an expression
CASES: dict[str, tuple[str, str]] = {
    "agents": (
        "--calls 150 --rounds 1 --in-flight 4 16 --warm-up 40",
        rf"   16 in flight: {F} of openai's CPU; at most 0.60 ms (NOT )?reached",
    ),
    "families": (
        "--sample 1 --rounds 1",
        rf"  ratio to re-encoding until the length fits: {N} \({N} to {N}\)",
    ),
    "large": (
        "--families limit --scale 0.0005",
        rf"\| limit \| 5,000 documents \| {F} s \| {N} MB \| {F} MB \| .*write.* \|",
    ),
    "limit": ("--documents 200 --rounds 1", rf"    ratio {F}  \({F} to {F}\)"),
    "models": (
        "--device cpu --size tiny --rounds 1",
        rf"  free embeddings, d=4, n=9, 1 starts: {F} s, plain script / ours {F}  .*",
    ),
    "own_documents": (
        "--passages 300 --queries 20",
        "    76 of 76 negatives are among their 76",
    ),
    "validate": (
        "--documents 300 --proof 200 --near 300 --captions 200 60 10",
        r"rouge-score, 600 .*; 5 of 10 dropped, the same with the same pairs and F1",
    ),
}


def test_every_script_has_a_case() -> None:
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert CASES.keys() == scripts - {"common"}


@pytest.mark.parametrize("name", CASES)
def test_it_runs_and_prints_its_result(name: str, tmp_path: Path) -> None:
    arguments, expected = CASES[name]
    script = ROOT / "benchmarks" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(script), *arguments.split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=600,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(re.fullmatch(expected, line) for line in lines), done.stdout


def test_the_plain_script_writes_what_it_is_compared_for(tmp_path: Path) -> None:
    script = ROOT / "benchmarks" / "limit.py"
    subprocess.run([sys.executable, str(script), "plain", str(tmp_path), "60"], check=True)
    counts = {path.name: len(path.read_bytes().splitlines()) for path in tmp_path.iterdir()}
    assert counts == {"corpus.jsonl": 60, "queries.jsonl": 1000, "qrels.jsonl": 2000}
