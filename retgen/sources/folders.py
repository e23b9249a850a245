"""Folders: every text file a document, every row of a table one, in all folders below.

Hidden files and folders are left out. A folder that is a retrieval data set gives its corpus.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from retgen.dataset_files import COMPRESSED, corpus_files, file_format
from retgen.errors import DatasetError
from retgen.sources import tables, texts
from retgen.sources.records import UNREAD, Reading, Record, Refused

_LEAVES = "a link out of the source's folder (`follow_links: true` of the source reads it)"


class _File(NamedTuple):
    path: Path
    name: str  # from the source's folder on


def folder(path: Path, reading: Reading) -> Iterator[Record]:
    """What the folder holds and is not read, then documents in the order of their paths."""
    if corpus := corpus_files(path):
        for file in corpus:
            if file_format(file) not in tables.KINDS:
                raise DatasetError(f"{file}: a corpus is {', '.join(tables.KINDS)}")
            name = file.relative_to(path).as_posix()
            if not (reading.follow_links or _stays(file, _inside(path))):
                raise DatasetError(f"{file}: is {_LEAVES}")
            yield from tables.table(file, name, reading)
        return
    files: list[_File] = []
    for one in _walk(path, reading.follow_links):
        if isinstance(one, Refused):
            yield Record(one.where, one)
        else:
            files.append(one)
    if not files:
        every = (*texts.KINDS, *tables.KINDS)
        raise DatasetError(f"{path}: holds no {', '.join(every[:-1])} or {every[-1]} file")
    stems = Counter(stem(name) for _, name in files)
    for file, name in files:
        called = stem(name) if stems[stem(name)] == 1 else name
        if file_format(file) in texts.KINDS:
            yield Record(name, texts.text_file(file, name, called, reading), name)
            continue
        try:
            yield from tables.table(file, name, reading, within=called)
        except tables.ColumnsNotFound as error:
            if any(reading.columns):
                raise
            yield Record(name, Refused(name, "source/columns", _reason(error, file)))
        except DatasetError as error:
            yield Record(name, Refused(name, "source/unreadable", _reason(error, file)))


def kinds(path: Path) -> dict[str, int]:
    """How many files of a folder are read, by their kind, most first; of a data set its corpus."""
    files = corpus_files(path) or [one.path for one in _walk(path) if isinstance(one, _File)]
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


def _reason(error: DatasetError, file: Path) -> str:
    return str(error).removeprefix(f"{file}").removeprefix(":").removeprefix(",").strip()


def _inside(root: Path) -> list[Path]:
    """Where links of a folder may lead: below it, and in the Hub's cache to the folder of blobs."""
    own = root.resolve()
    caches = [one.parent.parent for one in (own, *own.parents) if one.parent.name == "snapshots"]
    return [own, *(cache / "blobs" for cache in caches)]


def _stays(path: Path, inside: Iterable[Path]) -> bool:
    target = path.resolve()
    return any(target.is_relative_to(one) for one in inside)


def _walk(root: Path, follow_links: bool = False) -> Iterator[_File | Refused]:
    """Files that are read, and what is not, each in the order of paths."""
    files: list[_File] = []
    unread: list[Refused] = []
    every = (*texts.KINDS, *tables.KINDS)
    allowed = _inside(root)
    inside = allowed[0]

    def enter(folder: Path, name: str, above: frozenset[Path]) -> None:
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            if not name:
                raise DatasetError(f"{root}: cannot be read: {error.strerror}") from error
            unread.append(Refused(name, UNREAD, f"cannot be read: {error.strerror}"))
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            here = f"{name}{shown(entry.name)}"
            if (
                entry.is_symlink()
                and entry.exists()
                and not (follow_links or _stays(entry, allowed))
            ):
                unread.append(Refused(f"{here}{'/' * entry.is_dir()}", UNREAD, _LEAVES))
                continue
            if entry.is_dir():
                target = entry.resolve()
                if entry.is_symlink() and (target in above or target.is_relative_to(inside)):
                    reason = "a link to a folder of the source, which is read where it lies"
                    unread.append(Refused(f"{here}/", UNREAD, reason))
                else:
                    enter(entry, f"{here}/", above | {target})
            elif not entry.is_file():
                reason = (
                    "a link that leads nowhere" if entry.is_symlink() else "is no file of bytes"
                )
                unread.append(Refused(here, UNREAD, reason))
            elif file_format(entry) not in every:
                reason = f"a file of this kind is not read, only {', '.join(every)}"
                unread.append(Refused(here, UNREAD, reason))
            else:
                files.append(_File(entry, here))

    enter(root, "", frozenset({inside}))
    yield from unread
    yield from files
