"""The ledger: every request that was sent, what it may cost, and its answer as it came.

A request is *sent* only after that was written down with the most that it can cost; an answer is
written down before anybody reads it. So a process that is killed at any instant has paid for no
answer that the next one does not find, and what it had sent and not heard of stays charged at its
worst case. While a request is out, another process that wants it waits: its lease ends with the
answer, or with time.

Money is counted in whole nano-dollars. Operations of many callers share a transaction (`Writer`),
and none is reported done before its transaction is.

One table row a request that was sent (`sends`), one a run (`runs`), one for each request that a run
needed (`uses`). Written on SQLAlchemy's Core; SQLite runs in WAL mode with full synchronisation.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from retgen.agents.request import Request
from retgen.errors import OutputError
from retgen.write import make_folder

__all__ = ["Answer", "Busy", "Kept", "Ledger", "OverCap", "Part", "Send", "Spent", "Writer"]

T = TypeVar("T")

_tables = sa.MetaData()
_sends = sa.Table(
    "sends",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.String(64), nullable=False, index=True),
    sa.Column("run", sa.String, nullable=False, index=True),
    sa.Column("agent", sa.String, nullable=False),
    sa.Column("model", sa.String, nullable=False),
    sa.Column("request", sa.LargeBinary, nullable=False),
    # sent: out, or never heard of again; answered; spare: answered, but another was first;
    # failed: the other side says that it did nothing
    sa.Column("state", sa.String(8), nullable=False),
    sa.Column("sent_at", sa.Float, nullable=False),
    sa.Column("lease_until", sa.Float, nullable=False),
    sa.Column("nano_usd", sa.BigInteger, nullable=False),
    sa.Column("priced", sa.Boolean, nullable=False),  # whether the model's price was known
    sa.Column("tokens_in", sa.Integer, nullable=False, default=0),
    sa.Column("tokens_out", sa.Integer, nullable=False, default=0),
    sa.Column("answer", sa.LargeBinary),
    sa.Column("reason", sa.String),
)
_runs = sa.Table(
    "runs",
    _tables,
    sa.Column("run", sa.String, primary_key=True),
    sa.Column("nano_usd", sa.BigInteger, nullable=False),
)
_uses = sa.Table(
    "uses",
    _tables,
    sa.Column("run", sa.String, primary_key=True),
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("cached", sa.Boolean, nullable=False),
)


class Answer(NamedTuple):
    """An answer that is there: the bytes as they came, and the tokens that they took."""

    raw: bytes
    tokens_in: int
    tokens_out: int


class Send(NamedTuple):
    """Leave to send a request once. `worst`: what `run` is charged until it is known better."""

    id: int
    run: str
    worst: int


class Busy(NamedTuple):
    """Somebody else has sent the request; ask again at `until` (seconds since the epoch)."""

    until: float


class OverCap(NamedTuple):
    """Sending could cost more than the cap leaves: `worst` against `left`, in nano-dollars."""

    worst: int
    left: int


class Kept(NamedTuple):
    """An answered request as the ledger keeps it."""

    key: str
    agent: str
    model: str
    request: bytes
    answer: bytes
    tokens_in: int
    tokens_out: int


class Spent(NamedTuple):
    """A run so far, or a part of it. `nano_usd`: with what is out at its worst case."""

    run: str
    calls: int
    cache_hits: int
    tokens_in: int
    tokens_out: int
    nano_usd: int


class Part(NamedTuple):
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


# built once: putting a statement together costs more than running it
_KNOWN = (
    sa.select(_sends.c.state, _sends.c.lease_until, _sends.c.answer, _sends.c.tokens_in,
              _sends.c.tokens_out)
    .where(_sends.c.key == sa.bindparam("key"), _sends.c.state.in_(("answered", "sent")))
    .order_by(_sends.c.state, _sends.c.lease_until.desc())
    .limit(1)
)  # fmt: skip
_twin = _sends.alias()
_FIRST = (
    sa.select(_sends.c.answer)
    .join(_twin, _twin.c.key == _sends.c.key)
    .where(_twin.c.id == sa.bindparam("send"), _sends.c.state == "answered")
)
_SEND = sa.insert(_sends)
_USE = insert(_uses).on_conflict_do_nothing()
_END = (
    sa.update(_sends)
    .where(_sends.c.id == sa.bindparam("send"), _sends.c.state == "sent")
    .values(
        {
            name: sa.bindparam(name)
            for name in ("state", "nano_usd", "answer", "tokens_in", "tokens_out", "reason")
        }
    )
)
_LOSE = (
    sa.update(_sends)
    .where(_sends.c.id == sa.bindparam("send"), _sends.c.state == "sent")
    .values(lease_until=0.0, reason=sa.bindparam("reason"))
)
_ABANDON = (
    sa.update(_sends)
    .where(_sends.c.run == sa.bindparam("of"), _sends.c.state == "sent", _sends.c.lease_until > 0)
    .values(lease_until=0.0, reason="the process ended")
)
_CHARGED = sa.select(_runs.c.nano_usd).where(_runs.c.run == sa.bindparam("run"))
_made = insert(_runs)
_CHARGE = _made.on_conflict_do_update([_runs.c.run], set_={"nano_usd": _made.excluded.nano_usd})


class Ledger:
    """A ledger file. Each method is one transaction, or joins that of `together`."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        make_folder(path.parent)
        self.path = path
        self._clock = clock
        where = sa.URL.create("sqlite", database=str(path.absolute()))
        self._engine = sa.create_engine(where, connect_args={"timeout": 60})
        sa.event.listen(self._engine, "connect", _on_connect)
        sa.event.listen(self._engine, "begin", _on_begin)
        self._open = threading.local()  # of this thread's transaction: .db, .charged by run
        with self._failures():
            _tables.create_all(self._engine)

    def close(self) -> None:
        """Close the file."""
        self._engine.dispose()

    def reserve(
        self,
        request: Request,
        *,
        run: str,
        agent: str,
        worst: int,
        lease: float,
        cap: int | None = None,
        priced: bool = True,
    ) -> Answer | Send | Busy | OverCap:
        """The answer if it is there, else leave to send the request.

        `worst`: the most that it can cost, charged to the run from now on; `lease`: seconds after
        which others may send it too; `cap`: of the run, in nano-dollars; `priced`: whether anybody
        knows what the model costs.
        """
        key, now = request.key, self._clock()
        with self.together() as db:
            found = db.execute(_KNOWN, {"key": key}).first()
            if found is not None and found.state == "answered":
                db.execute(_USE, {"run": run, "key": key, "cached": True})
                return Answer(found.answer, found.tokens_in, found.tokens_out)
            if found is not None and found.lease_until > now:
                return Busy(found.lease_until)
            charged = self._charged(db, run)
            if cap is not None and charged + worst > cap:
                return OverCap(worst, max(0, cap - charged))
            self._open.charged[run] = charged + worst
            db.execute(_USE, {"run": run, "key": key, "cached": False})
            made = db.execute(
                _SEND,
                {
                    "key": key, "run": run, "agent": agent, "model": request.model,
                    "request": request.body, "state": "sent", "sent_at": now,
                    "lease_until": now + lease, "nano_usd": worst, "priced": priced,
                    "tokens_in": 0, "tokens_out": 0,
                },
            )  # fmt: skip
            return Send(int(made.lastrowid), run, worst)

    def find(self, request: Request, *, run: str) -> Answer | None:
        """The answer if it is there; nothing is reserved."""
        with self.together() as db:
            found = db.execute(_KNOWN, {"key": request.key}).first()
            if found is None or found.state != "answered":
                return None
            db.execute(_USE, {"run": run, "key": request.key, "cached": True})
            return Answer(found.answer, found.tokens_in, found.tokens_out)

    def answered(self, send: Send, raw: bytes, tokens_in: int, tokens_out: int, cost: int) -> bytes:
        """Keep an answer and charge what it cost in place of the worst case.

        Returns the answer that stands from now on: where a lease ran out and somebody else was
        faster, theirs, and this one is kept as spare.
        """
        with self.together() as db:
            first = db.execute(_FIRST, {"send": send.id}).scalar()
            state = "answered" if first is None else "spare"
            self._end(send, state, cost, raw, tokens_in, tokens_out)
            return raw if first is None else bytes(first)

    def failed(self, send: Send, reason: str) -> None:
        """The other side refused, and so charged nothing. The request may be sent again."""
        self._end(send, "failed", 0, reason=reason)

    def lost(self, send: Send, reason: str) -> None:
        """Nobody knows whether it was answered: it stays charged, and may be sent again."""
        with self.together() as db:
            db.execute(_LOSE, {"send": send.id, "reason": reason})

    def abandon(self, run: str) -> int:
        """Let everything be sent again that this run has out; returns how much that was.

        For whoever knows that nobody else works on the run, and that its process was killed. What
        was sent stays charged.
        """
        with self.together() as db:
            return int(db.execute(_ABANDON, {"of": run}).rowcount)

    def runs(self) -> list[Spent]:
        """All runs, by name."""
        with self.together() as db:
            calls = {
                row.run: row
                for row in db.execute(
                    sa.select(
                        _sends.c.run, sa.func.count().label("calls"),
                        sa.func.sum(_sends.c.tokens_in).label("tokens_in"),
                        sa.func.sum(_sends.c.tokens_out).label("tokens_out"),
                    ).group_by(_sends.c.run)
                )
            }  # fmt: skip
            hits = {
                row.run: int(row.hits)
                for row in db.execute(
                    sa.select(_uses.c.run, sa.func.count().label("hits"))
                    .where(_uses.c.cached)
                    .group_by(_uses.c.run)
                )
            }
            charged = {row.run: int(row.nano_usd) for row in db.execute(sa.select(_runs))}
        found = []
        for run in sorted({*calls, *hits}):
            row = calls.get(run)
            counts = (row.calls, row.tokens_in, row.tokens_out) if row is not None else (0, 0, 0)
            found.append(
                Spent(run, counts[0], hits.get(run, 0), counts[1], counts[2], charged.get(run, 0))
            )
        return found

    def spent(self, run: str) -> Spent:
        """One run; zeros if it is not there."""
        return next((one for one in self.runs() if one.run == run), Spent(run, 0, 0, 0, 0, 0))

    def parts(self) -> list[Part]:
        """What was sent, by run, agent and model."""
        columns = _sends.c
        by = (columns.run, columns.agent, columns.model)

        def how_many(state: str) -> Any:
            return sa.func.sum(sa.case((columns.state == state, 1), else_=0))

        query = (
            sa.select(
                *by, sa.func.count(), how_many("failed"), how_many("sent"),
                sa.func.sum(columns.tokens_in), sa.func.sum(columns.tokens_out),
                sa.func.sum(columns.nano_usd), sa.func.min(columns.priced),
            ).group_by(*by).order_by(*by)
        )  # fmt: skip
        with self.together() as db:
            return [Part(*row)._replace(priced=bool(row[-1])) for row in db.execute(query)]

    def answers(self, run: str | None = None) -> Iterator[Kept]:
        """All answered requests, or those that a run needed, by key."""
        columns = _sends.c
        query = sa.select(
            columns.key, columns.agent, columns.model, columns.request, columns.answer,
            columns.tokens_in, columns.tokens_out,
        ).where(columns.state == "answered").order_by(columns.key)  # fmt: skip
        if run is not None:
            query = query.where(columns.key.in_(sa.select(_uses.c.key).where(_uses.c.run == run)))
        with self._failures(), self._engine.connect() as db:
            reading = db.execution_options(reading=True, yield_per=1000)
            for row in reading.execute(query):
                yield Kept(*row)

    def put(self, run: str, answers: Iterable[Kept]) -> None:
        """Take over answers from elsewhere, at no cost; of several to a request the first."""
        seen: set[str] = set()
        with self.together() as db:
            for kept in answers:
                if kept.key in seen:
                    continue
                seen.add(kept.key)
                db.execute(
                    _SEND,
                    {
                        "key": kept.key, "run": run, "agent": kept.agent, "model": kept.model,
                        "request": kept.request, "state": "answered", "sent_at": 0.0,
                        "lease_until": 0.0, "nano_usd": 0, "priced": True,
                        "tokens_in": kept.tokens_in, "tokens_out": kept.tokens_out,
                        "answer": kept.answer,
                    },
                )  # fmt: skip

    @contextmanager
    def together(self) -> Iterator[sa.Connection]:
        """One transaction for all calls within; nothing of it stands until it ends."""
        known: sa.Connection | None = getattr(self._open, "db", None)
        if known is not None:
            yield known
            return
        with self._failures(), self._engine.begin() as db:
            self._open.db, self._open.charged = db, {}
            try:
                yield db
                charged = [{"run": r, "nano_usd": n} for r, n in self._open.charged.items()]
                if charged:
                    db.execute(_CHARGE, charged)
            finally:
                self._open.db = None

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.DBAPIError as error:
            raise OutputError(
                f"{self.path}: the ledger cannot be used ({error.orig}). What it holds is kept; "
                "make room or repair the file, and run the command again."
            ) from error

    def _charged(self, db: sa.Connection, run: str) -> int:
        """What a run is charged, with what this transaction has charged so far."""
        charged: dict[str, int] = self._open.charged
        if run not in charged:
            charged[run] = int(db.execute(_CHARGED, {"run": run}).scalar() or 0)
        return charged[run]

    def _end(
        self,
        send: Send,
        state: str,
        cost: int,
        answer: bytes | None = None,
        tokens_in: int = 0,
        tokens_out: int = 0,
        reason: str | None = None,
    ) -> None:
        with self.together() as db:
            ended = db.execute(
                _END,
                {
                    "send": send.id, "state": state, "nano_usd": cost, "answer": answer,
                    "tokens_in": tokens_in, "tokens_out": tokens_out, "reason": reason,
                },
            )  # fmt: skip
            if ended.rowcount != 1:
                raise ValueError(f"send {send.id} of run {send.run} has ended before")
            self._open.charged[send.run] = self._charged(db, send.run) + cost - send.worst


class Writer:
    """A thread that does the ledger's work for many callers, several calls a transaction.

    A call's future is done when its transaction is, so what it reports is durable. A call that
    fails fails alone; a transaction that fails fails all of its calls.
    """

    def __init__(self, ledger: Ledger, most: int = 512) -> None:
        self._ledger, self._most = ledger, most
        self._waiting: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None]
        self._waiting = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)
        self._thread.start()

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Do `call`, a method of the ledger with its arguments, in the next transaction."""
        future: Future[T] = Future()
        self._waiting.put((call, future))
        return future

    def close(self) -> None:
        """Do what is waiting, then end."""
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        ended = False
        while not ended:
            batch = [self._waiting.get()]
            while len(batch) < self._most and not self._waiting.empty():
                batch.append(self._waiting.get())
            ended = None in batch
            calls = [item for item in batch if item and item[1].set_running_or_notify_cancel()]
            results: list[tuple[Future[Any], Any, BaseException | None]] = []
            try:
                with self._ledger.together():
                    for call, future in calls:
                        try:
                            results.append((future, call(), None))
                        except (ValueError, OverflowError) as error:  # before it changed anything
                            results.append((future, None, error))
            except BaseException as error:
                results = [(future, None, error) for _, future in calls]
            for future, value, failure in results:
                if failure is not None:
                    future.set_exception(failure)
                else:
                    future.set_result(value)


def _on_connect(connection: Any, _: Any) -> None:
    # SQLAlchemy begins transactions itself, see _on_begin
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _on_begin(connection: sa.Connection) -> None:
    # a writer from the start: two readers that both want to write would deadlock
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
