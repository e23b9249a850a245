"""`gen eval --fail-if`: a build fails where a system is surely worse than it was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import Gen, Write, read_jsonl


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
    ("condition", "paths", "metric", "message"),
    [
        ("recall@2", 1, "recall@2", 'write "MEASURE < FOLDER", as "nDCG@10 < kept/eval"'),
        ("recall@2 < none", 1, "recall@2", "none is no folder of gen eval with a per_query/ in it"),
        ("nDCG@10 < kept", 1, "nDCG@10", "kept holds no eval.json of one data set whose systems"),
        ("recall@2 < kept", 1, "nDCG@10", "recall@2 was not measured: add --metric recall@2"),
        ("recall@2 < kept", 2, "recall@2", "the scores of one data set: give one PATH"),
    ],
)
@pytest.mark.usefixtures("kept")
def test_what_is_refused_before_anything_is_scored(
    limit_run: Path,
    gen: Gen,
    tmp_path: Path,
    condition: str,
    paths: int,
    metric: str,
    message: str,
) -> None:
    scored = [limit_run] * paths
    done = gen("eval", *scored, "--metric", metric, "--out", "now", "--fail-if", condition)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not (tmp_path / "now").exists()


@pytest.mark.usefixtures("kept")
def test_another_system_other_queries_and_other_labels(
    limit_run: Path, dataset: Write, kept: Path, tmp_path: Path, gen: Gen
) -> None:
    # what an earlier call left is not of the kept result
    shutil.copy(kept / "per_query" / "bm25.jsonl", kept / "per_query" / "tfidf.jsonl")
    shared = "--metric", "recall@2", "--out", "now", "--fail-if", "recall@2 < kept"
    done = gen("eval", limit_run, "--model", "tfidf", *shared)
    assert done.returncode == 2
    assert "kept has no recall@2 of tfidf. It has: bm25\n" in done.stderr
    other = dataset({"a": "an owl", "b": "a fox"}, {"q": "owl"}, [("q", "a", 1)])
    done = gen("eval", other, *shared)
    assert done.returncode == 2
    assert "is of other queries than" in done.stderr
    changed = shutil.copytree(limit_run / "dataset", tmp_path / "changed")
    rows = read_jsonl(changed / "qrels.jsonl")
    rows[0]["corpus-id"] = rows[-1]["corpus-id"]
    (changed / "qrels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = gen("eval", changed, *shared)
    assert done.returncode == 2
    assert f"--fail-if: kept has other labels than {changed}" in done.stderr


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
