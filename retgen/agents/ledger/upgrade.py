"""A ledger of version 1 becomes one of version 2, in one transaction.

Version 1 had the room for an answer (`sampling.max_tokens`) in the request and so in its key, whole
bodies in `sends`, times of day for leases, and no sums.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from typing import Any

import orjson
import sqlalchemy as sa

from retgen.agents.ledger import tables
from retgen.agents.ledger.sums import counted
from retgen.agents.ledger.texts import Texts

_OLD = (
    "SELECT id, key, run, agent, model, state, sent_at, nano_usd, priced, tokens_in, tokens_out, "
    "reason, request, answer FROM old_sends ORDER BY id"
)


def to_now(db: sa.Connection) -> None:
    """Make the tables, and take over those of version 1 if they are there."""
    names = set(sa.inspect(db).get_table_names())
    if "sends" not in names or "meta" in names:
        tables.create(db)
        return
    for name in ("sends", "runs", "uses"):
        db.exec_driver_sql(f"ALTER TABLE {name} RENAME TO old_{name}")
    for index in ("ix_sends_key", "ix_sends_run"):
        db.exec_driver_sql(f"DROP INDEX IF EXISTS {index}")
    tables.create(db)
    db.exec_driver_sql("CREATE TEMPORARY TABLE keys (old TEXT PRIMARY KEY, new BLOB)")
    _sends(db)
    db.exec_driver_sql(
        "INSERT OR IGNORE INTO uses (key, run) "
        "SELECT k.new, u.run FROM old_uses u JOIN keys k ON k.old = u.key WHERE u.cached AND NOT "
        "EXISTS (SELECT 1 FROM sends s JOIN parts p ON p.id = s.part "
        "WHERE s.key = k.new AND p.run = u.run)"
    )
    db.exec_driver_sql("INSERT INTO runs SELECT run, nano_usd, 0, 0 FROM old_runs")
    db.exec_driver_sql(
        "INSERT INTO runs SELECT run, 0, count(*), 0 FROM uses WHERE true GROUP BY run "
        "ON CONFLICT (run) DO UPDATE SET hits = excluded.hits"
    )
    for part, sums in counted(db).items():
        db.execute(sa.update(tables.parts).where(tables.parts.c.id == part).values(sums))
    answers = db.exec_driver_sql("SELECT count(*) FROM sends WHERE answer IS NOT NULL").scalar()
    db.execute(sa.update(tables.meta).values(answers=answers))
    for name in ("old_sends", "old_runs", "old_uses", "keys"):
        db.exec_driver_sql(f"DROP TABLE {name}")


def without_room(body: bytes) -> tuple[bytes, int]:
    """A request of version 1 as it is now, and the room that it had; 0: it named none."""
    request: dict[str, Any] = orjson.loads(body)
    room = request["sampling"].pop("max_tokens", 0)
    return orjson.dumps(request, option=orjson.OPT_SORT_KEYS), int(room)


def _sends(db: sa.Connection) -> None:
    texts = Texts()
    parts: dict[tuple[str, str, str], int] = {}
    best: dict[bytes, tuple[int, int]] = {}  # of the answered rows of a key: room, number
    spare: list[int] = []
    batch: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def write() -> None:
        for statement, rows in (
            (sa.insert(tables.sends), batch["sends"]),
            (sa.text("INSERT OR IGNORE INTO keys VALUES (:old, :new)"), batch["keys"]),
        ):
            if rows:
                db.execute(statement, rows)
                rows.clear()

    for old in db.connection.driver_connection.execute(_OLD):  # type: ignore[union-attr]
        (number, key, run, agent, model, state, sent_at, nano, priced, *tokens, reason, request,
         answer) = old  # fmt: skip
        try:
            body, room = without_room(request)
        except (KeyError, TypeError, ValueError) as error:
            raise sqlite3.DatabaseError(f"its request {number} cannot be read: {error}") from error
        new = hashlib.sha256(body).digest()
        if state == "answered":
            if new in best and best[new] >= (room, -number):
                state = "spare"
            else:
                if new in best:
                    spare.append(-best[new][1])
                best[new] = room, -number
        which = run, agent, model
        if which not in parts:
            values = {"run": run, "agent": agent, "model": model}
            parts[which] = int(db.execute(sa.insert(tables.parts), values).lastrowid)
        batch["keys"].append({"old": key, "new": new})
        batch["sends"].append(
            {
                "id": number, "key": new, "part": parts[which], "state": state, "sent_at": sent_at,
                "owner": None, "lease": 0.0, "room": room, "nano_usd": nano, "priced": priced,
                "tokens_in": tokens[0], "tokens_out": tokens[1], "why": None, "reason": reason,
                "request": texts.pieces(db, body), "answer": answer,
            }
        )  # fmt: skip
        if len(batch["sends"]) == 1000:
            write()
    write()
    for first in range(0, len(spare), 500):
        c = tables.sends.c
        chosen = c.id.in_(spare[first : first + 500])
        db.execute(sa.update(tables.sends).where(chosen).values(state="spare"))
