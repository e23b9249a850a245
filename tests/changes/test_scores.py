"""Scores of two data sets, from what `gen eval` wrote."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from retgen import diff, evaluate
from retgen.errors import UsageError
from tests.conftest import read_jsonl, restate


@pytest.fixture
def scored(limit_run: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A run, and a copy with another text in its first document; both scored."""
    a, b = tmp_path / "a", tmp_path / "b"
    shutil.copytree(limit_run, a)
    shutil.copytree(limit_run, b)
    path = b / "dataset" / "corpus.jsonl"
    rows = read_jsonl(path)
    rows[0]["text"] = "Nothing."
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    restate(b, "dataset/corpus.jsonl")
    for one in (a, b):
        evaluate(one, models=["bm25"], metrics=["recall@2", "R@10"])
    return a, b


def test_systems_are_compared(scored: tuple[Path, Path]) -> None:
    a, b = scored
    result = diff(a, b).to_json()
    tables = [read_jsonl(one / "eval" / "per_query" / "bm25.jsonl") for one in scored]
    assert [one["metric"] for one in result["scores"]] == ["recall@2", "R@10"]
    for one in result["scores"]:
        means = [sum(row[one["metric"]] for row in table) / 100 for table in tables]
        assert (one["a"], one["b"]) == pytest.approx(means)
        assert one["difference"] == pytest.approx(means[1] - means[0])
    assert result["scores"][0]["a"] == 1.0 > result["scores"][0]["b"]
    assert result["notes"] == []


def test_one_measure(scored: tuple[Path, Path]) -> None:
    result = diff(*scored, metrics=["R@10"])
    assert [(one["label"], one["metric"]) for one in result.scores] == [("bm25", "R@10")]
    with pytest.raises(UsageError) as caught:
        diff(*scored, metrics=["nDCG@10"])
    assert str(caught.value) == (
        "--metric nDCG@10: no system was scored with it on both. Possible: R@10, recall@2"
    )


def test_scores_that_do_not_fit(scored: tuple[Path, Path]) -> None:
    a, b = scored
    content = json.loads((b / "eval" / "eval.json").read_text())
    (b / "eval" / "eval.json").write_text(json.dumps({**content, "split": "train"}))
    assert diff(a, b).notes == [
        "scores are not compared: those of A are of split test, those of B of train"
    ]
    shutil.rmtree(b / "eval")
    assert diff(a, b).notes == [f"scores are not compared: {b} was not scored (`gen eval`)"]
    with pytest.raises(UsageError, match=r"--metric: .*/b was not scored; `gen eval .*/b` does"):
        diff(a, b, metrics=["R@10"])


def test_scores_of_a_namesake_are_not_taken(
    scored: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of data sets that are no runs lie in outputs/eval_NAME, whatever folder NAME is in."""
    monkeypatch.chdir(tmp_path)
    a = scored[0]
    for folder in ("one", "two"):
        shutil.copytree(a / "dataset", tmp_path / folder / "set")
    evaluate("one/set", models=["bm25"], metrics=["R@10"])
    assert [one["metric"] for one in diff(a, "one/set").scores] == ["R@10"]
    result = diff(a, "two/set")
    assert result.scores == []
    assert result.notes[-1] == "scores are not compared: two/set was not scored (`gen eval`)"
