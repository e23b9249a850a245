"""The files that MultiConIR's authors publish, as the ladders that `gen eval` scores.

    Task1/DOMAIN_Task1.csv      Query1 ... Query10, Positive, HN1 ... HN10: a ladder a row
    Task4/DOMAIN..._512.csv     the same in longer texts, of any number of words

HNk violates the first k conditions (paper, section 3.1). Their natural wordings (Task2_&_3) are of
query 10 alone, so flips between styles (Task 3) are not measured.
"""

from __future__ import annotations

import csv
import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xxhash

from retgen.errors import DatasetError
from retgen.write import cache_folder, make_folder, write_rows

_STYLE = "instruction"
Row = dict[str, str]


def is_published(path: Path) -> bool:
    """Whether a folder holds MultiConIR as its authors publish it."""
    return any(path.glob("Task1/*_Task1.csv"))


def ladders_folder(path: Path) -> Path:
    """The data set that `path` holds, made once for these files, in the cache.

    Raises `DatasetError` for a file that is no such table.
    """
    files = sorted([*path.glob("Task1/*_Task1.csv"), *path.glob("Task4/*.csv")])
    digest = xxhash.xxh3_128()
    for file in files:
        digest.update(f"{file.relative_to(path)}\0".encode() + file.read_bytes())
    kept = cache_folder() / "multiconir" / digest.hexdigest() / path.resolve().name
    if (kept / "qrels.jsonl").is_file():  # written last
        return kept
    shutil.rmtree(kept, ignore_errors=True)
    make_folder(kept / "tables")
    ladders = [
        (f"{domain}-{number}", domain, row)
        for file in files
        if (domain := file.stem.removesuffix("_Task1")) != file.stem
        for number, row in enumerate(_rows(file), start=1)
    ]
    by_query = {row[_last(row)]: name for name, _, row in ladders}
    padded: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        if words := re.search(r"_(\d+)$", file.stem):
            for row in _rows(file, (10,)):
                if (name := by_query.get(row[_last(row)])) is not None:
                    padded.setdefault(words[1], []).append({"id": name, "style": _STYLE, **row})
    for length, rows in padded.items():
        write_rows(kept / "tables" / f"task4_{length}.jsonl", rows)
    write_rows(kept / "corpus.jsonl", (one for given in ladders for one in _documents(*given)))
    write_rows(kept / "queries.jsonl", (one for given in ladders for one in _queries(*given)))
    write_rows(
        kept / "qrels.jsonl",
        (
            {"query-id": query["_id"], "corpus-id": f"{given[0]}-positive", "score": 1}
            for given in ladders
            for query in _queries(*given)
        ),
    )
    return kept


def _rows(file: Path, asked: tuple[int, ...] | None = None) -> Iterator[Row]:
    """Rows with all queries (or those `asked`), a positive and its hard negatives."""
    try:
        with open(file, encoding="utf-8-sig", newline="") as stream:
            table = csv.DictReader(stream)
            names = table.fieldnames or []
            queries = [f"Query{n}" for n in asked] if asked else _numbered(names, "Query")
            wanted = [*queries, "Positive", *(_numbered(names, "HN") or ["HN1"])]
            if not queries or (lacking := [name for name in wanted if name not in names]):
                lacks = ", ".join(lacking) if queries else "Query1"
                raise DatasetError(
                    f"{file}: is no table of MultiConIR: it has no column {lacks}. Its columns: "
                    f"{', '.join(names) or 'none'}"
                )
            for number, row in enumerate(table, start=1):
                result = {name: (row.get(name) or "").strip() for name in wanted}
                if empty := [name for name, text in result.items() if not text]:
                    raise DatasetError(f"{file}: row {number} has nothing in {', '.join(empty)}")
                yield result
    except (UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"{file}: is no CSV file in UTF-8 ({error})") from error


def _numbered(names: Any, start: str) -> list[str]:
    """start1, start2, ... as far as they go."""
    return list(itertools.takewhile(set(names).__contains__, (f"{start}{n}" for n in range(1, 99))))


def _last(row: Row) -> str:
    return [name for name in row if name.startswith("Query")][-1]


def _documents(ladder: str, domain: str, row: Row) -> Iterator[dict[str, Any]]:
    texts = {name: text for name, text in row.items() if not name.startswith("Query")}
    for broken, (name, text) in enumerate(texts.items()):
        about = {"ladder": ladder, "domain": domain, "broken": list(range(1, broken + 1))}
        about |= {"orders": [1]} if broken else {}
        yield {"_id": f"{ladder}-{name.lower()}", "title": "", "text": text, "metadata": about}


def _queries(ladder: str, domain: str, row: Row) -> Iterator[dict[str, Any]]:
    texts = [text for name, text in row.items() if name.startswith("Query")]
    for number, text in enumerate(texts, start=1):
        about = {"ladder": ladder, "domain": domain, "style": _STYLE, "conditions": number}
        yield {"_id": f"{ladder}-{number}", "text": text, "metadata": about}
