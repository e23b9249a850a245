"""Rankings without documents, and qrels and rankings of what is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retgen.evaluation.scoring.evaluate import evaluate
from tests.evaluation.scoring.fruit import CORPUS, QRELS


def test_queries_without_any_document(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A run that lacks a query, and a query that shares no word: 0, and nothing of it is judged."""
    path = dataset(CORPUS, {"q1": "red apples", "q2": "xylophone"}, QRELS[:3])
    run = tmp_path / "mine.trec"
    run.write_text("q1 Q0 a 1 2.0 mine\nq1 Q0 d 2 1.0 mine\n")
    result = evaluate(
        path, models=["bm25"], runs=[run], metrics=["recall@2"], out=tmp_path / "out"
    ).to_json()
    assert [row["metrics"]["recall@2"] for row in result["results"]] == [0.5, 0.25]
    assert [row["judged"]["Judged@2"] for row in result["results"]] == [0.5, 0.25]
    assert result["notes"] == [
        "bm25: ranks no document for 1 of 2 queries, which count as 0",
        "mine: ranks no document for 1 of 2 queries, which count as 0",
    ]
    assert "bm25: ranks no document for 1 of 2" in (tmp_path / "out" / "eval.html").read_text()


LOST = "qrels name documents that are not in the corpus and cannot be found"
IDLE = "queries have no other relevant document and count as 0"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("qrels", "notes", "recall"),
    [
        ([("q1", "a", 1), ("q2", "lost", 1)], [f"1 of 2 {LOST}; 1 of 2 {IDLE}"], 0.5),
        ([("q1", "lost", 1), ("q2", "gone", 1)], [f"2 of 2 {LOST}; 2 of 2 {IDLE}"], 0.0),
        ([("q1", "a", 1), ("q1", "lost", 1), ("q2", "b", 1)], [f"1 of 3 {LOST}"], 0.75),
        ([("q1", "a", 1), ("q2", "b", 1), ("q2", "lost", 0)], [f"1 of 3 {LOST}"], 1.0),
        (
            [("q1", "a", 1), ("q2", "b", 1), ("other", "a", 1), ("other", "b", 0)],
            ["2 of 4 qrels name queries that are not there, and are left out"],
            1.0,
        ),
    ],
)
@pytest.mark.parametrize("complete", [False, True])
def test_qrels_of_documents_or_queries_that_are_not_there(  # type: ignore[no-untyped-def]
    dataset, gen: Any, tmp_path: Path, qrels: Any, notes: list[str], recall: float, complete: bool
) -> None:
    """They are scored, as trec_eval scores them, and counted in a note."""
    path = dataset(CORPUS, {"q1": "red apples", "q2": "pears"}, qrels)
    names = ["--metric", "recall@1", "--metric", "nDCG@2", "--metric", "Judged@2"]
    done = gen("eval", path, *names, *["--complete"] * complete, "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [note for note in result["notes"] if "--complete" not in note] == notes
    assert result["results"][0]["metrics"]["recall@1"] == recall
    assert (tmp_path / "out" / "runs" / "bm25.trec").is_file()
