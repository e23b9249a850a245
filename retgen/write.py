"""Writing files so that a reader, or a rerun after a kill, never meets half of one.

Every file is written beside its final name, synced, then renamed; its SHA-256 is taken on the way.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.errors import OutputError

__all__ = [
    "AtomicFile",
    "FileInfo",
    "dump_json",
    "file_info",
    "make_folder",
    "os_errors",
    "remove_partial",
    "size_text",
    "write_file",
]

_TEMPORARY = ".partial"
_PIECE = 1 << 20


class FileInfo(NamedTuple):
    """What the manifest keeps of a file: hex SHA-256 and size in bytes."""

    sha256: str
    bytes: int


class AtomicFile:
    """A file that appears under its name only when it is complete. Use as a context manager.

    Raises `OutputError` where the system refuses a write; the temporary file is then removed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._temporary = path.with_name(f".{path.name}{_TEMPORARY}")
        self._hash = hashlib.sha256()
        self._size = 0

    def __enter__(self) -> AtomicFile:
        with os_errors(self.path):
            self._temporary.unlink(missing_ok=True)  # of a killed process, or a link laid there
            self._file = open(self._temporary, "xb", buffering=0)
        return self

    def write(self, data: bytes) -> None:
        """Append `data`."""
        with os_errors(self.path):
            view = memoryview(data)
            while view:  # an unbuffered write may be cut short, on a full disk for one
                view = view[self._file.write(view) :]
        self._hash.update(data)
        self._size += len(data)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                with os_errors(self.path):
                    os.fsync(self._file.fileno())
        except OutputError:
            kind = OutputError
            raise
        finally:
            self._file.close()
            if kind is not None:
                self._temporary.unlink(missing_ok=True)
        if kind is None:
            with os_errors(self.path):
                os.replace(self._temporary, self.path)

    @property
    def info(self) -> FileInfo:
        """Hash and size of what was written so far."""
        return FileInfo(self._hash.hexdigest(), self._size)


def write_file(path: Path, data: bytes | str) -> FileInfo:
    """Write a whole file atomically."""
    with AtomicFile(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return file.info


def file_info(path: Path) -> FileInfo:
    """Hash and size of a file on disk."""
    digest = hashlib.sha256()
    size = 0
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            size += len(piece)
    return FileInfo(digest.hexdigest(), size)


def dump_json(value: Any) -> str:
    """Readable JSON with a final newline; keys keep their order."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    return orjson.dumps(value, option=options).decode()


def make_folder(path: Path) -> None:
    """Create a folder and its parents."""
    with os_errors(path):
        path.mkdir(parents=True, exist_ok=True)


def remove_partial(folder: Path) -> None:
    """Remove temporary files that a killed process left behind in `folder`."""
    for path in folder.glob(f".*{_TEMPORARY}"):
        path.unlink(missing_ok=True)


_NO_LOCKS = "its file system has no file locks (some network drives), which keep two runs apart"


def size_text(number: float) -> str:
    """Bytes for a reader: "512 B", "1.5 MB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.95:
            return f"{number:.1f} {unit}" if unit != "B" else f"{number:.0f} B"
        number /= 1000
    return f"{number:,.1f} TB"


@contextlib.contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Turn what the system refuses while `path` is written into an `OutputError`."""
    try:
        yield
    except OSError as error:
        what = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the disk quota is used up",
            errno.EFBIG: "the file would be larger than this system allows",
            errno.EACCES: "permission denied",
            errno.EPERM: "permission denied",
            errno.EROFS: "the file system is read-only",
            errno.ENOLCK: _NO_LOCKS,
            errno.EOPNOTSUPP: _NO_LOCKS,
        }.get(error.errno or 0, error.strerror or str(error))
        remedy = (
            "free some space"
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            else "choose another folder with --out"
        )
        raise OutputError(
            f"cannot write {path}: {what}. What was finished before is kept: "
            f"{remedy} and run the same command again."
        ) from error
