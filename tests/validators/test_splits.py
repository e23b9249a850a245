"""All splits are read, whichever is under test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.data import open_dataset
from retgen.validation.validate import validate
from tests.conftest import Write

CORPUS = {f"d{i}": f"text{i} about something{i}" for i in range(20)}
QUERIES = {f"q{i}": f"where stands something{i} of kind{i}" for i in range(10)}
TEST = [(f"q{i}", f"d{(i * 7 + 3) % 20}", 1.0) for i in range(5)]
TRAIN = [(f"q{i}", f"d{(i * 7 + 3) % 20}", 1.0) for i in range(5, 10)]


def findings_of(
    folder: Path, train: list[tuple[str, str, float]], split: str | None = None
) -> list[tuple[str, str, list[str], str]]:
    rows = [json.dumps({"query-id": q, "corpus-id": d, "score": s}) for q, d, s in train]
    (folder / "qrels.train.jsonl").write_text("".join(f"{row}\n" for row in rows))
    return [(f.rule, f.severity, f.ids, f.message) for f in validate(folder, split=split).findings]


@pytest.fixture
def folder(dataset: Write) -> Path:
    return dataset(CORPUS, QUERIES, TEST)


def test_two_clean_splits(folder: Path) -> None:
    # queries of the other split are no queries without qrels
    assert findings_of(folder, TRAIN) == []
    assert findings_of(folder, TRAIN, split="train") == []


def test_a_split_that_equals_the_test_split(folder: Path) -> None:
    rows = findings_of(folder, TEST)
    assert rows[:2] == [
        (
            "split-overlap",
            "error",
            ["q0", "d3", "q1", "d10", "q2", "d17", "q3", "d4", "q4", "d11"],
            "5 of 5 pairs of a query and a relevant document in split test are also in split train "
            "(q0 and d3, for one); the splits are the same",
        ),
        (
            "split-overlap",
            "error",
            ["q0", "q1", "q2", "q3", "q4"],
            "5 of 5 queries of split test are also queries of split train (q0, for one)",
        ),
    ]
    assert {rule for rule, *_ in rows[2:]} == {"query-without-qrels"}


def test_the_same_question_under_another_id(dataset: Write) -> None:
    queries = {**QUERIES, "q7": "Where stands something2 of kind9?"}
    rows = findings_of(dataset(CORPUS, queries, TEST), TRAIN)
    assert [row for row in rows if row[0] == "split-overlap"] == []
    queries["q7"] = "Something2 of the kind2: where does it stand?"
    rows = findings_of(dataset(CORPUS, queries, TEST, "nearer"), TRAIN)
    assert [row for row in rows if row[0] == "split-overlap"] == [
        (
            "split-overlap",
            "warning",
            ["q2", "q7"],
            "1 of 5 queries of split test share at least 80% of their words (function words aside) "
            "with a query of split train (q2 and q7, for one)",
        )
    ]


def test_a_split_that_names_what_does_not_exist(folder: Path) -> None:
    assert findings_of(folder, [*TRAIN, ("q99", "d99", 1), ("q5", "d1", 0.5), TRAIN[0]]) == [
        (
            "duplicate-qrel",
            "error",
            ["q5", "d18"],
            "the pair (q5, d18) of split train is judged more than once",
        ),
        (
            "score-range",
            "error",
            ["q5", "d1"],
            "the score of (q5, d1) of split train is 0.5; relevance is a whole number from 0 to 1,000",
        ),
        (
            "dangling-qrel",
            "error",
            ["q99", "d99"],
            "the qrel (q99, d99) of split train names query q99 and document d99, which do not exist",
        ),
    ]


def test_scores_that_are_strings(folder: Path) -> None:
    text = (folder / "qrels.jsonl").read_text()
    (folder / "qrels.jsonl").write_text(text.replace('"score": 1.0', '"score": "1"', 2))
    assert next((f.rule, f.severity, f.ids, f.message) for f in validate(folder).findings) == (
        "schema",
        "error",
        ["qrels.jsonl:1", "qrels.jsonl:2"],
        "qrels.jsonl, line 1: score '1' is not a number (1 more of this kind: qrels.jsonl:2)",
    )


def test_digits_of_a_tsv_are_numbers(folder: Path) -> None:
    (folder / "qrels.jsonl").unlink()
    (folder / "qrels").mkdir()
    lines = ["query-id\tcorpus-id\tscore", *(f"{q}\t{d}\t1" for q, d, _ in TEST)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    assert open_dataset(folder).qrels["test"].read() == (TEST, [])
    assert findings_of(folder, TRAIN) == []
