"""The proof of documents that a model wrote; here composed ones stand for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from retgen.data import Qrel, Query
from retgen.generators.params import Job
from retgen.generators.world import World
from retgen.generators.world.params import WorldParams
from retgen.validators.facts import ProseProof, WorldSpec, proof_rules
from retgen.validators.rule import Batch, Judgements

Row = dict[str, Any]
JOB = Job(
    "told",
    3,
    WorldParams.model_validate(
        {
            "domain": "films",
            "documents": 150,
            "operators": ["eq", "and", "two-hop"],
            "answer_sizes": [1],
            "wordings": ["literal"],
            "queries_per_cell": 1,
        }
    ),
)


class Files(NamedTuple):
    """What a run has written."""

    corpus: list[Row]
    queries: list[Row]
    qrels: list[Row]
    read: list[Row]
    rejected: list[Row]


def lines(rows: Any) -> list[Row]:
    return [orjson.loads(line) for line in rows.jsonl(0, rows.count).splitlines()]


@pytest.fixture(scope="module")
def made() -> bytes:
    records = World().generate(JOB)
    corpus = lines(records.corpus)
    read = [
        {"title": row["title"], "text": row["text"], "read": list(row["metadata"]["facts"])}
        for row in corpus
    ]
    tables = Files(corpus, lines(records.queries), lines(records.qrels["test"]), read, [])
    return orjson.dumps(list(tables))


@pytest.fixture
def files(made: bytes) -> Files:
    return Files(*orjson.loads(made))


def messages(files: Files, folder: Path, documents: int = 150) -> list[str]:
    """What the proof says of these files."""
    for name in ("read", "rejected"):
        rows = getattr(files, name)
        (folder / name).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    domain = World().checks(JOB, Judgements([], []))[0].spec.domain  # type: ignore[attr-defined]
    spec = WorldSpec(domain, documents, folder / "read", folder / "rejected")
    queries = [Query(row["_id"], row["text"], row["metadata"]) for row in files.queries]
    qrels = [Qrel(row["query-id"], row["corpus-id"], row["score"]) for row in files.qrels]
    (rule,) = proof_rules(spec, Judgements(queries, qrels))
    assert isinstance(rule, ProseProof)
    batch = Batch(0)
    for row in files.corpus:
        batch.ids.append(row["_id"])
        batch.titles.append(row["title"])
        batch.texts.append(row["text"])
        batch.metadata.append(row["metadata"])
    rule.scan(batch)
    return [finding.message for finding in rule.findings()]


def value_of(row: Row, slot: str) -> str:
    return next(one.split("=")[1] for one in row["metadata"]["facts"] if one.startswith(f"{slot}="))


def put(row: Row, slot: str, value: str) -> None:
    facts = row["metadata"]["facts"]
    row["metadata"]["facts"] = [f"{slot}={value}" if f.startswith(f"{slot}=") else f for f in facts]


def test_what_agrees_is_proven(files: Files, tmp_path: Path) -> None:
    assert messages(files, tmp_path) == []


def _another_text(files: Files, i: int) -> str:
    files.corpus[i]["text"] += " Nobody has seen it since."
    return f"document {files.corpus[i]['_id']}: no model read this text"


def _another_value(files: Files, i: int) -> str:
    row = files.corpus[i]
    old = value_of(row, "runtime")
    put(row, "runtime", "71" if old != "71" else "72")
    return (
        f"document {row['_id']}: its metadata says 'runtime={value_of(row, 'runtime')}', and the "
        "value is not in its text"
    )


def _read_otherwise(files: Files, i: int) -> str:
    row, fact = files.corpus[i], f"setting={value_of(files.corpus[i], 'setting')}"
    files.read[i]["read"][files.read[i]["read"].index(fact)] = "setting=Atlantis"
    return f"document {row['_id']}: its metadata says {fact!r}, which was not read from it"


def _read_more(files: Files, i: int) -> str:
    count = len(files.read[i]["read"])
    files.read[i]["read"].append("colour=green")
    row = files.corpus[i]["_id"]
    return f"document {row}: {count + 1} facts were read from it, its metadata has {count}"


def _no_value(files: Files, i: int) -> str:
    put(files.corpus[i], "setting", "Atlantis")
    row = files.corpus[i]["_id"]
    return f"document {row}: 'setting=Atlantis' in its metadata is no fact of domain films"


def _twice(files: Files, i: int) -> str:
    row = files.corpus[i]
    row["metadata"]["facts"].append(row["metadata"]["facts"][0])
    name = row["metadata"]["facts"][0].split("=")[0]
    return f"document {row['_id']}: its metadata has {name} twice"


def _left_out(files: Files, i: int) -> str:
    row = files.corpus[i]
    facts = row["metadata"]["facts"]
    row["metadata"]["facts"] = [one for one in facts if not one.startswith("genre=")]
    return f"document {row['_id']}: it does not state its genre, which every document does"


def _no_facts(files: Files, i: int) -> str:
    files.corpus[i]["metadata"] = {}
    return f"document {files.corpus[i]['_id']}: its metadata has no facts"


def _another_label(files: Files) -> str:
    row = next(row for row in files.qrels if row["score"] == 0)
    row["score"] = 1
    query, document = row["query-id"], row["corpus-id"]
    return f"query {query}: {document} is relevant in the qrels, and does not meet it"


def _another_query(files: Files) -> str:
    first, second = files.queries[:2]
    first["text"], second["text"] = second["text"], first["text"]
    said, noted = second["metadata"]["expression"], first["metadata"]["expression"]
    return f"query {first['_id']}: reads as {said}, its metadata says {noted}"


DOCUMENT_CHANGES = (
    _another_text,
    _another_value,
    _read_otherwise,
    _read_more,
    _no_value,
    _twice,
    _left_out,
    _no_facts,
)


def test_what_differs_is_named(files: Files, tmp_path: Path) -> None:
    expected = [change(files, 7 * i) for i, change in enumerate(DOCUMENT_CHANGES)]
    told = messages(files, tmp_path)
    assert [one for one in expected if one not in told] == []
    changed = {files.corpus[7 * i]["_id"] for i in range(len(expected))}
    assert {one.split()[1].rstrip(":") for one in told if one.startswith("document")} == changed


@pytest.mark.parametrize("change", [_another_label, _another_query])
def test_labels_and_queries_are_proven(
    change: Callable[[Files], str], files: Files, tmp_path: Path
) -> None:
    expected = change(files)
    assert expected in messages(files, tmp_path)


def test_a_document_may_name_one_that_was_rejected(files: Files, tmp_path: Path) -> None:
    at, named = next(
        (i, value_of(row, "predecessor"))
        for i, row in enumerate(files.corpus)
        if any(fact.startswith("predecessor=") for fact in row["metadata"]["facts"])
    )
    gone = next(i for i, row in enumerate(files.corpus) if row["title"] == named)
    doc_id = files.corpus[at]["_id"]
    del files.corpus[gone], files.read[gone]
    missing = f"document {doc_id}: its predecessor is {named!r}, which no document is named"
    assert missing in messages(files, tmp_path, 149)
    record = {"record": {"title": named, "facts": []}, "history": []}
    files.rejected.append({"rule": "read_facts/facts", "reason": "of", "record": record})
    assert missing not in messages(files, tmp_path, 149)
