"""What submitters get of a sealed set, and what they hand in."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from pathlib import Path

from retgen.data import open_dataset
from retgen.errors import DatasetError
from retgen.search.rankings import run_lines
from retgen.write import AtomicFile, FileInfo, json_line, make_folder, scratch_folder

_CORPUS, _QUERIES = "corpus.jsonl", "queries.jsonl"


def write_public(run: Path, folder: Path) -> dict[str, FileInfo]:
    """corpus.jsonl and queries.jsonl of a run: ids and texts alone, sorted by id.

    Metadata say what a record is drawn from, and the order of a corpus which documents were written
    together: neither is handed out. Ids are digits of a keyed bijection of the index.
    """
    dataset = open_dataset(run)
    make_folder(folder)
    documents = (
        {"_id": one.doc_id, "title": one.title, "text": one.text}
        for one in dataset.documents(strict=run)
    )
    queries = ({"_id": one.query_id, "text": one.text} for one in dataset.queries.read()[0])
    return {
        _CORPUS: _write_sorted(folder / _CORPUS, documents),
        _QUERIES: _write_sorted(folder / _QUERIES, queries),
    }


def check_submission(run: Path, file: Path) -> None:
    """Refuse a TREC run that does not rank documents of the corpus for every query.

    `gen eval` notes and ignores what does not fit; here the notes would tell which queries count.
    What ranks a document twice `gen eval` refuses as well. Raises `DatasetError`.
    """
    dataset = open_dataset(run)
    queries = {query.query_id for query in dataset.queries.read()[0]}
    lines = list(run_lines(file))
    wanted = {doc for _, _, doc, _ in lines}
    held = {one.doc_id for one in dataset.documents() if one.doc_id in wanted}
    for number, query, doc, _ in lines:
        for what, name, known in (("query", query, queries), ("document", doc, held)):
            if name not in known:
                raise DatasetError(f"{file}, line {number}: there is no {what} {name!r} in the set")
    if missing := sorted(queries - {query for _, query, _, _ in lines}):
        raise DatasetError(
            f"{file}: ranks nothing for {len(missing):,} of {len(queries):,} queries, for example "
            f"{missing[0]}; every query of {_QUERIES} needs at least one document"
        )


def _write_sorted(path: Path, rows: Iterable[dict[str, str]]) -> FileInfo:
    """Rows by id; what is in memory is their places alone."""
    places: list[tuple[str, int, int]] = []
    with scratch_folder("retgen-public-") as scratch, AtomicFile(path) as file:
        with open(scratch / path.name, "wb") as unsorted:
            for row in rows:
                start = unsorted.tell()
                unsorted.write(json_line(row))
                places.append((row["_id"], start, unsorted.tell()))
        with (
            open(scratch / path.name, "rb") as written,
            mmap.mmap(written.fileno(), 0, access=mmap.ACCESS_READ) as view,
        ):
            for _, start, stop in sorted(places):
                file.write(view[start:stop])
    return file.info
