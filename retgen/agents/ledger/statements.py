"""The statements of a call: built on SQLAlchemy's Core once, then given to SQLite itself.

Core's own way from a statement to a cursor takes about 15 microseconds of CPU, SQLite's work on a
row about three, and a call takes five statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import insert

from retgen.agents.ledger import tables

_DIALECT = sqlite.dialect(paramstyle="named")


class Prepared:
    """A statement; `columns`: those that an insert names. Values are passed by name."""

    def __init__(self, statement: sa.ClauseElement, columns: Sequence[str] | None = None) -> None:
        self._text = str(statement.compile(dialect=_DIALECT, column_keys=columns))

    def __call__(self, db: sa.Connection, **values: Any) -> sqlite3.Cursor:
        connection: Any = db.connection.driver_connection
        result: sqlite3.Cursor = connection.execute(self._text, values)
        return result


class Known(NamedTuple):
    """What `KNOWN` finds of a request: what ended it, or who has it out."""

    id: int
    state: str
    lease: float
    owner: int | None
    tokens_in: int
    tokens_out: int
    why: str
    reason: str
    answer: bytes


class Out(NamedTuple):
    """What `OUT` finds of a send. `first`: the answer that stands, from another send."""

    part: int
    state: str
    nano_usd: int
    first: bytes | None


_s, _t = tables.sends.c, tables.texts.c
_twin = tables.sends.alias()
# literals: these statements have no values but those that are passed, and SQLite sees that the
# index of what is out has all rows that are asked for
_answered: sa.ColumnClause[str] = sa.literal_column("'answered'")
_refused: sa.ColumnClause[str] = sa.literal_column("'refused'")
_sent: sa.ColumnClause[str] = sa.literal_column("'sent'")
_held = sa.and_(_s.state == _sent, _s.lease > sa.literal_column("0"))
KNOWN = Prepared(
    sa.select(*(_s[name] for name in Known._fields))
    .where(
        _s.key == sa.bindparam("of"),
        sa.or_(_s.state == _answered, _s.state == _refused, _held),
    )
    .order_by(_s.state, _s.id.desc())
)
OUT = Prepared(
    sa.select(
        _s.part, _s.state, _s.nano_usd,
        sa.select(_twin.c.answer)
        .where(_twin.c.key == _s.key, _twin.c.state == _answered)
            .scalar_subquery(),
    ).where(_s.id == sa.bindparam("send"))
)  # fmt: skip
SEND = Prepared(
    sa.insert(tables.sends),
    [column.name for column in _s if column.name not in ("id", "why", "reason")],
)
_ENDED = ("state", "nano_usd", "answer", "tokens_in", "tokens_out", "why", "reason")
END = Prepared(
    sa.update(tables.sends)
    .where(_s.id == sa.bindparam("send"))
    .values({name: sa.bindparam(name) for name in _ENDED})
)
_release = sa.update(tables.sends).values(lease=0.0, reason=sa.bindparam("because"))
LOSE = _release.where(_s.id == sa.bindparam("send"), _s.state == _sent)
TAKE_OVER = _release.where(_s.key == sa.bindparam("of"), _held)


def _of_run(name: str) -> sa.ColumnElement[bool]:
    parts = sa.select(tables.parts.c.id).where(tables.parts.c.run == sa.bindparam(name))
    return _s.part.in_(parts)


ABANDON = _release.where(_of_run("of"), _held)
# not for a run that sent the request itself: it uses what is its own
USE = Prepared(
    insert(tables.uses)
    .from_select(
        ["key", "run"],
        sa.select(sa.bindparam("of"), sa.bindparam("r")).where(
            ~sa.exists().where(_s.key == sa.bindparam("of"), _of_run("r"))
        ),
    )
    .on_conflict_do_nothing()
)
ADD_TEXT = Prepared(insert(tables.texts).on_conflict_do_nothing(), ["hash", "text"])
FIND_TEXT = Prepared(sa.select(_t.id, _t.text).where(_t.hash == sa.bindparam("of")))
