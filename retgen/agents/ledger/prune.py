"""Shrinking a ledger, and copying one that may be in use."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from retgen.agents.ledger import sums, tables
from retgen.agents.ledger.check import size_of
from retgen.agents.ledger.ledger import Ledger
from retgen.agents.ledger.texts import numbers
from retgen.errors import OutputError, UsageError

_s, _p, _u, _t = tables.sends.c, tables.parts.c, tables.uses.c, tables.texts.c
# what nobody reads any more; what is out may still be answered
_DONE = ("spare", "cut", "void", "failed", "forgotten")


class Pruned(NamedTuple):
    """`emptied`: requests whose texts and answers go; `removed`: requests of whole runs.

    `after`: bytes then; where nothing was done yet, about so many.
    """

    emptied: int
    removed: int
    before: int
    after: int


def prune(ledger: Ledger, runs: Collection[str] = (), *, dry: bool = False) -> Pruned:
    """Drop texts and answers that nobody reads, and runs whose answers no other run used.

    Sums and charges stay. Raises `UsageError` while another process has the ledger open.
    """
    before = size_of(ledger.path)
    if dry:
        with ledger.reading() as db:
            return _estimate(db, runs, before)
    with ledger.alone():
        with ledger.together() as db:
            removed = _remove(db, runs)
            emptied = db.execute(
                sa.update(tables.sends).where(_idle()).values(request=None, answer=None)
            ).rowcount
            _drop_texts(db, _needed(db, sa.true()))
            ledger.forget_texts()
        ledger.outside("VACUUM")
        ledger.outside("PRAGMA wal_checkpoint(TRUNCATE)")
    return Pruned(emptied, removed, before, size_of(ledger.path))


def copy(ledger: Ledger, path: Path) -> None:
    """A copy as of now, whole without a file beside it, also while a run is going on."""
    if path.exists():
        raise UsageError(f"{path} is there already: name a new file")
    partial = path.with_name(path.name + ".partial")
    try:
        partial.unlink(missing_ok=True)
        with closing(sqlite3.connect(partial)) as new:
            ledger.backup(new)
            new.execute("UPDATE meta SET in_use = 0")
            new.commit()
        os.replace(partial, path)
    except (OSError, sqlite3.Error) as error:
        raise OutputError(f"{path} cannot be written: {error}") from error


def _idle() -> sa.ColumnElement[bool]:
    return sa.and_(_s.state.in_(_DONE), sa.or_(_s.request.is_not(None), _s.answer.is_not(None)))


def _of(runs: Collection[str]) -> sa.ColumnElement[bool]:
    """The requests of runs, but for what others used and what may still be answered."""
    parts = sa.select(_p.id).where(_p.run.in_(runs))
    used = sa.exists().where(_u.key == _s.key, _u.run.not_in(runs))
    kept = sa.and_(_s.state.in_(("answered", "refused")), used)
    return sa.and_(_s.part.in_(parts), sa.not_(kept), sa.not_(_held()))


def _held() -> sa.ColumnElement[bool]:
    return sa.and_(_s.state == "sent", _s.lease > 0)


def _remove(db: sa.Connection, runs: Collection[str]) -> int:
    if not runs:
        return 0
    gone = _of(runs)
    parts = {row["id"]: row for row in db.execute(sa.select(tables.parts)).mappings()}
    made = insert(tables.parts)
    add = made.on_conflict_do_update(
        [_p.run, _p.agent, _p.model, _p.pruned],
        set_={name: _p[name] + made.excluded[name] for name in sums.COLUMNS},
    )
    for number, less in sums.counted(db, gone).items():
        part = parts[number]
        whose = {name: part[name] for name in ("run", "agent", "model")}
        db.execute(add, {**whose, "pruned": True, **less})
        values = {name: _p[name] - less[name] for name in sums.COLUMNS}
        db.execute(sa.update(tables.parts).where(_p.id == number).values(values))
    removed = db.execute(sa.delete(tables.sends).where(gone)).rowcount
    r = tables.runs.c
    for run in runs:
        hits = db.execute(sa.delete(tables.uses).where(_u.run == run)).rowcount
        more = {"pruned_hits": r.pruned_hits + hits}
        db.execute(sa.update(tables.runs).where(r.run == run).values(more))
    return removed


def _needed(db: sa.Connection, rows: sa.ColumnElement[bool]) -> np.ndarray:
    """For each number of a text whether one of the rows needs it."""
    last = db.execute(sa.select(sa.func.max(_t.id))).scalar() or 0
    needed = np.zeros(last + 1, dtype=bool)
    query = sa.select(_s.request).where(_s.request.is_not(None), rows)
    for (request,) in db.execute(query, execution_options={"yield_per": 1000}):
        needed[numbers(request)] = True
    return needed


def _drop_texts(db: sa.Connection, needed: np.ndarray) -> None:
    drop = sa.delete(tables.texts).where(_t.id == sa.bindparam("text"))
    gone = [{"text": number} for number in np.flatnonzero(~needed).tolist()]
    for i in range(0, len(gone), 10_000):
        db.execute(drop, gone[i : i + 10_000])


def _estimate(db: sa.Connection, runs: Collection[str], before: int) -> Pruned:
    gone = _of(runs) if runs else sa.false()
    idle = sa.and_(_idle(), sa.not_(gone))
    length = sa.func.length
    own = sa.func.coalesce(length(_s.request), 0) + sa.func.coalesce(length(_s.answer), 0)
    count = sa.func.count(), sa.func.coalesce(sa.func.sum(own), 0)
    (emptied, less), (removed, more) = (
        db.execute(sa.select(*count).where(which)).one() for which in (idle, gone)
    )
    needed = _needed(db, sa.not_(sa.or_(idle, gone)))
    texts = sum(
        size for number, size in db.execute(sa.select(_t.id, length(_t.text))) if not needed[number]
    )
    return Pruned(emptied, removed, before, max(0, before - less - more - texts))
