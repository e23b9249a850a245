"""Care of a ledger: whether it is sound, requests to be asked again, shrinking, copying.

Each function stands for a command: `gen ledger check`, `forget`, `prune`, `copy`.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retgen.agents.ledger.address import ServerAddress
from retgen.agents.ledger.file import FileConnection, LedgerFile, failure, salvage
from retgen.agents.ledger.ledger import Ledger, is_unchanged
from retgen.agents.ledger.owners import Owner
from retgen.agents.ledger.schema import (
    ADD_SUMS,
    SUMS,
    Connection,
    add_part,
    as_dicts,
    count_rows,
    create_tables,
    join_pieces,
    rows_with_texts,
    text_numbers,
)
from retgen.agents.ledger.sidecar import network_drive
from retgen.errors import OutputError, UsageError

STATES = ("refused", "answered", "open")  # what else there is may be asked again as it is

_SHOWN = 5  # findings of each kind
_OWNER = ", ".join(Owner._fields)
_OUT = "state = 'sent' AND lease > 0"
_IN_BATCH = "state = 'sent' AND substr(reason, 1, 5) = 'batch'"  # its run takes it up


@dataclass
class LedgerCheck:
    """`findings`: what is wrong; `advice`: what to do about it; `notes`: what is worth knowing;
    `states`: requests by state.
    """

    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    states: dict[str, int] = field(default_factory=dict)
    bytes: int = 0


def check(ledger: Ledger) -> LedgerCheck:
    """Read all of it and compare. Raises `OutputError` where it cannot be read at all."""
    result = LedgerCheck(bytes=ledger.database.size())
    damage = ledger.database.damage(_SHOWN)
    if damage:
        result.findings += [f"the file is damaged: {one}" for one in damage]
        result.advice.append(f"put a whole copy back, or {salvage(ledger.path)}")
        return result
    with ledger.read_transaction() as db:
        states = db.execute("SELECT state, count(*) FROM sends GROUP BY state ORDER BY state")
        result.states = {"open" if name == "sent" else name: number for name, number in states}
        result.findings += check_sums(db)
        wrong = _requests(db)
        result.findings += wrong
        if wrong:
            result.advice.append(
                "have these asked again: gen ledger forget --run RUN --state answered --state "
                "refused --yes, then drop their texts: gen ledger prune --yes"
            )
        elif result.findings:
            result.advice.append("count the sums anew: gen ledger check --accept")
        result.notes += _out(ledger, db)
    drive = network_drive(ledger.where) if isinstance(ledger.where, Path) else None
    if drive:
        result.notes.append(
            f"it lies on a network drive ({drive}): let one machine at a time use it"
        )
    if not ledger.database.writable:
        result.notes.append("it cannot be written: no run can use it where it is")
    return result


def check_before_sending(ledger: Ledger) -> None:
    """Raise `OutputError` where a known request might not be found, and so be paid for again.

    That is about files: a server looks after what it has stored.
    """
    if not isinstance(ledger.where, Path):
        return
    damage = ledger.database.damage(1)
    with ledger.read_transaction() as db:
        wrong = damage[0].splitlines()[-1:] if damage else check_sums(db)
    if wrong:
        raise failure(ledger.where, f"malformed: {wrong[0]}")


def check_sums(db: Connection) -> list[str]:
    """The sums that are kept against those of the rows."""
    result = []
    rows = count_rows(db)
    kept = {row["id"]: row for row in as_dicts(db.execute("SELECT * FROM parts ORDER BY id"))}
    for number, part in kept.items():
        if part["pruned"]:
            continue
        there = rows.pop(number, dict.fromkeys(SUMS, 0))
        for name in SUMS:
            if part[name] != there[name]:
                who = f"{part['run']}, {part['agent']}, {part['model']}"
                result.append(f"{who}: {name} is {part[name]:,}, its requests have {there[name]:,}")
    result += [f"{sum_['calls']:,} requests belong to no run" for sum_ in rows.values()]
    charged, hits = _runs(db)
    for row in as_dicts(db.execute("SELECT * FROM runs ORDER BY run")):
        run = row["run"]
        if row["nano_usd"] != charged.get(run, 0):
            result.append(
                f"{run}: ${row['nano_usd'] / 1e9:.4f} are charged, its requests have "
                f"${charged.get(run, 0) / 1e9:.4f}"
            )
        if row["hits"] - row["pruned_hits"] != hits.get(run, 0):
            result.append(
                f"{run}: {row['hits'] - row['pruned_hits']:,} cache hits, {hits.get(run, 0):,} are "
                "there"
            )
    return result


def recount(db: Connection) -> None:
    """Make the sums what the rows say."""
    rows = count_rows(db)
    parts = db.execute("SELECT id FROM parts WHERE NOT pruned").fetchall()
    change = f"UPDATE parts SET {', '.join(f'{name} = :{name}' for name in SUMS)}"
    for (number,) in parts:
        counts = rows.get(number, dict.fromkeys(SUMS, 0))
        db.execute(f"{change} WHERE id = :part", {"part": number, **counts})
    charged, hits = _runs(db)
    known = dict(db.execute("SELECT run, pruned_hits FROM runs").fetchall())
    for run in {*charged, *hits, *known}:
        pruned = known.get(run, 0)
        db.execute(
            "INSERT INTO runs (run, nano_usd, hits, pruned_hits) VALUES (?, ?, ?, ?) ON CONFLICT "
            "(run) DO UPDATE SET nano_usd = excluded.nano_usd, hits = excluded.hits",
            (run, charged.get(run, 0), hits.get(run, 0) + pruned, pruned),
        )


def _runs(db: Connection) -> tuple[dict[str, int], dict[str, int]]:
    """What the parts have charged, and the answers of others that are there, by run."""
    charged = db.execute("SELECT run, sum(nano_usd) FROM parts GROUP BY run")
    hits = db.execute("SELECT run, count(*) FROM uses GROUP BY run")
    of = [{run: int(number) for run, number in rows} for rows in (charged, hits)]
    return of[0], of[1]


def _requests(db: Connection) -> list[str]:
    """Requests that are not what their key says, and answers that are not as they came."""
    wrong, runs = [], set()
    for number, run, key, body in _bodies(db):
        if hashlib.sha256(body).digest() != key:
            wrong.append(number)
            runs.add(run)
    spoilt = [
        number
        for number, answer, reason in db.stream(
            "SELECT id, answer, reason FROM sends WHERE state = 'answered' ORDER BY id"
        )
        if not is_unchanged(answer or b"", reason)
    ]
    shown = ", ".join(str(number) for number in wrong[:_SHOWN])
    more = f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
    whose = ", ".join(sorted(runs))
    result = [f"{whose}: requests whose text is not that of their key: {shown}{more}"] * bool(wrong)
    if spoilt:
        result.append(f"answers that have changed: those of requests {', '.join(map(str, spoilt))}")
    return result


def _bodies(db: Connection) -> Iterator[tuple[int, str, bytes, bytes]]:
    """Number, run, key and request of every row that has one; what is missing counts as empty."""
    query = (
        "SELECT sends.id, coalesce(run, 'no run'), key, request FROM sends "
        "LEFT JOIN parts ON parts.id = sends.part WHERE request IS NOT NULL ORDER BY sends.id"
    )
    for rows, texts in rows_with_texts(db, query):
        for number, run, key, request in rows:
            try:
                yield number, run, key, join_pieces(request, texts)
            except (KeyError, TypeError, ValueError):
                yield number, run, key, b""


def _out(ledger: Ledger, db: Connection) -> list[str]:
    """Requests whose process has ended, which are asked again when they are needed."""
    query = (
        f"SELECT owners.id, {_OWNER}, count(*), sum(nano_usd) FROM sends JOIN owners "
        f"ON owner = owners.id WHERE {_OUT} GROUP BY owners.id ORDER BY owners.id"
    )
    result = []
    for which, *owner, number, nano in db.execute(query).fetchall():
        who: Any = Owner(*owner)
        ended = ledger.database.has_ended(db, which, who)
        how = "has ended: they are asked again" if ended else "may still run"
        requests = "1 request is" if number == 1 else f"{number:,} requests are"
        result.append(f"{requests} open, charged ${nano / 1e9:.4f}; {who} {how}")
    return result


# --- forget -------------------------------------------------------------------------------------


class ForgottenRequests(NamedTuple):
    """Requests of one kind. `others`: how many of them other runs have used, too."""

    run: str
    agent: str
    model: str
    state: str
    requests: int
    others: int
    nano_usd: int
    reason: str | None  # of one of them


def forget(
    ledger: Ledger,
    *,
    run: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    states: Collection[str] = ("refused",),
    dry: bool = False,
) -> list[ForgottenRequests]:
    """Let requests be asked again; `dry`: only say which. `states`: of `STATES`.

    "open" are requests that are out, of a process that cannot be seen to run: their lease ends.
    Raises `UsageError` while another process has the ledger open: its records may rest on them.
    """
    with nullcontext() if dry else ledger.database.exclusive_access(), ledger.transaction() as db:
        where, values = _condition(db, run, agent, model, states)
        result = _count(db, where, values)
        if dry or not result:
            return result
        db.execute(
            "UPDATE sends SET lease = 0.0, reason = 'forgotten' "
            f"WHERE state = 'sent' AND {where}", values,
        )  # fmt: skip
        db.execute(
            f"UPDATE sends SET state = 'forgotten' WHERE state != 'sent' AND {where}", values
        )
        return result


def _condition(
    db: Connection,
    run: str | None,
    agent: str | None,
    model: str | None,
    states: Collection[str],
) -> tuple[str, dict[str, Any]]:
    """A condition on rows of `sends`, and its values."""
    values: dict[str, Any] = {"run": run, "agent": agent, "model": model}
    part = "".join(f" AND {name} = :{name}" for name, value in values.items() if value is not None)
    which = [_is_in("state", "state", [one for one in states if one != "open"], values)]
    if "open" in states:
        owners = db.execute(f"SELECT id, {_OWNER} FROM owners").fetchall()
        running = [str(number) for number, *owner in owners if Owner(*owner).runs_here()]
        theirs = f"NOT owner IN ({', '.join(running)})" if running else "TRUE"
        which.append(f"({_OUT} OR {_IN_BATCH}) AND (owner IS NULL OR {theirs})")
    return (
        f"part IN (SELECT id FROM parts WHERE TRUE{part}) AND ({' OR '.join(which)})", values
    )  # fmt: skip


def _is_in(column: str, name: str, chosen: Iterable[str], values: dict[str, Any]) -> str:
    """A condition that a column is one of these texts, which are put into `values`."""
    marks = {f"{name}{number}": text for number, text in enumerate(chosen)}
    values.update(marks)
    return f"{column} IN ({', '.join(f':{mark}' for mark in marks)})" if marks else "FALSE"


def _count(db: Connection, where: str, values: dict[str, Any]) -> list[ForgottenRequests]:
    rows = db.execute(
        f"""
        SELECT parts.run, agent, model, state, count(*),
            sum(CASE WHEN EXISTS (
                SELECT * FROM uses WHERE uses.key = sends.key AND uses.run != parts.run
            ) THEN 1 ELSE 0 END),
            sum(sends.nano_usd), min(CASE WHEN state != 'answered' THEN reason END)
        FROM sends JOIN parts ON parts.id = sends.part WHERE {where}
        GROUP BY parts.run, agent, model, state ORDER BY parts.run, agent, model, state
        """,
        values,
    )
    counts = [ForgottenRequests(*row) for row in rows]
    return [row._replace(state="open") if row.state == "sent" else row for row in counts]


# --- prune and copy -----------------------------------------------------------------------------


class PruneResult(NamedTuple):
    """`emptied`: requests whose texts and answers go; `removed`: requests of whole runs.

    `after`: bytes then; where nothing was done yet, about so many.
    """

    emptied: int
    removed: int
    before: int
    after: int


def prune(ledger: Ledger, runs: Collection[str] = (), *, dry: bool = False) -> PruneResult:
    """Drop texts and answers that nobody reads, and runs whose answers no other run used.

    Sums and charges stay. Raises `UsageError` while another process has the ledger open.
    """
    before = ledger.database.size()
    if dry:
        with ledger.read_transaction() as db:
            return _estimate(db, runs, before)
    with ledger.database.exclusive_access():
        with ledger.transaction() as db:
            removed = _remove(db, runs)
            empty = f"UPDATE sends SET request = NULL, answer = NULL WHERE {_IDLE}"
            emptied = db.execute(empty).rowcount
            unneeded = np.flatnonzero(~_needed_texts(db)).tolist()
            db.executemany("DELETE FROM texts WHERE id = ?", [(number,) for number in unneeded])
            ledger.forget_rows()
        ledger.database.shrink()
    return PruneResult(emptied, removed, before, ledger.database.size())


def copy(ledger: Ledger, target: Path | ServerAddress) -> None:
    """A copy as of now into a new file, or a database without a ledger; also during a run.

    A file is whole then without another beside it.
    """
    if isinstance(target, ServerAddress):
        _copy_to_server(ledger, target)
        return
    if target.exists():
        raise UsageError(f"{target} is there already: name a new file")
    partial = target.with_name(target.name + ".partial")
    try:
        partial.unlink(missing_ok=True)
        with closing(sqlite3.connect(partial, factory=FileConnection)) as new:
            if isinstance(ledger.database, LedgerFile):
                ledger.database.backup(new)
            else:
                create_tables(new)
                _copy_rows(ledger, new)
            new.execute("UPDATE meta SET in_use = 0")
            new.commit()
        os.replace(partial, target)
    except (OSError, sqlite3.Error) as error:
        raise OutputError(f"{target} cannot be written: {error}") from error


def _copy_to_server(ledger: Ledger, target: ServerAddress) -> None:
    with closing(Ledger(target)) as other, other.transaction() as db:
        if db.execute("SELECT 1 FROM sends UNION ALL SELECT 1 FROM parts").fetchone():
            raise UsageError(f"{target} holds a ledger already: name another database")
        _copy_rows(ledger, db)
        other.database.note_copy(db)


# sums after what they are of, whose triggers would add to them; and the columns that are true or
# false, which SQLite stores as numbers
_COPIED = ("texts", "owners", "rooms", "sends", "uses", "parts", "runs", "meta")
_TRUE_OR_FALSE = frozenset({"priced", "pruned", "in_use"})


def _copy_rows(ledger: Ledger, new: Connection) -> None:
    """All rows as they are."""
    with ledger.read_transaction() as db:
        for table in _COPIED:
            rows = db.stream(f"SELECT * FROM {table}")
            names = [column[0] for column in rows.description]
            marks = ", ".join("?" for _ in names)
            insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
            flags = [number for number, name in enumerate(names) if name in _TRUE_OR_FALSE]
            new.execute(f"DELETE FROM {table}")
            while some := [list(row) for row in rows.fetchmany(500)]:
                for row in some:
                    for number in flags:
                        row[number] = bool(row[number])
                new.executemany(insert, some)


# what nobody reads any more; what is out may still be answered
_IDLE = """
    state IN ('spare', 'cut', 'void', 'failed', 'forgotten')
    AND (request IS NOT NULL OR answer IS NOT NULL)
"""


def _gone(runs: Collection[str]) -> tuple[str, dict[str, Any]]:
    """The requests of runs, except what others used and what may still be answered."""
    values: dict[str, Any] = {}
    return (
        f"""
        part IN (SELECT id FROM parts WHERE {_is_in("run", "run", runs, values)})
        AND NOT (state IN ('answered', 'refused') AND EXISTS (
            SELECT * FROM uses WHERE uses.key = sends.key
            AND NOT {_is_in("uses.run", "run", runs, values)}
        )) AND NOT ({_OUT})
    """,
        values,
    )


def _remove(db: Connection, runs: Collection[str]) -> int:
    if not runs:
        return 0
    gone, values = _gone(runs)
    subtract = ", ".join(f"{name} = {name} - :{name}" for name in SUMS)
    for number, less in count_rows(db, gone, values).items():
        query = "SELECT run, agent, model FROM parts WHERE id = ?"
        whose = tuple(db.execute(query, (number,)).fetchone())
        query = "SELECT id FROM parts WHERE run = ? AND agent = ? AND model = ? AND pruned"
        row = db.execute(query, whose).fetchone()
        pruned = row[0] if row else add_part(db, *whose, pruned=True)
        db.execute(ADD_SUMS, {"part": pruned, **less})
        db.execute(f"UPDATE parts SET {subtract} WHERE id = :part", {"part": number, **less})
    removed = int(db.execute(f"DELETE FROM sends WHERE {gone}", values).rowcount)
    for run in runs:
        hits = db.execute("DELETE FROM uses WHERE run = ?", (run,)).rowcount
        change = "UPDATE runs SET pruned_hits = pruned_hits + ? WHERE run = ?"
        db.execute(change, (hits, run))
    return removed


def _needed_texts(
    db: Connection, where: str = "TRUE", values: dict[str, Any] | None = None
) -> np.ndarray:
    """For each number of a text whether one of the rows needs it."""
    (last,) = db.execute("SELECT coalesce(max(id), 0) FROM texts").fetchone()
    needed = np.zeros(last + 1, dtype=bool)
    query = f"SELECT request FROM sends WHERE request IS NOT NULL AND {where}"
    for (request,) in db.stream(query, values or {}):
        needed[text_numbers(request)] = True
    return needed


def _estimate(db: Connection, runs: Collection[str], before: int) -> PruneResult:
    gone, values = _gone(runs)
    idle = f"{_IDLE} AND NOT ({gone})"
    (emptied, less), (removed, more) = (
        db.execute(
            "SELECT count(*), coalesce(sum(coalesce(length(request), 0) + "
            f"coalesce(length(answer), 0)), 0) FROM sends WHERE {where}",
            values,
        ).fetchone()
        for where in (idle, gone)
    )
    needed = _needed_texts(db, f"NOT ({_IDLE} OR {gone})", values)
    sizes = db.stream("SELECT id, length(text) FROM texts")
    texts = sum(size for number, size in sizes if not needed[number])
    return PruneResult(emptied, removed, before, max(0, before - less - more - texts))
