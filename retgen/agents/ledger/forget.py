"""Forgetting: requests that are to be asked again. What they had cost stays charged."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext
from typing import Any, NamedTuple

import sqlalchemy as sa

from retgen.agents.ledger import tables
from retgen.agents.ledger.ledger import Ledger
from retgen.agents.ledger.owners import Owner

STATES = ("refused", "answered", "open")  # what else there is may be asked again as it is

_s, _p, _u = tables.sends.c, tables.parts.c, tables.uses.c


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
    with nullcontext() if dry else ledger.alone(), ledger.together() as db:
        chosen = _chosen(db, run, agent, model, states)
        result = _count(db, chosen)
        if dry or not result:
            return result
        held = sa.and_(chosen, _s.state == "sent")
        db.execute(sa.update(tables.sends).where(held).values(lease=0.0, reason="forgotten"))
        ended = sa.and_(chosen, _s.state != "sent")
        for part, name, state, number in db.execute(
            sa.select(_s.part, _p.run, _s.state, sa.func.count())
            .join(tables.parts, _p.id == _s.part)
            .where(ended)
            .group_by(_s.part, _s.state)
        ).all():
            for _ in range(number):
                ledger.sums.became(part, name, state, "forgotten")
        db.execute(sa.update(tables.sends).where(ended).values(state="forgotten"))
        return result


def _chosen(
    db: sa.Connection,
    run: str | None,
    agent: str | None,
    model: str | None,
    states: Collection[str],
) -> sa.ColumnElement[bool]:
    parts = sa.select(_p.id)
    for column, value in ((_p.run, run), (_p.agent, agent), (_p.model, model)):
        if value is not None:
            parts = parts.where(column == value)
    kinds: list[Any] = [_s.state.in_([state for state in states if state != "open"])]
    if "open" in states:
        o = tables.owners.c
        rows = db.execute(sa.select(o.id, *(o[name] for name in Owner._fields)))
        running = [number for number, *owner in rows if Owner(*owner).runs_here()]
        kinds.append(
            sa.and_(
                _s.state == "sent", _s.lease > 0,
                sa.or_(_s.owner.is_(None), _s.owner.not_in(running)),
            )
        )  # fmt: skip
    return sa.and_(_s.part.in_(parts), sa.or_(*kinds))


def _count(db: sa.Connection, chosen: sa.ColumnElement[bool]) -> list[Forgotten]:
    others = sa.exists().where(_u.key == _s.key, _u.run != _p.run)
    query = (
        sa.select(
            _p.run, _p.agent, _p.model, _s.state, sa.func.count(),
            sa.func.sum(sa.case((others, 1), else_=0)), sa.func.sum(_s.nano_usd),
            sa.func.min(sa.case((_s.state != "answered", _s.reason))),
        )
        .join(tables.parts, _p.id == _s.part)
        .where(chosen)
        .group_by(_p.run, _p.agent, _p.model, _s.state)
        .order_by(_p.run, _p.agent, _p.model, _s.state)
    )  # fmt: skip
    rows = [Forgotten(*row) for row in db.execute(query)]
    return [row._replace(state="open") if row.state == "sent" else row for row in rows]
