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
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import sqlalchemy as sa

from retgen.agents.ledger import tables
from retgen.agents.ledger.damage import NO_LEDGER, failure, salvage
from retgen.agents.ledger.sidecar import LedgerState, Sidecar, state_path
from retgen.agents.ledger.sums import Sums
from retgen.agents.ledger.texts import Texts
from retgen.errors import UsageError
from retgen.write import make_folder


class LostAnswers(UsageError):
    """The ledger lacks answers that were paid for."""


class LedgerFile:
    """An open ledger. Raises `LostAnswers` where answers that were paid for are missing.

    `accept`: take what is there as all there is; `create`: make a ledger where there is none, else
    `UsageError`. What cannot be written is opened for reading.
    """

    def __init__(self, path: Path, *, accept: bool = False, create: bool = True) -> None:
        self.path = path
        self._open = threading.local()  # of this thread's transaction: .db, .sums
        self._parts: dict[tuple[str, str, str], int] = {}  # their numbers
        self._texts = Texts()
        self._owner: int | None = None  # this process, in `owners`
        with self._failures():
            if path.is_dir():
                raise sqlite3.OperationalError(NO_LEDGER[0])
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
        self._closing = weakref.finalize(self, _close, self._engine, self._sidecar)

    def close(self) -> None:
        """Close the file."""
        self._closing()

    @property
    def writable(self) -> bool:
        """Whether it can be written, or lies on a read-only medium."""
        return self._writable

    @contextmanager
    def together(self) -> Iterator[sa.Connection]:
        """One transaction for all calls within; nothing of it stands until it ends."""
        known: sa.Connection | None = getattr(self._open, "db", None)
        if known is not None:
            yield known
            return
        with self._failures():
            try:
                with self._engine.begin() as db:
                    self._open.db, self._open.sums = db, Sums(db, self._parts)
                    yield db
                    changed = self._open.sums.write()
            except BaseException:  # what was remembered of it is not there
                self._parts.clear()
                self._texts.forget()
                self._owner = None
                raise
            finally:
                self._open.db = None
        if changed is not None:
            self._sidecar.write(LedgerState(self._which, *changed))

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One moment of the ledger, while others may write; or the transaction under way."""
        known: sa.Connection | None = getattr(self._open, "db", None)
        if known is not None:
            self._open.sums.write()
            yield known
            return
        with self._failures(), self._engine.connect() as db:
            yield db.execution_options(reading=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes out. Raises `UsageError` where one has the ledger open."""
        alone = self._sidecar.alone()
        try:
            if alone is False:
                raise UsageError(f"{self.path} is in use: end the runs that have it open first")
            yield
        finally:
            self._sidecar.share()

    def outside(self, words: str) -> list[Any]:
        """The rows of a statement that no transaction may hold (PRAGMA, VACUUM)."""
        with self._driver() as connection:
            return list(connection.cursor().execute(words).fetchall())

    def backup(self, other: sqlite3.Connection) -> None:
        """Copy all of it, as it is now."""
        with self._driver() as connection:
            connection.driver_connection.backup(other)

    def forget_texts(self) -> None:
        """Texts were removed."""
        self._texts.forget()

    @property
    def sums(self) -> Sums:
        """Those of this thread's transaction."""
        result: Sums = self._open.sums
        return result

    @contextmanager
    def _driver(self) -> Iterator[Any]:
        with self._failures():
            connection = self._engine.raw_connection()
            try:
                yield connection
            finally:
                connection.close()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sa.exc.DBAPIError, sqlite3.Error) as error:
            reason = getattr(error, "orig", error)
            raise failure(self.path, str(reason)) from error
        except (TypeError, UnicodeDecodeError) as error:  # of a cell, or of SQLite's own words
            raise failure(self.path, f"malformed: {error}") from error

    def _enter(self, real: Path, accept: bool, create: bool) -> None:
        alone = self._sidecar.enter()
        known = self._sidecar.read()  # before the database, which only grows
        there = _peek(real)
        if there.version not in (0, tables.VERSION):
            raise UsageError(
                f"{self.path} is a ledger of version {there.version}, and this retgen reads "
                f"{tables.VERSION}: use the retgen that wrote it, or name another --ledger"
            )
        if there.pages:
            raise LostAnswers(
                f"{self.path} is cut off: {there.size:,} of its {there.pages:,} bytes are there. "
                f"Nothing was sent. Put the whole file back, or {salvage(self.path)}"
            )
        missing = _missing(known, there, alone is True)
        if missing and not accept:
            raise LostAnswers(_message(self.path, missing))
        if not there.version and not missing and not create:
            raise UsageError(
                f"{self.path} is empty: it holds no ledger. Name another with --ledger"
            )
        if accept and alone is False:
            raise UsageError(f"{self.path} is in use: end the runs that have it open first")
        self._writable = _can_write(real) and self._sidecar.writable
        self._engine = _engine(real, self._writable, there.wal)
        try:
            self._prepare(there, alone is True, accept)
        except BaseException:
            self._engine.dispose()
            raise
        self._sidecar.share()

    def _prepare(self, there: _There, alone: bool, accept: bool) -> None:
        if not self._writable:
            if not there.version:
                raise sqlite3.OperationalError("it holds no ledger, and is read-only")
            self._which = there.state.ledger if there.state else ""
            return
        with self._engine.begin() as db:
            if not there.version:
                tables.create(db)
            if alone:
                db.execute(sa.update(tables.meta).values(in_use=True))
            row = db.execute(sa.select(tables.meta)).one()
        self._which = str(row.ledger)
        if alone:
            self.outside("PRAGMA wal_checkpoint(PASSIVE)")
        self._sidecar.write(LedgerState(row.ledger, row.changes, row.answers), back=alone or accept)


class _There(NamedTuple):
    """What lies at a path. `version`: 0 for nothing; `pages`: bytes that it should have."""

    version: int = 0
    state: LedgerState | None = None
    in_use: bool = False
    wal: bool = False
    size: int = 0
    pages: int = 0


def _peek(real: Path) -> _There:
    """Read without changing anything, so that a file that was lost can still be put back."""
    wal = real.with_name(real.name + "-wal").exists()
    try:
        with open(real, "rb") as file:
            head = file.read(100)
            size = file.seek(0, 2)
    except FileNotFoundError:
        return _There()
    except OSError as error:
        raise sqlite3.OperationalError(error.strerror) from error
    if not size:
        return _There(wal=wal)
    pages = 0
    whole = len(head) == 100 and head.startswith(b"SQLite format 3\0")
    if whole and head[24:28] == head[92:96]:  # the number of pages is up to date
        length = int.from_bytes(head[16:18], "big")
        pages = int.from_bytes(head[28:32], "big") * (65536 if length == 1 else length)
    if pages > size and not wal:  # reading would fail, in words that help nobody
        return _There(tables.VERSION, size=size, pages=pages)
    with contextlib.closing(_read_only(real, wal)) as db:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if not names:
            return _There(wal=wal)
        if "sends" not in names:
            raise sqlite3.DatabaseError(NO_LEDGER[1])
        if "meta" not in names:
            return _There(1, wal=wal)
        version, which, changes, answers, in_use = db.execute(
            "SELECT version, ledger, changes, answers, in_use FROM meta"
        ).fetchone()
    return _There(version, LedgerState(which, changes, answers), bool(in_use), wal)


def _missing(known: LedgerState | None, there: _There, alone: bool) -> str | None:
    """What the ledger has lost, in words."""
    held = f"{known.answers:,} answers" if known else ""
    if known is None:
        # others that have it open had a look themselves
        if alone and there.in_use and not there.wal:
            return (
                "was in use, and its -wal file is not there: it was copied alone, or has lost "
                "that, and nobody can tell how many answers are missing"
            )
        return None
    if there.version == 0:
        return f"is empty or gone; it held {held}" if known.answers else None
    if there.state is None or there.state.ledger != known.ledger:
        return f"is another ledger than the one that was here, which held {held}"
    if known.changes > there.state.changes:
        lost = known.answers - there.state.answers
        return (
            f"lacks {lost:,} of {held} that were paid for: it went back by "
            f"{known.changes - there.state.changes:,} changes (its -wal file was lost, or an older "
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


def _read_only(real: Path, wal: bool) -> sqlite3.Connection:
    # immutable: SQLite makes no file beside it
    how = "mode=ro" if wal else "mode=ro&immutable=1"
    where = f"file:{quote(str(real))}?{how}"
    return sqlite3.connect(where, uri=True, timeout=60, check_same_thread=False)


def _engine(real: Path, writable: bool, wal: bool) -> sa.Engine:
    if writable:
        url = sa.URL.create("sqlite", database=str(real))
        engine = sa.create_engine(url, connect_args={"timeout": 60})
        begin = "BEGIN IMMEDIATE"  # two readers that both want to write would deadlock
    else:
        engine = sa.create_engine(
            "sqlite://", creator=lambda: _read_only(real, wal), poolclass=sa.QueuePool
        )
        begin = "BEGIN"

    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy begins transactions itself
        if writable:
            cursor = connection.cursor()
            cursor.execute("PRAGMA journal_mode = WAL")
            cursor.execute("PRAGMA synchronous = FULL")
            cursor.close()

    def begun(connection: sa.Connection) -> None:
        reading = connection.get_execution_options().get("reading", False)
        connection.exec_driver_sql("BEGIN" if reading else begin)

    sa.event.listen(engine, "connect", connected)
    sa.event.listen(engine, "begin", begun)
    return engine


def _close(engine: sa.Engine, sidecar: Sidecar) -> None:
    # where this fails, the next one finds the mark and, in the state file, that nothing is missing
    with contextlib.suppress(sa.exc.SQLAlchemyError):
        if sidecar.writable and sidecar.alone():
            with engine.begin() as db:
                db.execute(sa.update(tables.meta).values(in_use=False))
    engine.dispose()
    sidecar.close()
