"""Calls, tokens and money by run, agent and model, kept in the transactions that change them.

So neither the start nor the end of a run reads all that was ever sent. `counted` works the same
numbers out from the rows, for `gen ledger check`.
"""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from retgen.agents.ledger import tables
from retgen.agents.ledger.records import PartSums, Spent

COLUMNS = (
    "calls", "failed", "open", "answered", "tokens_in", "tokens_out", "nano_usd", "unpriced",
)  # fmt: skip
_STATES = {"failed": "failed", "sent": "open", "answered": "answered"}

_p, _r = tables.parts.c, tables.runs.c
_FIND = sa.select(_p.id).where(
    _p.run == sa.bindparam("r"), _p.agent == sa.bindparam("a"), _p.model == sa.bindparam("m"),
    sa.not_(_p.pruned),
)  # fmt: skip
_ADD = (
    sa.update(tables.parts)
    .where(_p.id == sa.bindparam("part"))
    .values({name: _p[name] + sa.bindparam(name) for name in COLUMNS})
)
_CHARGED = sa.select(_r.nano_usd).where(_r.run == sa.bindparam("r"))
_made = insert(tables.runs)
_CHARGE = _made.on_conflict_do_update(
    [_r.run],
    set_={"nano_usd": _r.nano_usd + _made.excluded.nano_usd, "hits": _r.hits + _made.excluded.hits},
)
_CHANGED = (
    sa.update(tables.meta)
    .values(
        changes=tables.meta.c.changes + 1,
        answers=tables.meta.c.answers + sa.bindparam("more"),
    )
    .returning(tables.meta.c.changes, tables.meta.c.answers)
)


class Sums:
    """What a transaction changes; written once, at its end."""

    def __init__(self, db: sa.Connection, known: dict[tuple[str, str, str], int]) -> None:
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
            result = self._db.execute(_FIND, {"r": run, "a": agent, "m": model}).scalar()
            if result is None:
                values = {"run": run, "agent": agent, "model": model}
                result = self._db.execute(sa.insert(tables.parts), values).lastrowid
            self._known[which] = int(result)
        return self._known[which]

    def charged(self, run: str) -> int:
        """What a run is charged, with what this transaction has charged so far."""
        if run not in self._charged:
            self._charged[run] = int(self._db.execute(_CHARGED, {"r": run}).scalar() or 0)
        return self._charged[run] + self._nano[run]

    def made(self, part: int, run: str, state: str, nano: int, priced: bool) -> None:
        """A row of `sends` was made, with no tokens yet."""
        sums = self._of(part)
        sums["calls"] += 1
        sums["unpriced"] += not priced
        self._count(sums, state, 1)
        self._charge(sums, run, nano)

    def became(
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

    def answer(self) -> None:
        """An answer came."""
        self._answers += 1

    def hit(self, run: str) -> None:
        """A run used the answer of another."""
        self._hits[run] += 1

    def write(self) -> tuple[int, int] | None:
        """Write it all; returns the changes and answers of the ledger where a request changed."""
        changed = None
        if self._parts:
            self._db.execute(_ADD, [{"part": part, **sums} for part, sums in self._parts.items()])
            row = self._db.execute(_CHANGED, {"more": self._answers}).one()
            changed = int(row.changes), int(row.answers)
        runs = {*self._nano, *self._hits}
        if runs:
            self._db.execute(
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


def part_rows(db: sa.Connection, run: str | None) -> list[PartSums]:
    """By run, agent and model; of one run or of all."""
    by = (_p.run, _p.agent, _p.model)
    query = sa.select(*by, *(sa.func.sum(_p[name]).label(name) for name in COLUMNS))
    if run is not None:
        query = query.where(_p.run == run)
    result = db.execute(query.group_by(*by).order_by(*by)).mappings()
    return [
        PartSums(**{name: row[name] for name in PartSums._fields if name != "priced"},
             priced=not row["unpriced"])
        for row in result
        if row["calls"]
    ]  # fmt: skip


def run_rows(db: sa.Connection, run: str | None) -> list[Spent]:
    """By run, those that called or used an answer; of one run or of all."""
    calls: dict[str, list[PartSums]] = {}
    for part in part_rows(db, run):
        calls.setdefault(part.run, []).append(part)
    query = sa.select(tables.runs)
    rows = {
        row.run: row for row in db.execute(query if run is None else query.where(_r.run == run))
    }
    result = []
    for name in sorted({*calls, *(name for name, row in rows.items() if row.hits)}):
        its, row = calls.get(name, []), rows.get(name)
        result.append(
            Spent(
                name,
                sum(part.calls for part in its),
                row.hits if row else 0,
                sum(part.tokens_in for part in its),
                sum(part.tokens_out for part in its),
                row.nano_usd if row else 0,
            )
        )
    return result


def counted(
    db: sa.Connection, rows: sa.ColumnElement[bool] | None = None
) -> dict[int, dict[str, int]]:
    """The sums of each part as the rows have them, all of them or some: reads them all."""
    c = tables.sends.c
    how_many = {
        column: sa.func.sum(sa.case((c.state == state, 1), else_=0))
        for state, column in _STATES.items()
    }
    of = {
        "calls": sa.func.count(),
        "unpriced": sa.func.sum(sa.case((c.priced, 0), else_=1)),
        **how_many,
        **{name: sa.func.sum(c[name]) for name in ("tokens_in", "tokens_out", "nano_usd")},
    }
    query = sa.select(c.part, *(of[name].label(name) for name in COLUMNS))
    query = (query if rows is None else query.where(rows)).group_by(c.part)
    return {row["part"]: {n: int(row[n]) for n in COLUMNS} for row in db.execute(query).mappings()}
