"""What submitters get of a sealed set, and what they hand in."""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from retgen.data import Dataset, open_dataset
from retgen.errors import DatasetError
from retgen.write import AtomicFile, FileInfo, make_folder, scratch_folder

_CORPUS, _QUERIES = "corpus.jsonl", "queries.jsonl"


def write_public(run: Path, folder: Path) -> dict[str, FileInfo]:
    """corpus.jsonl and queries.jsonl of a run: ids and texts alone, sorted by id.

    Metadata say what a record is drawn from, and the order of a corpus which documents were written
    together: neither is handed out. Ids are digits of a keyed bijection of the index.
    """
    dataset = open_dataset(run)
    make_folder(folder)
    documents = (
        (one.doc_id, {"_id": one.doc_id, "title": one.title, "text": one.text})
        for one in dataset.documents(strict=run)
    )
    queries = ((one.query_id, {"_id": one.query_id, "text": one.text}) for one in _queries(dataset))
    return {
        _CORPUS: _write_sorted(folder / _CORPUS, documents),
        _QUERIES: _write_sorted(folder / _QUERIES, queries),
    }


def check_submission(run: Path, file: Path) -> None:
    """Refuse a TREC run that does not rank documents of the corpus for every query.

    `gen eval` notes and ignores what does not fit; here that could tell which queries are scored.
    Raises `DatasetError`.
    """
    dataset = open_dataset(run)
    queries = {query.query_id for query in _queries(dataset)}
    lines = list(_cells(file))
    ranked = Counter(query for _, query, _ in lines)
    wanted = {doc for _, _, doc in lines}
    held = {one.doc_id for one in dataset.documents() if one.doc_id in wanted}
    _refuse(file, lines, "query", lambda query, _: query not in queries)
    _refuse(file, lines, "document", lambda _, doc: doc not in held)
    if missing := sorted(queries - ranked.keys()):
        raise DatasetError(
            f"{file}: ranks nothing for {len(missing):,} of {len(queries):,} queries, for example "
            f"{missing[0]}; every query of {_QUERIES} needs at least one document"
        )
    if twice := [pair for pair, n in Counter((q, d) for _, q, d in lines).items() if n > 1]:
        query, doc = twice[0]
        raise DatasetError(
            f"{file}: ranks {len(twice):,} documents twice for a query, for example {doc} for "
            f"{query}"
        )


def _queries(dataset: Dataset) -> Iterator[Any]:
    queries, _ = dataset.read_queries()
    return iter(queries)


def _write_sorted(path: Path, rows: Iterable[tuple[str, dict[str, str]]]) -> FileInfo:
    """Rows by id; what is in memory is their places alone."""
    places: list[tuple[str, int, int]] = []
    with scratch_folder("retgen-public-") as scratch, AtomicFile(path) as file:
        with open(scratch / path.name, "wb") as unsorted:
            for key, row in rows:
                start = unsorted.tell()
                unsorted.write(orjson.dumps(row) + b"\n")
                places.append((key, start, unsorted.tell()))
        if places:
            with (
                open(scratch / path.name, "rb") as unsorted,
                mmap.mmap(unsorted.fileno(), 0, access=mmap.ACCESS_READ) as view,
            ):
                for _, start, stop in sorted(places):
                    file.write(view[start:stop])
    return file.info


def _cells(file: Path) -> Iterator[tuple[int, str, str]]:
    """(line, query id, document id) of the lines of a TREC run; `gen eval` refuses others."""
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{file}: is not a UTF-8 text file") from error
    except OSError as error:
        raise DatasetError(f"{file}: cannot be read: {error.strerror}") from error
    for number, line in enumerate(text.splitlines(), start=1):
        if len(cells := line.split()) == 6:
            yield number, cells[0], cells[2]


def _refuse(
    file: Path,
    lines: Sequence[tuple[int, str, str]],
    what: str,
    is_unknown: Callable[[str, str], bool],
) -> None:
    unknown = [(n, q if what == "query" else d) for n, q, d in lines if is_unknown(q, d)]
    if unknown:
        line, name = unknown[0]
        raise DatasetError(
            f"{file}, line {line}: there is no {what} {name} in the set"
            + (f" ({len(unknown):,} such lines)" if len(unknown) > 1 else "")
        )
