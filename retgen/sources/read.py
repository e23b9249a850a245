"""Reading a source: its rows, of which no id and no text comes twice.

Of a folder every text file is a document and every row of a table one, in all folders below; hidden
files and folders are left out. A folder that is a retrieval data set gives its corpus.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import xxhash

from retgen.dataset_files import COMPRESSED, corpus_files, file_format
from retgen.errors import DatasetError
from retgen.sources import chapters, convert, formats, texts
from retgen.sources.records import (
    UNREAD,
    Columns,
    ReadOptions,
    Record,
    RefusedRow,
    SourceDocument,
    SourceNotes,
)

_PAGES = ("train", "eval", "diagnosis", "capacity", "certificate")
_WRITTEN = [("recipe.yaml", "run.log"), *((f"{one}.json", f"{one}.html") for one in _PAGES)]
KINDS = (*texts.TEXT_KINDS, *formats.TABLE_KINDS)
_WRITTEN_BY_US = "the folder of a run or of scores, whose data are no documents"
_LEAVES = "a link out of the source's folder (`follow_links: true` of the source reads it)"


_File = tuple[Path, str]  # and its name from the source's folder on


def folder(path: Path, reading: ReadOptions) -> Iterator[Record]:
    """What the folder holds and is not read, then documents in the order of their paths."""
    if corpus := corpus_files(path):
        for file in corpus:
            if file_format(file) not in formats.TABLE_KINDS:
                raise DatasetError(f"{file}: a corpus is {', '.join(formats.TABLE_KINDS)}")
            name = file.relative_to(path).as_posix()
            if not (reading.follow_links or _stays(file, _inside(path))):
                raise DatasetError(f"{file}: is {_LEAVES}")
            yield from formats.table(file, name, reading)
        return
    entries = list(_walk(path, reading.follow_links))
    yield from (Record(one.where, one) for one in entries if isinstance(one, RefusedRow))
    files = [one for one in entries if not isinstance(one, RefusedRow)]
    if not files:
        raise DatasetError(f"{path}: holds no {', '.join(KINDS[:-1])} or {KINDS[-1]} file")
    convert.import_readers(file_format(file) for file, _ in files)
    stems = Counter(stem(name) for _, name in files)
    for file, name in files:
        called = texts.composed(stem(name) if stems[stem(name)] == 1 else name)
        if file_format(file) in texts.TEXT_KINDS:
            yield Record(name, texts.file_document(file, name, called, reading), name)
            continue
        try:
            yield from formats.table(file, name, reading, within=called)
        except DatasetError as error:
            rule = "source/unreadable"
            if isinstance(error, formats.ColumnsNotFound):
                rule = "source/columns"
                if any(reading.columns):  # the recipe names a column that is not there
                    raise
            reason = str(error).removeprefix(f"{file}").lstrip(":, ")
            yield Record(name, RefusedRow(name, rule, reason))


def kinds(path: Path) -> dict[str, int]:
    """How many files of a folder are read, by their kind, most first; of a data set its corpus."""
    entries = _walk(path)
    files = corpus_files(path) or [one[0] for one in entries if not isinstance(one, RefusedRow)]
    return dict(Counter(map(file_format, files)).most_common())


def stem(name: str) -> str:
    """A file's name without what says its kind."""
    path = Path(name)
    if path.suffix.lower() in COMPRESSED:
        name = name.removesuffix(path.suffix)
    return name[: -len(file_format(path))] if file_format(path) else name


def shown(name: str) -> str:
    """The name of a file as text."""
    return os.fsencode(name).decode("utf-8", "replace")


def _inside(root: Path) -> list[Path]:
    """Where links of a folder may lead: below it, and in the Hub's cache to the folder of blobs."""
    own = root.resolve()
    caches = [one.parent.parent for one in (own, *own.parents) if one.parent.name == "snapshots"]
    return [own, *(cache / "blobs" for cache in caches)]


def _stays(path: Path, inside: Iterable[Path]) -> bool:
    target = path.resolve()
    return any(target.is_relative_to(one) for one in inside)


def _is_output(folder: Path) -> bool:
    """Whether a command wrote a folder: a run (or writes it now), a training, scores."""
    return any(all((folder / name).is_file() for name in names) for names in _WRITTEN)


def _walk(root: Path, follow_links: bool = False) -> Iterator[_File | RefusedRow]:
    """Files that are read, and what is not, in the order of paths."""
    inside = _inside(root)

    def unread_because(entry: Path, above: frozenset[Path]) -> str:
        """Why an entry of a folder is not read, "" where it is."""
        if not entry.exists():
            return "a link that leads nowhere"
        if entry.is_symlink() and not (follow_links or _stays(entry, inside)):
            return _LEAVES
        if entry.is_dir():
            target = entry.resolve()
            if entry.is_symlink() and (target in above or target.is_relative_to(inside[0])):
                return "a link to a folder of the source, which is read where it lies"
            return _WRITTEN_BY_US if _is_output(entry) else ""
        if not entry.is_file():
            return "is no file of bytes"
        is_read = file_format(entry) in KINDS
        return "" if is_read else f"a file of this kind is not read, only {', '.join(KINDS)}"

    def enter(folder: Path, name: str, above: frozenset[Path]) -> Iterator[_File | RefusedRow]:
        try:
            entries = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
        except OSError as error:
            if not name:
                raise DatasetError(f"{root}: cannot be read: {error.strerror}") from error
            yield RefusedRow(name, UNREAD, f"cannot be read: {error.strerror}")
            return
        for entry in entries:
            here = f"{name}{shown(entry.name)}{'/' * entry.is_dir()}"
            if reason := unread_because(entry, above):
                yield RefusedRow(here, UNREAD, reason)
            elif entry.is_dir():
                yield from enter(entry, here, above | {entry.resolve()})
            else:
                yield entry, here

    return enter(root, "", frozenset({inside[0]}))


FORMATS = (
    f"{', '.join(KINDS[:-1])} or {KINDS[-1]} (also {', '.join(COMPRESSED)}), a folder of such "
    f"files, the folder of a data set, or {formats.HUB}owner/name"
)


def read_sources(
    path: Path | str,
    columns: Columns,
    *,
    split: str = "train",
    limit: int | None = None,
    notes: SourceNotes | None = None,
    follow_links: bool = False,
    structure: bool = False,
    by_chapter: bool = False,
) -> Iterator[SourceDocument | RefusedRow]:
    """The documents of a source in its order, at most `limit` rows.

    Documents without an id column are numbered by row, a text file is called as its file. What a
    folder holds and is not read comes first, and is no row. `notes`: are filled. `follow_links`:
    those that leave the folder too. `structure`: what documents have beside text. `by_chapter`: a
    source of one document gives its chapters ("id#first-steps").
    Raises `DatasetError` for a source that is not there, cannot be read, or lacks a column.
    """
    seen: dict[str, str] = {}  # id -> the file that it came from
    first: dict[int, str] = {}  # hash of a text -> the id it stands under
    number = -1
    notes = SourceNotes({}, {}) if notes is None else notes
    reading = ReadOptions(columns, split, notes, follow_links, structure)
    records = _by_chapter(path, reading) if by_chapter else _read(path, reading)
    for where, one, file in records:
        if isinstance(one, RefusedRow) and one.rule == UNREAD:
            yield one
            continue
        number += 1
        if limit is not None and number >= limit:
            return
        if isinstance(one, SourceDocument):
            if seen.get(one.id, file) != file:  # each file counts for itself
                one = one._replace(id=f"{file}/{one.id}")
            if one.id in seen:
                message = f"the id {one.id!r} stands there twice"
                yield RefusedRow(where, "source/duplicate-id", message, one.id)
                continue
            text = " ".join(one.text.split())  # white space makes no difference
            same = first.setdefault(xxhash.xxh3_64_intdigest(text.encode()), one.id)
            if same != one.id:
                message = f"its text is that of {same!r}"
                yield RefusedRow(where, "source/duplicate-text", message, one.id)
                continue
            seen[one.id] = file
        yield one


def refusals(refused: Sequence[RefusedRow]) -> str:
    """What was refused and why, by rule, most first: one line with the first record of each."""
    first: dict[str, RefusedRow] = {}
    for one in refused:
        first.setdefault(one.rule, one)
    parts = [
        f"{count:,} by {rule}, the first at {first[rule].where}: {first[rule].reason}"
        for rule, count in Counter(one.rule for one in refused).most_common()
    ]
    if "source/encoding" in first:
        parts.append("convert the file to UTF-8")
    return f"Refused are {'; '.join(parts)}." if parts else ""


def _by_chapter(path: Path | str, reading: ReadOptions) -> Iterator[Record]:
    """Rows of a source; of one that is a single text, its chapters."""
    here = Path(path)
    held = kinds(here) if here.is_dir() else {file_format(here): 1}
    if sum(held.values()) > 1 or not set(held) <= set(texts.TEXT_KINDS):
        return _read(path, reading)
    whole = reading._replace(structure=True)
    return chapters.by_chapter(_read(path, whole), reading)


def _read(path: Path | str, reading: ReadOptions) -> Iterator[Record]:
    if isinstance(path, str) and path.startswith(formats.HUB):
        return formats.hub(path.removeprefix(formats.HUB), reading)
    path = Path(path)
    if path.is_dir():
        return folder(path, reading)
    if not path.is_file():
        raise DatasetError(f"there is no source {path}: give {FORMATS}")
    name = shown(path.name)
    if file_format(path) in formats.TABLE_KINDS:
        return formats.table(path, name, reading)
    if file_format(path) in texts.TEXT_KINDS:
        convert.import_readers([file_format(path)])
        document = texts.file_document(path, name, texts.composed(stem(name)), reading)
        return iter([Record(name, document)])
    raise DatasetError(f"{path}: a source is {FORMATS}, not {path.suffix or 'a file like this'}")
