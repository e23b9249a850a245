"""`gen eval --fail-if`: a build fails where a system is surely worse than it was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import Gen, Write


@pytest.fixture
def kept(limit_run: Path, tmp_path: Path, gen: Gen) -> Path:
    """What bm25 reaches, in a folder of `gen eval`."""
    done = gen("eval", limit_run, "--model", "bm25", "--metric", "recall@2", "--out", "kept")
    assert done.returncode == 0, done.stderr
    return tmp_path / "kept"


def test_the_same_score_passes_and_a_lower_one_fails(limit_run: Path, kept: Path, gen: Gen) -> None:
    again = "eval", limit_run, "--metric", "recall@2", "--out", "now", "--fail-if"
    assert gen(*again, "recall@2 < kept").returncode == 0
    # a kept result that was better for all queries
    path = kept / "per_query" / "bm25.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    better = "".join(json.dumps({**row, "recall@2": row["recall@2"] + 0.9}) + "\n" for row in rows)
    path.write_text(better)
    done = gen(*again, "recall@2 < kept")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "gen: bm25: recall@2 is surely lower than in kept: -0.9000 (95% interval -"
    )
    # the folder that is written is read first
    shutil.copytree(kept, kept.with_name("now"), dirs_exist_ok=True)
    assert gen(*again, "recall@2 < now").returncode == 1
    assert gen(*again, "recall@2 < now").returncode == 0


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("recall@2", 'write "MEASURE < FOLDER", as "nDCG@10 < kept/eval"'),
        ("recall@2 < none", "none is no folder of gen eval with a per_query/ in it"),
        ("nDCG@10 < kept", "kept/per_query/bm25.jsonl has no nDCG@10 of every query"),
    ],
)
@pytest.mark.usefixtures("kept")
def test_what_cannot_be_compared(limit_run: Path, gen: Gen, condition: str, message: str) -> None:
    done = gen("eval", limit_run, "--metric", "recall@2", "--out", "now", "--fail-if", condition)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.usefixtures("kept")
def test_another_system_and_other_queries(limit_run: Path, dataset: Write, gen: Gen) -> None:
    other = dataset({"a": "an owl", "b": "a fox"}, {"q": "owl"}, [("q", "a", 1)])
    shared = "--metric", "recall@2", "--out", "now", "--fail-if", "recall@2 < kept"
    done = gen("eval", limit_run, "--model", "tfidf", *shared)
    assert done.returncode == 2
    assert "kept has no recall@2 of tfidf. It has: bm25\n" in done.stderr
    done = gen("eval", other, *shared)
    assert done.returncode == 2
    assert "is of other queries than" in done.stderr


def test_too_few_queries_for_an_interval(dataset: Write, gen: Gen) -> None:
    few = dataset({"a": "an owl", "b": "a fox"}, {"q": "owl"}, [("q", "a", 1)])
    scored = "eval", few, "--metric", "recall@1", "--model", "bm25"
    assert gen(*scored, "--out", "few").returncode == 0
    done = gen(*scored, "--out", "now", "--fail-if", "recall@1 < few")
    assert done.returncode == 2
    assert done.stderr == (
        "gen: --fail-if cannot tell whether a score is lower: no intervals: too few independent "
        "units: 1 groups of queries that share relevant documents, 12 needed\n"
    )
