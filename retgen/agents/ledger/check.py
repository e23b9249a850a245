"""Whether a ledger is sound: the file, its sums, its requests, and the state file beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from retgen.agents.ledger import sums, tables
from retgen.agents.ledger.damage import failure, salvage
from retgen.agents.ledger.drives import network_drive
from retgen.agents.ledger.ledger import Ledger, is_unchanged
from retgen.agents.ledger.owners import Owner
from retgen.agents.ledger.texts import joined, with_texts
from retgen.errors import OutputError

_s, _p, _r = tables.sends.c, tables.parts.c, tables.runs.c
_SHOWN = 5  # of each kind


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
        damage = [row[0] for row in ledger.outside(f"PRAGMA integrity_check({_SHOWN})")]
    except OutputError as error:  # too much so to be told in detail
        damage = [str(error.__cause__)]
    if damage != ["ok"]:
        result.findings += [f"the file is damaged: {one}" for one in damage]
        result.advice.append(f"put a whole copy back, or {salvage(ledger.path)}")
        return result
    with ledger.reading() as db:
        count = (
            sa.select(_s.state, sa.func.count().label("number"))
            .group_by(_s.state)
            .order_by(_s.state)
        )
        result.states = {
            "open" if row.state == "sent" else row.state: row.number for row in db.execute(count)
        }
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
    ((found,),) = ledger.outside("PRAGMA integrity_check(1)")
    with ledger.reading() as db:
        wrong = check_sums(db) if found == "ok" else found.splitlines()[-1:]
    if wrong:
        raise failure(ledger.path, f"malformed: {wrong[0]}")


def check_sums(db: sa.Connection) -> list[str]:
    """The sums that are kept against those of the rows."""
    result = []
    rows = sums.counted(db)
    kept = {row["id"]: row for row in db.execute(sa.select(tables.parts)).mappings()}
    for number, part in kept.items():
        if part["pruned"]:
            continue
        there = rows.pop(number, dict.fromkeys(sums.COLUMNS, 0))
        for name in sums.COLUMNS:
            if part[name] != there[name]:
                who = f"{part['run']}, {part['agent']}, {part['model']}"
                result.append(f"{who}: {name} is {part[name]:,}, its requests have {there[name]:,}")
    result += [f"{sum_['calls']:,} requests belong to no run" for sum_ in rows.values()]
    charged, hits = _runs(db)
    for row in db.execute(sa.select(tables.runs)).mappings():
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


def recount(db: sa.Connection) -> None:
    """Make the sums what the rows say."""
    rows = sums.counted(db)
    for number in db.execute(sa.select(_p.id).where(sa.not_(_p.pruned))).scalars().all():
        there = rows.get(number, dict.fromkeys(sums.COLUMNS, 0))
        db.execute(sa.update(tables.parts).where(_p.id == number).values(there))
    charged, hits = _runs(db)
    known = {row.run: row.pruned_hits for row in db.execute(sa.select(tables.runs))}
    for run in {*charged, *hits, *known}:
        values = {"nano_usd": charged.get(run, 0), "hits": hits.get(run, 0) + known.get(run, 0)}
        if run in known:
            db.execute(sa.update(tables.runs).where(_r.run == run).values(values))
        else:
            db.execute(sa.insert(tables.runs), {"run": run, **values})


def size_of(path: Path) -> int:
    """Bytes of the database and what lies beside it."""
    real = path.resolve()
    names = (real.with_name(real.name + end) for end in ("", "-wal"))
    return sum(one.stat().st_size for one in names if one.exists())


def _runs(db: sa.Connection) -> tuple[dict[str, int], dict[str, int]]:
    """What the parts have charged, and the answers of others that are there, by run."""
    u = tables.uses.c
    charged = sa.select(_p.run, sa.func.sum(_p.nano_usd).label("n")).group_by(_p.run)
    hits = sa.select(u.run, sa.func.count().label("n")).group_by(u.run)
    by_run = [{row.run: int(row.n) for row in db.execute(query)} for query in (charged, hits)]
    return by_run[0], by_run[1]


def _requests(db: sa.Connection) -> list[str]:
    """Requests that are not what their key says, and answers that are not as they came."""
    wrong, runs = [], set()
    for number, run, key, body in _bodies(db):
        if hashlib.sha256(body).digest() != key:
            wrong.append(number)
            runs.add(run)
    query = sa.select(_s.id, _s.answer, _s.reason).where(_s.state == "answered")
    spoilt = [
        row.id for row in db.execute(query) if not is_unchanged(row.answer or b"", row.reason)
    ]
    shown = ", ".join(str(number) for number in wrong[:_SHOWN])
    more = f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
    whose = ", ".join(sorted(runs))
    result = [f"{whose}: requests whose text is not that of their key: {shown}{more}"] * bool(wrong)
    if spoilt:
        result.append(f"answers that have changed: those of requests {', '.join(map(str, spoilt))}")
    return result


def _bodies(db: sa.Connection) -> Iterator[tuple[int, str, bytes, bytes]]:
    """Number, run, key and request of every row that has one; what is missing counts as empty."""
    query = (
        sa.select(_s.id, sa.func.coalesce(_p.run, "no run").label("run"), _s.key, _s.request)
        .outerjoin(tables.parts, _p.id == _s.part)
        .where(_s.request.is_not(None))
        .order_by(_s.id)
    )
    for rows, texts in with_texts(db, query):
        for number, run, key, request in rows:
            try:
                yield number, run, key, joined(request, texts)
            except (KeyError, TypeError, ValueError):
                yield number, run, key, b""


def _out(db: sa.Connection) -> list[str]:
    """Requests whose process has ended, which are asked again when they are needed."""
    o = tables.owners.c
    names = [*Owner._fields]
    query = (
        sa.select(*(o[name] for name in names), sa.func.count(), sa.func.sum(_s.nano_usd))
        .join(tables.sends, _s.owner == o.id)
        .where(_s.state == sa.literal_column("'sent'"), _s.lease > sa.literal_column("0"))
        .group_by(o.id)
    )
    result = []
    for *owner, number, nano in db.execute(query):
        who: Any = Owner(*owner)
        how = "has ended: they are asked again" if who.ended() else "may still run"
        requests = "1 request is" if number == 1 else f"{number:,} requests are"
        result.append(f"{requests} open, charged ${nano / 1e9:.4f}; {who} {how}")
    return result
