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
import orjson

from retgen.agents.ledger.file import failure, salvage
from retgen.agents.ledger.ledger import Ledger, is_unchanged
from retgen.agents.ledger.owners import Owner
from retgen.agents.ledger.schema import (
    ADD_SUMS,
    SUMS,
    add_part,
    count_rows,
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


@dataclass
class Checked:
    """`findings`: what is wrong; `advice`: what to do about it; `notes`: what is worth knowing;
    `states`: requests by state.
    """

    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    states: dict[str, int] = field(default_factory=dict)
    bytes: int = 0


def check(ledger: Ledger) -> Checked:
    """Read all of it and compare. Raises `OutputError` where it cannot be read at all."""
    result = Checked(bytes=size_of(ledger.path))
    try:
        damage = [row[0] for row in ledger.execute_outside(f"PRAGMA integrity_check({_SHOWN})")]
    except OutputError as error:  # too much so to be told in detail
        damage = [str(error.__cause__)]
    if damage != ["ok"]:
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
        result.notes += _out(db)
    drive = network_drive(ledger.path)
    if drive:
        result.notes.append(
            f"it lies on a network drive ({drive}): let one machine at a time use it"
        )
    if not ledger.writable:
        result.notes.append("it cannot be written: no run can use it where it is")
    return result


def check_before_sending(ledger: Ledger) -> None:
    """Raise `OutputError` where a known request might not be found, and so be paid for again."""
    ((found,),) = ledger.execute_outside("PRAGMA integrity_check(1)")
    with ledger.read_transaction() as db:
        wrong = check_sums(db) if found == "ok" else found.splitlines()[-1:]
    if wrong:
        raise failure(ledger.path, f"malformed: {wrong[0]}")


def check_sums(db: sqlite3.Connection) -> list[str]:
    """The sums that are kept against those of the rows."""
    result = []
    rows = count_rows(db)
    kept = {row["id"]: row for row in db.execute("SELECT * FROM parts")}
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
    for row in db.execute("SELECT * FROM runs"):
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


def recount(db: sqlite3.Connection) -> None:
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
            "INSERT OR REPLACE INTO runs (run, nano_usd, hits, pruned_hits) VALUES (?, ?, ?, ?)",
            (run, charged.get(run, 0), hits.get(run, 0) + pruned, pruned),
        )


def size_of(path: Path) -> int:
    """Bytes of the database and what lies beside it."""
    real = path.resolve()
    names = (real.with_name(real.name + end) for end in ("", "-wal"))
    return sum(one.stat().st_size for one in names if one.exists())


def _runs(db: sqlite3.Connection) -> tuple[dict[str, int], dict[str, int]]:
    """What the parts have charged, and the answers of others that are there, by run."""
    charged = db.execute("SELECT run, sum(nano_usd) FROM parts GROUP BY run")
    hits = db.execute("SELECT run, count(*) FROM uses GROUP BY run")
    of = [{run: int(number) for run, number in rows} for rows in (charged, hits)]
    return of[0], of[1]


def _requests(db: sqlite3.Connection) -> list[str]:
    """Requests that are not what their key says, and answers that are not as they came."""
    wrong, runs = [], set()
    for number, run, key, body in _bodies(db):
        if hashlib.sha256(body).digest() != key:
            wrong.append(number)
            runs.add(run)
    spoilt = [
        number
        for number, answer, reason in db.execute(
            "SELECT id, answer, reason FROM sends WHERE state = 'answered'"
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


def _bodies(db: sqlite3.Connection) -> Iterator[tuple[int, str, bytes, bytes]]:
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


def _out(db: sqlite3.Connection) -> list[str]:
    """Requests whose process has ended, which are asked again when they are needed."""
    query = (
        f"SELECT {_OWNER}, count(*), sum(nano_usd) FROM sends JOIN owners ON owner = owners.id "
        f"WHERE {_OUT} GROUP BY owners.id"
    )
    result = []
    for *owner, number, nano in db.execute(query):
        who: Any = Owner(*owner)
        how = "has ended: they are asked again" if who.has_ended() else "may still run"
        requests = "1 request is" if number == 1 else f"{number:,} requests are"
        result.append(f"{requests} open, charged ${nano / 1e9:.4f}; {who} {how}")
    return result


# --- forget -------------------------------------------------------------------------------------


class Forgotten(NamedTuple):
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
) -> list[Forgotten]:
    """Let requests be asked again; `dry`: only say which. `states`: of `STATES`.

    "open" are requests that are out, of a process that cannot be seen to run: their lease ends.
    Raises `UsageError` while another process has the ledger open: its records may rest on them.
    """
    with nullcontext() if dry else ledger.exclusive_access(), ledger.transaction() as db:
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
    db: sqlite3.Connection,
    run: str | None,
    agent: str | None,
    model: str | None,
    states: Collection[str],
) -> tuple[str, dict[str, Any]]:
    """A condition on rows of `sends`, and its values."""
    running: list[int] = []
    if "open" in states:
        owners = db.execute(f"SELECT id, {_OWNER} FROM owners")
        running = [number for number, *owner in owners if Owner(*owner).runs_here()]
    where = f"""
        part IN (
            SELECT id FROM parts WHERE (:run IS NULL OR run = :run)
            AND (:agent IS NULL OR agent = :agent) AND (:model IS NULL OR model = :model)
        ) AND (
            state IN (SELECT value FROM json_each(:states)) OR :open AND {_OUT}
            AND (owner IS NULL OR owner NOT IN (SELECT value FROM json_each(:running)))
        )"""
    return where, {
        "run": run, "agent": agent, "model": model, "open": "open" in states,
        "states": _json(state for state in states if state != "open"), "running": _json(running),
    }  # fmt: skip


def _count(db: sqlite3.Connection, where: str, values: dict[str, Any]) -> list[Forgotten]:
    rows = db.execute(
        f"""
        SELECT parts.run, agent, model, state, count(*),
            sum(EXISTS (
                SELECT * FROM uses WHERE uses.key = sends.key AND uses.run != parts.run
            )),
            sum(sends.nano_usd), min(CASE WHEN state != 'answered' THEN reason END)
        FROM sends JOIN parts ON parts.id = sends.part WHERE {where}
        GROUP BY parts.run, agent, model, state ORDER BY parts.run, agent, model, state
        """,
        values,
    )
    counts = [Forgotten(*row) for row in rows]
    return [row._replace(state="open") if row.state == "sent" else row for row in counts]


def _json(values: Iterable[Any]) -> str:
    return orjson.dumps(list(values)).decode()


# --- prune and copy -----------------------------------------------------------------------------


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
        with ledger.read_transaction() as db:
            return _estimate(db, runs, before)
    with ledger.exclusive_access():
        with ledger.transaction() as db:
            removed = _remove(db, runs)
            empty = f"UPDATE sends SET request = NULL, answer = NULL WHERE {_IDLE}"
            emptied = db.execute(empty).rowcount
            unneeded = np.flatnonzero(~_needed_texts(db)).tolist()
            db.executemany("DELETE FROM texts WHERE id = ?", ((number,) for number in unneeded))
            ledger.forget_texts()
        ledger.execute_outside("VACUUM")
        ledger.execute_outside("PRAGMA wal_checkpoint(TRUNCATE)")
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


# what nobody reads any more; what is out may still be answered
_IDLE = """
    state IN ('spare', 'cut', 'void', 'failed', 'forgotten')
    AND (request IS NOT NULL OR answer IS NOT NULL)
"""
# the requests of `:runs`, except what others used and what may still be answered
_GONE = f"""
    part IN (SELECT id FROM parts WHERE run IN (SELECT value FROM json_each(:runs)))
    AND NOT (state IN ('answered', 'refused') AND EXISTS (
        SELECT * FROM uses WHERE uses.key = sends.key
        AND uses.run NOT IN (SELECT value FROM json_each(:runs))
    )) AND NOT ({_OUT})
"""


def _remove(db: sqlite3.Connection, runs: Collection[str]) -> int:
    if not runs:
        return 0
    values = {"runs": _json(runs)}
    subtract = ", ".join(f"{name} = {name} - :{name}" for name in SUMS)
    for number, less in count_rows(db, _GONE, values).items():
        query = "SELECT run, agent, model FROM parts WHERE id = ?"
        whose = tuple(db.execute(query, (number,)).fetchone())
        query = "SELECT id FROM parts WHERE run = ? AND agent = ? AND model = ? AND pruned"
        row = db.execute(query, whose).fetchone()
        pruned = row["id"] if row else add_part(db, *whose, pruned=True)
        db.execute(ADD_SUMS, {"part": pruned, **less})
        db.execute(f"UPDATE parts SET {subtract} WHERE id = :part", {"part": number, **less})
    removed = db.execute(f"DELETE FROM sends WHERE {_GONE}", values).rowcount
    for run in runs:
        hits = db.execute("DELETE FROM uses WHERE run = ?", (run,)).rowcount
        change = "UPDATE runs SET pruned_hits = pruned_hits + ? WHERE run = ?"
        db.execute(change, (hits, run))
    return removed


def _needed_texts(
    db: sqlite3.Connection, where: str = "TRUE", values: dict[str, Any] | None = None
) -> np.ndarray:
    """For each number of a text whether one of the rows needs it."""
    (last,) = db.execute("SELECT coalesce(max(id), 0) FROM texts").fetchone()
    needed = np.zeros(last + 1, dtype=bool)
    query = f"SELECT request FROM sends WHERE request IS NOT NULL AND {where}"
    for (request,) in db.execute(query, values or {}):
        needed[text_numbers(request)] = True
    return needed


def _estimate(db: sqlite3.Connection, runs: Collection[str], before: int) -> Pruned:
    values = {"runs": _json(runs)}
    idle = f"{_IDLE} AND NOT ({_GONE})"
    (emptied, less), (removed, more) = (
        db.execute(
            "SELECT count(*), coalesce(sum(coalesce(length(request), 0) + "
            f"coalesce(length(answer), 0)), 0) FROM sends WHERE {where}",
            values,
        ).fetchone()
        for where in (idle, _GONE)
    )
    needed = _needed_texts(db, f"NOT ({_IDLE} OR {_GONE})", values)
    sizes = db.execute("SELECT id, length(text) FROM texts")
    texts = sum(size for number, size in sizes if not needed[number])
    return Pruned(emptied, removed, before, max(0, before - less - more - texts))
