"""What a ledger needs of its database: transactions, and whose requests are still out.

`file` has it of SQLite and `server` of PostgreSQL; statements are the same for both.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from retgen.agents.ledger.owners import Owner
from retgen.agents.ledger.schema import VERSION, Busy, Connection
from retgen.errors import RetgenError, UsageError

T = TypeVar("T")


class Database(ABC):
    """An open database. `forget`: called where what was remembered of it may not be there.

    `writable`: whether it can be written; `batch`: calls that fare best in one transaction.
    """

    writable = True
    batch = 512

    def __init__(self, forget: Callable[[], None]) -> None:
        self.forget = forget
        self._open = threading.local()  # .db: of this thread's transaction

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction for all calls within; nothing of it stands until it ends."""
        known: Connection | None = getattr(self._open, "db", None)
        if known is not None:
            yield known
            return
        with self.failures():
            try:
                with self._write() as db:
                    self._open.db = db
                    yield db
            except BaseException:  # what was remembered of it is not there
                self.forget()
                raise
            finally:
                self._open.db = None

    @contextmanager
    def read_transaction(self) -> Iterator[Connection]:
        """One moment of the ledger, while others may write; or the transaction under way."""
        known: Connection | None = getattr(self._open, "db", None)
        if known is not None:
            yield known
            return
        with self.failures(), self._read() as db:
            yield db

    def repeat(self, work: Callable[[], T]) -> T:
        """`work` in one transaction, done again where that was lost and nothing of it stands."""
        with self.transaction():
            return work()

    def busy(
        self, db: Connection, key: bytes, send: int, lease: float, number: int | None
    ) -> Busy | None:
        """Who has a request out, of owner `number`; None where that lease has ended."""
        owner = None
        if number is not None:
            query = f"SELECT {', '.join(Owner._fields)} FROM owners WHERE id = ?"
            owner = Owner(*db.execute(query, (number,)).fetchone())
        left = self.lease_left(db, key, send, lease)
        if left <= 0 or (number is not None and owner and self.has_ended(db, number, owner)):
            self.lease_over(key)
            return None
        return Busy("another process" if owner is None else str(owner), left)

    def has_ended(self, db: Connection, number: int, owner: Owner) -> bool:
        """Whether the process of an owner is known to have ended."""
        return owner.has_ended()

    @abstractmethod
    def _write(self) -> AbstractContextManager[Connection]:
        """A connection with a transaction that no other writer has, too; ends with the block."""

    @abstractmethod
    def _read(self) -> AbstractContextManager[Connection]:
        """A connection with a transaction that sees one moment."""

    @abstractmethod
    def failures(self) -> AbstractContextManager[None]:
        """Turns the driver's errors into ours."""

    @abstractmethod
    def failure(self, reason: str) -> RetgenError:
        """The error to raise where the ledger says something that cannot be."""

    @abstractmethod
    def exclusive_access(self) -> AbstractContextManager[None]:
        """Keep other processes out. Raises `UsageError` where one has the ledger open."""

    @abstractmethod
    def owner(self, db: Connection) -> int:
        """The number of this process, which is written down where it is not there."""

    @abstractmethod
    def lease_left(self, db: Connection, key: bytes, send: int, lease: float) -> float:
        """Seconds until a lease ends at the latest."""

    def lease_over(self, key: bytes) -> None:  # noqa: B027
        """Nobody waits for this request any longer."""

    @abstractmethod
    def now(self, db: Connection) -> float:
        """The time of day, by the clock that all who use the database read."""

    @abstractmethod
    def take_turn(self, db: Connection, name: str, seconds: float) -> float:
        """Seconds to wait for the next turn, which is over `seconds` later; turns have a name."""

    def damage(self, most: int) -> list[str]:
        """What the database itself finds wrong with what it has stored."""
        return []

    @abstractmethod
    def size(self) -> int:
        """Bytes that it takes."""

    @abstractmethod
    def shrink(self) -> None:
        """Give back the room of what was removed."""

    def note_copy(self, db: Connection) -> None:  # noqa: B027
        """Rows of another ledger were put in."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""


def wrong_version(where: Any, version: int) -> UsageError:
    """The error for a ledger that another retgen wrote."""
    return UsageError(
        f"{where} is a ledger of version {version}, and this retgen reads {VERSION}: use the "
        "retgen that wrote it, or name another --ledger"
    )


def no_ledger(where: Any) -> UsageError:
    """The error for a database without tables."""
    return UsageError(f"{where} is empty: it holds no ledger. Name another with --ledger")


def in_use(where: Any) -> UsageError:
    """The error where another process has the ledger open."""
    return UsageError(f"{where} is in use: end the runs that have it open first")


def insert_owner(db: Connection, owner: Owner) -> int:
    """Write a process down; its number."""
    marks = ", ".join("?" for _ in owner)
    return db.insert(f"INSERT INTO owners ({', '.join(owner._fields)}) VALUES ({marks})", owner)
