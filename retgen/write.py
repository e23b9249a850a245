"""Writing files so that a reader, or a rerun after a kill, never meets half of one.

Every file is written beside its final name, synced, then renamed; its SHA-256 is taken on the way.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import io
import os
import platform
import re
import secrets
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.errors import OutputError, RunDirectoryError

_TEMPORARY = ".partial"
_OWN = re.compile(r"\.\d+-[0-9a-f]{8}\.partial")  # how the names of temporary files end
_STALE = 24 * 3600.0  # seconds: what is that old was left by a process that was killed
_PIECE = 1 << 20


class FileInfo(NamedTuple):
    """What the manifest keeps of a file: hex SHA-256 and size in bytes."""

    sha256: str
    bytes: int


class AtomicFile:
    """A file that appears under its name only when it is complete. Use as a context manager.

    Its temporary file has a name of this writer's own. Raises `OutputError` where the system
    refuses a write; the temporary file is then removed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._temporary = _temporary(path)
        self._hash = hashlib.sha256()
        self._size = 0

    def __enter__(self) -> AtomicFile:
        with os_errors(self.path):
            remove_partial(self.path.parent, _prefix(self.path), _STALE)
            self._file = open(self._temporary, "xb", buffering=0)
        return self

    def write(self, data: bytes | bytearray | memoryview) -> None:
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
                    self._file.close()  # Windows moves no file that is open, nor removes one
                    os.replace(self._temporary, self.path)
        finally:
            self._file.close()
            self._temporary.unlink(missing_ok=True)

    @property
    def info(self) -> FileInfo:
        """Hash and size of what was written so far."""
        return FileInfo(self._hash.hexdigest(), self._size)


class ArrowBuffer(io.BytesIO):
    """What Arrow writes into a file, in memory until it is moved there.

    Arrow ends the process where some of its writers meet an error; here they meet none.
    """

    _moved = 0

    def tell(self) -> int:
        """The place in the file."""
        return self._moved + super().tell()

    def move_to(self, file: AtomicFile) -> None:
        """Append what is here to a file."""
        self._moved = self.tell()
        file.write(self.getvalue())
        self.seek(0)
        self.truncate()


def write_file(path: Path, data: bytes | str) -> FileInfo:
    """Write a whole file atomically."""
    with AtomicFile(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return file.info


def json_line(row: Any) -> bytes:
    """A row as a line of JSON Lines."""
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY)


def write_rows(path: Path, rows: Iterable[Any]) -> tuple[FileInfo, int]:
    """Write a file of JSON Lines atomically; the file, and how many rows."""
    return write_lines(path, map(json_line, rows))


def write_lines(path: Path, lines: Iterable[bytes]) -> tuple[FileInfo, int]:
    """Write lines, each with its end, atomically; the file, and how many lines."""
    held, count = bytearray(), 0
    with AtomicFile(path) as file:
        for count, line in enumerate(lines, start=1):  # noqa: B007
            held += line
            if len(held) >= _PIECE:
                file.write(held)
                held.clear()
        file.write(held)
    return file.info, count


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


def cache_folder() -> Path:
    """RETGEN_CACHE, else retgen/ in the user's cache folder."""
    if named := os.environ.get("RETGEN_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "retgen"


def make_folder(path: Path) -> None:
    """Create a folder and its parents."""
    with os_errors(path):
        path.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder that appears under its name only when all of it is written. Yields where to write.

    Raises `OutputError` where the folder holds anything already, or the disk is full, whatever is
    written in the block.
    """
    if path.is_file():
        raise OutputError(f"{path} is a file; choose a folder with --out")
    if path.exists() and any(path.iterdir()):
        raise OutputError(f"{path} is not empty; choose another folder with --out")
    final = Path(os.path.realpath(path))
    new = _temporary(final)
    make_folder(final.parent)
    with os_errors(path):
        remove_partial(final.parent, _prefix(final), _STALE)
        new.mkdir()
    try:
        with os_errors(path, only_room=True):
            yield new
        with os_errors(path):
            if final.exists():
                final.rmdir()
            os.replace(new, final)
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextlib.contextmanager
def scratch_folder(prefix: str, inside: Path | None = None) -> Iterator[Path]:
    """A temporary folder, by default where the system has them.

    Raises `OutputError` where the disk is full, whatever is written in the block.
    """
    try:
        room = inside or Path(tempfile.gettempdir())
    except FileNotFoundError as error:  # it has tried to write into each
        what = "free some space, or name a folder with TMPDIR, and run the same command again."
        raise OutputError(f"no folder for temporary files can be written: {what}") from error
    with os_errors(room, only_room=True):
        remove_partial(room, prefix, _STALE)
        with tempfile.TemporaryDirectory(
            prefix=prefix, suffix=_TEMPORARY, dir=room, ignore_cleanup_errors=True
        ) as folder:
            yield Path(folder)


def remove_partial(folder: Path, prefix: str = ".", age: float = 0.0) -> None:
    """Remove the temporary files, and of a `prefix` folders too, that killed processes left.

    `age`: seconds for which they have not changed; 0 where no other process has any there.
    """
    for left in folder.glob(f"{glob.escape(prefix)}*{_TEMPORARY}"):
        with contextlib.suppress(FileNotFoundError, PermissionError):  # another process's
            if time.time() - left.lstat().st_mtime < age:
                continue
            if is_partial(left) and not left.is_dir():
                left.unlink()
            elif prefix != "." and left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)


def is_partial(path: Path) -> bool:
    """Whether a name is that of a temporary file which `AtomicFile` writes."""
    return path.name.startswith(".") and bool(_OWN.search(path.name))


def _temporary(path: Path) -> Path:
    """A name of this writer's own beside a path."""
    own = f"{os.getpid()}-{secrets.token_hex(4)}"
    return path.with_name(f"{_prefix(path)}{own}{_TEMPORARY}")


def _prefix(path: Path) -> str:
    """How the names of a path's temporary files begin; a name has its limit, 255 bytes."""
    return f".{path.name[:40]}."


def size_text(number: float) -> str:
    """Bytes for a reader: "512 B", "1.5 MB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.95:
            return f"{number:.1f} {unit}" if unit != "B" else f"{number:.0f} B"
        number /= 1000
    return f"{number:,.1f} TB"


@contextlib.contextmanager
def lock_file(path: Path, taken: str) -> Iterator[Callable[[str], None]]:
    """Hold a lock file, which says who does; its folder is made, and a killed process lets go.

    Gives a function that has the file say more of the holder than its command. Raises
    `RunDirectoryError` with the sentence `taken`, and who it is, where another process holds it.
    """
    import filelock

    make_folder(path.parent)
    lock = filelock.FileLock(path)
    with os_errors(path):
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout as error:  # an OSError too, so it is caught first
            holder = path.read_text("utf-8", "replace").strip() or "another process"
            raise RunDirectoryError(f"{taken}. It is {holder}") from error

    def note(what: str) -> None:
        with os_errors(path):
            path.write_text(f"process {os.getpid()} on {platform.node()}: {what}\n", "utf-8")

    try:
        note(shlex.join(["gen", *sys.argv[1:]]))
        yield note
    finally:
        lock.release()


_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "raise the limit (ulimit -f)",
}


@contextlib.contextmanager
def os_errors(path: Path, *, only_room: bool = False) -> Iterator[None]:
    """Turn what the system refuses while `path` is written into an `OutputError`.

    `only_room`: of a block that does more than write, nothing but a lack of room.
    """
    try:
        yield
    except OSError as error:
        if only_room and error.errno not in _REMEDIES:
            raise
        what = os.strerror(error.errno) if error.errno else str(error)
        remedy = _REMEDIES.get(error.errno or 0, "choose another folder with --out")
        raise OutputError(
            f"cannot write {path}: {what}. What was finished before is kept: "
            f"{remedy} and run the same command again."
        ) from error
