"""Facts in SQLite, and expressions executed on them as SQL that is written from the expression."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from retgen.validators.world.definitions import LISTED, Definition

ORDERED = ("year", "date", "number")
_PRAGMAS = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -32768"
_FEW = 2000  # entities, up to which an index costs more than it saves


class Impossible(Exception):
    """Why an expression has no answer that is certain."""


class FactTable:
    """The facts of all documents: a row an entity, a column a slot.

    Kept in a file, so that memory stays flat. Each thread has a connection of its own.
    """

    def __init__(self, path: Path, domain: Definition) -> None:
        self._path, self._domain = path, domain
        self._thread, self._connections = threading.local(), list[sqlite3.Connection]()
        self._known: dict[bytes, str] = {}  # what was ranked
        self._columns = {name: f"s{number}" for number, name in enumerate(domain.slots)}
        self._parents = {
            name: slot.parents() for name, slot in domain.slots.items() if slot.type in LISTED
        }
        columns = ", ".join(self._columns.values())
        self._db.execute(f"CREATE TABLE facts (id TEXT, name TEXT, {columns})")

    @property
    def _db(self) -> sqlite3.Connection:
        if not hasattr(self._thread, "db"):
            self._thread.db = sqlite3.connect(self._path, check_same_thread=False)
            self._thread.db.executescript(_PRAGMAS)
            self._connections.append(self._thread.db)
        db: sqlite3.Connection = self._thread.db
        return db

    def close(self) -> None:
        for db in self._connections:
            db.close()

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Rows of (document, name, a value or None for each slot in the domain's order)."""
        marks = ", ".join("?" * (len(self._columns) + 2))
        self._db.executemany(f"INSERT INTO facts VALUES ({marks})", rows)

    def index(self, slots: Collection[str]) -> None:
        """Prepare for expressions over these slots."""
        self._db.execute("CREATE INDEX by_id ON facts (id)")
        self._db.execute("CREATE INDEX by_name ON facts (name)")
        (count,) = self._db.execute("SELECT count(*) FROM facts").fetchone()
        if count > _FEW:
            for name in sorted(slots):
                column = self._columns[name]
                self._db.execute(f"CREATE INDEX by_{column} ON facts ({column})")
        self._db.execute("ANALYZE")
        self._db.commit()  # for the connections of other threads

    # --- what must hold of all --------------------------------------------------------------

    def namesakes(self) -> Iterator[tuple[str, list[str]]]:
        """(name, documents) of every name that several have."""
        for name, ids in self._db.execute(
            "SELECT name, json_group_array(id) FROM facts GROUP BY name HAVING count(*) > 1"
        ):
            yield name, orjson.loads(ids)

    def unresolved_relations(self) -> Iterator[tuple[str, str, str]]:
        """(document, slot, name) of every relation to a name that no document has."""
        for name, slot in self._domain.slots.items():
            if slot.type == "relation":
                column = self._columns[name]
                for doc_id, value in self._db.execute(
                    f"SELECT id, {column} FROM facts WHERE {column} IS NOT NULL "
                    f"AND NOT EXISTS (SELECT 1 FROM facts o WHERE o.name = facts.{column})"
                ):
                    yield doc_id, name, value

    # --- expressions ------------------------------------------------------------------------

    def answers(self, expression: Sequence[Any]) -> set[str]:
        """The documents that meet an expression. Raises `Impossible`."""
        where, values = self._where(expression, "f")
        return set(self._json(f"SELECT json_group_array(id) FROM facts f WHERE {where}", values))

    def grades(self, expression: Sequence[Any], ids: Sequence[str]) -> dict[str, int]:
        """How many conditions of an expression each of some documents meets."""
        met, values = self._met(expression, "f")
        sql = (
            f"SELECT json_group_object(id, {met}) FROM facts f "
            "WHERE id IN (SELECT value FROM json_each(?))"
        )
        found: dict[str, int] = self._json(sql, [*values, orjson.dumps(list(ids)).decode()])
        return found

    def _json(self, sql: str, values: Sequence[Any]) -> Any:
        """What a statement gives, in one row: after each row, threads would wait for another."""
        return orjson.loads(self._db.execute(sql, values).fetchone()[0])

    def _ranked(self, kind: str, k: int, slot: str, of: Sequence[Any]) -> str:
        """The rows of the k with the most or least of a slot, in JSON.

        Raises `Impossible` where there are fewer, or two tie at the edge.
        """
        key = orjson.dumps([kind, k, slot, of])
        if key in self._known:
            return self._known[key]
        where, values = self._where(of, "f")
        column, order = f"f.{self._columns[slot]}", "DESC" if kind == "most" else "ASC"
        found = self._json(
            "SELECT json_group_array(json_array(row, value)) FROM "
            f"(SELECT f.rowid AS row, {column} AS value FROM facts f WHERE ({where}) "
            f"AND {column} IS NOT NULL ORDER BY {column} {order} LIMIT {k + 1})",
            values,
        )
        if len(found) < k:
            raise Impossible(f"asks for {k:,} of {len(found):,} that there are")
        if len(found) > k and found[k - 1][1] == found[k][1]:
            raise Impossible(
                f"asks for {k:,}, and number {k:,} and number {k + 1:,} tie: both have "
                f"{slot}={found[k][1]}"
            )
        rows = self._known[key] = orjson.dumps([row for row, _ in found[:k]]).decode()
        return rows

    def _where(self, expression: Sequence[Any], row: str) -> tuple[str, list[Any]]:
        """An expression as a condition of SQL on a row, with its values."""
        match expression:
            case ["is", slot, value]:
                return f"{row}.{self._columns[slot]} IS ?", [value]
            case ["within", slot, parent]:
                below = self._parents[slot][parent]
                marks = ", ".join("?" * len(below))
                return self._among(f"{row}.{self._columns[slot]}", marks), list(below)
            case ["between", slot, low, high]:
                column = f"{row}.{self._columns[slot]}"
                ends = [(sign, end) for sign, end in ((">=", low), ("<=", high)) if end is not None]
                parts = [f"{column} IS NOT NULL", *(f"{column} {sign} ?" for sign, _ in ends)]
                return f"({' AND '.join(parts)})", [end for _, end in ends]
            case ["and" | "or" as word, *parts]:
                return self._put(parts, row, self._where, f" {word.upper()} ")
            case ["and not", kept, dropped]:
                yes, values = self._where(kept, row)
                no, more = self._where(dropped, row)
                return f"({yes} AND NOT {no})", values + more
            case ["at least", int(k), *parts]:
                total, values = self._put(parts, row, self._where, " + ")
                # one of so many holds in any case, which an index finds
                some, more = self._put(parts[: len(parts) - k + 1], row, self._where, " OR ")
                return f"({some} AND {total} >= {k})", more + values
            case ["via", slot, of]:
                inner = f"{row}x"
                where, values = self._where(of, inner)
                column = f"{row}.{self._columns[slot]}"
                names = f"SELECT {inner}.name FROM facts {inner} WHERE {where}"
                return self._among(column, names), values
            case ["most" | "least" as kind, int(k), slot, of]:
                ranked = self._ranked(kind, k, slot, of)
                return f"{row}.rowid IN (SELECT value FROM json_each(?))", [ranked]
        raise ValueError(f"no expression: {expression!r}")

    @staticmethod
    def _among(column: str, values: str) -> str:
        """Whether a column, which may be NULL, has one of some values."""
        return f"({column} IS NOT NULL AND {column} IN ({values}))"

    def _met(self, expression: Sequence[Any], row: str) -> tuple[str, list[Any]]:
        """The number of conditions that a row meets, as an expression of SQL.

        What is denied is a condition, met by what it does not hold for; a superlative is one more;
        those of a relation are met by the other entity.
        """
        match expression:
            case ["and" | "or", *parts] | ["at least", int(), *parts]:
                return self._put(parts, row, self._met, " + ")
            case ["and not", kept, dropped]:
                met, values = self._met(kept, row)
                no, more = self._where(dropped, row)
                return f"({met} + NOT {no})", values + more
            case ["most" | "least", int(), _, of]:
                met, values = self._met(of, row)
                taken, more = self._where(expression, row)
                return f"({met} + ({taken}))", values + more
            case ["via", slot, of]:
                inner = f"{row}x"
                met, values = self._met(of, inner)
                column = f"{row}.{self._columns[slot]}"
                one = f"SELECT {met} FROM facts {inner} WHERE {inner}.name = {column}"
                return f"coalesce(({one}), 0)", values
            case _:
                where, values = self._where(expression, row)
                return f"({where})", values

    def _put(
        self,
        parts: Sequence[Any],
        row: str,
        how: Callable[[Sequence[Any], str], tuple[str, list[Any]]],
        between: str,
    ) -> tuple[str, list[Any]]:
        texts, values = [], []
        for part in parts:
            text, some = how(part, row)
            texts.append(f"({text})")
            values += some
        return f"({between.join(texts)})", values


def slots_of(expression: Any) -> set[str]:
    """The slots that an expression names."""
    match expression:
        case ["is" | "within", str(slot), _] | ["between", str(slot), _, _]:
            return {slot}
        case ["via", str(slot), of] | ["most" | "least", int(), str(slot), of]:
            return {slot} | slots_of(of)
        case [str(), *parts]:
            return set().union(*(slots_of(part) for part in parts if isinstance(part, list)))
    return set()


def row_of(
    doc_id: str, name: str, held: Mapping[str, str], domain: Definition
) -> list[str | int | None]:
    """The row of a document. `held`: slot -> value as it is stated."""
    row: list[str | int | None] = [doc_id, name]
    for slot in domain.slots.values():
        value = held.get(slot.name)
        row.append(int(value) if value is not None and slot.type in ("year", "number") else value)
    return row
