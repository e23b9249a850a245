"""Whole runs of the bundled domains, offline: what they make and what they say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from retgen import export, plan, preview, run, validate
from retgen.data import open_dataset
from tests.conftest import read_jsonl
from tests.shared import once

_SLOW = pytest.mark.slow
DOMAINS = (
    "people",
    *(pytest.param(n, marks=_SLOW) for n in ("books", "legal", "medical", "movies")),
)

WORLDS = {name: name for name in ("books", "medical", "people", "legal")} | {"movies": "films"}
ENTITIES = WORLDS | {"medical": "patients", "legal": "cases"}


@pytest.fixture(scope="module", params=DOMAINS)
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = f"multiconir_{request.param}"
    name = f"multiconir/{request.param}"
    return once(tmp_path_factory, name, lambda folder: run(recipe, out=folder, limit=24))


def manifest_of(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((path / "manifest.json").read_text())
    return result


def test_as_many_ladders_as_are_asked_for(finished: Path) -> None:
    ladders = read_jsonl(finished / "sources" / "ladders.jsonl")
    assert [row["id"] for row in ladders] == [f"{finished.name}-{n:05}" for n in range(1, 25)]
    assert read_jsonl(finished / "rejected.jsonl") == []
    assert manifest_of(finished)["counts"] == {
        "documents": 20 * 24,
        "queries": 20 * 24,
        "qrels": 400 * 24,
        "rejected": 0,
    }
    assert plan(f"multiconir_{finished.name}").documents == 20 * 200


def test_queries_say_what_they_ask_and_how(finished: Path) -> None:
    for row in read_jsonl(finished / "dataset" / "queries.jsonl"):
        note = row["metadata"]
        assert len(note["wordings"]) == len(note["strategies"]) == note["conditions"]
        expression = json.loads(note["expression"])
        parts = expression[1:] if note["conditions"] > 1 else [expression]
        assert len(parts) == note["conditions"]
        entailed = [wording == "entailed" for wording in note["wordings"]]
        assert [part[0] in ("within", "between") for part in parts] == entailed
        if note["conditions"] == 10:
            assert Counter(note["strategies"]) == {"modify": 5, "reassign": 5}
            assert sorted(Counter(note["wordings"]).values()) == [3, 3, 4]


@pytest.mark.slow
def test_labels_are_structural_and_proven(finished: Path) -> None:
    manifest = manifest_of(finished)
    qrels = manifest["counts"]["qrels"]
    assert manifest["evidence"] == {"structural": qrels, "judged": 0, "human": 0}
    assert (manifest["judges"], manifest["models"], manifest["prompts"]) == ({}, {}, {})
    assert list(manifest["word_lists"]) == [f"domain {WORLDS[finished.name]}"]
    assert sorted(path.name for path in (finished / "sources").iterdir()) == [
        "documents.jsonl",
        "ladders.jsonl",
    ]
    validation = validate(finished)
    assert (validation.findings, validation.proven) == ([], qrels)
    card = (finished / "dataset" / "README.md").read_text()
    assert "Ladders are drawn: facts first, then sentences that state them." in card


def test_flat_tables(finished: Path) -> None:
    """What stands in their rows is proven."""
    queries = [f"Query{n}" for n in range(1, 11)]
    rungs = ["Positive", *(f"HN{n}" for n in range(1, 11))]
    tables = {path.stem: read_jsonl(path) for path in (finished / "tables").iterdir()}
    assert sorted(tables) == ["task1", "task2_3", "task4_1024", "task4_512"]
    for name, rows in tables.items():
        assert list(rows[0]) == ["id", "style", *queries, *rungs[: 2 if name == "task1" else None]]
        assert [row["style"] for row in rows] == ["instruction", "descriptive"] * 24


def test_the_card_has_the_columns_of_table_1(finished: Path) -> None:
    facts = manifest_of(finished)["facts"]
    of_words = [float(facts.pop(name)) for name in ("Words a query", "Words a positive")]
    assert 30 < of_words[0] < 60 < of_words[1] < 140
    assert facts.pop("Example")
    assert facts == {
        "Domain": finished.name,
        "Number": "24",
        "Queries of a style": "240",
        "Hard negatives": "456",
        "Source": f"drawn, world of {ENTITIES[finished.name]}",
        "Licence": "Apache-2.0 (retgen)",
    }
    card = (finished / "dataset" / "README.md").read_text()
    assert "| Domain | Number | Queries of a style | Hard negatives | Words a query |" in card
    assert f"| {finished.name} | 24 | 240 | 456 | " in card


def test_the_report_shows_a_ladder(finished: Path) -> None:
    first = read_jsonl(finished / "dataset" / "queries.jsonl")[0]["metadata"]["ladder"]
    ladders = {row["id"]: row for row in read_jsonl(finished / "sources" / "ladders.jsonl")}
    ladder = ladders[first]
    example = manifest_of(finished)["example"]
    assert example["title"] == f"The ladder of {ladder['title']}"
    assert [row[1:] for row in example["rows"]] == [
        list(both) for both in zip(ladder["sentences"], ladder["rewrites"], strict=True)
    ]
    page = (finished / "report.html").read_text()
    assert "PROVEN" in page
    assert page.count("<del>") >= 8
    # nothing is known of the rest of the corpus
    assert "Certificate: how many dimensions" not in page
    shown = preview(f"multiconir_{finished.name}", 1)
    assert len(shown["example"]["rows"]) == 10


def test_binary_labels_are_exported_and_the_grades_beside_them(
    finished: Path, tmp_path: Path
) -> None:
    dataset = open_dataset(finished)
    qrels, grades = dataset.qrels["test"].read()[0], dataset.graded["test"].read()[0]
    assert [qrel[:2] for qrel in qrels] == [grade[:2] for grade in grades]
    for layout in ("mteb", "beir"):
        again = open_dataset(export(finished, layout, tmp_path / layout))
        assert (list(again.qrels), list(again.graded)) == (["test"], ["test"])
        assert (again.qrels["test"].read()[0], again.graded["test"].read()[0]) == (qrels, grades)
    assert sorted(path.name for path in (tmp_path / "beir" / "qrels").iterdir()) == ["test.tsv"]
    task = (tmp_path / "mteb" / "task.py").read_text()
    assert "main_score='ndcg_at_10'" in task
