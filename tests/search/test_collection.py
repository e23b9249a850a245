"""Data sets in memory for scoring: which queries are said to be left out."""

from __future__ import annotations

import json

from retgen.search.collection import load
from tests.conftest import Write, read_jsonl

CORPUS = {"a": "red apples grow", "b": "green pears", "d": "nothing at all"}
QUERIES = {"q1": "red apples", "q2": "pears", "q3": "who cares"}
QRELS = [("q1", "a", 2.0), ("q2", "b", 1.0), ("q3", "d", 0.0)]


def test_queries_of_another_split_are_not_counted(dataset: Write) -> None:
    path = dataset(CORPUS, QUERIES | {"q4": "of dev", "q5": "of train"}, QRELS)
    rows = [{"query-id": "q4", "corpus-id": "d", "score": 1}]
    (path / "qrels.dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = read_jsonl(path / "queries.jsonl")
    queries[4]["metadata"] = {"split": "train"}
    (path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    # q3 is judged, and has none; q4 and q5 belong elsewhere
    assert load(path, "test").notes == ["1 of 3 queries have no relevant document and are left out"]
    assert load(path, "dev").notes == []
