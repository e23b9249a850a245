"""Calls, tokens and money by run, agent and model, kept in the transactions that change them.

So neither the start nor the end of a run reads all that was ever sent. `count_rows` works the same
numbers out from the rows, for `gen ledger check`.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import Any

from retgen.agents.ledger.schema import PartSums, Spent

COLUMNS = (
    "calls", "failed", "open", "answered", "tokens_in", "tokens_out", "nano_usd", "unpriced",
)  # fmt: skip
_STATES = {"failed": "failed", "sent": "open", "answered": "answered"}

# adds to columns of a part, whose values are passed by their names
_MORE = ", ".join(f"{name} = {name} + :{name}" for name in COLUMNS)
ADD = f"UPDATE parts SET {_MORE} WHERE id = :part"
_CHARGE = """
INSERT INTO runs (run, nano_usd, hits, pruned_hits) VALUES (:run, :nano_usd, :hits, 0)
ON CONFLICT (run) DO UPDATE SET nano_usd = nano_usd + excluded.nano_usd, hits = hits + excluded.hits
"""
_COUNT_CHANGE = """
UPDATE meta SET changes = changes + 1, answers = answers + ? RETURNING changes, answers
"""


class Sums:
    """What a transaction changes; written once, at its end."""

    def __init__(self, db: sqlite3.Connection, known: dict[tuple[str, str, str], int]) -> None:
        self._db, self._known = db, known
        self._parts: dict[int, dict[str, int]] = {}
        self._charged: dict[str, int] = {}  # as the table has it
        self._nano: Counter[str] = Counter()
        self._hits: Counter[str] = Counter()
        self._answers = 0

    def part(self, run: str, agent: str, model: str) -> int:
        """The number of the part, which is made where it is not there."""
        which = run, agent, model
        if which not in self._known:
            query = "SELECT id FROM parts WHERE run = ? AND agent = ? AND model = ? AND NOT pruned"
            row = self._db.execute(query, which).fetchone()
            self._known[which] = int(row[0]) if row else add_part(self._db, *which, pruned=False)
        return self._known[which]

    def nano_usd_of(self, run: str) -> int:
        """What a run is charged, with what this transaction has charged so far."""
        if run not in self._charged:
            query = "SELECT nano_usd FROM runs WHERE run = ?"
            row = self._db.execute(query, (run,)).fetchone()
            self._charged[run] = int(row[0]) if row else 0
        return self._charged[run] + self._nano[run]

    def add_row(self, part: int, run: str, state: str, nano: int, priced: bool) -> None:
        """A row of `sends` was made, with no tokens yet."""
        sums = self._of(part)
        sums["calls"] += 1
        sums["unpriced"] += not priced
        self._count(sums, state, 1)
        self._charge(sums, run, nano)

    def change_row(
        self,
        part: int,
        run: str,
        before: str,
        after: str,
        nano: int = 0,
        tokens_in: int = 0,
        tokens_out: int = 0,
    ) -> None:
        """A row of `sends` went from a state to another; what it has more than before."""
        sums = self._of(part)
        sums["tokens_in"] += tokens_in
        sums["tokens_out"] += tokens_out
        self._count(sums, before, -1)
        self._count(sums, after, 1)
        self._charge(sums, run, nano)

    def count_answer(self) -> None:
        """An answer came."""
        self._answers += 1

    def count_hit(self, run: str) -> None:
        """A run used the answer of another."""
        self._hits[run] += 1

    def write(self) -> tuple[int, int] | None:
        """Write it all; returns the changes and answers of the ledger where a request changed."""
        changed = None
        if self._parts:
            self._db.executemany(
                ADD, [{"part": part, **sums} for part, sums in self._parts.items()]
            )
            # a statement that returns rows ends with its last one
            ((changes, answers),) = self._db.execute(_COUNT_CHANGE, (self._answers,)).fetchall()
            changed = int(changes), int(answers)
        runs = {*self._nano, *self._hits}
        if runs:
            self._db.executemany(
                _CHARGE,
                [{"run": r, "nano_usd": self._nano[r], "hits": self._hits[r]} for r in runs],
            )
        for changes in (self._parts, self._charged, self._nano, self._hits):
            changes.clear()
        self._answers = 0
        return changed

    def _of(self, part: int) -> dict[str, int]:
        if part not in self._parts:
            self._parts[part] = dict.fromkeys(COLUMNS, 0)
        return self._parts[part]

    def _count(self, sums: dict[str, int], state: str, by: int) -> None:
        column = _STATES.get(state)
        if column is not None:
            sums[column] += by

    def _charge(self, sums: dict[str, int], run: str, nano: int) -> None:
        sums["nano_usd"] += nano
        self._nano[run] += nano


def add_part(db: sqlite3.Connection, run: str, agent: str, model: str, *, pruned: bool) -> int:
    """Make a part with sums of zero; its number."""
    columns, zeros = ", ".join(COLUMNS), ", ".join("0" for _ in COLUMNS)
    insert = (
        f"INSERT INTO parts (run, agent, model, pruned, {columns}) VALUES (?, ?, ?, ?, {zeros})"
    )
    return int(db.execute(insert, (run, agent, model, pruned)).lastrowid or 0)


def part_rows(db: sqlite3.Connection, run: str | None) -> list[PartSums]:
    """By run, agent and model; of one run or of all."""
    sums = ", ".join(f"sum({name}) AS {name}" for name in COLUMNS)
    rows = db.execute(
        f"SELECT run, agent, model, {sums} FROM parts WHERE :run IS NULL OR run = :run "
        "GROUP BY run, agent, model ORDER BY run, agent, model",
        {"run": run},
    )
    return [
        PartSums(**{name: row[name] for name in PartSums._fields if name != "priced"},
                 priced=not row["unpriced"])
        for row in rows
        if row["calls"]
    ]  # fmt: skip


def run_rows(db: sqlite3.Connection, run: str | None) -> list[Spent]:
    """By run, those that called or used an answer; of one run or of all."""
    calls: dict[str, list[PartSums]] = {}
    for part in part_rows(db, run):
        calls.setdefault(part.run, []).append(part)
    query = "SELECT run, nano_usd, hits FROM runs WHERE :run IS NULL OR run = :run"
    rows = {row["run"]: row for row in db.execute(query, {"run": run})}
    return [
        Spent(
            name,
            sum(part.calls for part in calls.get(name, ())),
            rows[name]["hits"] if name in rows else 0,
            sum(part.tokens_in for part in calls.get(name, ())),
            sum(part.tokens_out for part in calls.get(name, ())),
            rows[name]["nano_usd"] if name in rows else 0,
        )
        for name in sorted({*calls, *(name for name, row in rows.items() if row["hits"])})
    ]


def count_rows(
    db: sqlite3.Connection, where: str = "TRUE", values: dict[str, Any] | None = None
) -> dict[int, dict[str, int]]:
    """The sums of each part as the rows have them, all of them or some: reads them all."""
    rows = db.execute(
        "SELECT part, count(*) AS calls, sum(NOT priced) AS unpriced, "
        + ", ".join(f"sum(state = '{state}') AS {column}" for state, column in _STATES.items())
        + ", sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out, sum(nano_usd) AS nano_usd "
        f"FROM sends WHERE {where} GROUP BY part",
        values or {},
    )
    return {row["part"]: {name: int(row[name]) for name in COLUMNS} for row in rows}
