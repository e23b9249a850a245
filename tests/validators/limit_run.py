"""A finished LIMIT run, to be spoilt by tests of its proof."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from retgen import validate
from tests.conftest import read_jsonl

Row = dict[str, Any]


class Spoilt:
    """A copy of a good run: its tables, which tests change, and what the proof then finds."""

    def __init__(self, good: Path, folder: Path) -> None:
        self.path = shutil.copytree(good, folder / "run")
        data = self.path / "dataset"
        self.files = {name: data / f"{name}.jsonl" for name in ("corpus", "queries", "qrels")}
        self.corpus, self.queries, self.qrels = map(read_jsonl, self.files.values())

    def found(self) -> list[tuple[str, list[str], str]]:
        """Errors of rules that know the tables only: (rule, ids, message).

        Beside them every change is seen by the hashes and by the recipe, which makes other rows.
        """
        tables = (self.corpus, self.queries, self.qrels)
        for path, rows in zip(self.files.values(), tables, strict=True):
            path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
        return [
            (f.rule, one["ids"], one["message"])
            for f in validate(self.path).findings
            if f.severity == "error" and f.rule not in ("manifest", "regenerated")
            for one in f.folded or [{"ids": f.ids, "message": f.message}]
        ]


def listed(document: Row) -> list[str]:
    """The attributes in the text of a document."""
    text = document["text"].removesuffix(".").partition(" likes ")[2]
    return str(text).replace(" and ", ", ").split(", ")


def numbered(document: Row) -> list[tuple[str, int]]:
    """Its attributes with their numbers."""
    return list(zip(listed(document), document["metadata"]["attributes"], strict=True))


def relist(document: Row, pairs: list[tuple[str, int]]) -> None:
    """Give a document other attributes, in its words and in its metadata."""
    name = document["text"].partition(" likes ")[0]
    *most, last = [attribute for attribute, _ in pairs]
    document["text"] = f"{name} likes {', '.join(most)} and {last}."
    document["metadata"]["attributes"] = [number for _, number in pairs]
