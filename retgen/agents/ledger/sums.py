"""Calls, tokens and money by run, agent and model, which triggers of the tables keep.

So neither the start nor the end of a run reads all that was ever sent. `count_rows` works the same
numbers out from the rows, for `gen ledger check`.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from retgen.agents.ledger.schema import PartSums, Spent

COLUMNS = (
    "calls", "failed", "open", "answered", "tokens_in", "tokens_out", "nano_usd", "unpriced",
)  # fmt: skip
_STATES = {"failed": "failed", "sent": "open", "answered": "answered"}
# adds to columns of a part, whose values are passed by their names
_MORE = ", ".join(f"{name} = {name} + :{name}" for name in COLUMNS)
ADD = f"UPDATE parts SET {_MORE} WHERE id = :part"


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
