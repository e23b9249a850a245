"""The training table of a train-half run: its qrels as texts, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import retgen
from retgen.evaluation.training import read_pairs
from tests.conftest import read_jsonl


@pytest.mark.parametrize("negatives", [0, 3])
def test_pairs_are_the_qrels_with_texts(tmp_path: Path, negatives: int) -> None:
    overrides = {"params.docs": 300, "params.queries": 20}
    if negatives:
        overrides["params.form"] = {"type": "conditions", "hard_negatives": negatives}
    run = retgen.run("limit_train", out=tmp_path / "run", overrides=overrides)
    texts = {row["_id"]: row["text"] for row in read_jsonl(run.path / "dataset/corpus.jsonl")}
    queries = {row["_id"]: row for row in read_jsonl(run.path / "dataset/queries.jsonl")}
    table = pq.read_table(run.path / "training/pairs.parquet")
    columns = [f"negative_{j}" for j in range(1, 2 * negatives + 1)]
    assert table.column_names == ["anchor", "positive", *columns, "query-id"]
    expected = []
    for qrel in read_jsonl(run.path / "dataset/qrels.jsonl"):
        query = queries[qrel["query-id"]]
        others = [texts[doc] for doc in query["metadata"].get("hard_negatives", [])]
        assert len(others) == 2 * negatives
        row = {"anchor": query["text"], "positive": texts[qrel["corpus-id"]]}
        row |= dict(zip(columns, others, strict=True))
        expected.append(row | {"query-id": qrel["query-id"]})
    assert table.to_pylist() == expected
    assert len(expected) == 40
    assert "training/pairs.parquet" in run.manifest["files"]
    pairs = read_pairs(run.path)
    assert pairs.origin == "40 pairs from the training pairs of run (pairs.parquet)"
    assert [len(texts) for texts in pairs.negatives] == [2 * negatives] * 40
    assert retgen.validate(run.path).ok
    # a change is found by its hash
    (run.path / "training/pairs.parquet").write_bytes(b"something else")
    assert not retgen.validate(run.path).ok


def test_test_sets_have_none(tmp_path: Path) -> None:
    run = retgen.run(
        "limit_small", out=tmp_path / "run", overrides={"params.docs": 12, "params.queries": 60}
    )
    assert not (run.path / "training").exists()
