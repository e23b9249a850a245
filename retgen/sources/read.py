"""Reading a source: its rows, of which no id and no text comes twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import xxhash

from retgen.dataset_files import COMPRESSED, file_format
from retgen.errors import DatasetError
from retgen.sources import tables, texts
from retgen.sources.folders import folder, shown, stem
from retgen.sources.records import (
    UNREAD,
    Columns,
    Held,
    Reading,
    Record,
    Refused,
    SourceDocument,
)

LONGEST = 1_000_000  # characters of a document; what is longer is a book
FORMATS = (
    f"{', '.join((*texts.KINDS, *tables.KINDS)[:-1])} or {tables.KINDS[-1]} (also "
    f"{', '.join(COMPRESSED)}), a folder of such files, the folder of a data set, or "
    f"{tables.HUB}owner/name"
)


def read_sources(
    path: Path | str,
    columns: Columns,
    *,
    split: str = "train",
    limit: int | None = None,
    longest: int | None = LONGEST,
    held: dict[str, Held] | None = None,
    follow_links: bool = False,
) -> Iterator[SourceDocument | Refused]:
    """The documents of a source in its order, at most `limit` rows.

    Documents without an id column are numbered by row, a text file is called as its file. What a
    folder holds and is not read comes first, and is no row. `longest`: characters of a document,
    None for any number. `held`: the columns of each table are noted there, by the name of its file.
    `follow_links`: those that leave the folder too.
    Raises `DatasetError` for a source that is not there, cannot be read, or lacks a column.
    """
    seen: dict[str, str] = {}  # id -> the file that it came from
    first: dict[int, str] = {}  # hash of a text -> the id it stands under
    number = -1
    reading = Reading(columns, split, longest, {} if held is None else held, follow_links)
    for where, one, file in _read(path, reading):
        if isinstance(one, Refused) and one.rule == UNREAD:
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
                yield Refused(where, "source/duplicate-id", message, one.id)
                continue
            same = first.setdefault(_hash(one.text), one.id)
            if same != one.id:
                message = f"its text is that of {same!r}"
                yield Refused(where, "source/duplicate-text", message, one.id)
                continue
            seen[one.id] = file
        yield one


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


def _hash(text: str) -> int:
    """Texts that differ in white space only are the same."""
    return xxhash.xxh3_64_intdigest(" ".join(text.split()).encode())


def _read(path: Path | str, reading: Reading) -> Iterator[Record]:
    if isinstance(path, str) and path.startswith(tables.HUB):
        return tables.hub(path.removeprefix(tables.HUB), reading)
    path = Path(path)
    if path.is_dir():
        return folder(path, reading)
    if not path.is_file():
        raise DatasetError(f"there is no source {path}: give {FORMATS}")
    name = shown(path.name)
    if file_format(path) in tables.KINDS:
        return tables.table(path, name, reading)
    if file_format(path) in texts.KINDS:
        return iter([Record(name, texts.text_file(path, name, stem(name), reading))])
    raise DatasetError(f"{path}: a source is {FORMATS}, not {path.suffix or 'a file like this'}")
