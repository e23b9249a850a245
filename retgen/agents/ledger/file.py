"""The ledger's file: opened with a look at what it may have lost, one transaction, closed.

SQLite runs in WAL mode with full synchronisation. `meta.in_use` is set and carried into the main
file before anything else is written, and taken away by whoever closes the ledger last: a main file
that has it, with no `-wal` beside it, was copied alone, or has lost that.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from retgen.agents.ledger.database import (
    Database,
    in_use,
    insert_owner,
    no_ledger,
    wrong_version,
)
from retgen.agents.ledger.owners import Leases, this_process
from retgen.agents.ledger.schema import VERSION, Connection, create_tables
from retgen.agents.ledger.sidecar import LedgerState, Sidecar, state_path
from retgen.errors import OutputError, RetgenError, UsageError
from retgen.write import make_folder

# our own reasons why a path is no ledger
_NO_LEDGER = ("it is a folder", "it is a database of something else")
_NO_DATABASE = "file is not a database"


class LostAnswers(UsageError):
    """The ledger lacks answers that were paid for."""


class FileConnection(sqlite3.Connection):
    """A connection of the `sqlite3` module, with what PostgreSQL does another way."""

    stream = sqlite3.Connection.execute

    def insert(self, words: str, values: Any) -> int:
        """Insert one row; its `id`, or 0 where it was there."""
        inserted = self.execute(words, values)
        return int(inserted.lastrowid or 0) if inserted.rowcount == 1 else 0


class LedgerFile(Database):
    """An open file. Raises `LostAnswers` where answers that were paid for are missing.

    `clock`: monotonic, in seconds; `accept`: take what is there as all there is; `create`: make a
    ledger where there is none, else `UsageError`. What cannot be written is opened for reading.
    """

    def __init__(
        self, path: Path, forget: Callable[[], None], clock: Callable[[], float], *,
        accept: bool = False, create: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(forget)
        self.path = path
        self._leases, self._clock = Leases(clock), clock
        self._turns: dict[str, float] = {}
        self._owner: int | None = None  # this process, in `owners`
        self._state: LedgerState | None = None  # as it was last seen
        with self.failures():
            if path.is_dir():
                raise sqlite3.OperationalError(_NO_LEDGER[0])
            if create:
                make_folder(path.parent)
            real = path.resolve()
            self._sidecar = Sidecar(real)
            try:
                self._enter(real, accept, create)
            except BaseException:
                self._sidecar.undo()
                self._sidecar.close()
                raise
        self._closing = weakref.finalize(self, _close, self._connections, self._sidecar)

    def close(self) -> None:
        self._closing()

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        try:
            with self._connections.transaction() as db:
                yield db
                state = _state(db)
        except BaseException:
            self._owner = None
            raise
        if state != self._state:
            self._state = state
            self._sidecar.write(state)

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with self._connections.transaction("BEGIN") as db:
            yield db

    @contextmanager
    def exclusive_access(self) -> Iterator[None]:
        alone = self._sidecar.lock_exclusively()
        try:
            if alone is False:
                raise in_use(self.path)
            yield
        finally:
            self._sidecar.share()

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Turns the errors of SQLite into ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise failure(self.path, str(error)) from error
        except (TypeError, UnicodeDecodeError) as error:  # of a cell, or of SQLite's own words
            raise failure(self.path, f"malformed: {error}") from error

    def failure(self, reason: str) -> RetgenError:
        return failure(self.path, f"malformed: {reason}")

    def owner(self, db: Connection) -> int:
        if self._owner is None:
            self._owner = insert_owner(db, this_process())
        return self._owner

    def lease_left(self, db: Connection, key: bytes, send: int, lease: float) -> float:
        """Seconds until a lease ends at the latest, as this process has seen it."""
        return self._leases.left(key, send, lease)

    def lease_over(self, key: bytes) -> None:
        """Nobody waits for this request any longer."""
        self._leases.over(key)

    def now(self, db: Connection) -> float:
        """The time of day on this machine."""
        return time.time()

    def take_turn(self, db: Connection, name: str, seconds: float) -> float:
        """Seconds to wait for the next turn, of those that this process takes."""
        now = self._clock()
        begins = max(now, self._turns.get(name, now))
        self._turns[name] = begins + seconds
        return begins - now

    def damage(self, most: int) -> list[str]:
        """What SQLite finds, in its words."""
        try:
            found = [row[0] for row in self._outside(f"PRAGMA integrity_check({most})")]
        except OutputError as error:  # too much so to be told in detail
            return [str(error.__cause__)]
        return [] if found == ["ok"] else found

    def size(self) -> int:
        return size_of(self.path)

    def shrink(self) -> None:
        self._outside("VACUUM")
        self._outside("PRAGMA wal_checkpoint(TRUNCATE)")

    def backup(self, other: sqlite3.Connection) -> None:
        """Copy all of it, as it is now."""
        with self.failures(), self._connections.one() as db:
            db.backup(other)

    def _outside(self, words: str) -> list[Any]:
        """The rows of a statement that no transaction may hold (PRAGMA, VACUUM)."""
        with self.failures(), self._connections.one() as db:
            return db.execute(words).fetchall()

    def _enter(self, real: Path, accept: bool, create: bool) -> None:
        alone = self._sidecar.enter()
        known = self._sidecar.read()  # before the database, which only grows
        found = _peek(real)
        if found.version not in (0, VERSION):
            raise wrong_version(self.path, found.version)
        if found.pages:
            raise LostAnswers(
                f"{self.path} is cut off: {found.size:,} of its {found.pages:,} bytes are there. "
                f"Nothing was sent. Put the whole file back, or {salvage(self.path)}"
            )
        missing = _missing(known, found, alone is True)
        if missing and not accept:
            raise LostAnswers(_message(self.path, missing))
        if not found.version and not missing and not create:
            raise no_ledger(self.path)
        if accept and alone is False:
            raise in_use(self.path)
        self.writable = _can_write(real) and self._sidecar.writable
        self._connections = _Connections(real, self.writable, found.wal)
        try:
            self._prepare(found, alone is True, accept)
        except BaseException:
            self._connections.close()
            raise
        self._sidecar.share()

    def _prepare(self, found: _FoundFile, alone: bool, accept: bool) -> None:
        if not self.writable:
            if not found.version:
                raise sqlite3.OperationalError("it holds no ledger, and is read-only")
            self._state = found.state
            return
        with self._connections.transaction() as db:
            create_tables(db)
            if alone:
                db.execute("UPDATE meta SET in_use = 1")
            self._state = state = _state(db)
        if alone:
            self._outside("PRAGMA wal_checkpoint(PASSIVE)")
        self._sidecar.write(state, back=alone or accept)


def size_of(path: Path) -> int:
    """Bytes of a ledger's file and of what lies beside it."""
    real = path.resolve()
    names = (real.with_name(real.name + end) for end in ("", "-wal"))
    return sum(one.stat().st_size for one in names if one.exists())


def _state(db: Connection) -> LedgerState:
    return LedgerState(*db.execute("SELECT ledger, changes, answers FROM meta").fetchone())


class _FoundFile(NamedTuple):
    """What lies at a path. `version`: 0 for nothing; `pages`: bytes that it should have."""

    version: int = 0
    state: LedgerState | None = None
    in_use: bool = False
    wal: bool = False
    size: int = 0
    pages: int = 0


def _peek(real: Path) -> _FoundFile:
    """Read without changing anything, so that a file that was lost can still be put back."""
    wal = real.with_name(real.name + "-wal").exists()
    try:
        with open(real, "rb") as file:
            head = file.read(100)
            size = file.seek(0, 2)
    except FileNotFoundError:
        return _FoundFile()
    except OSError as error:
        raise sqlite3.OperationalError(error.strerror) from error
    if not size:
        return _FoundFile(wal=wal)
    pages = 0
    whole = len(head) == 100 and head.startswith(b"SQLite format 3\0")
    if whole and head[24:28] == head[92:96]:  # the number of pages is up to date
        length = int.from_bytes(head[16:18], "big")
        pages = int.from_bytes(head[28:32], "big") * (65536 if length == 1 else length)
    if pages > size and not wal:  # reading would fail, in words that help nobody
        return _FoundFile(VERSION, size=size, pages=pages)
    with contextlib.closing(_read_only(real, wal)) as db:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if not names:
            return _FoundFile(wal=wal)
        if "sends" not in names:
            raise sqlite3.DatabaseError(_NO_LEDGER[1])
        if "meta" not in names:
            return _FoundFile(1, wal=wal)
        version, which, changes, answers, in_use = db.execute(
            "SELECT version, ledger, changes, answers, in_use FROM meta"
        ).fetchone()
    return _FoundFile(version, LedgerState(which, changes, answers), bool(in_use), wal)


def _missing(known: LedgerState | None, found: _FoundFile, alone: bool) -> str | None:
    """What the ledger has lost, in words."""
    held = f"{known.answers:,} answers" if known else ""
    if known is None:
        # others that have it open had a look themselves
        if alone and found.in_use and not found.wal:
            return (
                "was in use, and its -wal file is not there: it was lost, or left behind in "
                "a copy, so the number of missing answers is unknown"
            )
        return None
    if found.version == 0:
        return f"is empty or gone; it held {held}" if known.answers else None
    if found.state is None or found.state.ledger != known.ledger:
        return f"is another ledger than the one that was here, which held {held}"
    if known.changes > found.state.changes:
        lost = known.answers - found.state.answers
        return (
            f"lacks {lost:,} of {held} that were paid for: it went back by "
            f"{known.changes - found.state.changes:,} changes (its -wal file was lost, or an older "
            "copy was put in its place)"
        )
    return None


def _message(path: Path, missing: str) -> str:
    name = shlex.quote(str(path))
    return (
        f"{path} {missing}. Nothing was sent. Put the missing file back ({path.name}, "
        f"{path.name}-wal and {state_path(path).name} belong together), or go on with what is "
        "there, pay again for what is not, and have what it cost no longer counted against "
        f"--max-usd: gen ledger check --accept --ledger {name}"
    )


def _can_write(real: Path) -> bool:
    there = real if real.exists() else real.parent
    return os.access(there, os.W_OK) and os.access(real.parent, os.W_OK)


def _read_only(real: Path, wal: bool) -> FileConnection:
    # immutable: SQLite makes no file beside it
    how = "mode=ro" if wal else "mode=ro&immutable=1"
    where = f"file:{quote(str(real))}?{how}"
    return sqlite3.connect(
        where, uri=True, timeout=60, check_same_thread=False, factory=FileConnection
    )


class _Connections:
    """Connections to one file; each thread that needs one has its own meanwhile."""

    def __init__(self, real: Path, writable: bool, wal: bool) -> None:
        self._real, self._writable, self._wal = real, writable, wal
        self._idle: list[FileConnection] = []
        # two readers that both want to write would deadlock
        self._begin = "BEGIN IMMEDIATE" if writable else "BEGIN"

    @contextmanager
    def one(self) -> Iterator[FileConnection]:
        """A connection without a transaction."""
        try:
            db = self._idle.pop()
        except IndexError:
            db = self._open()
        try:
            yield db
        except BaseException:
            db.close()  # which rolls back
            raise
        self._idle.append(db)

    @contextmanager
    def transaction(self, begin: str | None = None) -> Iterator[FileConnection]:
        """A connection with a transaction, which ends with the block."""
        with self.one() as db:
            db.execute(begin or self._begin)
            yield db
            db.commit()

    def close(self) -> None:
        """Close all that nobody uses."""
        while self._idle:
            self._idle.pop().close()

    def _open(self) -> FileConnection:
        if not self._writable:
            db = _read_only(self._real, self._wal)
        else:
            db = sqlite3.connect(
                self._real, timeout=60, check_same_thread=False, factory=FileConnection
            )
        db.isolation_level = None  # `transaction` begins them
        if self._writable:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
        return db


def _close(connections: _Connections, sidecar: Sidecar) -> None:
    # where this fails, the next one finds the mark and, in the state file, that nothing is missing
    with contextlib.suppress(sqlite3.Error):
        if sidecar.writable and sidecar.lock_exclusively():
            with connections.transaction() as db:
                db.execute("UPDATE meta SET in_use = 0")
    connections.close()
    sidecar.close()


# --- what to do about a file that cannot be read ------------------------------------------------


def failure(path: Path, reason: str) -> RetgenError:
    """The error to raise where SQLite, or a look at the file, says `reason`."""
    # the state file tells that a ledger was here: then its first page is damaged
    if reason in _NO_LEDGER or (reason == _NO_DATABASE and not state_path(path).is_file()):
        return UsageError(f"{path} is no ledger ({reason}): name another with --ledger")
    if reason == _NO_DATABASE:
        return OutputError(
            f"{path}: the ledger is damaged ({reason}): its first page is gone, and nothing can be "
            "read without it. Put a whole copy back, or name another with --ledger"
        )
    if "malformed" in reason:
        return OutputError(
            f"{path}: the ledger is damaged ({reason}). `gen ledger check --ledger "
            f"{shlex.quote(str(path))}` says more. Put a whole copy back, or {salvage(path)}"
        )
    return OutputError(
        f"{path}: the ledger cannot be used ({reason}). What it holds is kept: set that right, and "
        "run the command again."
    )


def salvage(path: Path) -> str:
    """How to save what can be read of a damaged ledger, into a new one beside it.

    `.dump` needs no extension of the shell of SQLite, as `.recover` does, and ends with ROLLBACK
    where it met damage.
    """
    old, new = (shlex.quote(str(one)) for one in (path, path.with_name("saved.sqlite")))
    return (
        f"save what can be read: sqlite3 {old} .dump | sed 's/^ROLLBACK;.*/COMMIT;/' | sqlite3 "
        f"{new}, then gen ledger check --accept --ledger {new}"
    )
