"""What is altered in the tables of a run is named, although all hashes are made to fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen import run, validate
from tests.shared import sample
from tests.validation.changes import (
    CORPUS,
    PAIRS,
    QRELS,
    Change,
    Rows,
    both,
    file,
    findings,
    forged,
    gone,
    jsonl,
    moved,
    parquet,
    rotated,
    stating,
    swapped,
    text,
)


def negatives_swapped(rows: Rows) -> None:
    for row in rows:
        row["negative_1"], row["negative_2"] = row["negative_2"], row["negative_1"]


def alike(rows: Rows) -> None:
    """All distractors list what the first of them does."""
    first = next(row for row in rows if row["metadata"]["column"] < 0)
    listed = first["text"].partition(" likes ")[2]
    for row in rows:
        if row["metadata"]["column"] < 0:
            row["text"] = row["text"].partition(" likes ")[0] + " likes " + listed
            row["metadata"]["attributes"] = first["metadata"]["attributes"]


TRIPLETS, LISTS = "training/triplets.parquet", "training/ladders.parquet"
GRADED = "dataset/qrels_graded.jsonl"
PROOF, EXPORTED = "limit-proof/training", "ladder-proof/exported"

TABLES: list[tuple[str, Change, str, str]] = [
    # training pairs of a LIMIT set
    (
        "train",
        parquet(PAIRS, rotated("positive")),
        PROOF,
        f"{PAIRS}, row 2: its positive is no document that is relevant to query ",
    ),
    (
        "train",
        parquet(PAIRS, negatives_swapped),
        PROOF,
        f"{PAIRS}, row 1: its negative_1 is not the text of d",
    ),
    (
        "train",
        parquet(PAIRS, swapped(0, 2, "query-id")),
        PROOF,
        f"{PAIRS}, row 1: its anchor is not the text of query q",
    ),
    (
        "train",
        parquet(PAIRS, lambda rows: rows[4].update({"query-id": "q0"})),
        PROOF,
        f"{PAIRS}, row 5: there is no query q0",
    ),
    (
        "train",
        parquet(PAIRS, lambda rows: rows.append(rows[7])),
        "regenerated",
        f"{PAIRS} is not what the recipe makes: row 121 must not be there",
    ),
    (
        "train",
        parquet(PAIRS, moved(3, 50)),
        "regenerated",
        f"{PAIRS} is not what the recipe makes: row 4 ",
    ),
    (
        "train",
        parquet(PAIRS, lambda rows: [row.update(answer="d1") for row in rows], "answer"),
        "regenerated",
        f'{PAIRS} is not what the recipe makes: row 1 answer is "d1"; must not be there',
    ),
    ("train", file(PAIRS, "PAR1"), PROOF, f"{PAIRS}, it cannot be read: "),
    (
        "train",
        gone(PAIRS),
        "manifest",
        f"{PAIRS} is missing in the manifest: the recipe makes this file",
    ),
    (
        "test",
        file("tables/notes.jsonl", "{}\n"),
        "manifest",
        "tables/notes.jsonl is in the manifest, but the recipe makes no such file",
    ),
    # training data of ladders
    (
        "ladders",
        parquet(LISTS, lambda rows: [row["labels"].reverse() for row in rows]),
        EXPORTED,
        f"{LISTS}, row 1: labels is not what ladder legal-",
    ),
    (
        "ladders",
        parquet(TRIPLETS, rotated("positive")),
        EXPORTED,
        f"{TRIPLETS}, row 20: positive is not what ladder legal-",
    ),
    (
        "ladders",
        parquet(TRIPLETS, lambda rows: rows.pop()),
        "regenerated",
        f"{TRIPLETS} is not what the recipe makes: row 60 is missing",
    ),
    (
        "ladders",
        parquet(
            "training/pairs.parquet",
            lambda rows: rows[0].update(better=rows[0]["worse"], worse=rows[0]["better"]),
        ),
        EXPORTED,
        "training/pairs.parquet, row 1: worse is not what ladder legal-",
    ),
    # the paper's tables
    (
        "ladders",
        jsonl("tables/task1.jsonl", swapped(0, 2, "HN1")),
        EXPORTED,
        "tables/task1.jsonl, row 1: HN1 is not what ladder legal-",
    ),
    (
        "ladders",
        jsonl("tables/task4_512.jsonl", swapped(0, 2, "HN3")),
        EXPORTED,
        "tables/task4_512.jsonl, row 1: HN3 is not what ladder legal-",
    ),
    (
        "ladders",
        jsonl(
            "tables/task4_1024.jsonl",
            lambda rows: rows[0].update(HN3=rows[0]["HN3"].replace(" The grass is green.", "", 1)),
        ),
        EXPORTED,
        "tables/task4_1024.jsonl, row 1: HN3 has 1020 words, must have 1024",
    ),
    # what the proof cannot see, and the recipe does
    ("test", jsonl(CORPUS, alike), "limit-proof/twins", "have the attributes of another one"),
    (
        "test",
        jsonl(CORPUS, moved(0, 5)),
        "regenerated",
        f"{CORPUS} is not what the recipe makes: row 1 _id is ",
    ),
    (
        "test",
        text(QRELS, '"score":1}', '"score":"1"}'),
        "regenerated",
        f'{QRELS} is not what the recipe makes: row 1 score is "1", must be 1',
    ),
    (
        "test",
        text(CORPUS, '"title":""', '"title":"x","title":""'),
        "regenerated",
        f"{CORPUS} is not what the recipe makes: row 1 has the right values, but is written in ",
    ),
    (
        "ladders",
        jsonl(GRADED, moved(0, 1)),
        "regenerated",
        f"{GRADED} is not what the recipe makes: row 1 ",
    ),
    (
        "ladders",
        jsonl("sources/documents.jsonl", moved(0, 1)),
        "regenerated",
        "sources/documents.jsonl is not what the recipe makes",
    ),
    # rejected records
    (
        "ladders",
        jsonl(
            "rejected.jsonl",
            lambda rows: rows.append({"rule": "none", "reason": "none", "record": {}}),
        ),
        "sources",
        "rejected.jsonl: line 1 is damaged",
    ),
    (
        "test",
        file("rejected.jsonl", "none\n"),
        "regenerated",
        "rejected.jsonl is not what the recipe makes: row 1 must not be there",
    ),
    # the recipe
    (
        "test",
        text("recipe.yaml", "'off': {}", "off: {order-leak: tired of it}"),
        "manifest",
        'manifest.json: checks.switched_off.order-leak is missing; must be "tired of it"',
    ),
    (
        "test",
        text("recipe.yaml", "seed: 42", "seed: 43"),
        "limit-proof/query",
        "query q",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "change", "rule", "message"), sample(TABLES))
def test_altered_tables_are_named(
    finished: dict[str, Path], name: str, change: Change, rule: str, message: str, tmp_path: Path
) -> None:
    validation = validate(forged(finished[name], tmp_path, change))
    assert not validation.ok
    assert (validation.proven, validation.judged) == (0, 0)
    named = [one for one in validation.findings if one.rule == rule and message in one.message]
    assert named, validation.findings


def test_of_another_version_the_rules_stand_alone(
    finished: dict[str, Path], tmp_path: Path
) -> None:
    change = both(stating("versions.retgen", "0.0.9"), parquet(PAIRS, rotated("positive")))
    validation = validate(forged(finished["train"], tmp_path, change))
    message = "the tables are not made again: it was made with retgen 0.0.9, this is "
    *faults, again = [one for one in validation.findings if one.rule != "origin"]
    assert {(one.rule, one.severity) for one in faults} == {(PROOF, "error")}
    assert (again.rule, again.severity) == ("regenerated", "warning")
    assert again.message.startswith(message)


def test_a_list_of_names_that_has_changed(finished: dict[str, Path], tmp_path: Path) -> None:
    change = both(stating("word_lists.names (Faker)", "00"), jsonl(CORPUS, moved(0, 5)))
    validation = validate(forged(finished["test"], tmp_path, change))
    assert (
        "regenerated",
        "the tables are not made again: the list of names (Faker) has changed since, and with it "
        "the rows it gives",
    ) in findings(validation)
    assert not [one for one in validation.findings if "word_lists" in one.message]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_shards_are_compared_in_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    import retgen.work.local

    changes = {
        "params.docs": 300,
        "params.queries": 60,
        "output.shards": 3,
        "output.format": suffix,
    }
    path = run("limit_dense", out=tmp_path / "run", overrides=changes).path
    shard = f"dataset/corpus-00001-of-00003.{suffix}"
    rows = parquet if suffix == "parquet" else jsonl
    other = forged(path, tmp_path / "forged", rows(shard, moved(0, 5)))
    alone = validate(other, workers=1).findings
    # reason: starting processes pays from seconds of work on; the threshold is no behaviour
    monkeypatch.setattr(retgen.work.local, "START", 0.0)
    assert validate(path, workers=2).findings == []
    assert validate(other, workers=2).findings == alone
    assert [
        (one.rule, one.message.partition(":")[0]) for one in alone if one.severity == "error"
    ] == [("regenerated", f"{shard} is not what the recipe makes")]
