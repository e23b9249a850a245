"""What is done with a ledger: each method is one transaction, or joins that of `transaction`."""

from __future__ import annotations

import functools
import queue
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from retgen.agents.ledger.address import ServerAddress, ledger_address
from retgen.agents.ledger.database import Database
from retgen.agents.ledger.file import LedgerFile
from retgen.agents.ledger.schema import (
    Busy,
    Connection,
    LearnedBudget,
    LedgerAnswer,
    OverCap,
    PartSums,
    Refusal,
    RequestTexts,
    Send,
    Spent,
    StoredAnswer,
    add_part,
    join_pieces,
    part_rows,
    rows_with_texts,
    run_rows,
)
from retgen.agents.prompt import Request
from retgen.errors import OutputError

T = TypeVar("T")

_SPOILED = ("cut", "void")


class _Known(NamedTuple):
    """What `_KNOWN` finds of a request: what ended it, or who has it out."""

    id: int
    state: str
    lease: float
    owner: int | None
    tokens_in: int
    tokens_out: int
    why: str
    reason: str
    answer: bytes


class _Sent(NamedTuple):
    """What `_SENT` finds of a send. `first`: the answer that stands, from another send."""

    state: str
    first: bytes | None


_KNOWN = f"""
SELECT {", ".join(_Known._fields)} FROM sends
WHERE key = ? AND (state = 'answered' OR state = 'refused' OR state = 'sent' AND lease > 0)
ORDER BY state, id DESC
"""
_ENDED = "SELECT 1 FROM sends WHERE key = ? AND state IN ('answered', 'refused')"
_CHARGED = "SELECT nano_usd FROM runs WHERE run = ?"
_SENT = """
SELECT state,
    (SELECT answer FROM sends AS other WHERE other.key = sends.key AND other.state = 'answered')
FROM sends WHERE id = ?
"""
_SEND = """
INSERT INTO sends (
    key, part, state, sent_at, owner, lease, room, nano_usd, priced, tokens_in, tokens_out, reason,
    request
) VALUES (?, ?, 'sent', ?, ?, ?, ?, ?, ?, 0, 0, ?, ?)
"""
_END = """
UPDATE sends SET state = :state, nano_usd = :cost, answer = :answer, tokens_in = :tokens_in,
    tokens_out = :tokens_out, why = :why, reason = :reason WHERE id = :id
"""
_LOSE = "UPDATE sends SET lease = 0.0, reason = :reason WHERE id = :id AND state = 'sent'"
# where a process ended: what is, or was to be, in a batch stays there (`batch`, or `batch TAG`)
_BATCHED = "substr(reason, 1, 5) = 'batch'"
_RELEASE = (
    f"UPDATE sends SET lease = 0.0, reason = CASE WHEN {_BATCHED} THEN reason ELSE :reason END "
    "WHERE "
)
_TAKE_OVER = _RELEASE + "key = :key AND state = 'sent' AND lease > 0"
_ABANDON = (
    _RELEASE + "part IN (SELECT id FROM parts WHERE run = :run) AND state = 'sent' AND lease > 0"
)
_IN_BATCH = f"""
SELECT id, nano_usd, room, reason FROM sends WHERE key = :key AND state = 'sent' AND {_BATCHED}
AND part IN (SELECT id FROM parts WHERE run = :run) ORDER BY id DESC LIMIT 1
"""
_COUNT_IN_BATCHES = """
SELECT count(*) FROM sends WHERE state = 'sent' AND substr(reason, 1, 6) = 'batch '
AND part IN (SELECT id FROM parts WHERE run = :run)
"""
# not for a run that sent the request itself: it uses what is its own
_USE = """
INSERT INTO uses (key, run) SELECT :key, :run WHERE NOT EXISTS (
    SELECT * FROM sends WHERE key = :key AND part IN (SELECT id FROM parts WHERE run = :run)
) ON CONFLICT DO NOTHING
"""
_LEARN = """
INSERT INTO rooms (endpoint, model, agent, room, most) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (endpoint, model, agent) DO UPDATE
SET room = CASE WHEN excluded.room > rooms.room THEN excluded.room ELSE rooms.room END,
    most = CASE WHEN excluded.most > rooms.most THEN excluded.most ELSE rooms.most END
"""
_ANSWERS = """
SELECT key, agent, model, request, answer, sends.tokens_in, sends.tokens_out,
    coalesce(why, ''), CASE WHEN state = 'refused' THEN reason ELSE '' END
FROM sends JOIN parts ON parts.id = sends.part WHERE state IN ('answered', 'refused')
"""
_NEEDED = """
AND key IN (
    SELECT key FROM sends WHERE part IN (SELECT id FROM parts WHERE run = :run)
    UNION SELECT key FROM uses WHERE run = :run
)
"""


class Ledger:
    """A ledger: a file, or a database on a PostgreSQL server. `where`: its path, or its URL.

    Raises `LostAnswers` where answers that were paid for are missing from a file. `clock`:
    monotonic, in seconds; `accept`: take what is in a file as all there is; `create`: make a ledger
    where there is none, else `UsageError`; `notice`: is told what is waited for.
    """

    def __init__(
        self,
        where: Path | str | ServerAddress,
        clock: Callable[[], float] = time.monotonic,
        *,
        accept: bool = False,
        create: bool = True,
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.where = ledger_address(where)
        self._parts: dict[tuple[str, str, str], int] = {}  # their numbers
        self._texts = RequestTexts()
        if isinstance(self.where, Path):
            self.database: Database = LedgerFile(
                self.where, self.forget_rows, clock, accept=accept, create=create
            )
        else:
            from retgen.agents.ledger.server import LedgerServer  # needs an extra

            self.database = LedgerServer(self.where, self.forget_rows, notice, create=create)
        self.transaction = self.database.transaction
        self.read_transaction = self.database.read_transaction

    def close(self) -> None:
        """Close it."""
        self.database.close()

    @property
    def path(self) -> Path:
        """Its file."""
        assert isinstance(self.where, Path), "it is no file"
        return self.where

    def forget_rows(self) -> None:
        """What was remembered of rows may not be there: a transaction failed, or rows went."""
        self._parts.clear()
        self._texts.forget()

    def reserve(
        self,
        request: Request,
        *,
        run: str,
        agent: str,
        worst: int,
        lease: float,
        room: int = 0,
        cap: int | None = None,
        priced: bool = True,
        batch: bool = False,
    ) -> LedgerAnswer | Refusal | Send | Busy | OverCap:
        """The answer or the final refusal if it is there, else leave to send the request.

        `worst`: the most that it can cost, charged to the run from now on; `lease`: seconds after
        which others may send it too, if this process still runs then; `room`: tokens that the
        answer may take; `cap`: of the run, in nano-dollars; `priced`: whether anybody knows what
        the model costs; `batch`: it is to go into a batch. What the run had put into one is not
        sent again: its `Send` is returned as it was, and charged once.
        """
        key = bytes.fromhex(request.key)
        with self.transaction() as db:
            result = _find_known(db, key)
            if result is not None:
                if result.state != "sent":
                    return self._use(db, key, run, result)
                busy = self.database.busy(db, key, result.id, result.lease, result.owner)
                if busy is not None:
                    return busy
            if batch and (send := self._take_up(db, key, run, lease)) is not None:
                return send
            charged = next((row[0] for row in db.execute(_CHARGED, (run,))), 0)
            if cap is not None and charged + worst > cap:
                return OverCap(worst, max(0, cap - charged))
            if result is not None:
                reason = "its process or its lease ended"
                db.execute(_TAKE_OVER, {"key": key, "reason": reason})
            part = self._part(db, run, agent, request.model)
            return self._add_send(
                db, key, run, part, request.body, self.database.now(db), self.database.owner(db),
                lease, room, worst, priced, "batch" if batch else None,
            )  # fmt: skip

    def note_batch(self, sends: Iterable[int], tag: str) -> None:
        """Write down which batch sends go into, before it is submitted."""
        rows = [(f"batch {tag}", send) for send in sends]
        with self.transaction() as db:
            db.executemany("UPDATE sends SET reason = ? WHERE id = ?", rows)

    def count_in_batches(self, run: str) -> int:
        """Requests of a run that are in batches whose answers nobody has fetched."""
        with self.read_transaction() as db:
            if not any(part.open for part in part_rows(db, run)):
                return 0  # so that most runs do not read all that was sent
            return int(db.execute(_COUNT_IN_BATCHES, {"run": run}).fetchone()[0])

    def find(self, request: Request, *, run: str) -> LedgerAnswer | Refusal | None:
        """The answer or the final refusal if it is there; nothing is reserved."""
        key = bytes.fromhex(request.key)
        with self.transaction() as db:
            result = _find_known(db, key)
            if result is None or result.state == "sent":
                return None
            return self._use(db, key, run, result)

    def ended(self, request: Request) -> bool:
        """Whether there is an answer or a final refusal; no run uses it for that."""
        with self.read_transaction() as db:
            return db.execute(_ENDED, (bytes.fromhex(request.key),)).fetchone() is not None

    def record_answer(
        self, send: Send, raw: bytes, tokens_in: int, tokens_out: int, cost: int
    ) -> bytes:
        """Keep an answer and charge what it cost in place of the worst case.

        Returns the answer that stands from now on: where a lease ran out and somebody else was
        faster, theirs, and this one is kept as spare.
        """
        with self.transaction() as db:
            row = _find_sent(db, send, ("sent",))
            state = "answered" if row.first is None else "spare"
            _end(db, send, state, cost, raw, tokens_in, tokens_out, stamp(raw))
            return raw if row.first is None else row.first

    def record_refusal(
        self, send: Send, raw: bytes, why: str, reason: str, tokens_in: int, tokens_out: int,
        cost: int,
    ) -> None:  # fmt: skip
        """The request is refused for good: nobody sends it again. `raw`: what was said, for audit.

        Also for a send that was said to have failed, or whose answer was spoiled: what came then,
        and what it cost, stands.
        """
        with self.transaction() as db:
            row = _find_sent(db, send, ("sent", "failed", *_SPOILED))
            if row.state not in _SPOILED:
                _end(db, send, "refused", cost, raw, tokens_in, tokens_out, reason, why)
                return
            change = "UPDATE sends SET state = 'refused', why = ?, reason = ? WHERE id = ?"
            db.execute(change, (why, reason, send.id))

    def record_spoiled(
        self, send: Send, raw: bytes, state: str, reason: str, tokens_in: int, tokens_out: int,
        cost: int,
    ) -> None:  # fmt: skip
        """What came is no answer: it is charged and kept for audit; the request may be sent again.

        `state`: "cut", it was cut off at its room; "void", it carries no answer.
        """
        _check(state)
        with self.transaction() as db:
            _find_sent(db, send, ("sent",))
            _end(db, send, state, cost, raw, tokens_in, tokens_out, reason)

    def record_failure(self, send: Send, reason: str) -> None:
        """The other side refused, and so charged nothing. The request may be sent again."""
        with self.transaction() as db:
            _find_sent(db, send, ("sent",))
            _end(db, send, "failed", 0, None, reason=reason)

    def record_lost(self, send: Send, reason: str) -> None:
        """Nobody knows whether it was answered: it stays charged, and may be sent again."""
        with self.transaction() as db:
            db.execute(_LOSE, {"id": send.id, "reason": reason})

    def withdraw(self, request: Request, state: str, reason: str, raw: bytes | None = None) -> None:
        """The answer is none after all ("cut" or "void"): it is kept, and charged as it was.

        The request may be sent again. `raw`: only if that is the answer which stands, so that of
        two who find out the second does not withdraw what the first has asked for since.
        """
        _check(state)
        with self.transaction() as db:
            which = "" if raw is None else "AND answer = :raw"
            db.execute(
                "UPDATE sends SET state = :state, reason = :reason "
                f"WHERE key = :key AND state = 'answered' {which}",
                {"key": bytes.fromhex(request.key), "raw": raw, "state": state, "reason": reason},
            )

    def abandon(self, run: str) -> int:
        """Let everything be sent again that this run has out; returns how much that was.

        For whoever knows that nobody else works on the run, and that its process was killed. What
        was sent stays charged. On a server others may work on it, so nothing is done: what a
        process that ended has out is sent again when somebody needs it.
        """
        if isinstance(self.where, ServerAddress):
            return 0
        with self.transaction() as db:
            values = {"run": run, "reason": "the process ended"}
            return int(db.execute(_ABANDON, values).rowcount)

    def take_turns(self, turns: Mapping[str, float]) -> float:
        """Seconds to wait for what takes so many seconds of each of these rates.

        The next turn of a name begins where this one ends. On a server all processes share them.
        """
        with self.transaction() as db:
            waits = (self.database.take_turn(db, name, turns[name]) for name in sorted(turns))
            return max(waits, default=0.0)

    def learned_budgets(self, endpoint: str, model: str) -> dict[str, LearnedBudget]:
        """What was learned of a model's answers, by agent."""
        query = "SELECT agent, room, most FROM rooms WHERE endpoint = ? AND model = ?"
        with self.read_transaction() as db:
            rows = db.execute(query, (endpoint, model))
            return {agent: LearnedBudget(room, most) for agent, room, most in rows}

    def learn(self, endpoint: str, model: str, agent: str, room: int, most: int) -> None:
        """Keep what was learned of an agent's answers; nothing ever shrinks."""
        with self.transaction() as db:
            db.execute(_LEARN, (endpoint, model, agent, room, most))

    def runs(self) -> list[Spent]:
        """All runs, by name."""
        with self.read_transaction() as db:
            return run_rows(db, None)

    def spent(self, run: str) -> Spent:
        """One run; zeros if it is not there."""
        with self.read_transaction() as db:
            return next(iter(run_rows(db, run)), Spent(run, 0, 0, 0, 0, 0))

    def parts(self, run: str | None = None) -> list[PartSums]:
        """What was sent, by run, agent and model; of one run or of all."""
        with self.read_transaction() as db:
            return part_rows(db, run)

    def answers(self, run: str | None = None) -> Iterator[StoredAnswer]:
        """All requests answered or refused for good, or those that a run needed, by key."""
        query = f"{_ANSWERS} {_NEEDED if run is not None else ''} ORDER BY key, sends.id"
        with self.read_transaction() as db:
            for rows, texts in rows_with_texts(db, query, {"run": run}):
                for key, agent, model, request, answer, *rest in rows:
                    try:
                        body = join_pieces(request, texts)
                    except (KeyError, TypeError, ValueError) as error:
                        raise OutputError(
                            f"{self.where}: a request of {agent} cannot be read: gen ledger check "
                            "says what to do"
                        ) from error
                    yield StoredAnswer(key.hex(), agent, model, body, answer or b"", *rest)

    def add_answers(self, run: str, answers: Iterable[StoredAnswer]) -> None:
        """Take over answers from elsewhere, at no cost; of several to a request the first."""
        seen: set[str] = set()
        with self.transaction() as db:
            for kept in answers:
                if kept.key in seen:
                    continue
                seen.add(kept.key)
                part = self._part(db, run, kept.agent, kept.model)
                key = bytes.fromhex(kept.key)
                send = self._add_send(db, key, run, part, kept.request)
                spent = kept.tokens_in, kept.tokens_out
                if kept.why:
                    self.record_refusal(send, kept.answer, kept.why, kept.reason, *spent, 0)
                else:
                    self.record_answer(send, kept.answer, *spent, 0)

    def _add_send(
        self, db: Connection, key: bytes, run: str, part: int, body: bytes,
        sent_at: float = 0.0, owner: int | None = None, lease: float = 0.0, room: int = 0,
        worst: int = 0, priced: bool = True, reason: str | None = None,
    ) -> Send:  # fmt: skip
        pieces = self._texts.pieces(db, body)
        row = (key, part, sent_at, owner, lease, room, worst, priced, reason, pieces)
        return Send(db.insert(_SEND, row), run, worst, room)

    def _take_up(self, db: Connection, key: bytes, run: str, lease: float) -> Send | None:
        """A send that the run had put into a batch, or was about to, held from now on."""
        row = db.execute(_IN_BATCH, {"key": key, "run": run}).fetchone()
        if row is None:
            return None
        number, worst, room, reason = row
        held = (lease, self.database.owner(db), self.database.now(db), number)
        db.execute("UPDATE sends SET lease = ?, owner = ?, sent_at = ? WHERE id = ?", held)
        self.database.lease_over(key)
        return Send(int(number), run, int(worst), int(room), reason.partition(" ")[2])

    def _use(self, db: Connection, key: bytes, run: str, result: _Known) -> LedgerAnswer | Refusal:
        self.database.lease_over(key)
        db.execute(_USE, {"key": key, "run": run})
        if result.state == "refused":
            return Refusal(result.why, result.reason, result.tokens_in, result.tokens_out)
        if not is_unchanged(result.answer, result.reason):
            raise self.database.failure(f"the answer of request {result.id} has changed")
        return LedgerAnswer(result.answer, result.tokens_in, result.tokens_out)

    def _part(self, db: Connection, run: str, agent: str, model: str) -> int:
        """The number of the part, which is made where it is not there."""
        which = run, agent, model
        if which not in self._parts:
            query = "SELECT id FROM parts WHERE run = ? AND agent = ? AND model = ? AND NOT pruned"
            row = db.execute(query, which).fetchone()
            self._parts[which] = int(row[0]) if row else add_part(db, *which, pruned=False)
        return self._parts[which]


def _end(
    db: Connection, send: Send, state: str, cost: int, answer: bytes | None,
    tokens_in: int = 0, tokens_out: int = 0, reason: str | None = None, why: str | None = None,
) -> None:  # fmt: skip
    db.execute(_END, {
        "id": send.id, "state": state, "cost": cost, "answer": answer, "tokens_in": tokens_in,
        "tokens_out": tokens_out, "reason": reason, "why": why,
    })  # fmt: skip


def _find_known(db: Connection, key: bytes) -> _Known | None:
    row = db.execute(_KNOWN, (key,)).fetchone()
    return None if row is None else _Known(*row)


def _find_sent(db: Connection, send: Send, states: tuple[str, ...]) -> _Sent:
    row = db.execute(_SENT, (send.id,)).fetchone()
    if row is None or row[0] not in states:
        raise ValueError(f"send {send.id} of run {send.run} has ended before")
    return _Sent(*row)


def stamp(answer: bytes) -> str:
    """What `sends.reason` says of an answer, so that a change of it on the disk is noticed."""
    return f"crc32 {zlib.crc32(answer):08x}"


def is_unchanged(answer: bytes, reason: str | None) -> bool:
    """Whether an answer is as it was kept; one that came before there were stamps has none."""
    return reason is None or reason == stamp(answer)


def _check(state: str) -> None:
    if state not in _SPOILED:
        raise ValueError(f"{state!r} is none of {', '.join(_SPOILED)}")


class Writer:
    """A thread that does the ledger's work for many callers, several calls a transaction.

    A call's future is done when its transaction is, so what it reports is durable. A call that
    fails fails alone; a transaction that fails fails all of its calls.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._most = ledger, ledger.database.batch
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
            try:
                results = self._ledger.database.repeat(functools.partial(_do_all, calls))
            except BaseException as error:
                results = [(future, None, error) for _, future in calls]
            for future, value, problem in results:
                if problem is not None:
                    future.set_exception(problem)
                else:
                    future.set_result(value)


def _do_all(
    calls: Iterable[tuple[Callable[[], Any], Future[Any]]],
) -> list[tuple[Future[Any], Any, BaseException | None]]:
    results: list[tuple[Future[Any], Any, BaseException | None]] = []
    for call, future in calls:
        try:
            results.append((future, call(), None))
        except (ValueError, OverflowError) as error:  # before it changed anything
            results.append((future, None, error))
    return results
