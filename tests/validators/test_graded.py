"""Grades beside binary qrels, in a data set that no family proves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.validation.validate import validate
from tests.conftest import Write

QRELS = [("q", "a", 1), ("q", "b", 0), ("r", "a", 1)]


def graded(path: Path, *rows: tuple[str, str, object], name: str = "qrels_graded") -> Path:
    lines = [json.dumps({"query-id": q, "corpus-id": d, "score": s}) for q, d, s in rows]
    (path / f"{name}.jsonl").write_text("".join(line + "\n" for line in lines))
    return path


@pytest.fixture
def judged(dataset: Write) -> Path:
    return dataset({"a": "one text", "b": "two texts"}, {"q": "one", "r": "text"}, QRELS)


def errors(path: Path) -> list[tuple[str, list[str], str]]:
    return [
        (one.rule, one.ids, one.message)
        for one in validate(path).findings
        if one.severity == "error"
    ]


def test_the_same_pairs_are_fine(judged: Path) -> None:
    graded(judged, ("r", "a", 1), ("q", "a", 3), ("q", "b", 2))
    assert errors(judged) == []


def test_whatever_does_not_fit_is_named(judged: Path) -> None:
    graded(judged, ("q", "a", 0), ("q", "b", 1.5), ("q", "b", 1), ("x", "a", 1))
    rule = "graded-qrels"
    assert errors(judged) == [
        (rule, ["q", "b"], "the pair (q, b) has the grade 1.5; grades are whole numbers from 0"),
        (rule, ["q", "b"], "the pair (q, b) is graded more than once"),
        (rule, ["q", "a"], "the pair (q, a) is relevant, and its grade is 0"),
        (rule, ["r", "a"], "the pair (r, a) is judged but not graded"),
        (rule, ["x", "a"], "the pair (x, a) is graded but not judged"),
    ]


def test_rows_and_splits_that_mean_nothing(judged: Path) -> None:
    graded(judged, ("r", "a", 1), ("q", "a", 3), ("q", "b", None), ("q", "b", 0))
    graded(judged, ("q", "a", 3), name="qrels_graded.dev")
    assert errors(judged) == [
        ("schema", ["qrels_graded.jsonl:3"], "qrels_graded.jsonl, line 3: has no score"),
        ("graded-qrels", ["dev"], "qrels_graded has a split dev, of which there are no qrels"),
    ]
