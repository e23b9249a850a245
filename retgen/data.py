"""Reading retrieval data sets from disk: run directories, MTEB, BEIR and Hub layouts.

The nouns are the field's (ir_datasets'): a `Document`, a `Query`, a `Qrel`. A corpus is never held
in memory: it is cut into chunks (byte ranges of JSON Lines, row groups of Parquet) that are read
one by one, by several processes where there are several.
"""

from __future__ import annotations

import os
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.dataset_files import (
    LAYOUTS,
    enclosing_dataset_hint,
    missing_table_hint,
    split_files,
    table_files,
)
from retgen.errors import DatasetError, DatasetMissing
from retgen.rows import (
    Problem,
    RowPlace,
    check_header,
    check_start,
    json_rows,
    places,
    tsv_row,
)
from retgen.write import FileInfo, file_info

HIGHEST_GRADE = 1_000  # trec_eval takes memory for every grade up to the highest
_info = cache(lambda path, changed: file_info(path))  # hashed once in a process
# the table of grades beside binary qrels; loaders that look for qrels do not take it for a split
GRADED = "qrels_graded"


class Document(NamedTuple):
    """One row of a corpus. `metadata` is None where the row has none."""

    doc_id: str
    title: str
    text: str
    metadata: Any = None

    @property
    def facts(self) -> dict[str, Any]:
        """The metadata by name; empty where they are no mapping."""
        return self.metadata if isinstance(self.metadata, dict) else {}


class Query(NamedTuple):
    """One row of the queries."""

    query_id: str
    text: str
    metadata: Any = None

    @property
    def facts(self) -> dict[str, Any]:
        """The metadata by name; empty where they are no mapping."""
        return self.metadata if isinstance(self.metadata, dict) else {}


class Qrel(NamedTuple):
    """One relevance judgement; `relevance` 0 means judged and not relevant."""

    query_id: str
    doc_id: str
    relevance: float


class TrainingPair(NamedTuple):
    """A row of a training table. `negatives`: (id, text), the id "" where it is not known."""

    query_id: str
    anchor: str
    positive: str
    positive_id: str
    negatives: list[tuple[str, str]]


def lookup_caution(facts: Sequence[Mapping[str, Any]]) -> str:
    """Say what a test set whose queries come from its documents favours, "" for other queries.

    `facts`: of each query, with `evidence` and `side` where its set has them. Words that rules took
    from a document, or found as its title, are easy for a retriever that matches words.
    """
    by_rules = (one for one in facts if one.get("evidence") in ("found", "rules"))
    count = sum(one.get("side") != "nonlexical" for one in by_rules)
    if not count:
        return ""
    return (
        f"{count:,} of {len(facts):,} queries are taken from the documents by rules and repeat "
        "their words: scores favour word match, so do not use them to choose between BM25 and "
        "embedders"
    )


class Chunk(NamedTuple):
    """A part of a table: bytes start..stop of a text file, or row groups of a Parquet file."""

    path: Path
    start: int
    stop: int


CHUNK_BYTES = 1 << 20  # the rows of one, ten times as large, stay near the processor


@dataclass(frozen=True)
class TableFiles:
    """The files of one table, in order, all of one format: jsonl, tsv or parquet.

    `parse` makes a record of a row, or says what is wrong with it.
    """

    name: str
    files: tuple[Path, ...]
    parse: Callable[[Any], Any] = dict

    @property
    def format(self) -> str:
        return self.files[0].suffix.lstrip(".")

    def size(self) -> int:
        """Size on disk."""
        return sum(path.stat().st_size for path in self.files)

    def places(self, rows: Sequence[int]) -> list[RowPlace]:
        """The file and line of rows, which count from 1 and come in order."""
        return places(self.files, rows)

    def chunks(self, size: int = CHUNK_BYTES) -> list[Chunk]:
        """The table cut into parts of about `size` bytes (Parquet: single row groups)."""
        if self.format == "parquet":
            return [
                Chunk(path, group, group + 1)
                for path in self.files
                for group in range(_parquet(path, lambda file: file.metadata.num_row_groups))
            ]
        return [chunk for path in self.files for chunk in _text_chunks(path, size)]

    def rows(self, chunk: Chunk) -> list[Any]:
        """The rows of a chunk in order: a dict each, or a `Problem` where the row is none.

        The line of a `Problem` counts from 1 within the chunk.
        """
        if self.format == "parquet":
            rows: list[Any] = _parquet(
                chunk.path, lambda file: file.read_row_group(chunk.start).to_pylist()
            )
            return rows
        with open(chunk.path, "rb") as file:
            file.seek(chunk.start)
            data = file.read(chunk.stop - chunk.start)
        if chunk.start == 0:
            check_start(chunk.path, data)
            data = data.removeprefix(BOM_UTF8)
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        if self.format == "tsv":
            return self._tsv_rows(chunk, lines)
        return json_rows(lines)

    def __iter__(self) -> Iterator[Any]:
        """Every row in order, as `rows` has it."""
        return chain.from_iterable(map(self.rows, self.chunks()))

    def columns(self) -> list[str]:
        """The names of the columns of Parquet."""
        return list(_parquet(self.files[0], lambda file: file.schema_arrow.names))

    def read(self, first: int | None = None, *, stored: bool = False) -> tuple[Any, list[Problem]]:
        """All records in order, or the `first` so many, and all invalid rows.

        The records lie in memory, or on disk (`stored`).
        """
        problems: list[Problem] = []

        def records() -> Iterator[Any]:
            read = 0
            for line, parsed in enumerate(map(self.parse, self), 1):
                if isinstance(parsed, str):
                    problems.append(Problem(line, parsed))
                elif first is None or read < first:
                    read += 1
                    yield parsed

        if not stored:
            return list(records()), problems
        from retgen.on_disk import BlockList

        return BlockList(records()), problems

    def record_chunks(self, path: Path) -> Iterator[list[Any]]:
        """The records, chunk by chunk. Raises `DatasetError`, naming `path`, for a bad row."""
        seen = 0
        for chunk in self.chunks():
            parsed = list(map(self.parse, self.rows(chunk)))
            bad = [Problem(seen + i, one) for i, one in enumerate(parsed, 1) if type(one) is str]
            refuse(self, bad[:1], path)
            seen += len(parsed)
            yield parsed

    def records(self, path: Path) -> Iterator[Any]:
        """The same, one by one."""
        return chain.from_iterable(self.record_chunks(path))

    def _tsv_rows(self, chunk: Chunk, lines: list[bytes]) -> list[Any]:
        with open(chunk.path, encoding="utf-8-sig", errors="replace") as text:
            header = check_header(chunk.path, text.readline())
        if chunk.start == 0:
            lines = lines[1:]
        return [tsv_row(number, line, header) for number, line in enumerate(lines, start=1)]


def _parquet(path: Path, read: Callable[[Any], Any]) -> Any:
    """What is read from a Parquet file. Raises `DatasetError` where it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            return read(file)
    except (pa.ArrowException, OSError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise DatasetError(
            f"{path} cannot be read as Parquet: {why}. Put a whole file in its place, or take it "
            "away"
        ) from error


@dataclass(frozen=True)
class _Positives(TableFiles):
    """The qrels that stand with the queries (CapRetrieval): a row a pair, query by query.

    `{"id": "q1", "query": "a red bus", "positives": [{"id": "d7", "score": 2}]}`
    """

    def rows(self, chunk: Chunk) -> list[Any]:
        # what is no query at all is a problem of the queries
        queries = [row for row in super().rows(chunk) if isinstance(query_of(row), Query)]
        return [pair for query in queries for pair in _pairs(query)]

    def places(self, rows: Sequence[int]) -> list[RowPlace]:
        """The file of the queries: a pair is no row, and its reason names the query."""
        return [RowPlace(self.files[0], 0) for _ in rows]


def _pairs(query: dict[str, Any]) -> Iterator[Any]:
    query_id, positives = query_of(query)[0], query.get("positives")
    for one in positives if type(positives) is list else [positives]:
        if type(one) is dict:
            yield {"query-id": query_id, "corpus-id": one.get("id"), "score": one.get("score")}
        else:
            yield Problem(0, f"is no judgement: the positives of query {query_id} hold {one!r}")


@dataclass(frozen=True)
class Dataset:
    """A retrieval data set on disk.

    `root` is the folder of the tables; `run` the run directory around it, None for a data set that
    retgen did not write. `qrels` maps a split's name to its table; so does `graded`, which holds
    the grades of the same pairs where qrels are binary.
    """

    root: Path
    run: Path | None
    corpus: TableFiles
    queries: TableFiles
    qrels: dict[str, TableFiles] = field(default_factory=dict)
    graded: dict[str, TableFiles] = field(default_factory=dict)

    def documents(self, strict: Path | None = None) -> Iterator[Document]:
        """Every well-formed document, in order.

        `strict`: the name under which a row that is none raises `DatasetError`.
        """
        if strict is not None:
            return self.corpus.records(strict)
        return (one for one in map(document_of, self.corpus) if isinstance(one, Document))

    def queries_and_qrels(
        self, path: Path, split: str, *, unjudged: bool = False
    ) -> tuple[list[Query], list[Qrel]]:
        """Queries and qrels of a split. `unjudged`: there may be no qrels yet.

        Raises `DatasetError`, naming `path`, for a broken row, a query that stands twice, and two
        rows that judge a pair differently.
        """
        queries, bad = self.queries.read()
        qrels, bad_qrels = self.qrels[split].read()
        for table, read, problems in (
            (self.queries, queries, bad),
            (self.qrels[split], qrels, bad_qrels),
        ):
            refuse(table, problems, path)
            if not read and not (unjudged and queries):
                waits = any(query.facts.get("labels") for query in queries)
                raise DatasetError(
                    f"{table.files[0]} is empty: there are no {table.name}"
                    + f"; people judge its questions with `gen review {path}`" * waits
                )
        seen: set[str] = set()
        for query in queries:
            if query.query_id in seen:
                raise DatasetError(f"{path}: query {query.query_id} stands twice")
            seen.add(query.query_id)
        given: dict[tuple[str, str], float] = {}
        for qrel in qrels:
            before = given.setdefault((qrel.query_id, qrel.doc_id), qrel.relevance)
            if before != qrel.relevance:
                raise DatasetError(
                    f"{path}: the qrels ({split}) give {qrel.doc_id} for {qrel.query_id} both "
                    f"{before:g} and {qrel.relevance:g}"
                )
        return queries, qrels


def refuse(table: TableFiles, problems: Sequence[Problem], path: Path) -> None:
    """Raise `DatasetError` for invalid rows. `path`: what `gen validate` is to look at."""
    if problems:
        more = f" ({len(problems):,} such rows)" if len(problems) > 1 else ""
        raise DatasetError(
            f"{table.places([problems[0].line])[0]}: {problems[0].reason}{more}; "
            f"`gen validate {path}` lists all such rows"
        )


def training_pairs(file: Path) -> Iterator[TrainingPair]:
    """The rows of a training table. Raises `DatasetError` for a file or a row that is none."""
    table = TableFiles(file.stem, (file,))
    columns = table.columns()
    if missing := {"anchor", "positive"} - set(columns):
        raise DatasetError(
            f"{file} has no column {' and no column '.join(sorted(missing))}. Training pairs "
            "have the columns anchor, positive and, if any, negative or negative_1, negative_2"
        )
    of_negatives = [name for name in columns if re.fullmatch(r"negative(_\d+)?", name)]
    for number, row in enumerate(table, start=1):
        anchor, positive = row["anchor"], row["positive"]
        if not isinstance(anchor, str) or not isinstance(positive, str):
            raise DatasetError(f"{file}: row {number:,} has no anchor or no positive text")
        texts = [row[name] for name in of_negatives if row[name]]
        ids = row.get("negatives-id") or []
        ids = ids if len(ids) == len(texts) else [""] * len(texts)
        query_id = str(row.get("query-id") or row.get("query_id") or "")
        doc_id = str(row.get("positive-id") or "")
        yield TrainingPair(query_id, anchor, positive, doc_id, list(zip(ids, texts, strict=True)))


def pair_tables(files: Iterable[Path]) -> tuple[Path, ...]:
    """The training tables that hold pairs of anchor and positive; some are lists for rankers."""
    wanted = {"anchor", "positive"}
    return tuple(one for one in files if wanted <= {*TableFiles(one.stem, (one,)).columns()})


# libraries that score take an id for its part before it
_NUL = "an id holds a NUL character: give it another one"


def document_of(row: Any) -> Document | str:
    """A row as a `Document`, or what is wrong with it."""
    if type(row) is not dict:
        return str(row.reason)
    doc_id = row.get("_id", row.get("id"))
    text = row.get("text")
    if type(doc_id) is str and type(text) is str and "\0" not in doc_id:
        title = row.get("title")
        if title is None or type(title) is str:
            return Document(doc_id, title or "", text, row.get("metadata"))
        return "title is not a string"
    return _what_is_missing(row, {"_id": doc_id, "text": text})


def query_of(row: Any) -> Query | str:
    """A row as a `Query`, or what is wrong with it."""
    if type(row) is not dict:
        return str(row.reason)
    query_id = row.get("_id", row.get("id"))
    text = row.get("text", row.get("query"))
    if type(query_id) is str and type(text) is str and "\0" not in query_id:
        metadata = row.get("metadata")
        if type(metadata) is dict:  # kinds, splits and languages, which most queries share
            for name, value in metadata.items():
                if type(value) is str and len(value) <= _SHORT:
                    metadata[name] = sys.intern(value)
        return Query(sys.intern(query_id), text, metadata)
    return _what_is_missing(row, {"_id": query_id, "text": text})


_SHORT = 16  # characters of a name


def qrel_of(row: Any) -> Qrel | str:
    """A row as a `Qrel`, or what is wrong with it."""
    if type(row) is not dict:
        return str(row.reason)
    query_id, doc_id, score = row.get("query-id"), row.get("corpus-id"), row.get("score")
    if type(query_id) is str and type(doc_id) is str and score is not None:
        if "\0" in query_id or "\0" in doc_id:
            return _NUL
        query_id, doc_id = sys.intern(query_id), sys.intern(doc_id)  # of many rows one each
        if type(score) in (int, float):
            return Qrel(query_id, doc_id, score)
        return f"score {score!r} is not a number"
    return _what_is_missing(row, {"query-id": query_id, "corpus-id": doc_id}, also=("score",))


def open_dataset(path: Path | str, *, checked: bool = True) -> Dataset:
    """Find the tables of a data set in a run directory or in one of the `LAYOUTS`.

    Raises `DatasetError` saying what was looked for and, if `checked`, naming a table of a finished
    run that is not the one its manifest describes.
    """
    if not str(path).strip():
        raise DatasetError("the path is empty: give the folder of a run or of a data set")
    path = Path(path)
    if not path.exists():
        raise DatasetMissing(
            f"{path} does not exist. Give the folder of a run or of a data set.", str(path)
        )
    if not path.is_dir():
        raise DatasetError(
            f"{path} is a file. Give the folder of a run or of a data set"
            f"{enclosing_dataset_hint(path)}."
        )
    run = path if (path / "dataset").is_dir() and (path / "recipe.yaml").is_file() else None
    root = path / "dataset" if run else path
    if run:
        _refuse_pipes(run)
    if run and checked:
        check_files(run, "dataset/", "tables/")
    tables: dict[str, TableFiles] = {}
    kinds = {"corpus": document_of, "queries": query_of}
    for name, files in table_files(root).items():
        if not files:
            raise DatasetError(
                f"{path} holds no {name} table.{missing_table_hint(root, name)} "
                f"A data set is {LAYOUTS}."
            )
        tables[name] = TableFiles(name, files, kinds[name])
    qrels, graded = (
        {
            split: TableFiles(f"{stem} ({split})", files, qrel_of)
            for split, files in split_files(root, stem, *folders).items()
        }
        for stem, folders in (("qrels", ("data", "default")), (GRADED, ()))
    )
    if not qrels and _lists_positives(tables["queries"]):
        qrels["test"] = _Positives("qrels (test)", tables["queries"].files, qrel_of)
    return Dataset(root, run, tables["corpus"], tables["queries"], qrels, graded)


_KINDS: dict[type, tuple[str, ...]] = {  # of what a manifest has under its keys
    str: ("name", "family", "created"),
    list: ("languages", "card"),
    dict: (
        *("counts", "evidence", "versions", "checks", "models", "licences", "word_lists", "judges"),
        *("floors", "certificate", "facts", "notes", "tokens"),
    ),
}


def read_manifest(run: Path) -> dict[str, Any] | None:
    """The manifest of a run, None where it has none. Raises `DatasetError` where it is damaged."""
    path = run / "manifest.json"
    try:
        manifest: dict[str, Any] = orjson.loads(path.read_bytes())
        for info in manifest["files"].values():
            FileInfo(**info)
        for kind, keys in _KINDS.items():
            if wrong := [one for one in keys if type(manifest.get(one, kind())) is not kind]:
                raise TypeError(wrong)
        manifest["name"], manifest["versions"]["retgen"], manifest["word_lists"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{path} is damaged; make the run again with --fresh") from error
    return manifest


def check_files(run: Path, *folders: str) -> None:
    """Raise `DatasetError` for a table in some folders of a finished run that was changed since.

    A manifest that is not there says nothing here; one that is damaged is refused.
    """
    stated = (read_manifest(run) or {"files": {}})["files"]
    for name in stated:
        if not name.startswith(folders) or not name.endswith((".jsonl", ".parquet")):
            continue
        path = run / name
        try:
            same = _info(path, path.stat().st_mtime_ns)._asdict() == stated[name]
        except FileNotFoundError:
            same = False
        if not same:
            raise DatasetError(
                f"{path} is not the file that {run / 'manifest.json'} describes: put it back, or "
                f"make the run again with --fresh. To use the tables as they are, copy "
                f"{run / 'dataset'} to another folder"
            )


def _refuse_pipes(run: Path) -> None:
    """Raise `DatasetError` for what would be read for ever."""
    for path in run.rglob("*"):
        if path.exists() and not path.is_file() and not path.is_dir():
            raise DatasetError(f"{path} is no file but a pipe or a device")


def _lists_positives(queries: TableFiles) -> bool:
    return any(
        type(row) is dict and "positives" in row
        for chunk in queries.chunks()[:1]
        for row in queries.rows(chunk)
    )


def _text_chunks(path: Path, size: int) -> Iterator[Chunk]:
    """Byte ranges that end at line ends."""
    end = os.path.getsize(path)
    start = 0
    with open(path, "rb") as file:
        while start < end:
            stop = min(start + size, end)
            if stop < end:
                file.seek(stop)
                stop += len(file.readline())
            yield Chunk(path, start, stop)
            start = stop


def _what_is_missing(row: dict[str, Any], strings: dict[str, Any], also: Iterable[str] = ()) -> str:
    wrong = [
        f"{key} is not a string" if value is not None else f"has no {key}"
        for key, value in strings.items()
        if type(value) is not str
    ]
    wrong += [f"has no {key}" for key in also if row.get(key) is None]
    return ", ".join(wrong) or _NUL
