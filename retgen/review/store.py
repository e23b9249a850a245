"""The SQLite file of a review: settings, items with what is shown of them, and every verdict.

Verdicts are only ever added, each in a transaction that is on disk before anybody is told that it
was kept. So a process that is killed at any instant has lost no verdict that it confirmed, and two
people at once lose none of each other's.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from retgen.errors import DatasetError, OutputError, RunDirectoryError
from retgen.review.records import Item, Population, PopulationPair, Settings, ShownPair, Verdict

FORMAT = 1
_SHARES = ("overlap", "plants", "second")  # whole numbers too
_WAIT = 30.0  # seconds for which a writer waits for another one

_SEAL = "SELECT value FROM settings WHERE key = 'verdicts'"
_TABLES = """
CREATE TABLE IF NOT EXISTS settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS pairs (
    population TEXT NOT NULL, place INTEGER NOT NULL, query_id TEXT NOT NULL, doc_id TEXT NOT NULL,
    label REAL, weight REAL NOT NULL, strata TEXT NOT NULL, PRIMARY KEY (population, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (
    item_id TEXT PRIMARY KEY, population TEXT NOT NULL, place INTEGER NOT NULL,
    split TEXT NOT NULL, query_id TEXT NOT NULL, doc_id TEXT NOT NULL, label REAL,
    shown TEXT NOT NULL REFERENCES texts, strata TEXT NOT NULL, suspicion REAL NOT NULL,
    planted INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS texts (
    digest TEXT PRIMARY KEY, query TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
    query_metadata TEXT NOT NULL, document_metadata TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS verdicts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, item_id TEXT NOT NULL, annotator TEXT NOT NULL,
    part TEXT NOT NULL, decision TEXT NOT NULL, relevance INTEGER, shown TEXT NOT NULL, label REAL,
    reason TEXT NOT NULL, comment TEXT NOT NULL, edits TEXT NOT NULL, seconds REAL,
    at TEXT NOT NULL, source TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS verdicts_of_item ON verdicts (item_id);
CREATE INDEX IF NOT EXISTS verdicts_of_annotator ON verdicts (annotator);
"""


class Store:
    """One review's file. Every method is a transaction of its own; safe from several threads.

    Raises `OutputError` where nothing can be written (disk, rights), `DatasetError` where the file
    is no review.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._connection() as connection:
            self._prepare(connection)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(_TABLES)
        ((found,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
        if found != "ok":
            raise sqlite3.DatabaseError(found.splitlines()[-1])
        stated = connection.execute("SELECT value FROM settings WHERE key = 'format'").fetchone()
        if stated is None:
            connection.execute(
                "INSERT OR IGNORE INTO settings VALUES ('format', ?)", (str(FORMAT),)
            )
            connection.commit()
        elif stated[0] != str(FORMAT):
            raise RunDirectoryError(
                f"{self.path} is in format {stated[0]}, this version of retgen reads format "
                f"{FORMAT}: open it with the version that wrote it"
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
            if "decode" in str(error):
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
            connection.execute("BEGIN")  # all that is read is of one instant, whoever writes
            try:
                yield connection
            except (ValueError, TypeError, AttributeError) as error:  # a cell that is none of ours
                raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> DatasetError:
        return DatasetError(
            f"{self.path} is no review that can be read: {error}. Put a copy in its place, or "
            "move it away to begin anew"
        )

    # --- settings ---------------------------------------------------------------------------------

    def settings(self) -> Settings | None:
        """How the review was set up, None before that."""
        with self._reading() as connection:
            row = connection.execute("SELECT value FROM settings WHERE key = 'review'").fetchone()
            return _settings(row[0]) if row is not None else None

    def keep_settings(self, settings: Settings) -> None:
        """Write the settings, in place of earlier ones."""
        text = orjson.dumps(asdict(settings)).decode()
        with self._connection() as connection:
            connection.execute("INSERT OR REPLACE INTO settings VALUES ('review', ?)", (text,))

    def note(self, key: str) -> Any:
        """A value kept beside the settings, None where there is none."""
        with self._reading() as connection:
            row = connection.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()
            return orjson.loads(row[0]) if row else None

    def keep_note(self, key: str, value: Any) -> None:
        """Keep a value beside the settings, in place of an earlier one."""
        text = orjson.dumps(value).decode()
        with self._connection() as connection:
            connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, text))

    # --- items ------------------------------------------------------------------------------------

    def plan(
        self,
        settings: Settings,
        pairs: Iterable[PopulationPair],
        items: Iterable[Item],
        texts: Mapping[str, ShownPair],
    ) -> None:
        """Begin a review: what is asked of which pairs. All of it or nothing; no verdicts yet."""
        text = orjson.dumps(asdict(settings)).decode()
        with self._connection() as connection:
            for table in ("pairs", "items", "texts"):
                connection.execute(f"DELETE FROM {table}")
            if connection.execute("SELECT 1 FROM verdicts").fetchone():  # and nothing is deleted
                raise RunDirectoryError(
                    f"{self.path}: somebody else began this review in the meantime, and verdicts "
                    "stand in it. Call `gen review` again to take part"
                )
            connection.executemany(
                "INSERT INTO pairs VALUES (?, ?, ?, ?, ?, ?, ?)",
                ((*pair[:6], orjson.dumps(dict(pair.strata)).decode()) for pair in pairs),
            )
            self._add_items(connection, items, texts)
            connection.execute("INSERT OR REPLACE INTO settings VALUES ('review', ?)", (text,))

    def pairs(
        self, population: Population, start: int = 0, stop: int | None = None
    ) -> list[PopulationPair]:
        """The pairs of a population in the order of looks, or those of some places."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT population, place, query_id, doc_id, label, weight, strata FROM pairs "
                "WHERE population = ? AND place >= ? AND place < ? ORDER BY place",
                (population, start, 1 << 62 if stop is None else stop),
            ).fetchall()
            return [PopulationPair._make([*row[:6], _tree(row[6])]) for row in rows]

    def add_items(self, items: Iterable[Item], texts: Mapping[str, ShownPair]) -> None:
        """Add items, and what is shown of them by digest; all of it or nothing.

        An item that somebody else added in the meantime stays as it is.
        """
        with self._connection() as connection:
            self._add_items(connection, items, texts)

    @staticmethod
    def _add_items(
        connection: sqlite3.Connection, items: Iterable[Item], texts: Mapping[str, ShownPair]
    ) -> None:
        connection.executemany(
            "INSERT OR IGNORE INTO texts VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    digest,
                    one.query,
                    one.title,
                    one.text,
                    orjson.dumps(dict(one.query_metadata or {})).decode(),
                    orjson.dumps(dict(one.document_metadata or {})).decode(),
                )
                for digest, one in texts.items()
            ],
        )
        connection.executemany(
            "INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    i.item_id,
                    i.population,
                    i.place,
                    i.split,
                    i.query_id,
                    i.doc_id,
                    i.label,
                    i.shown,
                    orjson.dumps(dict(i.strata)).decode(),
                    i.suspicion,
                    i.planted,
                )
                for i in items
            ],
        )

    def items(self) -> list[Item]:
        """All items, by population and place; control items as well."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT item_id, population, place, split, query_id, doc_id, label, shown, "
                "suspicion, planted, strata FROM items ORDER BY population, place, item_id"
            ).fetchall()
            return [_item(row) for row in rows]

    def shown_pair(self, digest: str) -> ShownPair | None:
        """What is shown of an item, by the digest that it states."""
        with self._reading() as connection:
            row = connection.execute(
                "SELECT query, title, text, query_metadata, document_metadata FROM texts "
                "WHERE digest = ?",
                (digest,),
            ).fetchone()
            return ShownPair._make([*row[:3], *map(_tree, row[3:])]) if row else None

    # --- verdicts ---------------------------------------------------------------------------------

    def add(self, verdicts: Iterable[Verdict]) -> list[int]:
        """Keep verdicts, all or none; their numbers. A number that is given is not looked at."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        numbers = []
        with self._connection() as connection:
            for v in verdicts:
                row: tuple[Any, ...] = (
                    v.item_id,
                    v.annotator,
                    v.part,
                    v.decision,
                    v.relevance,
                    v.shown,
                    v.label,
                    v.reason,
                    v.comment,
                    orjson.dumps(dict(v.edits)).decode(),
                    v.seconds,
                    v.at or now,
                    v.source,
                )
                marks = ", ".join("?" * len(row))
                cursor = connection.execute(
                    "INSERT INTO verdicts (item_id, annotator, part, decision, relevance, shown, "
                    "label, reason, comment, edits, seconds, at, source) "
                    f"VALUES ({marks})",
                    row,
                )
                numbers.append(int(cursor.lastrowid or 0))
            known = connection.execute(_SEAL).fetchone()
            new = "" if known is None else f"WHERE number >= {min(numbers, default=1 << 62)}"
            seal = _sealed(_select(connection, new), known[0] if known else "")
            connection.execute("INSERT OR REPLACE INTO settings VALUES ('verdicts', ?)", (seal,))
        return numbers

    def verdicts(self, item_id: str | None = None, annotator: str | None = None) -> list[Verdict]:
        """All verdicts in the order in which they came, or those on an item, or of an annotator."""
        asked = {"item_id": item_id, "annotator": annotator}
        given = {column: value for column, value in asked.items() if value is not None}
        where = f"WHERE {' AND '.join(f'{column} = ?' for column in given)}" if given else ""
        with self._reading() as connection:
            rows = _select(connection, where, *given.values())
            result = [Verdict._make([*row[:10], _tree(row[10]), *row[11:]]) for row in rows]
            known = None if given else connection.execute(_SEAL).fetchone()
            if known is not None and known[0] != _sealed(rows):
                raise ValueError("its verdicts are not those that were kept")
            return result


def _select(connection: sqlite3.Connection, where: str, *values: str) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT number, item_id, annotator, part, decision, relevance, shown, label, reason, "
        f"comment, edits, seconds, at, source FROM verdicts {where} ORDER BY number",
        values,
    ).fetchall()


def _sealed(rows: Iterable[tuple[Any, ...]], seal: str = "") -> str:
    """A hash of rows, each with that of all before it: none can change or go unnoticed."""
    for row in rows:
        seal = hashlib.sha256(f"{seal}{row!r}".encode()).hexdigest()
    return seal


def _settings(text: str) -> Settings:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in _tree(text).items()
    }
    settings = Settings(**values)
    for name, default in asdict(Settings()).items():
        if not isinstance(values.get(name, default), type(default)) and name not in _SHARES:
            raise ValueError(f"its {name} is {values[name]!r}")
    return settings


def _tree(text: str) -> dict[str, Any]:
    """What a cell holds by name. Raises `ValueError`."""
    tree = orjson.loads(text)
    if not isinstance(tree, dict):
        raise ValueError(f"{text[:40]!r} is no object")
    return tree


def _item(row: tuple[Any, ...]) -> Item:
    name, population, place, split, query_id, doc_id, label, shown, suspicion, planted, strata = row
    return Item(
        name,
        population,
        place,
        split,
        query_id,
        doc_id,
        label,
        shown,
        _tree(strata),
        suspicion,
        planted,
    )
