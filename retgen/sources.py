"""Source documents: the texts that a data set is written from, of any common format.

JSON Lines, CSV, TSV (also compressed), Parquet, a folder of text files, or a data set that
`datasets` can load (`hf:owner/name`). Rows are read one by one. A row that is no document is a
`Refused` with its reason, and so is a file of a folder that is not read; reading goes on. A file
that cannot be read at all is an error.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import xxhash

from retgen.compressed import COMPRESSED, kind, opened
from retgen.errors import DatasetError
from retgen.messages import did_you_mean

HUB = "hf:"
FORMATS = (
    ".jsonl, .csv or .tsv (also .gz, .bz2, .xz, .zst), .parquet, a folder of .txt, .md, .markdown "
    "or .rst files, or hf:owner/name"
)

_TEXTS = (".txt", ".md", ".markdown", ".rst")
_UNREAD = "source/format"  # the rule of a file that is not read
_LONGEST = 1_000_000  # characters of a document; what is longer is no document of ten sentences


class SourceDocument(NamedTuple):
    """One source document."""

    id: str
    title: str
    text: str


class Refused(NamedTuple):
    """A row that is no document. `where`: file and row, `id` where the row names one."""

    where: str
    rule: str
    reason: str
    id: str | None = None


class Columns(NamedTuple):
    """Names of columns; `id` and `title` None: the usual names where they exist, else none."""

    text: str = "text"
    id: str | None = None
    title: str | None = None


_IDS, _TITLES = ("_id", "id"), ("title",)


def read_sources(
    path: Path | str, columns: Columns, *, split: str = "train", limit: int | None = None
) -> Iterator[SourceDocument | Refused]:
    """The documents of a source in its order, at most `limit` rows.

    Documents without an id column are numbered by row, a text file is called as its file. What a
    folder holds and is not read comes first, and is no row. Raises `DatasetError` for a source that
    is not there, cannot be read, or lacks a column.
    """
    seen: set[str] = set()
    texts: dict[int, str] = {}  # hash of a text -> the id it stands under
    number = -1
    for where, row in _rows(path, columns, split):
        if isinstance(row, Refused) and row.rule == _UNREAD:
            yield row
            continue
        number += 1
        if limit is not None and number >= limit:
            return
        made = row if isinstance(row, Refused) else _document(where, number, row, columns)
        if isinstance(made, SourceDocument):
            first = texts.setdefault(xxhash.xxh3_64_intdigest(made.text.encode()), made.id)
            if made.id in seen:
                message = f"the id {made.id!r} stands there twice"
                made = Refused(where, "source/duplicate-id", message, made.id)
            elif first != made.id:
                message = f"its text is that of {first!r}"
                made = Refused(where, "source/duplicate-text", message, made.id)
            else:
                seen.add(made.id)
        yield made


def refusals(refused: Sequence[Refused]) -> str:
    """What was refused and why, by rule, most first: one line with the first record of each."""
    first: dict[str, Refused] = {}
    for one in refused:
        first.setdefault(one.rule, one)
    parts = [
        f"{count:,} by {rule}, the first at {first[rule].where}: {first[rule].reason}"
        for rule, count in Counter(one.rule for one in refused).most_common()
    ]
    if "source/encoding" in first:
        parts.append("convert the file to UTF-8")
    return f"Refused are {'; '.join(parts)}." if parts else ""


def _document(
    where: str, number: int, row: Mapping[str, Any], columns: Columns
) -> SourceDocument | Refused:
    name = row.get(columns.id) if columns.id else None
    if columns.id is None:
        name = next(
            (row[key] for key in _IDS if row.get(key) not in (None, "")), f"row-{number + 1}"
        )
    title = row.get(columns.title or _TITLES[0])
    text = row.get(columns.text)
    if name is None or not str(name).strip():
        return Refused(where, "source/id", f"the column {columns.id!r} is empty")
    name = str(name).strip()
    if text is None or (isinstance(text, str) and not text.strip()):
        return Refused(where, "source/empty", f"the column {columns.text!r} is empty", name)
    if not isinstance(text, str):
        reason = f"the column {columns.text!r} holds no text but {type(text).__name__}"
        return Refused(where, "source/text", reason, name)
    if any("\ud800" <= c <= "\udfff" for c in f"{text}{name}{title}"):
        return Refused(where, "source/encoding", "the text is not UTF-8", None)
    if len(text) > _LONGEST:
        reason = f"the text has {len(text):,} characters, more than {_LONGEST:,}"
        return Refused(where, "source/long", reason, name)
    return SourceDocument(name, str(title or "").strip(), " ".join(text.split()))


# --- rows of each format ------------------------------------------------------------------------

_Row = tuple[str, "Mapping[str, Any] | Refused"]


def _rows(path: Path | str, columns: Columns, split: str) -> Iterator[_Row]:
    if isinstance(path, str) and path.startswith(HUB):
        yield from _hub(path.removeprefix(HUB), columns, split)
        return
    path = Path(path)
    if path.is_dir():
        yield from _folder(path, columns)
        return
    if not path.is_file():
        raise DatasetError(f"there is no source {path}: give {FORMATS}")
    readers = {".jsonl": _jsonl, ".csv": _csv, ".tsv": _csv}
    held = kind(path)
    if path.suffix.lower() == ".parquet":
        reader = _parquet
    elif held in readers:
        reader = readers[held]
    else:
        raise DatasetError(
            f"{path}: a source is {FORMATS}, not {path.suffix or 'a file like this'}"
        )
    try:
        yield from reader(path, columns)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror or error}") from error


def _folder(path: Path, columns: Columns) -> Iterator[_Row]:
    """A file is a document, called as the file; other columns there are none."""
    every = sorted(path.iterdir())
    files = [one for one in every if one.is_file() and kind(one) in _TEXTS]
    if not files:
        raise DatasetError(
            f"{path}: holds no {', '.join(_TEXTS[:-1])} or {_TEXTS[-1]} file; a source is {FORMATS}"
        )
    for one in every:
        name = _shown(one)
        if one.is_dir():
            reason = "a folder within a folder is not read"
            yield name, Refused(f"{name}/", _UNREAD, reason)
        elif one not in files:
            reason = f"a file of this kind is not read, only {', '.join(_TEXTS)}"
            yield name, Refused(name, _UNREAD, reason)
    stems = Counter(map(_stem, files))
    for one in files:
        name, stem = _shown(one), _stem(one)
        called = stem if stems[stem] == 1 else name
        try:
            with opened(one) as file:
                text = file.read().decode("utf-8-sig")
            yield name, {columns.id or "id": called, columns.text: text}
        except UnicodeDecodeError:
            yield name, Refused(name, "source/encoding", "the file is not UTF-8", called)
        except OSError as error:
            reason = f"the file cannot be read: {error.strerror}"
            yield name, Refused(name, "source/unreadable", reason, called)
        except DatasetError as error:
            reason = str(error).removeprefix(f"{one}: ")
            yield name, Refused(name, "source/unreadable", reason, called)


def _shown(path: Path) -> str:
    return os.fsencode(path.name).decode("utf-8", "replace")


def _stem(path: Path) -> str:
    """A file's name without what says its kind."""
    name = _shown(path)
    if path.suffix.lower() in COMPRESSED:
        name = name.removesuffix(path.suffix)
    return name[: -len(kind(path))]


def _jsonl(path: Path, columns: Columns) -> Iterator[_Row]:
    first = True
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            where = f"{path.name}:{number}"
            if not line.strip():
                continue
            try:
                row = orjson.loads(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
            except ValueError:
                yield where, Refused(where, *_broken(line))
                continue
            if not isinstance(row, dict):
                yield where, Refused(where, "source/json", "the line is no JSON object")
                continue
            if first:  # a later row that lacks one is refused by itself
                _lacking(path, columns, set(row))
            first = False
            yield where, row


def _broken(line: bytes) -> tuple[str, str]:
    try:
        line.decode()
    except UnicodeDecodeError:
        return "source/encoding", "the line is not UTF-8"
    return "source/json", "the line is not JSON"


def _csv(path: Path, columns: Columns) -> Iterator[_Row]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    with opened(path) as file:
        begin = file.readline(1 << 20)
    if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DatasetError(f"{path}: is UTF-16; convert it to UTF-8")
    delimiter = "\t" if kind(path) == ".tsv" else _delimiter(begin)
    # bytes that are not UTF-8 become lone surrogates, which are found row by row
    with (
        opened(path) as raw,
        io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="") as file,
    ):
        reader = csv.DictReader(file, delimiter=delimiter, strict=True)
        try:
            _lacking(path, columns, set(reader.fieldnames or ()))
            for row in reader:
                where = f"{path.name}:{reader.line_num}"
                if None in row or None in row.values():
                    reason = (
                        f"the row has not the {len(reader.fieldnames or ())} cells of the header"
                    )
                    yield where, Refused(where, "source/cells", reason)
                else:
                    yield where, row
        except csv.Error as error:
            raise DatasetError(f"{path}, line {reader.line_num}: is not CSV: {error}") from error


def _delimiter(header: bytes) -> str:
    """What separates the cells of a CSV file: most often a comma."""
    return max(",;\t", key=lambda sign: (header.count(sign.encode()), sign == ","))


def _parquet(path: Path, columns: Columns) -> Iterator[_Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        _lacking(path, columns, set(file.schema_arrow.names))
        wanted = {columns.text, columns.id, columns.title, *_IDS, *_TITLES}
        names = [name for name in file.schema_arrow.names if name in wanted]
        number = 0
        for batch in file.iter_batches(1024, columns=names):
            for row in batch.to_pylist():
                number += 1
                yield f"{path.name}:{number}", row
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: is not a Parquet file of texts: {error}") from error


def _hub(name: str, columns: Columns, split: str) -> Iterator[_Row]:
    """Through `datasets`, which knows the Hub, local folders and its own cache."""
    from datasets import load_dataset

    owner, _, config = name.partition(":")
    try:
        rows = load_dataset(owner, config or None, split=split, streaming=True)
        names = set(rows.column_names or ())
    except Exception as error:  # of many kinds: network, no such data set, split or file
        raise _not_loaded(name, split, error) from error
    if names:
        _lacking(f"hf:{name}", columns, names)
    try:
        for number, row in enumerate(rows, 1):
            yield f"hf:{name}:{number}", row
    except Exception as error:  # of whatever file there is behind it
        raise _not_loaded(name, split, error) from error


def _not_loaded(name: str, split: str, error: Exception) -> DatasetError:
    message = str(error).splitlines()[0] if str(error) else ""
    return DatasetError(
        f"source hf:{name}, split {split}: cannot be loaded: {type(error).__name__}: {message}"
    )


def _lacking(path: Path | str, columns: Columns, there: set[str]) -> None:
    """Raises `DatasetError` for a named column that does not exist."""
    named = {"text": columns.text, "id": columns.id, "title": columns.title}
    for what, name in named.items():
        if name is not None and name not in there:
            raise DatasetError(
                f"{path}: has no column {name!r} (source.columns.{what})"
                f"{did_you_mean(name, sorted(there)) or '.'} "
                f"Its columns: {', '.join(sorted(there)) or 'none'}"
            )
