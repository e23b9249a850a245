"""The SQLite file of a review: settings, items with their texts, and every verdict.

Verdicts are only ever added. Each is in a transaction that is on disk before anybody is told that
it was kept, so a kill loses no confirmed verdict, and several people at once lose none.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from retgen.errors import DatasetError, OutputError, RunDirectoryError
from retgen.review.records import Item, Settings, Verdict

FORMAT = "2"
_WAIT = 30.0  # seconds for which a writer waits for another one
_SETTINGS, _ITEM, _VERDICT = TypeAdapter(Settings), TypeAdapter(Item), TypeAdapter(Verdict)
_TABLES = """
CREATE TABLE IF NOT EXISTS settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS items (place INTEGER PRIMARY KEY, item TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS verdicts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, verdict TEXT NOT NULL
) STRICT;
"""


class Store:
    """One review's file. Every method is a transaction of its own; safe from several threads.

    Raises `OutputError` where nothing can be written (disk, rights), `DatasetError` where the file
    is no review.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn, self._known, self._seal = threading.Lock(), list[Verdict](), ""
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_TABLES)
            ((problem,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
            if problem != "ok":
                raise sqlite3.DatabaseError(problem.splitlines()[-1])
            stated = _value(connection, "format")
            if stated is None:
                connection.execute("INSERT OR IGNORE INTO settings VALUES ('format', ?)", (FORMAT,))
            elif stated != FORMAT:
                raise RunDirectoryError(
                    f"{path} is in format {stated}, this version of retgen reads format {FORMAT}: "
                    "open it with the version that wrote it"
                )

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT)) as connection:
                # what was confirmed must outlast a power cut, not only a killed process
                connection.execute("PRAGMA synchronous = FULL")
                with connection:
                    yield connection
        except sqlite3.OperationalError as error:
            if "decode" in str(error) or "no such column" in str(error):
                raise self._damaged(error) from error
            raise OutputError(
                f"{self.path} cannot be written: {error}. Nothing of what stood there is lost; "
                "make room or mend the rights, and send the verdict again"
            ) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self._damaged(error) from error

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._connection() as connection:
            connection.execute("BEGIN")  # everything that is read is of one instant
            try:
                yield connection
            except ValueError as error:  # a cell of another kind
                raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> DatasetError:
        if isinstance(error, ValidationError):
            error = ValueError(error.errors()[0]["msg"])
        return DatasetError(
            f"{self.path} is no review that can be read: {error}. Put a copy in its place, or "
            "move it away to begin anew"
        )

    def settings(self) -> Settings | None:
        """How the review was set up, None before that."""
        with self._reading() as connection:
            text = _value(connection, "review")
            return None if text is None else _SETTINGS.validate_json(text)

    def keep_settings(self, settings: Settings) -> None:
        """Write the settings, in place of earlier ones."""
        with self._connection() as connection:
            _keep_value(connection, "review", _SETTINGS.dump_json(settings).decode())

    def plan(self, settings: Settings, items: Iterable[Item], again: bool = False) -> None:
        """Begin a review: all of it or nothing. Refuses to where verdicts stand, unless it is
        planned `again` for the same data set, which was changed.
        """
        with self._connection() as connection:
            connection.execute("DELETE FROM items")
            if not again and connection.execute("SELECT 1 FROM verdicts").fetchone():
                raise RunDirectoryError(
                    f"{self.path}: somebody else began this review in the meantime, and verdicts "
                    "stand in it. Call `gen review` again to take part"
                )
            connection.executemany(
                "INSERT INTO items VALUES (?, ?)",
                ((place, _ITEM.dump_json(item).decode()) for place, item in enumerate(items)),
            )
            _keep_value(connection, "review", _SETTINGS.dump_json(settings).decode())

    def items(self) -> list[Item]:
        """All items, in the order in which they are judged."""
        with self._reading() as connection:
            rows = connection.execute("SELECT item FROM items ORDER BY place").fetchall()
            return [_ITEM.validate_json(text) for (text,) in rows]

    def add(self, verdicts: Iterable[Verdict]) -> list[int]:
        """Keep verdicts, all or none, and return their numbers. Their own numbers are ignored."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        numbers = []
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")  # no other writer between seal and verdict
            seal = _value(connection, "seal") or ""
            for verdict in verdicts:
                row = verdict._replace(number=0, at=verdict.at or now)._asdict()
                text = orjson.dumps(row).decode()
                cursor = connection.execute("INSERT INTO verdicts (verdict) VALUES (?)", (text,))
                numbers.append(int(cursor.lastrowid or 0))
                seal = _sealed([text], seal)
            _keep_value(connection, "seal", seal)
        return numbers

    def verdicts(self) -> list[Verdict]:
        """All verdicts in order of arrival. Raises `DatasetError` if any was changed or removed.

        Rows that were read before are not read again.
        """
        with self._turn, self._reading() as connection:
            rows = connection.execute(
                "SELECT number, verdict FROM verdicts WHERE number > ? ORDER BY number",
                (self._known[-1].number if self._known else 0,),
            ).fetchall()
            seal = _sealed((text for _, text in rows), self._seal)
            if seal != (_value(connection, "seal") or ""):
                raise ValueError("its verdicts are not those that were kept")
            self._known += [_VERDICT.validate_json(text)._replace(number=n) for n, text in rows]
            self._seal = seal
            return [*self._known]


def _value(connection: sqlite3.Connection, key: str) -> str | None:
    row = connection.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def _keep_value(connection: sqlite3.Connection, key: str, text: str) -> None:
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, text))


def _sealed(texts: Iterable[str], seal: str = "") -> str:
    """Hash each text together with the hash before it, so that none can change or go unnoticed."""
    for text in texts:
        seal = hashlib.sha256(f"{seal}{text}".encode()).hexdigest()
    return seal
