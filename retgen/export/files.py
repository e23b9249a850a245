"""Files of a layout, written as a stream; the rows that layouts share, and the types of columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from retgen import write
from retgen.data import GRADED, Qrel, Query, TableFiles
from retgen.errors import DatasetError
from retgen.export.judged import TrainingExample
from retgen.export.layouts import ExportJob
from retgen.markdown import escape_markdown
from retgen.rows import Problem, holds_times
from retgen.write import ArrowBuffer, AtomicFile, json_line, make_folder

TRAIN, WITHOUT = "train", "without_positives"
_BLOCK = 10_000  # values from which the type of a column is learnt at a time
# rows and characters of a row group: small ones let a viewer read a page without the file
_GROUP_ROWS, _GROUP_TEXT = 10_000, 16 << 20

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # no characters of XML 1.0

Rows = Iterable[Mapping[str, Any]]


def write_jsonl(path: Path, rows: Rows) -> int:
    """Write rows as JSON Lines; how many. No row, no file."""
    return write_lines(path, map(json_line, rows))


def write_lines(path: Path, encoded_rows: Iterable[bytes]) -> int:
    """Write lines, each with its end; how many. No line, no file."""
    make_folder(path.parent)
    _, count = write.write_lines(path, encoded_rows)
    if not count:
        remove_file(path)
    return count


def write_tsv(path: Path, head: str, rows: Iterable[tuple[Any, ...]]) -> int:
    """Write a table with tabs between; how many rows. No row, no file."""

    lines = (("\t".join(map(str, row)) + "\n").encode() for row in rows)
    first = [*islice(lines, 1)]
    before = [f"{head}\n".encode()] if head and first else []
    return write_lines(path, chain(before, first, lines)) - len(before)


def write_parquet(path: Path, schema: Any, rows: Rows) -> int:
    """Write rows as Parquet, as the Hub likes it; how many. No row, no file.

    Content-defined chunks (an upload sends what changed), a page index and small row groups (a
    viewer reads a page without the file). `schema`: of Arrow.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    make_folder(path.parent)
    count, buffer = 0, ArrowBuffer()
    with AtomicFile(path) as file:
        with pq.ParquetWriter(
            pa.PythonFile(buffer, "w"),
            schema,
            compression="zstd",
            write_page_index=True,
            use_content_defined_chunking=True,
        ) as writer:
            for group in _row_groups(rows):
                writer.write_table(pa.Table.from_pylist(group, schema))
                buffer.move_to(file)
                count += len(group)
        buffer.move_to(file)
    if not count:
        remove_file(path)
    return count


def _row_groups(rows: Rows) -> Iterator[list[Mapping[str, Any]]]:
    held: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        held.append(row)
        size += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(held) >= _GROUP_ROWS or size >= _GROUP_TEXT:
            yield held
            held, size = [], 0
    if held:
        yield held


def remove_file(path: Path) -> None:
    """Remove a file, and its folder where nothing else is in it."""
    path.unlink()
    if not any(path.parent.iterdir()):
        path.parent.rmdir()


def document_rows(job: ExportJob) -> Rows:
    """The corpus as BEIR, MTEB and the Hub have it."""
    for one in job.documents():
        yield {
            "_id": one.doc_id,
            "title": one.title,
            "text": one.text,
            "metadata": one.metadata or {},
        }


def query_row(query: Query) -> Mapping[str, Any]:
    """A query in the same layouts."""
    return {"_id": query.query_id, "text": query.text, "metadata": query.metadata or {}}


def qrel_rows(qrels: Iterable[Qrel]) -> Rows:
    """Qrels in the same layouts, but for BEIR's."""
    for one in qrels:
        yield {"query-id": one.query_id, "corpus-id": one.doc_id, "score": one.relevance}


def judged_tables(job: ExportJob) -> Iterator[tuple[str, str, Iterable[Qrel]]]:
    """(stem of a file's name, split, rows): qrels, grades beside them, and what is kept apart.

    Apart are the qrels of queries that have no positive in a split, which a scorer would count
    as failures of every system.
    """
    for split in job.splits:
        yield "qrels", split, job.judged.qrels(split)
    for split in job.splits:
        if split in job.dataset.graded:
            yield GRADED, split, job.judged.grades(split)
    for split in (*job.splits, *job.without):
        yield f"qrels_{WITHOUT}", split, job.judged.qrels(split, positive=False)


# the configuration of each of these tables, for `load_dataset`
CONFIGS = {"qrels": "default", GRADED: "graded", f"qrels_{WITHOUT}": f"qrels_{WITHOUT}"}


def write_apart(
    job: ExportJob, row: Callable[[Query], Mapping[str, Any]], more: str = ""
) -> str | None:
    """Write the queries without positives to a file of their own, and say so; the file, if any."""
    path = f"queries_{WITHOUT}.jsonl"
    count = write_jsonl(job.folder / path, map(row, job.judged.queries(positive=False)))
    note_without(job, count, f"they are in {path}{more}")
    return path if count else None


def note_without(job: ExportJob, queries: int, what: str) -> None:
    """Say where the queries without positives are."""
    if queries:
        job.notes.append(
            f"{queries:,} queries have no positive: {what}, so that no score counts them"
        )


def trec_line(qrel: Qrel, job: ExportJob) -> bytes:
    """A line of TREC's qrels. Raises `DatasetError` as `trec_id` does."""
    ids = trec_id(qrel.query_id, job), trec_id(qrel.doc_id, job)
    return f"{ids[0]} 0 {ids[1]} {int(qrel.relevance)}\n".encode()


def trec_id(name: str, job: ExportJob) -> str:
    """An id as TREC's files hold it. Raises `DatasetError` where they cannot."""
    if name.split() != [name] or CONTROL.search(name):
        raise DatasetError(
            f"{job.path}: the id {name!r} cannot stand in TREC's files, where white space ends an "
            "id: give it another id, or choose another layout"
        )
    return name


class ColumnType:
    """The type of one column; Arrow needs it before the first row is written.

    What has no one type (a text here, a number there), or none that Parquet holds (an object
    without keys), becomes JSON. `objects`: anything but an object with keys does.
    """

    def __init__(self, *, objects: bool = False) -> None:
        self._objects = objects
        self._type: Any = None
        self._json = False
        self._held: list[Any] = []

    def see(self, value: Any) -> None:
        """Learn from a value."""
        if value is not None and not self._json:
            self._held.append(value)
            if len(self._held) == _BLOCK:
                self._learn()

    def _learn(self) -> None:
        import pyarrow as pa

        held, self._held = self._held, []
        if not held:
            return
        try:
            schemas = [pa.schema([("m", pa.array(held).type)])]
            if self._type is not None:
                schemas.append(pa.schema([("m", self._type)]))
            kind = pa.unify_schemas(schemas, promote_options="permissive").field("m").type
            self._json = _hollow(kind) or (self._objects and not pa.types.is_struct(kind))
            self._type = kind
        except (pa.ArrowException, OverflowError):
            self._json = True

    @property
    def type(self) -> Any:
        """Arrow's; None where every value was None."""
        import pyarrow as pa

        self._learn()
        return pa.string() if self._json else self._type

    def encode_value(self, value: Any) -> Any:
        """A value as the column holds it."""
        return orjson.dumps(value).decode() if self._json and value is not None else value


def jsonl_to_parquet(source: Path, target: Path) -> None:
    """Write the rows of a file of JSON Lines to a file of Parquet.

    Raises `DatasetError` for a line that is no JSON object.
    """
    import pyarrow as pa

    found: dict[str, ColumnType] = {}
    for row in _rows(source):
        for name, value in row.items():
            found.setdefault(name, ColumnType()).see(value)
    columns = {name: one for name, one in found.items() if one.type is not None}
    schema = pa.schema([(name, one.type) for name, one in columns.items()])
    rows = (
        {name: one.encode_value(row.get(name)) for name, one in columns.items()}
        for row in _rows(source)
    )
    write_parquet(target, schema, rows)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(TableFiles(path.stem, (path,)), start=1):
        if isinstance(row, Problem):
            raise DatasetError(f"{path}, line {number:,}: {row.reason}")
        yield row


def file_with_times(folder: Path) -> Path | None:
    """A file of JSON Lines of which `load_dataset` might read a column of texts as times."""
    for path in sorted(folder.rglob("*.jsonl")):
        with path.open("rb") as file:
            if any(map(holds_times, file)):
                return path
    return None


def _hollow(kind: Any) -> bool:
    """Whether a type holds a struct without fields, which Parquet has not."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return kind.num_fields == 0 or any(
            _hollow(kind.field(i).type) for i in range(kind.num_fields)
        )
    return bool(pa.types.is_list(kind) and _hollow(kind.value_type))


def training_splits(job: ExportJob) -> tuple[str, ...]:
    """The splits to train on or to hold out, train first."""
    own = (TRAIN,) if job.tables and TRAIN not in job.splits else ()
    return (*own, *sorted(job.splits, key=lambda split: split != TRAIN))


def training_origin(job: ExportJob) -> list[str]:
    """Where split train comes from, as paragraphs of a card."""
    if not job.tables:
        return []
    names = ", ".join(path.stem for path in job.tables)
    tables = f"the training tables of the data set ({escape_markdown(names)})"
    return ["", f"Split {TRAIN} holds {tables}, not its qrels."]


def training_examples(job: ExportJob, split: str) -> Iterator[TrainingExample]:
    """Queries of a split with positives and negatives.

    Of split train those of the run's own training tables, where it has some: there a positive is
    shown without the sentence that its query was made from, and negatives were mined. Else qrels
    above 0 are the positives and qrels of 0 the negatives; no others are made up.
    """
    if split == TRAIN and job.tables:
        return job.judged.from_tables(job.tables)
    return job.judged.examples(split)


def split_by_negatives(
    job: ExportJob, split: str
) -> Iterator[tuple[str, Iterator[TrainingExample]]]:
    """(path, examples): those with negatives, and those without, which trainers cannot mix.

    They draw the negatives of a group from those of its query, and end with an error where there
    are none.
    """
    count = sum(1 for one in training_examples(job, split) if not one.negatives)
    yield f"train/{split}.jsonl", (one for one in training_examples(job, split) if one.negatives)
    if count:
        path = f"train/{split}.without_negatives.jsonl"
        yield path, (one for one in training_examples(job, split) if not one.negatives)
        job.notes.append(
            f"split {split}: {count:,} queries have no judged negative, and none were made up: "
            f"they are in {path}"
        )
