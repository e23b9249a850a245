"""Files of rows and data sets of the Hub: a document a row."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from retgen.dataset_files import COMPRESSED, file_format, open_file
from retgen.errors import DatasetError
from retgen.messages import did_you_mean
from retgen.sources.encodings import BROKEN, LOOKED_AT, UTF_8, encoding_of
from retgen.sources.records import (
    IDS,
    SHORT_FORMS,
    TEXTS,
    TITLES,
    Columns,
    ReadOptions,
    Record,
    RefusedRow,
    ShortForm,
    SourceDocument,
    TableColumns,
    row_id,
)
from retgen.sources.texts import LARGEST, composed, is_blank, row_document

HUB = "hf:"
TABLE_KINDS = (".jsonl", ".json", ".csv", ".tsv", ".parquet")

_SAMPLE = 100  # rows that columns are guessed from
_Row = tuple[str, "Mapping[str, Any] | RefusedRow"]


class ColumnsNotFound(DatasetError):
    """A table without a column that was named, or without any that holds texts."""


def table(path: Path, name: str, reading: ReadOptions, *, within: str = "") -> Iterator[Record]:
    """The rows of a file, `name` in messages, in order. `within`: as `Record.file`; rows without an
    id are called after it.

    Raises `DatasetError` where the file cannot be read as what its name says.
    """
    readers = {".jsonl": _jsonl, ".json": _json, ".csv": _csv, ".tsv": _csv}
    try:
        if file_format(path) == ".parquet":
            yield from _documents(_parquet(path, name), path, name, reading, within)
            return
        with _lines(path, name, reading) as lines:
            rows = readers[file_format(path)](path, name, lines)
            yield from _documents(rows, path, name, reading, within)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror or error}") from error


def columns_of(
    what: Path | str, columns: Columns, names: Sequence[str], sample: Sequence[Mapping[str, Any]]
) -> TableColumns:
    """The columns of a table: those that are named, the others guessed.

    Raises `ColumnsNotFound` for a named one that is not there, and where none holds texts.
    """
    listed = f"Its columns: {', '.join(sorted(names)) or 'none'}"
    for key, given in columns._asdict().items():
        if given is not None and given not in names:
            raise ColumnsNotFound(
                f"{what}: has no column {given!r} (source.columns.{key})"
                f"{did_you_mean(given, sorted(names)) or '.'} {listed}"
            )
    ids = (columns.id,) if columns.id else tuple(_called(names, IDS))
    text = columns.text or _text(names, ids, sample)
    if text is None:
        raise ColumnsNotFound(
            f"{what}: has no column of texts; name one (source.columns.text). {listed}"
        )
    beside = text.rpartition(".")[0]
    ids = ids or tuple(_called(names, IDS, beside))
    others = [one for one in names if one != text]
    title = columns.title or next(iter(_called(others, TITLES, beside)), None)
    return TableColumns(text, ids, title, tuple(_called(others, SHORT_FORMS, beside)))


def _called(names: Sequence[str], usual: Sequence[str], beside: str = "") -> list[str]:
    """The columns with one of the usual names, in upper or lower case, best first. `beside`: of the
    fields of this object, too.
    """
    prefix = f"{beside}.".casefold() if beside else ""
    return [name for one in usual for name in names if name.casefold() in (one, f"{prefix}{one}")]


def _fields(row: Mapping[str, Any], above: str = "", deepest: int = 5) -> Iterator[str]:
    """The names of a row's columns, "doc.body" of what stands in an object."""
    for key, value in row.items():
        if isinstance(value, dict) and value and deepest:
            yield from _fields(value, f"{above}{key}.", deepest - 1)
        yield f"{above}{key}"


def _value(row: Any, name: str) -> Any:
    """What stands in a column, or in a field of it."""
    if not isinstance(row, Mapping) or name in row:
        return row.get(name) if isinstance(row, Mapping) else None
    key, _, rest = name.partition(".")
    return _value(row.get(key), rest) if rest else None


def _text(
    names: Sequence[str], ids: Sequence[str], sample: Sequence[Mapping[str, Any]]
) -> str | None:
    """The usual name, else the column with the longest texts of a sample by their median."""
    lengths = dict[str, float]()
    for name in names:
        values = (_value(row, name) for row in sample)
        if texts := [len(one.strip()) for one in values if isinstance(one, str)]:
            lengths[name] = median(texts)
    usual = _called(names, TEXTS)
    usual += [one for known in TEXTS for one in names if one.casefold().endswith(f".{known}")]
    for name in usual:
        if lengths.get(name):
            return name
    others = [name for name, length in lengths.items() if length and name not in ids]
    longest = max(others, key=lengths.__getitem__, default=None)
    return longest or next(iter(usual), None)


def _documents(
    rows: Iterator[_Row], what: Path | str, name: str, reading: ReadOptions, within: str
) -> Iterator[Record]:
    """Rows as documents. `what`: the table as errors name it; `name`: in messages about rows."""
    first: list[_Row] = []
    sample: list[Mapping[str, Any]] = []
    for where, row in rows:
        first.append((where, row))
        if not isinstance(row, RefusedRow):
            sample.append(row)
        if len(sample) == _SAMPLE:
            break
    if names := list(dict.fromkeys(chain.from_iterable(map(_fields, sample)))):
        reading.notes.columns[name] = columns_of(what, reading.columns, names, sample)
    for number, (where, row) in enumerate(chain(first, rows), 1):
        if isinstance(row, RefusedRow):
            yield Record(where, row, within)
        else:
            held = reading.notes.columns[name]
            yield Record(
                where, _document(where, row_id(number, within), row, held, reading), within
            )


def _document(
    where: str, called: str, row: Mapping[str, Any], held: TableColumns, reading: ReadOptions
) -> SourceDocument | RefusedRow:
    """A row as a document, or why it is none. `called`: its id where no column has one."""
    names = (_value(row, key) for key in held.ids)
    name = next((one for one in names if one not in (None, "")), None)
    if name is None and not reading.columns.id:
        name = called
    if name is None or is_blank(str(name)):
        return RefusedRow(where, "source/id", f"the column {held.ids[0]!r} is empty")
    name = composed(str(name).strip())
    title, text = str(_value(row, held.title or "") or ""), _value(row, held.text)
    column = f"the column {held.text!r}"
    if text is None or (isinstance(text, str) and is_blank(text)):
        return RefusedRow(where, "source/empty", f"{column} is empty", name)
    if not isinstance(text, str):
        reason = f"{column} holds no text but {type(text).__name__}"
        return RefusedRow(where, "source/text", reason, name)
    if BROKEN.search(f"{text}{name}{title}"):
        return RefusedRow(where, "source/encoding", "the text is not UTF-8", None)
    document = SourceDocument(name, composed(title.strip()), composed(text))
    if reading.structure:
        document = document._replace(short_forms=_short_forms(row, held))
    try:
        document = row_document(document, reading)
    except DatasetError as error:
        return RefusedRow(where, "source/unreadable", f"{column} holds HTML: {error}", name)
    if is_blank(document.text):
        return RefusedRow(where, "source/empty", f"{column} holds HTML: shows no text", name)
    return document


def _short_forms(row: Mapping[str, Any], held: TableColumns) -> tuple[ShortForm, ...]:
    values = ((name, _value(row, name)) for name in held.short_forms)
    return tuple(
        ShortForm(name.rpartition(".")[2].casefold(), composed(" ".join(value.split())))
        for name, value in values
        if isinstance(value, str) and value.strip() and not BROKEN.search(value)
    )


# --- rows of each format ------------------------------------------------------------------------


@contextmanager
def _lines(path: Path, name: str, reading: ReadOptions) -> Iterator[io.TextIOWrapper]:
    """A file as text, in the encoding that it is told to be in, which is noted where it is not
    UTF-8. Bytes that are not UTF-8 become lone surrogates, which are found row by row.
    """
    with open_file(path) as file:
        try:
            encoding = encoding_of(file.read(LOOKED_AT))
        except DatasetError as error:
            raise DatasetError(f"{path}: {error}") from error
    if encoding != UTF_8:
        reading.notes.encodings[name] = encoding
    errors = "surrogateescape" if encoding == UTF_8 else "strict"
    try:
        with open_file(path) as raw, io.TextIOWrapper(raw, encoding, errors, newline="\n") as lines:
            yield lines
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}: is not {encoding}, as it begins") from error


def _jsonl(path: Path, name: str, lines: io.TextIOWrapper) -> Iterator[_Row]:
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}"
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except ValueError:
            rule, what = ("encoding", "UTF-8") if BROKEN.search(line) else ("json", "JSON")
            yield where, RefusedRow(where, f"source/{rule}", f"the line is not {what}")
        else:
            yield where, _object(row, where, "the line is")


def _object(row: Any, where: str, what: str) -> Mapping[str, Any] | RefusedRow:
    if isinstance(row, dict):
        return row
    return RefusedRow(where, "source/json", f"{what} no JSON object")


def _json(path: Path, name: str, lines: io.TextIOWrapper) -> Iterator[_Row]:
    """A list of objects, or an object that holds one."""
    content = lines.read(LARGEST)
    if lines.read(1):
        raise DatasetError(f"{path}: has more than {LARGEST:,} characters; write it as .jsonl")
    try:
        data = orjson.loads(content)
    except ValueError as error:
        raise DatasetError(f"{path}: is not JSON: {error}") from error
    if isinstance(data, dict):
        lists = {key: one for key, one in data.items() if _is_table(one)}
        if len(lists) != 1:
            named = f": {', '.join(lists)}; keep one" if lists else ""
            raise DatasetError(f"{path}: holds {len(lists) or 'no'} lists of objects{named}")
        (data,) = lists.values()
    if not _is_table(data):
        raise DatasetError(f"{path}: holds no list of objects")
    for number, row in enumerate(data, 1):
        yield (where := f"{name}:{number}"), _object(row, where, "is")


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) for one in value)


def _csv(path: Path, name: str, lines: io.TextIOWrapper) -> Iterator[_Row]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    header = lines.readline()
    delimiter = "\t" if file_format(path) == ".tsv" else delimiter_of(header)
    reader = csv.DictReader(chain([header], lines), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            where = f"{name}:{reader.line_num}"
            if None in row or None in row.values():
                reason = f"the row has not the {len(reader.fieldnames or ())} cells of the header"
                yield where, RefusedRow(where, "source/cells", reason)
            else:
                yield where, row
    except csv.Error as error:
        raise DatasetError(f"{path}, line {reader.line_num}: is not CSV: {error}") from error


def delimiter_of(header: str) -> str:
    """What separates the cells of a CSV file: most often a comma."""
    return max(",;\t", key=lambda sign: (header.count(sign), sign == ","))


def _parquet(path: Path, name: str) -> Iterator[_Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.suffix.lower() in COMPRESSED:
            with open_file(path) as packed:  # Parquet is read from its end on
                file = pq.ParquetFile(pa.BufferReader(packed.read()))
        else:
            file = pq.ParquetFile(path)
        # vectors and pictures are neither texts nor ids
        left_out = (pa.types.is_list, pa.types.is_large_list, pa.types.is_binary)
        names = [
            one.name for one in file.schema_arrow if not any(is_of(one.type) for is_of in left_out)
        ]
        batches = file.iter_batches(1024, columns=names)
        every = chain.from_iterable(batch.to_pylist() for batch in batches)
        yield from ((f"{name}:{number}", row) for number, row in enumerate(every, 1))
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: is not a Parquet file of texts: {error}") from error


def hub(name: str, reading: ReadOptions) -> Iterator[Record]:
    """Through `datasets`, which knows the Hub, local folders and its own cache."""
    from datasets import load_dataset

    owner, _, config = name.partition(":")
    called = f"hf:{name}"
    try:
        data = load_dataset(owner, config or None, split=reading.split, streaming=True)
        rows = ((f"{called}:{number}", row) for number, row in enumerate(data, 1))
        yield from _documents(rows, called, called, reading, "")
    except DatasetError:
        raise
    except Exception as error:  # of many kinds: network, no such data set, split or file
        message = str(error).splitlines()[0] if str(error) else ""
        raise DatasetError(
            f"source {called}, split {reading.split}: cannot be loaded: "
            f"{type(error).__name__}: {message}"
        ) from error
