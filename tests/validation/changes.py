"""Changes to the files of a finished run, under a manifest with the hashes that fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from retgen.validators.validation import Validation
from retgen.write import dump_json, file_info

Change = Callable[[Path], Any]
Rows = list[dict[str, Any]]


def forged(path: Path, folder: Path, change: Change) -> Path:
    """A copy with a change, whose manifest has the hashes of the files that are there now."""
    copy = folder / "run"
    folder.mkdir(exist_ok=True)
    shutil.copytree(path, copy)
    change(copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    there = {
        file.relative_to(copy).as_posix()
        for part in ("dataset", "training", "tables", "sources", "inputs")
        for file in (copy / part).rglob("*")
    } | {"recipe.yaml", "rejected.jsonl"}
    named = {name: info for name, info in manifest["files"].items() if name in there}
    for name in there:
        if named.get(name, {}).get("bytes") != -1:  # which a change has put there
            named[name] = file_info(copy / name)._asdict()
    manifest["files"] = dict(sorted(named.items()))
    (copy / "manifest.json").write_text(dump_json(manifest))
    return copy


def findings(validation: Validation) -> list[tuple[str, str]]:
    """All but that LIMIT's hard negatives are distractors, of whom words tell."""
    return [(one.rule, one.message) for one in validation.findings if one.rule != "origin"]


def manifest(change: Callable[[dict[str, Any]], Any]) -> Change:
    def work(folder: Path) -> None:
        content = json.loads((folder / "manifest.json").read_text())
        change(content)
        (folder / "manifest.json").write_text(dump_json(content))

    return work


def stating(dotted: str, value: Any) -> Change:
    """One key of the manifest, with another value."""

    def change(content: dict[str, Any]) -> None:
        *parents, last = dotted.split(".")
        for key in parents:
            content = content[key]
        assert content[last] != value
        content[last] = value

    return manifest(change)


def jsonl(name: str, change: Callable[[Rows], Any]) -> Change:
    """Rows changed, and written as the run writes them."""

    def work(folder: Path) -> None:
        rows = [orjson.loads(line) for line in (folder / name).read_bytes().splitlines()]
        change(rows)
        option = orjson.OPT_APPEND_NEWLINE
        (folder / name).write_bytes(b"".join(orjson.dumps(row, option=option) for row in rows))

    return work


def parquet(name: str, change: Callable[[Rows], Any], column: str | None = None) -> Change:
    """The same of Parquet, under the schema of the run, with another column of texts perhaps."""

    def work(folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pq.read_table(folder / name)
        rows = table.to_pylist()
        change(rows)
        schema = (
            table.schema if column is None else table.schema.append(pa.field(column, pa.string()))
        )
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / name)

    return work


def text(name: str, old: str, new: str) -> Change:
    def work(folder: Path) -> None:
        content = (folder / name).read_text("utf-8")
        assert old in content
        (folder / name).write_text(content.replace(old, new, 1), "utf-8")

    return work


def file(name: str, content: str) -> Change:
    def work(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)

    return work


def gone(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def both(*changes: Change) -> Change:
    return lambda folder: [change(folder) for change in changes]


def rotated(key: str) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        values = [row[key] for row in rows]
        for row, value in zip(rows, values[1:] + values[:1], strict=True):
            row[key] = value

    return change


def swapped(one: int, other: int, key: str) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        assert rows[one][key] != rows[other][key]
        rows[one][key], rows[other][key] = rows[other][key], rows[one][key]

    return change


def moved(one: int, other: int) -> Callable[[Rows], None]:
    return lambda rows: rows.insert(other, rows.pop(one))


PAIRS = "training/pairs.parquet"
CORPUS, QUERIES, QRELS = (f"dataset/{name}.jsonl" for name in ("corpus", "queries", "qrels"))
CARD = "dataset/README.md"
