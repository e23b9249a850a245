"""Where training pairs come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from retgen.errors import DatasetError, UsageError
from retgen.evaluation.training import (
    Pairs,
    read_pairs,
)
from tests.conftest import read_jsonl

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def test_pairs_of_a_run_are_its_test_pairs_and_say_so(run: Path, pairs: Pairs) -> None:
    assert pairs.origin == (
        "120 pairs from the qrels of split test of tiny, so a score on that split measures memory, "
        "not retrieval"
    )
    texts = {row["_id"]: row["text"] for row in read_jsonl(run / "dataset/corpus.jsonl")}
    questions = {row["_id"]: row["text"] for row in read_jsonl(run / "dataset/queries.jsonl")}
    qrels = [row for row in read_jsonl(run / "dataset/qrels.jsonl") if row["score"] > 0]
    assert list(zip(pairs.anchors, pairs.positives, pairs.query_ids, strict=True)) == [
        (questions[row["query-id"]], texts[row["corpus-id"]], row["query-id"]) for row in qrels
    ]
    assert len(pairs) == 120
    first = read_pairs(run, limit=7)
    assert first.anchors == pairs.anchors[:7]
    assert first.origin.startswith(
        "the first 7 of 120 pairs from the qrels of split test of tiny, "
    )


def folder(path: Path, **splits: list[tuple[str, str, int]]) -> Path:
    path.mkdir()
    lines = {
        "corpus": [
            {"_id": "d1", "title": "Owls", "text": "hoot"},
            {"_id": "d2", "title": "", "text": "Cats purr"},
            {"_id": "d3", "title": "Dogs", "text": "bark"},
        ],
        "queries": [{"_id": "q1", "text": "who hoots?"}, {"_id": "q2", "text": "who purrs?"}],
    }
    for split, rows in splits.items():
        name = "qrels" if split == "test" else f"qrels.{split}"
        lines[name] = [{"query-id": q, "corpus-id": d, "score": s} for q, d, s in rows]
    for name, rows in lines.items():
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_train_split_comes_first_and_judged_zeros_are_negatives(tmp_path: Path) -> None:
    path = folder(
        tmp_path / "animals",
        test=[("q2", "d2", 1)],
        train=[("q1", "d3", 0), ("q1", "d1", 2), ("q2", "d2", 1), ("q1", "d2", 0)],
    )
    assert read_pairs(path) == Pairs(
        ["who hoots?", "who purrs?"],
        ["Owls hoot", "Cats purr"],
        [["Dogs bark", "Cats purr"], []],
        ["q1", "q2"],
        "2 pairs from the qrels of split train of animals",
        ["d1", "d2"],
    )
    assert read_pairs(path, "test").query_ids == ["q2"]


def test_training_tables_come_before_qrels(tmp_path: Path) -> None:
    path = folder(tmp_path / "animals", test=[("q2", "d2", 1)])
    (path / "training").mkdir()
    for name, columns in {
        "a_pairs": {"anchor": ["x", "y"], "positive": ["x+", "y+"]},
        "b_triplets": {
            "anchor": ["x", "x", "z"],
            "positive": ["x+", "x+", "z+"],
            "negative_1": ["x-", "x--", "z-"],
            "negative_2": ["x-", None, "z--"],
            "query-id": ["q7", "q7", "q9"],
            "positive-id": ["d7", "d7", "d9"],
            "negative-ids": [["d1", "d2"], ["d3", "d2"], []],
        },
    }.items():
        pq.write_table(pa.table(columns), path / f"training/{name}.parquet")
    pairs = read_pairs(path)
    assert (pairs.anchors, pairs.positives) == (["x", "y", "z"], ["x+", "y+", "z+"])
    assert pairs.negatives == [["x-", "x--"], [], ["z-", "z--"]]
    assert (pairs.query_ids, pairs.positive_ids) == (["x", "y", "q9"], ["", "", "d9"])
    assert (
        pairs.origin
        == "3 pairs from the training pairs of animals (a_pairs.parquet, b_triplets.parquet)"
    )
    assert read_pairs(path, "test").anchors == ["who purrs?"]
    named = read_pairs(path, data=["b_triplets"])
    assert (named.anchors, named.positive_ids) == (["x", "z"], ["d7", "d9"])
    assert named.origin == "2 pairs from the training pairs of animals (b_triplets.parquet)"
    both = read_pairs(path, data=["b_triplets.parquet", "a_pairs"])
    assert (both.anchors, both.origin) == (pairs.anchors, pairs.origin)
    with pytest.raises(UsageError) as caught:
        read_pairs(path, data=["a_pair"])
    assert str(caught.value) == (
        f"{path} has no training file 'a_pair'; did you mean a_pairs? Files in its folder "
        "training: a_pairs, b_triplets"
    )
    with pytest.raises(UsageError, match=r"training files \(a_pairs\) or of qrels \(split test\)"):
        read_pairs(path, "test", data=["a_pairs"])


@pytest.mark.parametrize(
    ("qrels", "split", "error", "text"),
    [
        (
            {"test": [("q1", "d1", 0)]},
            None,
            DatasetError,
            "{}: no qrel of split test is above 0, so there is no pair to train on",
        ),
        (
            {"test": [("q1", "d1", 1)], "dev": [("q1", "d1", 1)]},
            "tset",
            DatasetError,
            "{} has no qrels of split 'tset'; did you mean test? Splits: test, dev",
        ),
        (
            {"test": [("q1", "d9", 1), ("q1", "d8", 0)]},
            None,
            DatasetError,
            "{}: the qrels of split test name 2 documents that are not in the corpus, such as d9; `gen validate {}` lists them",
        ),
        (
            {"test": [("q9", "d1", 1)]},
            None,
            DatasetError,
            "{}: the qrels of split test name query q9, which is not among the queries; `gen validate {}` lists all such rows",
        ),
        ({}, None, DatasetError, "{} holds no training pairs and no qrels, so nothing to train on"),
    ],
)
def test_pairs_that_cannot_be(
    tmp_path: Path, qrels: Any, split: str | None, error: type[Exception], text: str
) -> None:
    path = folder(tmp_path / "animals", **qrels)
    with pytest.raises(error) as caught:
        read_pairs(path, split)
    assert str(caught.value) == text.replace("{}", str(path))
