"""Facts in SQLite, and expressions executed on them as SQL that is written from the expression."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from retgen.validators.facts.definitions import ValueDefinition

_PRAGMAS = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -32768"
_FEW = 2000  # entities, up to which an index costs more than it saves


class Impossible(Exception):
    """Why an expression has no answer that is certain."""


class FactTable:
    """The facts of all documents: a row an entity, a column a slot.

    Kept in a file, so that memory stays flat.
    """

    def __init__(
        self,
        path: Path,
        slots: Mapping[str, Mapping[str, ValueDefinition]],
        numbers: Collection[str] = (),
    ) -> None:
        """`slots`: the values of each, by name; none where they are not listed. `numbers`: slots
        whose values are numbers.
        """
        self._slots = slots
        self._known: dict[str, str] = {}  # what was ranked, by parameter
        self._db = sqlite3.connect(path)
        self._db.executescript(_PRAGMAS)
        kinds = {name: "INTEGER" if name in numbers else "BLOB" for name in slots}
        columns = ", ".join(f"s_{name} {kind}" for name, kind in kinds.items())
        self._db.execute(f"CREATE TABLE facts (id TEXT, name TEXT, {columns})")

    def close(self) -> None:
        self._db.close()

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Rows of (document, name, a value or None for each slot in the domain's order)."""
        marks = ", ".join("?" * (len(self._slots) + 2))
        self._db.executemany(f"INSERT INTO facts VALUES ({marks})", rows)

    def index(self, slots: Collection[str]) -> None:
        """Prepare for expressions over these slots."""
        self._db.execute("CREATE INDEX by_id ON facts (id)")
        self._db.execute("CREATE INDEX by_name ON facts (name)")
        (count,) = self._db.execute("SELECT count(*) FROM facts").fetchone()
        if count > _FEW:
            for name in sorted(slots):
                self._db.execute(f"CREATE INDEX by_s_{name} ON facts (s_{name})")
        self._db.execute("ANALYZE")

    # --- what must hold of all --------------------------------------------------------------

    def namesakes(self) -> Iterator[tuple[str, list[str]]]:
        """(name, documents) of every name that several have."""
        for name, ids in self._db.execute(
            "SELECT name, json_group_array(id) FROM facts GROUP BY name HAVING count(*) > 1"
        ):
            yield name, orjson.loads(ids)

    def unresolved(self, relations: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        """(document, slot, name) of every relation to a name that no document has."""
        for name in relations:
            column = f"s_{name}"
            for doc_id, value in self._db.execute(
                f"SELECT id, {column} FROM facts WHERE {column} IS NOT NULL "
                f"AND NOT EXISTS (SELECT 1 FROM facts o WHERE o.name = facts.{column})"
            ):
                yield doc_id, name, value

    # --- expressions ------------------------------------------------------------------------

    def answers(self, expression: Sequence[Any], among: Sequence[str] = ()) -> set[str]:
        """The documents that meet an expression, of some if any are named. Raises `Impossible`."""
        where = self._where(expression, "f")
        if among:
            where = f"id IN (SELECT value FROM json_each(:ids)) AND {where}"
        sql = f"SELECT json_group_array(id) FROM facts f WHERE {where}"
        return set(self._json(sql, ids=orjson.dumps(list(among)).decode()))

    def grades(self, expression: Sequence[Any], ids: Sequence[str]) -> dict[str, int]:
        """How many conditions of an expression each of some documents meets."""
        found: dict[str, int] = self._json(
            f"SELECT json_group_object(id, {self._met(expression, 'f')}) FROM facts f "
            "WHERE id IN (SELECT value FROM json_each(:ids))",
            ids=orjson.dumps(list(ids)).decode(),
        )
        return found

    def _json(self, sql: str, **values: str) -> Any:
        """What a statement gives, which is one row of JSON."""
        return orjson.loads(self._db.execute(sql, {**self._known, **values}).fetchone()[0])

    def _ranked(self, kind: str, k: int, slot: str, of: Sequence[Any]) -> str:
        """The parameter that holds the rows of the k with the most or least of a slot, in JSON.

        Raises `Impossible` where there are fewer, or two tie at the edge.
        """
        name = f"r{orjson.dumps([kind, k, slot, of]).hex()}"
        if name in self._known:
            return name
        column, order = f"f.s_{slot}", "DESC" if kind == "most" else "ASC"
        found = self._json(
            "SELECT json_group_array(json_array(row, value)) FROM "
            f"(SELECT f.rowid AS row, {column} AS value FROM facts f "
            f"WHERE ({self._where(of, 'f')}) "
            f"AND {column} IS NOT NULL ORDER BY {column} {order} LIMIT {k + 1})"
        )
        if len(found) < k:
            raise Impossible(f"asks for {k:,} of {len(found):,} that there are")
        if len(found) > k and found[k - 1][1] == found[k][1]:
            raise Impossible(
                f"asks for {k:,}, and number {k:,} and number {k + 1:,} tie: both have "
                f"{slot}={found[k][1]}"
            )
        self._known[name] = orjson.dumps([row for row, _ in found[:k]]).decode()
        return name

    def _where(self, expression: Sequence[Any], row: str) -> str:
        """An expression as a condition of SQL on a row."""
        match expression:
            case ["is", slot, value]:
                return f"{row}.s_{slot} IS {_literal(value)}"
            case ["within", slot, parent]:
                known = self._slots[slot].values()
                below = ", ".join(_literal(one.name) for one in known if parent in one.parents)
                return self._among(slot, row, below)
            case ["between", slot, low, high]:
                column = f"{row}.s_{slot}"
                above = "" if low is None else f" AND {column} >= {_literal(low)}"
                below = "" if high is None else f" AND {column} <= {_literal(high)}"
                return f"({column} IS NOT NULL{above}{below})"
            case ["and" | "or" as word, *parts]:
                return _joined(f" {word.upper()} ", self._where, parts, row)
            case ["and not", kept, dropped]:
                return f"({self._where(kept, row)} AND NOT {self._where(dropped, row)})"
            case ["at least", int(k), *parts]:
                # one of so many holds in any case, which an index finds
                some = _joined(" OR ", self._where, parts[: len(parts) - k + 1], row)
                return f"({some} AND {_joined(' + ', self._where, parts, row)} >= {k})"
            case ["via", slot, of]:
                where = self._where(of, f"{row}x")
                return self._among(slot, row, f"SELECT {row}x.name FROM facts {row}x WHERE {where}")
            case ["most" | "least" as kind, int(k), slot, of]:
                ranked = self._ranked(kind, k, slot, of)
                return f"{row}.rowid IN (SELECT value FROM json_each(:{ranked}))"
        raise ValueError(f"no expression: {expression!r}")

    def _among(self, slot: str, row: str, values: str) -> str:
        """Whether a slot, which may be NULL, has one of some values."""
        column = f"{row}.s_{slot}"
        return f"({column} IS NOT NULL AND {column} IN ({values}))"

    def _met(self, expression: Sequence[Any], row: str) -> str:
        """The number of conditions that a row meets, as an expression of SQL.

        What is denied is a condition, met by what it does not hold for; a superlative is one more;
        those of a relation are met by the other entity.
        """
        match expression:
            case ["and" | "or", *parts] | ["at least", int(), *parts]:
                return _joined(" + ", self._met, parts, row)
            case ["and not", kept, dropped]:
                return f"({self._met(kept, row)} + NOT {self._where(dropped, row)})"
            case ["most" | "least", int(), _, of]:
                return f"({self._met(of, row)} + ({self._where(expression, row)}))"
            case ["via", slot, of]:
                other = f"{row}x.name = {row}.s_{slot}"
                met = self._met(of, f"{row}x")
                return f"coalesce((SELECT {met} FROM facts {row}x WHERE {other}), 0)"
            case _:
                return f"({self._where(expression, row)})"


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def _joined(
    word: str, how: Callable[[Sequence[Any], str], str], parts: Sequence[Any], row: str
) -> str:
    return f"({word.join(f'({how(part, row)})' for part in parts)})"


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
