"""The ledger: every request that was sent, what it may cost, and its answer as it came.

One SQLite file, which one process at a time writes. A call is committed before it is sent, with the
most that it can cost; an answer is committed before an agent sees it. So a process that is killed
at any instant has paid for no answer that the next one does not find, and what it had in flight
stays charged at its worst case. Money is counted in whole nano-dollars.

Calls that run side by side share a transaction: `Ledger` collects their statements while the disk
is busy, and each caller goes on when its own transaction is durable.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from retgen.agents.prompt import Request
from retgen.agents.report import Sums
from retgen.errors import OutputError, UsageError
from retgen.write import lock_file, os_errors

T = TypeVar("T")

_VERSION = 3  # PRAGMA user_version; 1 and 2 were other tables
# Small columns stand apart from requests and answers, so that sums over many calls read little.
# state: sent (in flight, or in a batch), answered, refused (for good), failed (it may be sent
# again), lost (the same, and nobody knows whether it was answered).
# worst and cost: nano-dollars; until the call has ended, its cost is its worst case.
# priced: whether the model's price was known. why: of a refusal. reason: why the call ended so.
# tag: the batch that a call is in, "" until it is submitted, NULL for a call on its own;
# batch: the provider's id of that batch, known once it has been created.
_TABLES = """
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, run TEXT NOT NULL, agent TEXT NOT NULL,
    model TEXT NOT NULL, state TEXT NOT NULL, sent_at REAL NOT NULL, max_tokens INTEGER NOT NULL,
    worst INTEGER NOT NULL, cost INTEGER NOT NULL, priced INTEGER NOT NULL,
    tokens_in INTEGER NOT NULL DEFAULT 0, tokens_out INTEGER NOT NULL DEFAULT 0,
    why TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '', tag TEXT, batch TEXT
);
CREATE INDEX calls_by_key ON calls (key);
CREATE INDEX calls_sent ON calls (tag) WHERE state = 'sent';
CREATE TABLE contents (call INTEGER PRIMARY KEY, request BLOB NOT NULL, answer BLOB);
-- answers that a run took from another run
CREATE TABLE uses (key BLOB NOT NULL, run TEXT NOT NULL, PRIMARY KEY (key, run)) WITHOUT ROWID;
"""
_FIND = """
SELECT id, run, state, worst, max_tokens, coalesce(tag, ''), coalesce(batch, ''),
    answer, tokens_in, tokens_out, why, reason
FROM calls LEFT JOIN contents ON call = id
WHERE key = ? AND (state IN ('answered', 'refused') OR state = 'sent' AND tag != '')
ORDER BY state, id DESC LIMIT 1
"""
_ADD = """
INSERT INTO calls (key, run, agent, model, state, sent_at, max_tokens, worst, cost, priced, tag)
VALUES (?, ?, ?, ?, 'sent', ?, ?, ?, ?, ?, ?)
"""
_END = """
UPDATE calls SET state = ?, cost = ?, tokens_in = ?, tokens_out = ?, why = ?, reason = ?
WHERE id = ?
"""
_SUMS = """
SELECT run, {agent}, {model}, sum(calls), sum(cache_hits), sum(failed), sum(open), sum(tokens_in),
    sum(tokens_out), sum(cost), min(priced)
FROM (
    SELECT run, agent, model, 1 AS calls, 0 AS cache_hits, state = 'failed' AS failed,
        state IN ('sent', 'lost') AS open, tokens_in, tokens_out, cost, priced FROM calls
    UNION ALL
    SELECT uses.run, agent, model, 0, 1, 0, 0, 0, 0, 0, 1 FROM uses JOIN calls USING (key)
    WHERE state IN ('answered', 'refused')
) {where} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""
_ANSWERS = """
SELECT key, agent, model, request, coalesce(answer, ''), tokens_in, tokens_out, why, reason
FROM calls JOIN contents ON call = id WHERE state IN ('answered', 'refused') {where} ORDER BY key
"""
_OF_RUN = "(run = :run OR key IN (SELECT key FROM uses WHERE run = :run))"


class Answer(NamedTuple):
    """The end of a request: its answer, or with `why` the reason for which it was refused."""

    raw: bytes
    tokens_in: int
    tokens_out: int
    why: str = ""
    reason: str = ""


class Call(NamedTuple):
    """A request that was committed and may be sent, or is in a batch.

    `worst`: nano-dollars that it costs at most; `max_tokens`: of its answer; `tag`, `batch`: see
    the tables, "" where there is none.
    """

    id: int
    worst: int
    max_tokens: int
    tag: str = ""
    batch: str = ""


class StoredAnswer(NamedTuple):
    """A request that was answered or refused, as a line of a replay file has it."""

    key: str
    agent: str
    model: str
    request: bytes
    answer: Answer


class LedgerReader:
    """A ledger that is only read, also while a run is writing it.

    Raises `UsageError` where there is none and for another version, `OutputError` for damage.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise UsageError(
                f"there is no ledger at {os.path.relpath(path)}: no run has asked a model there. "
                "Name another with --ledger"
            )
        # a folder that cannot be written has no place for the files that SQLite's processes share
        alone = not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists()
        with self._errors():
            # "" is a relative address; a query would end at "?"
            address = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' * alone}"
            self._db = sqlite3.connect(address, uri=True)
            self._check()

    def close(self) -> None:
        """Close it."""
        self._db.close()

    def find(self, key: str, run: str = "") -> Answer | Call | None:
        """The answer or refusal of a request, or its call if that is in a batch."""
        with self._errors():
            row = self._db.execute(_FIND, (bytes.fromhex(key),)).fetchone()
            if row is None:
                return None
            number, sender, state, worst, most, tag, batch, *answer = row
            if state == "sent":
                return Call(number, worst, most, tag, batch)
            if answer[0] is None:
                raise _damage(f"the answer of call {number} is missing")
        if sender != run:
            self._note_use(key, run)
        return Answer._make(answer)

    def spent(self, run: str) -> Sums:
        """Sums of one run; zeros if it is not there."""
        return next(iter(self.sums(run, by_agent=False)), Sums(run))

    def sums(self, run: str | None = None, *, by_agent: bool = True) -> list[Sums]:
        """Sums of one run or of all, by name; by agent and model too, or of each run as a whole."""
        agent, model = ("agent", "model") if by_agent else ("''", "''")
        where = "" if run is None else "WHERE run = :run"
        query = _SUMS.format(agent=agent, model=model, where=where)
        with self._errors():
            rows = self._db.execute(query, {"run": run}).fetchall()
        return [Sums._make((*sums, bool(priced))) for *sums, priced in rows]

    def answers(self, run: str | None = None) -> Iterator[StoredAnswer]:
        """All requests that were answered or refused, or those that a run needed, by key."""
        query = _ANSWERS.format(where="" if run is None else f"AND {_OF_RUN}")
        with self._errors():
            for key, agent, model, request, *answer in self._db.execute(query, {"run": run}):
                yield StoredAnswer(key.hex(), agent, model, request, Answer._make(answer))

    def _note_use(self, key: str, run: str) -> None:
        """Do nothing: a reader belongs to no run."""

    def _check(self) -> None:
        """Refuse a file of another version, and one that was cut off."""
        version, page = (
            self._db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("user_version", "page_size")
        )
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master")}
        size = self.path.stat().st_size
        if not tables or size % page:  # SQLite notices neither
            raise _damage(f"it is cut off at {size:,} bytes")
        if version != _VERSION or "contents" not in tables:
            raise UsageError(
                f"{self.path} is no ledger of this version of retgen: name another file with "
                "--ledger FILE. To use the answers of another version's ledger, write them to a "
                "file with that version (gen ledger export answers.jsonl), then run the recipe "
                "with --replay answers.jsonl"
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn SQLite's exceptions into one that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            advice = (
                "free some space or make it writable, close other programs that have it open, and "
                "run the same command again; or name another file with --ledger FILE"
            )
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                advice = (
                    "the file is damaged, or not a ledger: restore a backup, or begin a new ledger "
                    "with --ledger FILE, which pays for all answers again"
                )
            raise OutputError(
                f"{self.path}: the ledger cannot be used: {error}; {advice}"
            ) from error


class Ledger(LedgerReader):
    """The ledger of the process that sends, made where there is none.

    Raises `RunDirectoryError` at once where another process has it, and names that.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._queue: list[tuple[Callable[[sqlite3.Connection], Any], asyncio.Future[Any]]] = []
        self._writing: asyncio.Task[None] | None = None
        with ExitStack() as stack:
            taken = (
                f"{path} is in use, and one process at a time uses a ledger: wait until that ends, "
                "or name another file with --ledger FILE"
            )
            stack.enter_context(lock_file(path.with_name(path.name + ".lock"), taken))
            with self._errors():
                if not path.exists():
                    _create(path)
                # the event loop reads; a thread at a time writes
                self._db = stack.enter_context(closing(self._connect()))
                self._check()
                self._writer = stack.enter_context(closing(self._connect()))
                self._writer.execute("PRAGMA synchronous = FULL")
            self._held = stack.pop_all()

    def close(self) -> None:
        """Close it, when all tasks have ended, and let other processes have it."""
        with self._errors():
            self._held.close()

    def begin(
        self, run: str, *, retry_refused: bool = False, ask_batches_again: bool = False
    ) -> int:
        """Close the calls that earlier processes left open; returns the charge of a run so far.

        What was in flight when a process ended stays charged and may be sent again; what was to be
        in a batch and was never submitted costs nothing. `retry_refused`: refused requests of the
        run may be sent again, too; `ask_batches_again`: and what is in its batches.
        """
        changes = [
            (
                "UPDATE calls SET state = 'failed', cost = 0, reason = 'it was never submitted' "
                "WHERE state = 'sent' AND tag = ''"
            ),
            (
                "UPDATE calls SET state = 'lost', reason = 'its process ended before an answer "
                "came' WHERE state = 'sent' AND tag IS NULL"
            ),
        ]
        if retry_refused:
            changes.append(
                f"UPDATE calls SET state = 'failed' WHERE state = 'refused' AND {_OF_RUN}"
            )
        if ask_batches_again:
            changes.append(
                "UPDATE calls SET state = 'lost', reason = 'it was asked again outside its batch' "
                "WHERE state = 'sent' AND tag != '' AND run = :run"
            )

        def begin(db: sqlite3.Connection) -> None:
            for change in changes:
                db.execute(change, {"run": run})

        self._transaction([begin])
        return self.spent(run).nano_usd

    def excess(self, model: str) -> float:
        """The most that a call of a model has cost, as a multiple of the most that was reserved.

        At least 1: a server that states more tokens than a request allowed may do so again.
        """
        query = "SELECT max(1.0 * cost / worst) FROM calls WHERE model = ? AND cost > worst"
        with self._errors():
            return max(1.0, self._db.execute(query, (model,)).fetchone()[0] or 1.0)

    async def add_call(
        self,
        request: Request,
        run: str,
        agent: str,
        *,
        worst: int,
        max_tokens: int,
        priced: bool,
        batched: bool = False,
    ) -> Call:
        """Commit a request with the most that it can cost; from then on it may be sent."""

        def add(db: sqlite3.Connection) -> Call:
            row = bytes.fromhex(request.key), run, agent, request.model, time.time()
            sums = max_tokens, worst, worst, priced, "" if batched else None
            return Call(_add(db, (*row, *sums), request.body), worst, max_tokens)

        return await self._submit(add)

    async def end_call(self, call: Call, state: str, cost: int, answer: Answer) -> None:
        """Commit what came of a call: it is answered, refused, failed or lost (see `_TABLES`).

        A call that failed may be ended once more: as refused for good.
        """
        await self._submit(lambda db: _end(db, call.id, state, cost, answer))

    async def note_batch(self, calls: Iterable[Call], tag: str, batch: str | None = None) -> None:
        """Commit which batch calls go into: its tag before it is submitted, its id afterwards."""
        rows = [(tag, batch, call.id) for call in calls]
        change = "UPDATE calls SET tag = ?, batch = ? WHERE id = ?"
        await self._submit(lambda db: db.executemany(change, rows))

    async def flush(self) -> None:
        """Wait until all that was begun is committed."""
        while self._writing is not None and not self._writing.done():
            await asyncio.wait([self._writing])

    def add_answers(self, run: str, answers: Iterable[StoredAnswer]) -> None:
        """Take over answers of a replay file, at no cost."""

        def add(db: sqlite3.Connection) -> None:
            for one in answers:
                row = bytes.fromhex(one.key), run, one.agent, one.model, 0.0, 0, 0, 0, True, None
                number = _add(db, row, one.request)
                _end(db, number, "refused" if one.answer.why else "answered", 0, one.answer)

        self._transaction([add])

    def _note_use(self, key: str, run: str) -> None:
        row = bytes.fromhex(key), run
        self._submit(lambda db: db.execute("INSERT OR IGNORE INTO uses VALUES (?, ?)", row))

    def _submit(self, change: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Have a change committed with those of others; its result when it is durable."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.append((change, future))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return future

    async def _write(self) -> None:
        while self._queue:
            batch, self._queue = self._queue, []
            try:
                changes = [change for change, _ in batch]
                results = await asyncio.to_thread(self._transaction, changes)
            except Exception as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                        future.exception()  # whoever waited may be gone
                continue
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)

    def _transaction(self, changes: Iterable[Callable[[sqlite3.Connection], Any]]) -> list[Any]:
        with self._errors(), self._writer as db:  # which commits, or rolls back
            db.execute("BEGIN IMMEDIATE")
            return [change(db) for change in changes]

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)


def _add(db: sqlite3.Connection, row: tuple[Any, ...], request: bytes) -> int:
    number = db.execute(_ADD, row).lastrowid
    assert number is not None
    db.execute("INSERT INTO contents (call, request) VALUES (?, ?)", (number, request))
    return number


def _end(db: sqlite3.Connection, call: int, state: str, cost: int, answer: Answer) -> None:
    raw, tokens_in, tokens_out, why, reason = answer
    db.execute(_END, (state, cost, tokens_in, tokens_out, why, reason, call))
    db.execute("UPDATE contents SET answer = ? WHERE call = ?", (raw, call))


def _damage(words: str) -> sqlite3.DatabaseError:
    """The exception for a damage that SQLite does not notice."""
    error = sqlite3.DatabaseError(words)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _create(path: Path) -> None:
    """Make an empty ledger, which has its name only when it is whole."""
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    with closing(sqlite3.connect(partial)) as db:
        db.executescript(f"PRAGMA journal_mode = WAL; {_TABLES}; PRAGMA user_version = {_VERSION}")
    with os_errors(path):
        os.replace(partial, path)
