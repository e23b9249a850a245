"""What is done with a ledger: each method is one transaction, or joins that of `together`."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from retgen.agents.ledger import statements, sums, tables
from retgen.agents.ledger.damage import failure
from retgen.agents.ledger.file import LedgerFile
from retgen.agents.ledger.owners import Leases, Owner, this_process
from retgen.agents.ledger.records import (
    Busy,
    LearnedBudget,
    LedgerAnswer,
    OverCap,
    PartSums,
    Refusal,
    Send,
    Spent,
    StoredAnswer,
)
from retgen.agents.ledger.statements import Known, Out
from retgen.agents.ledger.texts import joined, with_texts
from retgen.agents.prompt import Request
from retgen.errors import OutputError

_SPOILED = ("cut", "void")
_s, _u = tables.sends.c, tables.uses.c


class Ledger(LedgerFile):
    """A ledger file. `clock`: monotonic, in seconds; the rest as of `LedgerFile`."""

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.monotonic,
        *,
        accept: bool = False,
        create: bool = True,
    ) -> None:
        super().__init__(path, accept=accept, create=create)
        self._leases = Leases(clock)

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
    ) -> LedgerAnswer | Refusal | Send | Busy | OverCap:
        """The answer or the final refusal if it is there, else leave to send the request.

        `worst`: the most that it can cost, charged to the run from now on; `lease`: seconds after
        which others may send it too, if this process still runs then; `room`: tokens that the
        answer may take; `cap`: of the run, in nano-dollars; `priced`: whether anybody knows what
        the model costs.
        """
        key = bytes.fromhex(request.key)
        with self.together() as db:
            result = _known(db, key)
            if result is not None:
                if result.state != "sent":
                    return self._use(db, key, run, result)
                holder = self._holder(db, result.owner)
                busy = self._leases.busy(key, result.id, result.lease, holder)
                if busy is not None:
                    return busy
            charged = self.sums.charged(run)
            if cap is not None and charged + worst > cap:
                return OverCap(worst, max(0, cap - charged))
            if result is not None:
                db.execute(
                    statements.TAKE_OVER, {"of": key, "because": "its process or its lease ended"}
                )
            part = self.sums.part(run, agent, request.model)
            made = statements.SEND(
                db, key=key, part=part, state="sent", sent_at=time.time(),
                owner=self._this_owner(db), lease=lease, room=room, nano_usd=worst, priced=priced,
                tokens_in=0, tokens_out=0, request=self._texts.pieces(db, request.body),
                answer=None,
            )  # fmt: skip
            self.sums.made(part, run, "sent", worst, priced)
            return Send(int(made.lastrowid or 0), run, worst)

    def find(self, request: Request, *, run: str) -> LedgerAnswer | Refusal | None:
        """The answer or the final refusal if it is there; nothing is reserved."""
        key = bytes.fromhex(request.key)
        with self.together() as db:
            result = _known(db, key)
            if result is None or result.state == "sent":
                return None
            return self._use(db, key, run, result)

    def answered(self, send: Send, raw: bytes, tokens_in: int, tokens_out: int, cost: int) -> bytes:
        """Keep an answer and charge what it cost in place of the worst case.

        Returns the answer that stands from now on: where a lease ran out and somebody else was
        faster, theirs, and this one is kept as spare.
        """
        with self.together() as db:
            row = self._out(db, send, ("sent",))
            state = "answered" if row.first is None else "spare"
            self._end(db, send, row, state, cost, raw, tokens_in, tokens_out, stamp(raw))
            return raw if row.first is None else row.first

    def refused(
        self, send: Send, raw: bytes, why: str, reason: str, tokens_in: int, tokens_out: int,
        cost: int,
    ) -> None:  # fmt: skip
        """The request is refused for good: nobody sends it again. `raw`: what was said, for audit.

        Also for a send that was said to have failed, or whose answer was spoiled: what came then,
        and what it cost, stands.
        """
        with self.together() as db:
            row = self._out(db, send, ("sent", "failed", *_SPOILED))
            if row.state not in _SPOILED:
                self._end(db, send, row, "refused", cost, raw, tokens_in, tokens_out, reason, why)
                return
            changed = sa.update(tables.sends).where(_s.id == send.id)
            db.execute(changed.values(state="refused", why=why, reason=reason))
            self.sums.became(row.part, send.run, row.state, "refused")

    def spoiled(
        self, send: Send, raw: bytes, state: str, reason: str, tokens_in: int, tokens_out: int,
        cost: int,
    ) -> None:  # fmt: skip
        """What came is no answer: it is charged and kept for audit; the request may be sent again.

        `state`: "cut", it was cut off at its room; "void", it carries no answer.
        """
        _check(state)
        with self.together() as db:
            row = self._out(db, send, ("sent",))
            self._end(db, send, row, state, cost, raw, tokens_in, tokens_out, reason)

    def failed(self, send: Send, reason: str) -> None:
        """The other side refused, and so charged nothing. The request may be sent again."""
        with self.together() as db:
            self._end(db, send, self._out(db, send, ("sent",)), "failed", 0, None, reason=reason)

    def lost(self, send: Send, reason: str) -> None:
        """Nobody knows whether it was answered: it stays charged, and may be sent again."""
        with self.together() as db:
            db.execute(statements.LOSE, {"send": send.id, "because": reason})

    def withdraw(self, request: Request, state: str, reason: str, raw: bytes | None = None) -> None:
        """The answer is none after all ("cut" or "void"): it is kept, and charged as it was.

        The request may be sent again. `raw`: only if that is the answer which stands, so that of
        two who find out the second does not withdraw what the first has asked for since.
        """
        _check(state)
        with self.together() as db:
            query = sa.select(_s.id, _s.part, tables.parts.c.run).join(
                tables.parts, tables.parts.c.id == _s.part
            ).where(_s.key == bytes.fromhex(request.key), _s.state == "answered")  # fmt: skip
            row = db.execute(query if raw is None else query.where(_s.answer == raw)).first()
            if row is not None:
                changed = sa.update(tables.sends).where(_s.id == row.id)
                db.execute(changed.values(state=state, reason=reason))
                self.sums.became(row.part, row.run, "answered", state)

    def abandon(self, run: str) -> int:
        """Let everything be sent again that this run has out; returns how much that was.

        For whoever knows that nobody else works on the run, and that its process was killed. What
        was sent stays charged.
        """
        with self.together() as db:
            released = db.execute(statements.ABANDON, {"of": run, "because": "the process ended"})
            return int(released.rowcount)

    def learned_budgets(self, endpoint: str, model: str) -> dict[str, LearnedBudget]:
        """What was learned of a model's answers, by agent."""
        c = tables.rooms.c
        query = sa.select(c.agent, c.room, c.most).where(c.endpoint == endpoint, c.model == model)
        with self.reading() as db:
            return {row.agent: LearnedBudget(row.room, row.most) for row in db.execute(query)}

    def learn(self, endpoint: str, model: str, agent: str, room: int, most: int) -> None:
        """Keep what was learned of an agent's answers; nothing ever shrinks."""
        made, c = insert(tables.rooms), tables.rooms.c
        larger = {
            "room": sa.func.max(c.room, made.excluded.room),
            "most": sa.func.max(c.most, made.excluded.most),
        }
        with self.together() as db:
            db.execute(
                made.on_conflict_do_update([c.endpoint, c.model, c.agent], set_=larger),
                {"endpoint": endpoint, "model": model, "agent": agent, "room": room, "most": most},
            )

    def runs(self) -> list[Spent]:
        """All runs, by name."""
        with self.reading() as db:
            return sums.run_rows(db, None)

    def spent(self, run: str) -> Spent:
        """One run; zeros if it is not there."""
        with self.reading() as db:
            return next(iter(sums.run_rows(db, run)), Spent(run, 0, 0, 0, 0, 0))

    def parts(self, run: str | None = None) -> list[PartSums]:
        """What was sent, by run, agent and model; of one run or of all."""
        with self.reading() as db:
            return sums.part_rows(db, run)

    def answers(self, run: str | None = None) -> Iterator[StoredAnswer]:
        """All requests answered or refused for good, or those that a run needed, by key."""
        p = tables.parts.c
        query = (
            sa.select(
                _s.key,
                p.agent,
                p.model,
                _s.request,
                sa.func.coalesce(_s.answer, b""),
                _s.tokens_in,
                _s.tokens_out,
                sa.func.coalesce(_s.why, ""),
                sa.case((_s.state == "refused", _s.reason), else_=""),
            )
            .join(tables.parts, p.id == _s.part)
            .where(_s.state.in_(("answered", "refused")))
            .order_by(_s.key)
        )
        if run is not None:
            own = sa.select(_s.key).where(_s.part.in_(sa.select(p.id).where(p.run == run)))
            query = query.where(_s.key.in_(own.union(sa.select(_u.key).where(_u.run == run))))
        with self.reading() as db:
            for rows, texts in with_texts(db, query):
                for key, agent, model, request, *rest in rows:
                    try:
                        body = joined(request, texts)
                    except (KeyError, TypeError, ValueError) as error:
                        raise OutputError(
                            f"{self.path}: a request of {agent} cannot be read: gen ledger check "
                            "says what to do"
                        ) from error
                    yield StoredAnswer(key.hex(), agent, model, body, *rest)

    def put(self, run: str, answers: Iterable[StoredAnswer]) -> None:
        """Take over answers from elsewhere, at no cost; of several to a request the first."""
        seen: set[str] = set()
        with self.together() as db:
            for kept in answers:
                if kept.key in seen:
                    continue
                seen.add(kept.key)
                part = self.sums.part(run, kept.agent, kept.model)
                made = statements.SEND(
                    db, key=bytes.fromhex(kept.key), part=part, state="sent", sent_at=0.0,
                    owner=None, lease=0.0, room=0, nano_usd=0, priced=True, tokens_in=0,
                    tokens_out=0, request=self._texts.pieces(db, kept.request), answer=None,
                )  # fmt: skip
                self.sums.made(part, run, "sent", 0, True)
                send = Send(int(made.lastrowid or 0), run, 0)
                spent = kept.tokens_in, kept.tokens_out
                if kept.why:
                    self.refused(send, kept.answer, kept.why, kept.reason, *spent, 0)
                else:
                    self.answered(send, kept.answer, *spent, 0)

    def _use(
        self, db: sa.Connection, key: bytes, run: str, result: Known
    ) -> LedgerAnswer | Refusal:
        self._leases.over(key)
        if statements.USE(db, of=key, r=run).rowcount == 1:
            self.sums.hit(run)
        if result.state == "refused":
            return Refusal(result.why, result.reason, result.tokens_in, result.tokens_out)
        if not is_unchanged(result.answer, result.reason):
            raise failure(self.path, f"malformed: the answer of request {result.id} has changed")
        return LedgerAnswer(result.answer, result.tokens_in, result.tokens_out)

    def _holder(self, db: sa.Connection, number: int | None) -> Owner | None:
        if number is None:
            return None
        c = tables.owners.c
        row = db.execute(sa.select(*(c[name] for name in Owner._fields)).where(c.id == number))
        return Owner(*row.one())

    def _this_owner(self, db: sa.Connection) -> int:
        """The number of this process, which is written down where it is not there."""
        if self._owner is None:
            made = db.execute(sa.insert(tables.owners), this_process()._asdict())
            self._owner = int(made.lastrowid)
        return self._owner

    def _out(self, db: sa.Connection, send: Send, states: tuple[str, ...]) -> Out:
        result = statements.OUT(db, send=send.id).fetchone()
        row = None if result is None else Out(*result)
        if row is None or row.state not in states:
            raise ValueError(f"send {send.id} of run {send.run} has ended before")
        return row

    def _end(
        self,
        db: sa.Connection,
        send: Send,
        row: Out,
        state: str,
        cost: int,
        answer: bytes | None,
        tokens_in: int = 0,
        tokens_out: int = 0,
        reason: str | None = None,
        why: str | None = None,
    ) -> None:
        statements.END(
            db, send=send.id, state=state, nano_usd=cost, answer=answer, tokens_in=tokens_in,
            tokens_out=tokens_out, reason=reason, why=why,
        )  # fmt: skip
        more = cost - row.nano_usd
        self.sums.became(row.part, send.run, row.state, state, more, tokens_in, tokens_out)
        if answer is not None:
            self.sums.answer()


def _known(db: sa.Connection, key: bytes) -> Known | None:
    result = statements.KNOWN(db, of=key).fetchone()
    return None if result is None else Known(*result)


def stamp(answer: bytes) -> str:
    """What `sends.reason` says of an answer, so that a change of it on the disk is noticed."""
    return f"crc32 {zlib.crc32(answer):08x}"


def is_unchanged(answer: bytes, reason: str | None) -> bool:
    """Whether an answer is as it was kept; one that came before there were stamps has none."""
    return not (reason or "").startswith("crc32 ") or reason == stamp(answer)


def _check(state: str) -> None:
    if state not in _SPOILED:
        raise ValueError(f"{state!r} is none of {', '.join(_SPOILED)}")
