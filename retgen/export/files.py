"""Files of a layout: lines, JSON Lines or Parquet, each written as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from retgen.data import TableFiles
from retgen.errors import DatasetError
from retgen.rows import Problem, holds_times
from retgen.write import ArrowBuffer, AtomicFile, json_line, make_folder, write_lines

_BLOCK = 10_000  # rows from which the types of columns are learnt at a time
_GROUP = 1_000  # rows of a row group: small ones let a viewer read a page without the file

Row = Mapping[str, Any] | str
Rows = Callable[[], Iterable[Any]]  # can be gone through more than once


def write_table(path: Path, rows: Rows, head: str = "") -> int:
    """Write rows in the format of a file's ending; how many. No row, no file.

    A row is a mapping, in JSON Lines or Parquet, or a line with its end.
    """
    if path.suffix == ".parquet":
        return write_parquet(path, rows)
    made = iter(rows())
    first = next(made, None)
    if first is None:
        return 0
    texts = chain([head] if head else [], [first], made)
    make_folder(path.parent)
    lines = (one.encode() if isinstance(one, str) else json_line(one) for one in texts)
    return write_lines(path, lines)[1] - bool(head)


def write_parquet(path: Path, rows: Rows, types: Mapping[str, Any] | None = None) -> int:
    """Write a table as the Hub likes it; how many rows. No row, no file.

    Zstandard, an index of pages, chunks where the content says so, so that a changed row does not
    change all bytes after it. Without `types` the rows are gone through twice: Arrow wants them
    first.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = types or column_types(rows())
    if not types:
        return 0
    schema = pa.schema([(name, kind or pa.string()) for name, kind in types.items()])
    as_json = [name for name, kind in types.items() if kind is None]
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
            for group in _blocks(rows(), _GROUP):
                for name in as_json:
                    values = (row.get(name) for row in group)
                    texts = [None if one is None else orjson.dumps(one).decode() for one in values]
                    group = [{**row, name: text} for row, text in zip(group, texts, strict=True)]
                writer.write_table(pa.Table.from_pylist(group, schema))
                buffer.move_to(file)
                count += len(group)
        buffer.move_to(file)
    if not count:
        path.unlink()
    return count


def column_types(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Arrow's type of each column that holds a value; None for one that is written as JSON.

    That is what has no one type (a text here, a number there), a number that Arrow's have no room
    for, or what Parquet cannot hold (an object without keys).
    """
    import pyarrow as pa

    types: dict[str, Any] = {}
    for block in _blocks(rows, _BLOCK):
        for name in dict.fromkeys(chain.from_iterable(block)):
            values = [row[name] for row in block if row.get(name) is not None]
            if not values or types.get(name, ()) is None:
                continue
            try:
                schemas = [pa.schema([(name, pa.array(values).type)])]
                if name in types:
                    schemas.append(pa.schema([(name, types[name])]))
                kind = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
                types[name] = None if _hollow(kind) else kind
            except (pa.ArrowException, OverflowError):
                types[name] = None
    return types


def _hollow(kind: Any) -> bool:
    """Whether a type holds a struct without fields, which Parquet has not."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return kind.num_fields == 0 or any(_hollow(one.type) for one in kind)
    return bool(pa.types.is_list(kind) and _hollow(kind.value_type))


def _blocks(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    source = iter(rows)
    while block := [*islice(source, size)]:
        yield block


def table_to_parquet(source: Path, target: Path) -> None:
    """Write the rows of a table as Parquet. Raises `DatasetError` for a line that is no object."""

    def rows() -> Iterator[dict[str, Any]]:
        for number, row in enumerate(TableFiles(source.stem, (source,)), start=1):
            if isinstance(row, Problem):
                raise DatasetError(f"{source}, line {number:,}: {row.reason}")
            yield row

    types = None
    if source.suffix == ".parquet":
        import pyarrow.parquet as pq

        types = {field.name: field.type for field in pq.read_schema(source)}
    write_parquet(target, rows, types)


def file_with_times(folder: Path) -> Path | None:
    """A file of JSON Lines in which `load_dataset` would take a column of texts for times."""
    for path in sorted(folder.rglob("*.jsonl")):
        with path.open("rb") as file:
            if any(map(holds_times, file)):
                return path
    return None
