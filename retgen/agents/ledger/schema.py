"""What a ledger keeps: its tables, the records of its operations, requests in pieces, and sums.

Small columns stand first and the long ones last: what only counts rows never reads the pages into
which an answer overflows. All statements are such that SQLite and PostgreSQL take them; of types
and triggers PostgreSQL has its own words, see `server`.

A repair sends the whole conversation again, and all requests of an agent share its system message
and schema. So the long pieces of requests are stored once: a request is a JSON array of its pieces
in order, where a number is a text of the table `texts` and a string stands for itself. Put together
they are the same bytes.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import orjson

VERSION = 2  # 1 had no `meta` table

TABLES = (
    # one row. `changes`: requests that were sent or ended; `answers`: that ever came; `in_use`:
    # some process has the ledger open, or was killed
    """CREATE TABLE IF NOT EXISTS meta (
        version INTEGER NOT NULL, ledger VARCHAR(32) NOT NULL, changes BIGINT NOT NULL,
        answers BIGINT NOT NULL, in_use BOOLEAN NOT NULL
    )""",
    # a row for each time that a request was sent.
    # `state` is one of: sent (out, or never heard of again); answered; spare (answered, but another
    # was first); failed (the other side says that it did nothing); refused (for good); cut (off at
    # its room); void (it carries no answer); forgotten (answered or refused, asked again since).
    # `sent_at`: wall time, for people only; `lease`: seconds, 0 once ended; `room`: tokens that the
    # answer may take, 0 if unknown; `priced`: whether the model's price was known; `why`: of a
    # refusal; `reason`: why it ended so, of an answer its checksum, of what goes into a batch
    # "batch" and its tag; `request`: in pieces, null once pruned
    """CREATE TABLE IF NOT EXISTS sends (
        id INTEGER NOT NULL, "key" BLOB NOT NULL, part INTEGER NOT NULL, state VARCHAR(9) NOT NULL,
        sent_at FLOAT NOT NULL, owner INTEGER, lease FLOAT NOT NULL, room INTEGER NOT NULL,
        nano_usd BIGINT NOT NULL, priced BOOLEAN NOT NULL, tokens_in INTEGER NOT NULL,
        tokens_out INTEGER NOT NULL, why VARCHAR, reason VARCHAR, request BLOB, answer BLOB,
        PRIMARY KEY (id)
    )""",
    'CREATE INDEX IF NOT EXISTS ix_sends_key ON sends ("key")',
    # tiny, since few requests are out at a time
    "CREATE INDEX IF NOT EXISTS sends_out ON sends (part) WHERE state = 'sent' AND lease > 0",
    # sums; `pruned`: of rows that are no longer there
    """CREATE TABLE IF NOT EXISTS parts (
        id INTEGER NOT NULL, run VARCHAR NOT NULL, agent VARCHAR NOT NULL, model VARCHAR NOT NULL,
        pruned BOOLEAN NOT NULL, calls BIGINT NOT NULL, failed BIGINT NOT NULL,
        open BIGINT NOT NULL, answered BIGINT NOT NULL, tokens_in BIGINT NOT NULL,
        tokens_out BIGINT NOT NULL, nano_usd BIGINT NOT NULL, unpriced BIGINT NOT NULL,
        PRIMARY KEY (id), UNIQUE (run, agent, model, pruned)
    )""",
    # `hits`: answers of other runs used; `pruned_hits`: of those, no longer there
    """CREATE TABLE IF NOT EXISTS runs (
        run VARCHAR NOT NULL, nano_usd BIGINT NOT NULL, hits BIGINT NOT NULL,
        pruned_hits BIGINT NOT NULL, PRIMARY KEY (run)
    )""",
    # answers that a run took from another
    """CREATE TABLE IF NOT EXISTS uses (
        "key" BLOB NOT NULL, run VARCHAR NOT NULL, PRIMARY KEY ("key", run)
    ) WITHOUT ROWID""",
    # long pieces of requests, once each
    """CREATE TABLE IF NOT EXISTS texts (
        id INTEGER NOT NULL, hash BIGINT NOT NULL, text BLOB NOT NULL,
        PRIMARY KEY (id), UNIQUE (hash)
    )""",
    # processes that sent something: see `owners.Owner`
    """CREATE TABLE IF NOT EXISTS owners (
        id INTEGER NOT NULL, machine VARCHAR NOT NULL, name VARCHAR NOT NULL, boot VARCHAR NOT NULL,
        space VARCHAR NOT NULL, pid INTEGER NOT NULL, started VARCHAR NOT NULL, PRIMARY KEY (id)
    )""",
    # what was learned of an agent's answers: see `LearnedBudget`
    """CREATE TABLE IF NOT EXISTS rooms (
        endpoint VARCHAR NOT NULL, model VARCHAR NOT NULL, agent VARCHAR NOT NULL,
        room INTEGER NOT NULL, most INTEGER NOT NULL, PRIMARY KEY (endpoint, model, agent)
    )""",
)


def _one(condition: str) -> str:
    """1 where it holds, else 0."""
    return f"CASE WHEN {condition} THEN 1 ELSE 0 END"


# the sums of `parts`, `runs` and `meta`, as requests are sent and answered, and answers used: name,
# after what, statements
TRIGGERS = (
    ("sum_sent", "INSERT ON sends", f"""
        UPDATE parts SET calls = calls + 1, unpriced = unpriced + {_one("NOT NEW.priced")},
            open = open + {_one("NEW.state = 'sent'")}, nano_usd = nano_usd + NEW.nano_usd
            WHERE id = NEW.part;
        INSERT INTO runs SELECT run, NEW.nano_usd, 0, 0 FROM parts WHERE id = NEW.part
            ON CONFLICT (run) DO UPDATE SET nano_usd = runs.nano_usd + NEW.nano_usd;
        UPDATE meta SET changes = changes + 1;"""),
    ("sum_ended", "UPDATE OF state, nano_usd, tokens_in, tokens_out ON sends", f"""
        UPDATE parts SET
            failed = failed + {_one("NEW.state = 'failed'")} - {_one("OLD.state = 'failed'")},
            open = open + {_one("NEW.state = 'sent'")} - {_one("OLD.state = 'sent'")},
            answered = answered + {_one("NEW.state = 'answered'")}
                - {_one("OLD.state = 'answered'")},
            tokens_in = tokens_in + NEW.tokens_in - OLD.tokens_in,
            tokens_out = tokens_out + NEW.tokens_out - OLD.tokens_out,
            nano_usd = nano_usd + NEW.nano_usd - OLD.nano_usd
            WHERE id = NEW.part;
        UPDATE runs SET nano_usd = nano_usd + NEW.nano_usd - OLD.nano_usd
            WHERE run = (SELECT run FROM parts WHERE id = NEW.part);
        UPDATE meta SET changes = changes + 1,
            answers = answers + {_one("OLD.answer IS NULL AND NEW.answer IS NOT NULL")};"""),
    ("sum_used", "INSERT ON uses", """
        INSERT INTO runs VALUES (NEW.run, 0, 1, 0)
            ON CONFLICT (run) DO UPDATE SET hits = runs.hits + 1;"""),
)  # fmt: skip


class Connection(Protocol):
    """A connection to the database of a ledger. Values stand as `?` or `:name`."""

    def execute(self, words: str, values: Any = ..., /) -> Any:
        """One statement."""

    def executemany(self, words: str, values: Any, /) -> object:
        """One statement for many values."""

    def stream(self, words: str, values: Any = ..., /) -> Any:
        """A query whose rows need not fit in memory."""

    def insert(self, words: str, values: Any, /) -> int:
        """Insert one row; its `id`, or 0 where it was there."""


def create_tables(db: Connection) -> None:
    """Make the tables and triggers that are missing, in the transaction of `db`: of SQLite."""
    for statement in TABLES:
        db.execute(statement)
    for name, event, body in TRIGGERS:
        db.execute(f"CREATE TRIGGER IF NOT EXISTS {name} AFTER {event} BEGIN {body} END")
    add_meta(db)


def add_meta(db: Connection) -> None:
    """Give the ledger its name, if it has none."""
    if db.execute("SELECT 1 FROM meta").fetchone() is None:
        db.execute("INSERT INTO meta VALUES (?, ?, 0, 0, FALSE)", (VERSION, secrets.token_hex(16)))


def as_dicts(cursor: Any) -> Iterator[dict[str, Any]]:
    """Rows by the names of their columns."""
    names = [column[0] for column in cursor.description]
    return (dict(zip(names, row, strict=True)) for row in cursor)


# --- records ------------------------------------------------------------------------------------


class LedgerAnswer(NamedTuple):
    """An answer that is there: the bytes as they came, and the tokens that they took."""

    raw: bytes
    tokens_in: int
    tokens_out: int


class Refusal(NamedTuple):
    """A request that is refused for good: it is not sent again. `why`: a class of reasons."""

    why: str
    reason: str
    tokens_in: int
    tokens_out: int


class Send(NamedTuple):
    """Leave to send a request once. `worst`: what `run` is charged until it is known better.

    `room`: tokens that its answer may take; `batch`: of one that is taken up, the tag of its batch,
    "" where none was submitted.
    """

    id: int
    run: str
    worst: int
    room: int = 0
    batch: str | None = None


class Busy(NamedTuple):
    """Another has sent the request.

    `owner`: who, in words ("process 4711 on this machine"); `left`: seconds until its lease ends
    at the latest.
    """

    owner: str
    left: float


class OverCap(NamedTuple):
    """Sending could cost more than the cap leaves: `worst` against `left`, in nano-dollars."""

    worst: int
    left: int


class LearnedBudget(NamedTuple):
    """What was learned of an agent's answers, in tokens.

    `room`: what they are given; `most`: what the longest whole answer took.
    """

    room: int
    most: int


class StoredAnswer(NamedTuple):
    """An answered request as the ledger keeps it. `why`, `reason`: of one refused for good."""

    key: str
    agent: str
    model: str
    request: bytes
    answer: bytes
    tokens_in: int
    tokens_out: int
    why: str = ""
    reason: str = ""


class Spent(NamedTuple):
    """A run so far. `nano_usd`: with what is out at its worst case."""

    run: str
    calls: int
    cache_hits: int
    tokens_in: int
    tokens_out: int
    nano_usd: int


class PartSums(NamedTuple):
    """What one agent of a run asked one model. `open`: sent and never answered."""

    run: str
    agent: str
    model: str
    calls: int
    failed: int
    open: int
    tokens_in: int
    tokens_out: int
    nano_usd: int
    priced: bool
    answered: int = 0


# --- requests in pieces -------------------------------------------------------------------------

# the contents of messages, as canonical JSON has them; a content cannot hold the pattern itself,
# since quotes within are escaped
_CONTENT = re.compile(rb'(?<="content":")([^"\\]*(?:\\.[^"\\]*)*)')
_SCHEMA = b',"schema":'
_SHORT = 64  # bytes; a shorter piece costs more in a row of its own
_REMEMBERED = 256


class RequestTexts:
    """Writes requests in pieces."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}  # pieces that were met more than once

    def pieces(self, db: Connection, body: bytes) -> bytes:
        """The stored form of a request; what is long is put into `texts`."""
        result = _CONTENT.split(body)
        before, schema, after = result[-1].partition(_SCHEMA)
        result[-1:] = before + schema, after
        pieces: list[str | int] = []
        for piece in result:
            one = piece.decode() if len(piece) < _SHORT else self._number(db, piece)
            if isinstance(one, str) and pieces and isinstance(pieces[-1], str):
                pieces[-1] += one
            else:
                pieces.append(one)
        return orjson.dumps(pieces)

    def forget(self) -> None:
        """What was known may be gone: a transaction was rolled back, or rows were removed."""
        self._known.clear()

    def _number(self, db: Connection, piece: bytes) -> int | str:
        known = self._known.get(piece)
        if known is not None:
            return known
        short = int.from_bytes(hashlib.sha256(piece).digest()[:8], "big", signed=True)
        insert = "INSERT INTO texts (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING"
        if inserted := db.insert(insert, (short, piece)):
            return inserted
        found = db.execute("SELECT id, text FROM texts WHERE hash = ?", (short,))
        number, text = found.fetchone()
        if text != piece:  # two texts with the same eight bytes of a hash
            return piece.decode()
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[piece] = int(number)
        return int(number)


def rows_with_texts(
    db: Connection, query: str, values: Mapping[str, Any] | None = None, at_once: int = 500
) -> Iterator[tuple[Sequence[Any], dict[int, bytes]]]:
    """Rows of `query`, whose fourth column is a request, some at a time, with their texts."""
    cursor = db.stream(query, values or {})
    while rows := cursor.fetchmany(at_once):
        wanted = sorted({number for row in rows for number in text_numbers(row[3])})
        texts: dict[int, bytes] = {}
        for i in range(0, len(wanted), at_once):
            chosen = ", ".join(map(str, wanted[i : i + at_once]))
            texts.update(
                db.execute(f"SELECT id, text FROM texts WHERE id IN ({chosen})").fetchall()
            )
        yield rows, texts


def text_numbers(stored: bytes) -> list[int]:
    """The texts that a stored request needs; none where damage left no request."""
    try:
        return [piece for piece in orjson.loads(stored) if isinstance(piece, int)]
    except (TypeError, ValueError):
        return []


def join_pieces(stored: bytes, texts: Mapping[int, bytes]) -> bytes:
    """The request's bytes. Raises KeyError for a text that is not there, ValueError or TypeError
    for what damage left.
    """
    return b"".join(
        texts[piece] if isinstance(piece, int) else piece.encode() for piece in orjson.loads(stored)
    )


# --- sums -----------------------------------------------------------------------------------------

# of parts, which triggers keep: so neither the start nor the end of a run reads all that was sent
SUMS = (
    "calls", "failed", "open", "answered", "tokens_in", "tokens_out", "nano_usd", "unpriced",
)  # fmt: skip
_STATES = {"failed": "failed", "sent": "open", "answered": "answered"}
# adds to columns of a part, whose values are passed by their names
_MORE = ", ".join(f"{name} = {name} + :{name}" for name in SUMS)
ADD_SUMS = f"UPDATE parts SET {_MORE} WHERE id = :part"


def add_part(db: Connection, run: str, agent: str, model: str, *, pruned: bool) -> int:
    """Make a part with sums of zero; its number."""
    columns, zeros = ", ".join(SUMS), ", ".join("0" for _ in SUMS)
    insert = (
        f"INSERT INTO parts (run, agent, model, pruned, {columns}) VALUES (?, ?, ?, ?, {zeros})"
    )
    return db.insert(insert, (run, agent, model, pruned))


def part_rows(db: Connection, run: str | None) -> list[PartSums]:
    """By run, agent and model; of one run or of all."""
    sums = ", ".join(f"sum({name}) AS {name}" for name in SUMS)
    rows = db.execute(
        f"SELECT run, agent, model, {sums} FROM parts {_where('parts', run)} "
        "GROUP BY run, agent, model ORDER BY run, agent, model",
        {"run": run},
    )
    return [
        PartSums(**{name: row[name] for name in PartSums._fields if name != "priced"},
                 priced=not row["unpriced"])
        for row in as_dicts(rows)
        if row["calls"]
    ]  # fmt: skip


def run_rows(db: Connection, run: str | None) -> list[Spent]:
    """By run, those that called or used an answer; of one run or of all."""
    rows = db.execute(
        "SELECT runs.run, coalesce(sum(calls), 0), hits, coalesce(sum(tokens_in), 0), "
        "coalesce(sum(tokens_out), 0), runs.nano_usd "
        f"FROM runs LEFT JOIN parts ON parts.run = runs.run {_where('runs', run)} "
        "GROUP BY runs.run HAVING sum(calls) > 0 OR hits > 0 ORDER BY runs.run",
        {"run": run},
    )
    return [Spent(*row) for row in rows]


def _where(table: str, run: str | None) -> str:
    return "" if run is None else f"WHERE {table}.run = :run"


def count_rows(
    db: Connection, where: str = "TRUE", values: dict[str, Any] | None = None
) -> dict[int, dict[str, int]]:
    """The sums of each part as the rows have them, all of them or some: reads them all."""
    rows = db.execute(
        f"SELECT part, count(*) AS calls, sum({_one('NOT priced')}) AS unpriced, "
        + ", ".join(
            f"sum({_one(f'state = {state!r}')}) AS {column}" for state, column in _STATES.items()
        )
        + ", sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out, sum(nano_usd) AS nano_usd "
        f"FROM sends WHERE {where} GROUP BY part",
        values or {},
    )
    return {row["part"]: {name: int(row[name]) for name in SUMS} for row in as_dicts(rows)}
