"""The proof of documents that a model wrote; here composed ones stand for them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from retgen.generators.world import World
from retgen.generators.world.agents import AGENTS

from .sets import Row, Set, world_job


class Files(NamedTuple):
    """What a run has written. `read`: what a model read from each document."""

    made: Set
    read: list[Row]
    rejected: list[Row]


@pytest.fixture(scope="module")
def told() -> Set:
    given = {"operators": ("eq", "and", "two-hop"), "answer_sizes": (1,), "wordings": ("literal",)}
    return Set.of(World(), world_job("films", 150, **given))


@pytest.fixture
def files(told: Set) -> Files:
    made = told.copy()
    read = [
        {"title": row["title"], "text": row["text"], "read": list(row["metadata"]["facts"])}
        for row in made.corpus
    ]
    return Files(made, read, [])


def messages(files: Files, folder: Path) -> list[str]:
    """What the proof says of these files."""
    sources = folder / "sources"
    sources.mkdir(exist_ok=True)
    for path, rows in (
        (sources / "documents.jsonl", files.read),
        (folder / "rejected.jsonl", files.rejected),
    ):
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    live = frozenset(one.name for one in AGENTS)
    files.made.job = files.made.job._replace(live=live, sources=sources)
    return [finding.message for finding in files.made.findings(folder)]


def value_of(row: Row, slot: str) -> str:
    return next(
        str(one).split("=")[1] for one in row["metadata"]["facts"] if one.startswith(f"{slot}=")
    )


def put(row: Row, slot: str, value: str) -> None:
    facts = row["metadata"]["facts"]
    row["metadata"]["facts"] = [f"{slot}={value}" if f.startswith(f"{slot}=") else f for f in facts]


def test_what_agrees_is_proven(files: Files, tmp_path: Path) -> None:
    assert messages(files, tmp_path) == []


def _another_text(files: Files, i: int) -> str:
    files.made.corpus[i]["text"] += " Nobody has seen it since."
    return f"document {files.made.corpus[i]['_id']}: no model read this text"


def _another_value(files: Files, i: int) -> str:
    row = files.made.corpus[i]
    old = value_of(row, "runtime")
    put(row, "runtime", "71" if old != "71" else "72")
    return (
        f"document {row['_id']}: its metadata says 'runtime={value_of(row, 'runtime')}', and the "
        "value is not in its text"
    )


def _read_otherwise(files: Files, i: int) -> str:
    row, fact = files.made.corpus[i], f"setting={value_of(files.made.corpus[i], 'setting')}"
    files.read[i]["read"][files.read[i]["read"].index(fact)] = "setting=Atlantis"
    return f"document {row['_id']}: its metadata says {fact!r}, which was not read from it"


def _read_more(files: Files, i: int) -> str:
    count = len(files.read[i]["read"])
    files.read[i]["read"].append("colour=green")
    row = files.made.corpus[i]["_id"]
    return f"document {row}: {count + 1} facts were read from it, its metadata has {count}"


def _no_value(files: Files, i: int) -> str:
    put(files.made.corpus[i], "setting", "Atlantis")
    row = files.made.corpus[i]["_id"]
    return f"document {row}: 'setting=Atlantis' in its metadata is no fact of domain films"


def _twice(files: Files, i: int) -> str:
    row = files.made.corpus[i]
    row["metadata"]["facts"].append(row["metadata"]["facts"][0])
    name = row["metadata"]["facts"][0].split("=")[0]
    return f"document {row['_id']}: its metadata has {name} twice"


def _left_out(files: Files, i: int) -> str:
    row = files.made.corpus[i]
    facts = row["metadata"]["facts"]
    row["metadata"]["facts"] = [one for one in facts if not one.startswith("genre=")]
    return f"document {row['_id']}: it does not state its genre, which every document does"


def _no_facts(files: Files, i: int) -> str:
    files.made.corpus[i]["metadata"] = {}
    return f"document {files.made.corpus[i]['_id']}: its metadata has no facts"


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
    changed = {files.made.corpus[7 * i]["_id"] for i in range(len(expected))}
    assert {one.split()[1].rstrip(":") for one in told if one.startswith("document")} == changed


def test_a_document_may_name_one_that_was_rejected(files: Files, tmp_path: Path) -> None:
    at, named = next(
        (i, value_of(row, "predecessor"))
        for i, row in enumerate(files.made.corpus)
        if any(fact.startswith("predecessor=") for fact in row["metadata"]["facts"])
    )
    gone = next(i for i, row in enumerate(files.made.corpus) if row["title"] == named)
    doc_id = files.made.corpus[at]["_id"]
    del files.made.corpus[gone], files.read[gone]
    missing = f"document {doc_id}: its predecessor is {named!r}, which no document is named"
    assert missing in messages(files, tmp_path)
    record = {"record": {"title": named, "facts": []}, "history": []}
    files.rejected.append({"rule": "read_facts/facts", "reason": "of", "record": record})
    assert missing not in messages(files, tmp_path)
