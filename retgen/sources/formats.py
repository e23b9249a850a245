"""Files of rows and data sets of the Hub, a document a row; files that are a document each."""

from __future__ import annotations

import csv
import io
import re
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from retgen.dataset_files import COMPRESSED, file_format, open_file
from retgen.errors import DatasetError
from retgen.messages import did_you_mean
from retgen.sources.records import (
    IDS,
    TEXTS,
    TITLES,
    Columns,
    ReadOptions,
    Record,
    RefusedRow,
    SourceDocument,
    TableColumns,
    too_long,
)
from retgen.yaml_text import parse_yaml

HUB = "hf:"
TABLE_KINDS = (".jsonl", ".csv", ".tsv", ".parquet")

_SAMPLE = 100  # rows that columns are guessed from
_Row = tuple[str, "Mapping[str, Any] | RefusedRow"]


class ColumnsNotFound(DatasetError):
    """A table without a column that was named, or without any that holds texts."""


def table(path: Path, name: str, reading: ReadOptions, *, within: str = "") -> Iterator[Record]:
    """The rows of a file, `name` in messages, in order. `within`: as `Record.file`; rows without an
    id are called after it.

    Raises `DatasetError` where the file cannot be read as what its name says.
    """
    readers = {".jsonl": _jsonl, ".csv": _csv, ".tsv": _csv, ".parquet": _parquet}
    try:
        yield from readers[file_format(path)](path, name, reading, within)
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
    if text is None and not sample:
        text = next(iter(names), "")  # of no row
    if text is None:
        raise ColumnsNotFound(
            f"{what}: has no column of texts; name one (source.columns.text). {listed}"
        )
    titles = [one for one in _called(names, TITLES) if one != text]
    return TableColumns(text, ids, columns.title or next(iter(titles), None))


def _called(names: Sequence[str], usual: Sequence[str]) -> list[str]:
    """The columns with one of the usual names, in upper or lower case, best first."""
    return [name for one in usual for name in names if name.casefold() == one]


def _text(
    names: Sequence[str], ids: Sequence[str], sample: Sequence[Mapping[str, Any]]
) -> str | None:
    """The usual name, else the column with the longest texts of a sample by their median."""
    lengths = {
        name: median(map(len, texts))
        for name in names
        if (texts := [row[name].strip() for row in sample if isinstance(row.get(name), str)])
    }
    usual = _called(names, TEXTS)
    for name in usual:
        if lengths.get(name):
            return name
    others = {name: length for name, length in lengths.items() if length and name not in ids}
    return max(others, key=others.__getitem__) if others else next(iter(usual), None)


def _documents(
    rows: Iterator[_Row],
    what: Path | str,
    name: str,
    names: Sequence[str],
    reading: ReadOptions,
    within: str,
) -> Iterator[Record]:
    """Rows as documents. `name`: of the table; `names`: its columns, none where they follow from
    the rows.
    """
    first: list[_Row] = []
    sample: list[Mapping[str, Any]] = []
    for where, row in rows:
        first.append((where, row))
        if not isinstance(row, RefusedRow):
            sample.append(row)
        if len(sample) == _SAMPLE:
            break
    names = names or list(dict.fromkeys(key for row in sample for key in row))
    if names:  # else there is no row that has any
        held = reading.held[name] = columns_of(what, reading.columns, names, sample)
        yield from _made(chain(first, rows), held, reading, within)
    else:
        yield from (
            Record(where, row, within) for where, row in first if isinstance(row, RefusedRow)
        )


def _made(
    rows: Iterator[_Row], held: TableColumns, reading: ReadOptions, within: str
) -> Iterator[Record]:
    for number, (where, row) in enumerate(rows, 1):
        if isinstance(row, RefusedRow):
            yield Record(where, row, within)
            continue
        called = f"{within}/row-{number}" if within else f"row-{number}"
        yield Record(where, _document(where, called, row, held, reading), within)


def _document(
    where: str, called: str, row: Mapping[str, Any], held: TableColumns, reading: ReadOptions
) -> SourceDocument | RefusedRow:
    name = next((row[key] for key in held.ids if row.get(key) not in (None, "")), None)
    if name is None and not reading.columns.id:
        name = called
    if name is None or not str(name).strip():
        return RefusedRow(where, "source/id", f"the column {held.ids[0]!r} is empty")
    name = str(name).strip()
    title, text = row.get(held.title or ""), row.get(held.text)
    if text is None or (isinstance(text, str) and not text.strip()):
        return RefusedRow(where, "source/empty", f"the column {held.text!r} is empty", name)
    if not isinstance(text, str):
        reason = f"the column {held.text!r} holds no text but {type(text).__name__}"
        return RefusedRow(where, "source/text", reason, name)
    if any("\ud800" <= c <= "\udfff" for c in f"{text}{name}{title}"):
        return RefusedRow(where, "source/encoding", "the text is not UTF-8", None)
    if reading.longest is not None and len(text) > reading.longest:
        return too_long(where, name, reading.longest, len(text))
    return SourceDocument(name, str(title or "").strip(), text)


# --- rows of each format ------------------------------------------------------------------------


def _jsonl(path: Path, name: str, reading: ReadOptions, within: str) -> Iterator[Record]:
    def rows() -> Iterator[_Row]:
        with open_file(path) as file:
            for number, line in enumerate(file, 1):
                where = f"{name}:{number}"
                if not line.strip():
                    continue
                try:
                    row = orjson.loads(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
                except ValueError:
                    yield where, RefusedRow(where, *_broken(line))
                    continue
                if isinstance(row, dict):
                    yield where, row
                else:
                    yield where, RefusedRow(where, "source/json", "the line is no JSON object")

    return _documents(rows(), path, name, (), reading, within)


def _broken(line: bytes) -> tuple[str, str]:
    try:
        line.decode()
    except UnicodeDecodeError:
        return "source/encoding", "the line is not UTF-8"
    return "source/json", "the line is not JSON"


def _csv(path: Path, name: str, reading: ReadOptions, within: str) -> Iterator[Record]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    with open_file(path) as file:
        begin = file.readline(1 << 20)
    if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DatasetError(f"{path}: is UTF-16; convert it to UTF-8")
    delimiter = "\t" if file_format(path) == ".tsv" else _delimiter(begin)

    def rows(reader: csv.DictReader[str]) -> Iterator[_Row]:
        for row in reader:
            where = f"{name}:{reader.line_num}"
            if None in row or None in row.values():
                reason = f"the row has not the {len(reader.fieldnames or ())} cells of the header"
                yield where, RefusedRow(where, "source/cells", reason)
            else:
                yield where, row

    # bytes that are not UTF-8 become lone surrogates, which are found row by row
    with (
        open_file(path) as raw,
        io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="") as lines,
    ):
        reader = csv.DictReader(lines, delimiter=delimiter, strict=True)
        try:
            yield from _documents(
                rows(reader), path, name, list(reader.fieldnames or ()), reading, within
            )
        except csv.Error as error:
            raise DatasetError(f"{path}, line {reader.line_num}: is not CSV: {error}") from error


def _delimiter(header: bytes) -> str:
    """What separates the cells of a CSV file: most often a comma."""
    return max(",;\t", key=lambda sign: (header.count(sign.encode()), sign == ","))


def _parquet(path: Path, name: str, reading: ReadOptions, within: str) -> Iterator[Record]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.suffix.lower() in COMPRESSED:
            with open_file(path) as packed:  # Parquet is read from its end on
                file = pq.ParquetFile(pa.BufferReader(packed.read()))
        else:
            file = pq.ParquetFile(path)
        schema = file.schema_arrow
        texts = [one.name for one in schema if _is_text(one.type)]
        sample = next(file.iter_batches(_SAMPLE, columns=texts), None)
        held = reading.held[name] = columns_of(
            path, reading.columns, schema.names, sample.to_pylist() if sample is not None else ()
        )
        wanted = {held.text, held.title, *held.ids}

        def rows() -> Iterator[_Row]:
            number = 0
            for batch in file.iter_batches(1024, columns=[n for n in schema.names if n in wanted]):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{name}:{number}", row

        yield from _made(rows(), held, reading, within)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: is not a Parquet file of texts: {error}") from error


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def hub(name: str, reading: ReadOptions) -> Iterator[Record]:
    """Through `datasets`, which knows the Hub, local folders and its own cache."""
    from datasets import load_dataset

    owner, _, config = name.partition(":")
    split = reading.split

    def rows(data: Any) -> Iterator[_Row]:
        try:
            for number, row in enumerate(data, 1):
                yield f"hf:{name}:{number}", row
        except Exception as error:  # of whatever file there is behind it
            raise _not_loaded(name, split, error) from error

    try:
        data = load_dataset(owner, config or None, split=split, streaming=True)
        names = list(data.column_names or ())
    except Exception as error:  # of many kinds: network, no such data set, split or file
        raise _not_loaded(name, split, error) from error
    yield from _documents(rows(data), f"hf:{name}", f"hf:{name}", names, reading, "")


def _not_loaded(name: str, split: str, error: Exception) -> DatasetError:
    message = str(error).splitlines()[0] if str(error) else ""
    return DatasetError(
        f"source hf:{name}, split {split}: cannot be loaded: {type(error).__name__}: {message}"
    )


MARKDOWN, HTML = (".md", ".markdown"), (".html", ".htm")
TEXT_KINDS = (".txt", *MARKDOWN, ".rst", *HTML)

_UTF8_BYTES = 4  # of a character at most
_HEAD = 50_000  # characters in which the title of a text is looked for
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?\r?\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
# what a page shows around its text, or shows to nobody
_AROUND = (
    "//nav|//footer|//*[@role='navigation']|//*[@hidden]|//*[@aria-hidden='true']"
    "|//noscript|//template|//button|//select|//textarea|//svg"
)


def text_file(
    path: Path, where: str, called: str, reading: ReadOptions
) -> SourceDocument | RefusedRow:
    """A file as a document with the id `called`, or why it is none."""
    most = None if reading.longest is None else reading.longest * _UTF8_BYTES
    try:
        with open_file(path) as file:
            content = file.read() if most is None else file.read(most + 1)
    except OSError as error:
        return RefusedRow(where, "source/unreadable", f"cannot be read: {error.strerror}", called)
    except DatasetError as error:
        reason = str(error).removeprefix(f"{path}: ")
        return RefusedRow(where, "source/unreadable", reason, called)
    if most is not None and len(content) > most:
        return too_long(where, called, reading.longest or 0)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        is_16 = content.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        reason = "the file is UTF-16, not UTF-8" if is_16 else "the file is not UTF-8"
        return RefusedRow(where, "source/encoding", reason, called)
    held, title = file_format(path), ""
    if held in MARKDOWN:
        title = markdown_title(text)
    elif held in HTML and text.strip():
        try:
            title, text = shown(text)
        except RecursionError:
            reason = "its elements are nested too deeply to be read"
            return RefusedRow(where, "source/unreadable", reason, called)
        if not text.strip():
            return RefusedRow(where, "source/empty", "the page shows no text", called)
    if not text.strip():
        return RefusedRow(where, "source/empty", "the file is empty", called)
    if reading.longest is not None and len(text) > reading.longest:
        return too_long(where, called, reading.longest, len(text))
    return SourceDocument(called, title, text)


def markdown_title(text: str) -> str:
    """The first heading of level 1, else `title:` of the front matter, else ""."""
    from markdown_it import MarkdownIt

    head = text[:_HEAD]
    front = _FRONT.match(head)
    tokens = MarkdownIt("commonmark").parse(head[front.end() :] if front else head)
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.tag == "h1":
            parts = inline.children or ()
            words = (" " if one.type.endswith("break") else one.content for one in parts)
            if title := " ".join("".join(words).split()):
                return title
    return _front_title(front[1]) if front else ""


def _front_title(front: str) -> str:
    try:
        header = parse_yaml(front, "front matter", error=DatasetError)
    except DatasetError:
        return ""
    title = header.get("title") if isinstance(header, dict) else None
    return " ".join(str(title).split()) if title is not None else ""


def shown(html: str) -> tuple[str, str]:
    """Title and visible text of a page, without its navigation; ("", "") of what is no page."""
    import lxml.etree
    import lxml.html
    from inscriptis import Inscriptis

    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        page: Any = lxml.html.document_fromstring(html.encode(), parser=parser)
    except lxml.etree.ParserError:  # nothing but comments
        return "", ""
    for element in page.xpath(_AROUND):
        if element.getparent() is not None:
            element.drop_tree()
    titles = page.xpath("//head/title") or page.xpath("//h1")
    title = " ".join(titles[0].text_content().split()) if titles else ""
    return title, Inscriptis(page).get_text()
