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
        "--calls 150 --rounds 1 --in-flight 4 16 --warm-up 40 --ledger 2000",
        rf"   16 in flight: {F} of openai's CPU; at most 0.60 ms (NOT )?reached",
    ),
    "haystacks": ("--sample 1 --rounds 1", rf"  ratio, with the check: {N} \({N} to {N}\)"),
    "bm25": ("--documents 500", rf"  rank-bm25 / bm25, a query: {F}"),
    "free_embedding": (
        "--rounds 1 --cases 4,5,1",
        rf" +{F} s  vectorised check +ratio {F}  \({F} to {F}\)",
    ),
    "gpu": (
        "--device cpu --size tiny",
        rf"  free embeddings, float32: .*; {F} TFLOP/s, {N}% of the matrix rate",
    ),
    "mining": ("--documents 300 --queries 20", "    76 of 76 negatives are among their 76"),
    "multiconir": (
        "--sizes 3 8 --domain books",
        rf"     8 ladders: written in {F} s .*; {N} ladders/s, peak memory {N} MB",
    ),
    "large": (
        "--families limit --scale 0.0005",
        rf"\| limit \| 5,000 documents \| {F} s \| {N} MB \| {F} MB \|",
    ),
    "limit": ("--documents 200 --rounds 1", rf"    ratio {F}  \({F} to {F}\)"),
    "decontamination": (
        "--texts 200 --test 60 --sample 10",
        r"rouge-score, 600 .*; 5 of 10 dropped, the same with the same pairs and F1",
    ),
    "engines": (
        "--documents 3000 --rounds 1",
        rf"  ray / local: {F}  \({F} to {F}\)",
    ),
    "own_documents": (
        "--documents 30 60",
        rf"60 documents, {N} queries: {F} s, {N} documents/s; .*",
    ),
    "world": (
        "--documents 300 --rounds 1",
        rf"  read back and proven / Faker, a sentence a fact: {F} \({F} to {F}\)",
    ),
    "diagnose": (
        "out --quick --seeds 2 --ability combinations --system bm25 --system tfidf",
        rf"\| Combinations \| {F} \| .* \| {F} \| .* \| 100% \|",
    ),
    "intervals": ("--simulations 40", rf"lowest coverage: {F} \(0\.93 asked\)"),
    "plain": ("plain 60", ""),
    "review": (
        "--population 300 --reviews 2 --shares 0.1 --rates 0 0.05",
        rf"   5\.0% wrong, AUC 0\.9: +{N} +{N} \( *[+-]\d+%\)",
    ),
    "training": (
        "--rounds 1 --steps 2 --static-steps 2 --texts 20",
        rf"  static:minilm: {N} texts/s encoded; retgen / SentenceTransformer.encode: {F}  .*",
    ),
    "validate": (
        "--documents 300 --baselines 200 20 --proof 200 --near 300",
        r"near-duplicates, 300 texts of 8 to 20 words: .* texts/s, 2 found, exact",
    ),
}
NEED_DEBIAN = {"worth", "worth_corpora"}  # and its lists, pages and documentation


def test_every_script_has_a_case() -> None:
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert CASES.keys() == scripts - NEED_DEBIAN - {"common"}


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
    assert not expected or any(re.fullmatch(expected, line) for line in lines), done.stdout


def test_the_plain_script_writes_what_it_is_compared_for(tmp_path: Path) -> None:
    script = ROOT / "benchmarks" / "plain.py"
    subprocess.run([sys.executable, str(script), str(tmp_path), "60"], check=True)
    counts = {path.name: len(path.read_bytes().splitlines()) for path in tmp_path.iterdir()}
    assert counts == {"corpus.jsonl": 60, "queries.jsonl": 1000, "qrels.jsonl": 2000}
