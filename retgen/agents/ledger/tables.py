"""The tables, on SQLAlchemy's Core, and their version.

Small columns stand first and the long ones last: what only counts rows never reads the pages into
which an answer overflows.
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa

VERSION = 2  # 1 had no `meta` table

_all = sa.MetaData()

meta = sa.Table(  # one row
    "meta",
    _all,
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("ledger", sa.String(32), nullable=False),  # which ledger this is
    sa.Column("changes", sa.BigInteger, nullable=False),  # transactions that sent or answered
    sa.Column("answers", sa.BigInteger, nullable=False),  # that ever came
    sa.Column("in_use", sa.Boolean, nullable=False),  # some process has it open, or was killed
)
sends = sa.Table(  # a row for each time that a request was sent
    "sends",
    _all,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.LargeBinary(32), nullable=False, index=True),
    sa.Column("part", sa.Integer, nullable=False),
    # sent: out, or never heard of again; answered; spare: answered, but another was first;
    # failed: the other side says that it did nothing; refused: for good; cut: off at its room;
    # void: it carries no answer; forgotten: answered or refused, and asked again since
    sa.Column("state", sa.String(9), nullable=False),
    sa.Column("sent_at", sa.Float, nullable=False),  # wall time, for people only
    sa.Column("owner", sa.Integer),  # the process that sent it
    sa.Column("lease", sa.Float, nullable=False),  # seconds; 0: ended
    sa.Column("room", sa.Integer, nullable=False),  # tokens that the answer may take; 0: unknown
    sa.Column("nano_usd", sa.BigInteger, nullable=False),
    sa.Column("priced", sa.Boolean, nullable=False),  # whether the model's price was known
    sa.Column("tokens_in", sa.Integer, nullable=False),
    sa.Column("tokens_out", sa.Integer, nullable=False),
    sa.Column("why", sa.String),  # of a refusal
    sa.Column("reason", sa.String),  # why it ended so; of an answer, its checksum
    sa.Column("request", sa.LargeBinary),  # as `texts` writes it; null once pruned
    sa.Column("answer", sa.LargeBinary),
)
# tiny, since few requests are out at a time
sa.Index(
    "sends_out",
    sends.c.part,
    sqlite_where=sa.and_(
        sends.c.state == sa.literal_column("'sent'"), sends.c.lease > sa.literal_column("0")
    ),
)
parts = sa.Table(  # sums; `pruned`: of rows that are no longer there
    "parts",
    _all,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run", sa.String, nullable=False),
    sa.Column("agent", sa.String, nullable=False),
    sa.Column("model", sa.String, nullable=False),
    sa.Column("pruned", sa.Boolean, nullable=False, default=False),
    *(
        sa.Column(name, sa.BigInteger, nullable=False, default=0)
        for name in (
            "calls", "failed", "open", "answered", "tokens_in", "tokens_out", "nano_usd",
            "unpriced",
        )
    ),
    sa.UniqueConstraint("run", "agent", "model", "pruned"),
)  # fmt: skip
runs = sa.Table(
    "runs",
    _all,
    sa.Column("run", sa.String, primary_key=True),
    sa.Column("nano_usd", sa.BigInteger, nullable=False, default=0),
    sa.Column("hits", sa.BigInteger, nullable=False, default=0),  # answers of other runs used
    sa.Column("pruned_hits", sa.BigInteger, nullable=False, default=0),  # of those, no longer there
)
uses = sa.Table(  # answers that a run took from another
    "uses",
    _all,
    sa.Column("key", sa.LargeBinary(32), primary_key=True),
    sa.Column("run", sa.String, primary_key=True),
    sqlite_with_rowid=False,
)
texts = sa.Table(  # long pieces of requests, once each
    "texts",
    _all,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("hash", sa.BigInteger, nullable=False, unique=True),
    sa.Column("text", sa.LargeBinary, nullable=False),
)
owners = sa.Table(  # processes that sent something: see `owners.Owner`
    "owners",
    _all,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("machine", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("boot", sa.String, nullable=False),
    sa.Column("space", sa.String, nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("started", sa.String, nullable=False),
)
rooms = sa.Table(
    "rooms",
    _all,
    sa.Column("endpoint", sa.String, primary_key=True),
    sa.Column("model", sa.String, primary_key=True),
    sa.Column("agent", sa.String, primary_key=True),
    sa.Column("room", sa.Integer, nullable=False),
    sa.Column("most", sa.Integer, nullable=False),
)


def create(db: sa.Connection) -> None:
    """Make the tables, in the transaction of `db`, where they are not there."""
    _all.create_all(db)
    if db.execute(sa.select(meta)).first() is None:
        db.execute(
            sa.insert(meta),
            {
                "version": VERSION, "ledger": secrets.token_hex(16), "changes": 0, "answers": 0,
                "in_use": False,
            },
        )  # fmt: skip
