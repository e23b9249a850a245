"""What tests read of a run, and the books and tables that they write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from retgen.generators.niah.groups import DATA
from tests.conftest import read_jsonl

Row = dict[str, Any]
BOOKS = DATA / "prose"


def corpus(path: Path) -> list[Row]:
    return read_jsonl(path / "dataset" / "corpus.jsonl")


def without(row: Row) -> str:
    start, stop = row["metadata"]["span"]
    return " ".join(f"{row['text'][:start]} {row['text'][stop:]}".split())


def write_books(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / f"{name}.txt").write_text((BOOKS / f"{name}.txt").read_text())
    return folder


def table(path: Path, **changed: Any) -> dict[str, Any]:
    group = {
        "id": "a-1",
        "category": "landmark",
        "question": "Which character has been to Lima?",
        "literal": "Long ago {name} lived in Lima.",
        "literal_inverted": "In Lima {name} lived.",
        "one_hop": "Below the Larco Museum {name} keeps a shop.",
        "one_hop_inverted": "The shop of {name} is below the Larco Museum.",
        "fact": "The Larco Museum is in Lima.",
        "source": 'Wikipedia, "Larco Museum"',
    }
    path.write_text(json.dumps([group | changed]))
    return {"params.table": str(path), "params.lengths": [128]}
