"""Writing files so that a reader, or a rerun after a kill, never meets half of one.

Every file is written beside its final name, synced, then renamed; its SHA-256 is taken on the way.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import platform
import secrets
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.errors import OutputError, RunDirectoryError

_TEMPORARY = ".partial"
_IS_WINDOWS = os.name == "nt"
PATIENCE = 30.0  # seconds; the workers of a killed run end at once, unless their disk is slow
_PIECE = 1 << 20


class FileInfo(NamedTuple):
    """What the manifest keeps of a file: hex SHA-256 and size in bytes."""

    sha256: str
    bytes: int


class AtomicFile:
    """A file that appears under its name only when it is complete. Use as a context manager.

    The temporary file's name is this writer's own, and it is locked while it is written: two
    writers of one file never meet. Raises `OutputError` where the system refuses a write; the
    temporary file is then removed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._hash = hashlib.sha256()
        self._size = 0

    def __enter__(self) -> AtomicFile:
        with os_errors(self.path):
            for left in _partial(self.path.parent, _temporary_prefix(self.path)):
                _remove_unheld(left)  # of a process that was killed
            while not self._open():  # taken for one that was left
                pass
        return self

    def _open(self) -> bool:
        """Make the temporary file and hold it; False where another process removes it first.

        Each time under a new name: who takes one for left removes it by its name.
        """
        own = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._temporary = self.path.with_name(f"{_temporary_prefix(self.path)}{own}{_TEMPORARY}")
        self._file = open(self._temporary, "xb", buffering=0)  # noqa: SIM115
        try:
            _lock(self._file.fileno())
            if self._temporary.exists():
                return True
        except BlockingIOError:
            pass
        self._file.close()
        self._temporary.unlink(missing_ok=True)
        return False

    def write(self, data: bytes | memoryview) -> None:
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
                    if _IS_WINDOWS:  # which moves no file that is open, nor removes one
                        self._file.close()
                    os.replace(self._temporary, self.path)
        except OutputError:
            kind = OutputError
            raise
        finally:
            self._file.close()  # and with it its lock
            if kind is not None:
                self._temporary.unlink(missing_ok=True)

    @property
    def info(self) -> FileInfo:
        """Hash and size of what was written so far."""
        return FileInfo(self._hash.hexdigest(), self._size)


class ArrowSink(io.RawIOBase):
    """What Arrow asks of a file, on an `AtomicFile`.

    Arrow ends the process where some of its writers meet an error, so `write` raises none: `check`
    does, and what comes after an error is dropped.
    """

    def __init__(self, file: AtomicFile) -> None:
        self._file, self._size = file, 0
        self._error: OutputError | None = None

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._size += len(piece)
        if self._error is None:
            try:
                self._file.write(piece)
            except OutputError as error:
                self._error = error
        return len(piece)

    def check(self) -> None:
        """Raise what `write` has met."""
        if self._error is not None:
            raise self._error

    def tell(self) -> int:
        return self._size

    def writable(self) -> bool:
        return True


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
def whole_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """A folder that appears under its name only when all of it is written. Yields where to write.

    What a killed process left of the same folder is removed. `replace`: what stands there makes
    room for it at the end. Raises `OutputError` where the folder holds anything already and is not
    to be replaced, or another process writes it.
    """
    if path.is_file():
        raise OutputError(f"{path} is a file; choose a folder with --out")
    if path.exists() and not replace and any(path.iterdir()):
        raise OutputError(f"{path} is not empty; choose another folder with --out")
    final, unfinished, before = _folders(path)
    make_folder(final.parent)
    with os_errors(path):
        unfinished.mkdir(exist_ok=True)
        held = _held_folder(unfinished, path)
    try:
        with os_errors(path):
            for left in unfinished.iterdir():
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield unfinished
        with os_errors(path):
            if final.exists() and replace:
                shutil.rmtree(before, ignore_errors=True)
                if _exchange(unfinished, final):
                    with contextlib.suppress(FileNotFoundError):  # taken for one that was left
                        os.replace(unfinished, before)
                else:
                    os.replace(final, before)
                    os.replace(unfinished, final)
            else:
                if final.exists():
                    final.rmdir()
                os.replace(unfinished, final)
        shutil.rmtree(before, ignore_errors=True)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        if before.exists() and not final.exists():
            os.replace(before, final)
        raise
    finally:
        if held is not None:
            os.close(held)


def settle_folder(path: Path) -> None:
    """End what a killed `whole_folder` that replaced `path` began: what stands there is whole, and
    nothing is beside it.
    """
    final, unfinished, before = _folders(path)
    if _remove_unheld(unfinished) and before.exists():
        with os_errors(path):
            shutil.rmtree(before) if final.exists() else os.replace(before, final)


def _folders(path: Path) -> tuple[Path, Path, Path]:
    """A folder, where the one that takes its place is written, and where it goes itself."""
    final = Path(os.path.realpath(path))
    start = _temporary_prefix(final)
    return final, final.with_name(f"{start}unfinished"), final.with_name(f"{start}replaced")


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system cannot (Linux can)."""
    import ctypes

    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


@contextlib.contextmanager
def scratch_folder(prefix: str, inside: Path | None = None) -> Iterator[Path]:
    """A temporary folder, by default where the system has them.

    Those of the same prefix that killed processes left go first. Raises `OutputError` where the
    disk is full, whatever is written in the block.
    """
    try:
        room = inside or Path(tempfile.gettempdir())
    except FileNotFoundError as error:  # it has tried to write into each
        what = "free some space, or name a folder with TMPDIR, and run the same command again."
        raise OutputError(f"no folder for temporary files can be written: {what}") from error
    with full_disk(room):
        for left in room.glob(f"{prefix}*"):
            with contextlib.suppress(PermissionError):  # another user's
                _remove_unheld(left)
        folder, held = None, None
        while folder is None:
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=room))
            try:
                held = _held_folder(folder, folder)
            except (FileNotFoundError, OutputError):  # taken for one that was left
                folder = None
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if held is not None:
                os.close(held)


def _held_folder(folder: Path, path: Path) -> int | None:
    """Lock a folder until the descriptor is closed; None where folders cannot be locked."""
    try:
        held = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows
        return None
    try:
        _lock(held)
    except BlockingIOError as error:
        os.close(held)
        raise OutputError(
            f"{path} is being written by another process: wait for it, or choose another folder "
            "with --out"
        ) from error
    return held


def remove_partial(folder: Path) -> None:
    """Remove temporary files that killed processes left behind in `folder`.

    One that is still being written is waited for: its process is about to end, as its parent did.
    Raises `OutputError` where that does not come.
    """
    for path in _partial(folder):
        until = time.monotonic() + PATIENCE
        while not _remove_unheld(path):
            if time.monotonic() > until:
                process = path.name.removesuffix(_TEMPORARY).rpartition(".")[2].partition("-")[0]
                raise OutputError(
                    f"{path} is still being written by another process ({process}), which a "
                    "killed run may have left. End it, and run the same command again."
                )
            time.sleep(0.02)


def _temporary_prefix(path: Path) -> str:
    """How the names of a file's temporary files begin; a name has its limit, 255 bytes."""
    return f".{path.name[:40]}."


def _partial(folder: Path, start: str = ".") -> list[Path]:
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    return [folder / n for n in names if n.startswith(start) and n.endswith(_TEMPORARY)]


def _remove_unheld(path: Path) -> bool:
    """Remove a temporary file or folder unless a living process holds it; whether it is gone."""
    try:
        if path.is_symlink():  # laid there: whatever it leads to is none of ours
            path.unlink()
            return True
        descriptor = os.open(path, os.O_RDONLY)
        try:
            locked = _lock(descriptor)
            if not path.is_dir():
                path.unlink()
            elif locked:
                shutil.rmtree(path)
            else:
                return False
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (BlockingIOError, PermissionError):  # held: by a lock, on Windows by being open
        return False
    return True


def _lock(descriptor: int) -> bool:
    """Hold an open file until it is closed, or its process ends; False where there are no locks.

    `BlockingIOError`: another process holds it.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows, where a file that is open cannot be removed
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # a file system without locks: a run into it is refused before this
        return False
    return True


_NO_LOCKS = "its file system has no file locks (some network drives), which keep two runs apart"


def size_text(number: float) -> str:
    """Bytes for a reader: "512 B", "1.5 MB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.95:
            return f"{number:.1f} {unit}" if unit != "B" else f"{number:.0f} B"
        number /= 1000
    return f"{number:,.1f} TB"


@contextlib.contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """`os_errors` for a block that does more than write: only a lack of room is turned."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        with os_errors(path):
            raise


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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
        if isinstance(error, FileExistsError | NotADirectoryError):
            file = next((one for one in (path, *path.parents) if one.is_file()), path)
            what = f"{'it' if file == path else file} is a file, not a folder"
        remedy = (
            "free some space"
            if error.errno in _NO_ROOM
            else "raise the limit (ulimit -f)"
            if error.errno == errno.EFBIG
            else "choose another folder with --out"
        )
        raise OutputError(
            f"cannot write {path}: {what}. What was finished before is kept: "
            f"{remedy} and run the same command again."
        ) from error
