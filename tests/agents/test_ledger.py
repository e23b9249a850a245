"""The ledger: nothing is sent twice at a time, nothing paid for is lost, and no cap is passed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from retgen.agents.ledger import (
    Busy,
    Ledger,
    LedgerAnswer,
    OverCap,
    PartSums,
    Send,
    Spent,
    StoredAnswer,
    Writer,
)
from retgen.agents.prompt import Message, Request
from retgen.errors import UsageError
from tests.agents.ledgers import Clock, request, reserve, send


@pytest.fixture
def ledger(place: Path | str) -> Iterator[Ledger]:
    made = Ledger(place)
    yield made
    made.close()


def test_the_key_is_that_of_what_decides_the_answer() -> None:
    assert request().key == request().key
    assert len({request().key, request(1).key, request(0, 1).key}) == 3
    one = Request("x", "m", (), {"a": 1, "b": 2}, {"type": "object", "title": "T"})
    other = Request("x", "m", (), {"b": 2, "a": 1}, {"title": "T", "type": "object"})
    assert one.key == other.key
    assert one.body == (
        b'{"endpoint":"x","messages":[],"model":"m","sample":0,"sampling":{"a":1,"b":2},'
        b'"schema":{"title":"T","type":"object"}}'
    )


def test_an_answer_is_paid_for_once(ledger: Ledger) -> None:
    ledger.record_answer(send(ledger), b'{"broken', 7, 3, 40)
    assert reserve(ledger) == LedgerAnswer(b'{"broken', 7, 3)
    assert reserve(ledger, run="b") == LedgerAnswer(b'{"broken', 7, 3)
    assert ledger.runs() == [
        Spent("a", calls=1, cache_hits=0, tokens_in=7, tokens_out=3, nano_usd=40),
        Spent("b", calls=0, cache_hits=1, tokens_in=0, tokens_out=0, nano_usd=0),
    ]


def test_what_is_out_is_not_sent_again_until_its_lease_ends(path: Path, clock: Clock) -> None:
    ledger = Ledger(path, clock)
    first = send(ledger)
    clock.now = 1020.0
    me = f"process {os.getpid()} on this machine"
    assert reserve(ledger, run="b") == Busy(me, 60.0)
    clock.now = 1050.0
    assert reserve(ledger, run="b") == Busy(me, 30.0)
    clock.now = 1080.0
    second = send(ledger, run="b")
    assert second.id != first.id
    ledger.record_answer(second, b"late", 1, 1, 30)
    # the first was never heard of: charged at its worst
    assert [(row.run, row.nano_usd) for row in ledger.runs()] == [("a", 100), ("b", 30)]
    ledger.record_answer(first, b"later", 1, 1, 20)  # and came after all
    assert [(row.run, row.nano_usd) for row in ledger.runs()] == [("a", 20), ("b", 30)]
    assert isinstance(reserve(ledger), LedgerAnswer)
    ledger.close()


def test_refused_and_lost(ledger: Ledger) -> None:
    ledger.record_failure(send(ledger), "429")
    assert ledger.runs()[0].nano_usd == 0
    ledger.record_lost(send(ledger), "timeout")
    again = send(ledger)  # at once, for the lease of what is lost has ended
    assert ledger.runs()[0].nano_usd == 200
    ledger.record_answer(again, b"x", 1, 1, 10)
    assert ledger.runs()[0].nano_usd == 110
    with pytest.raises(ValueError, match=r"^send \d+ of run a has ended before$"):
        ledger.record_answer(again, b"y", 1, 1, 10)


def test_the_cap_holds_the_worst_case_of_all_that_is_out(ledger: Ledger) -> None:
    sent = [send(ledger, i, cap=250) for i in range(2)]
    assert reserve(ledger, 2, cap=250) == OverCap(worst=100, left=50)
    ledger.record_answer(sent[0], b"x", 1, 1, 50)
    ledger.record_answer(send(ledger, 2, cap=250), b"x", 1, 1, 100)
    assert reserve(ledger, 3, cap=250) == OverCap(worst=100, left=0)
    assert ledger.runs()[0].nano_usd == 250
    assert reserve(ledger, 0, cap=250) == LedgerAnswer(b"x", 1, 1)  # what is there costs nothing
    assert isinstance(reserve(ledger, 3, run="other", cap=250), Send)


def test_finding_reserves_nothing(ledger: Ledger) -> None:
    assert ledger.find(request(), run="a") is None
    assert ledger.runs() == []
    out = send(ledger)
    assert ledger.find(request(), run="b") is None  # it is out, and not answered yet
    ledger.record_answer(out, b"x", 7, 3, 40)
    assert ledger.find(request(), run="b") == LedgerAnswer(b"x", 7, 3)
    assert ledger.find(request(), run="b") == LedgerAnswer(b"x", 7, 3)
    assert ledger.runs() == [Spent("a", 1, 0, 7, 3, 40), Spent("b", 0, 1, 0, 0, 0)]


def test_what_was_spent_by_run_and_by_agent(ledger: Ledger) -> None:
    assert ledger.spent("a") == Spent("a", 0, 0, 0, 0, 0)
    assert ledger.parts() == []
    ledger.record_answer(send(ledger, 0), b"x", 7, 3, 40)
    ledger.record_failure(send(ledger, 1), "429")
    ledger.record_answer(send(ledger, 1), b"y", 5, 2, 30)
    ledger.record_lost(send(ledger, 2), "timeout")
    send(ledger, 3)
    judged = ledger.reserve(request(4), run="a", agent="judge", worst=9, lease=60)
    assert isinstance(judged, Send)
    ledger.record_answer(judged, b"z", 1, 1, 2)
    send(ledger, 5, run="b")
    reserve(ledger, 0, run="b")
    assert ledger.parts() == [
        PartSums("a", "judge", "small", 1, 0, 0, 1, 1, 2, True, answered=1),
        PartSums("a", "write", "small", calls=5, failed=1, open=2, tokens_in=12, tokens_out=5,
             nano_usd=270, priced=True, answered=2),
        PartSums("b", "write", "small", 1, 0, 1, 0, 0, 100, True),
    ]  # fmt: skip
    assert ledger.spent("a") == Spent("a", 6, 0, 13, 6, 272)
    assert ledger.spent("b") == Spent("b", 1, 1, 0, 0, 100)
    assert ledger.runs() == [ledger.spent("a"), ledger.spent("b")]


def test_answers_of_all_and_of_one_run(ledger: Ledger) -> None:
    for i in range(5):
        ledger.record_answer(send(ledger, i), b"answer %d" % i, i, 1, 10)
    send(ledger, 5)  # is out
    reserve(ledger, 3, run="b")
    ledger.record_answer(send(ledger, 6, run="b"), b"\xff", 6, 1, 10)
    results = list(ledger.answers())
    assert [kept.key for kept in results] == sorted(request(i).key for i in (0, 1, 2, 3, 4, 6))
    assert StoredAnswer(request(6).key, "write", "small", request(6).body, b"\xff", 6, 1) in results
    assert {kept.answer for kept in ledger.answers("b")} == {b"answer 3", b"\xff"}
    assert len(list(ledger.answers("a"))) == 5
    assert list(ledger.answers("c")) == []


def test_answers_are_taken_over_at_no_cost(ledger: Ledger, tmp_path: Path) -> None:
    for i in range(3):
        ledger.record_answer(send(ledger, i), b"answer %d" % i, i, 1, 10)
    other = Ledger(tmp_path / "other.sqlite")
    other.add_answers("r", ledger.answers())
    assert list(other.answers()) == list(ledger.answers())
    assert other.runs() == [Spent("r", 3, 0, 3, 3, 0)]
    assert reserve(other, 2, cap=0) == LedgerAnswer(b"answer 2", 2, 1)
    assert other.find(request(1), run="r") == LedgerAnswer(b"answer 1", 1, 1)

    def one_then_none() -> Iterator[StoredAnswer]:
        yield StoredAnswer(request(9).key, "write", "small", request(9).body, b"x", 1, 1)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        other.add_answers("r", one_then_none())
    assert len(list(other.answers())) == 3  # all or nothing
    other.close()


def test_a_transaction_stands_as_a_whole(ledger: Ledger) -> None:
    def two() -> None:
        with ledger.transaction():
            send(ledger, 1)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        two()
    assert ledger.runs() == []


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_text("something else entirely" * 100)
    with pytest.raises(UsageError) as error:
        Ledger(path)
    assert str(error.value) == (
        f"{path} is no ledger (file is not a database): name another with --ledger"
    )


def test_the_writer_groups_and_fails_one_by_one(ledger: Ledger) -> None:
    writer = Writer(ledger)
    futures: list[Future[object]] = [
        writer.submit(lambda i=i: reserve(ledger, i))  # type: ignore[misc]
        for i in range(500)
    ]
    sent = [future.result(30) for future in futures]
    assert all(isinstance(one, Send) for one in sent)
    done = writer.submit(lambda: ledger.record_answer(sent[0], b"x", 1, 1, 1))  # type: ignore[arg-type]
    twice = writer.submit(lambda: ledger.record_answer(sent[0], b"y", 1, 1, 1))  # type: ignore[arg-type]
    fine = writer.submit(lambda: ledger.record_answer(sent[1], b"z", 1, 1, 1))  # type: ignore[arg-type]
    writer.close()
    assert (done.result(), fine.result()) == (b"x", b"z")
    with pytest.raises(ValueError, match="has ended before"):
        twice.result()
    assert reserve(ledger, 0) == LedgerAnswer(b"x", 1, 1)
    assert ledger.runs()[0].nano_usd == 498 * 100 + 2


def test_of_two_answers_the_first_stands(tmp_path: Path) -> None:
    now = [1000.0]
    ledger = Ledger(tmp_path / "ledger.sqlite", clock=lambda: now[0])
    slow = reserve(ledger, 0)
    assert isinstance(reserve(ledger, 0), Busy)
    now[0] += 10_000  # the lease of the first runs out, a second is sent
    fast = reserve(ledger, 0)
    assert isinstance(slow, Send)
    assert isinstance(fast, Send)
    assert ledger.record_answer(fast, b"first", 3, 4, 5) == b"first"
    assert ledger.record_answer(slow, b"late", 3, 4, 6) == b"first"
    assert reserve(ledger, 0) == LedgerAnswer(b"first", 3, 4)
    assert [kept.answer for kept in ledger.answers()] == [b"first"]
    assert ledger.runs()[0].nano_usd == 11  # both were paid
    ledger.close()


WORKER = r"""
import sys
from retgen.agents.ledger import Ledger, Send, Writer
from retgen.agents.prompt import Message, Request

ledger, run = Ledger(sys.argv[1]), sys.argv[2]
writer = Writer(ledger)
for i in range(int(sys.argv[3])):
    request = Request("openai", "small", (Message("user", f"question {i}"),))
    reserved = writer.submit(
        lambda: ledger.reserve(request, run=run, agent="write", worst=100, lease=600)
    ).result()
    if isinstance(reserved, Send):
        print(f"sent {i}\n", end="", flush=True)
        writer.submit(lambda: ledger.record_answer(reserved, b"answer %d" % i, 1, 1, 10)).result()
        print(f"kept {i}\n", end="", flush=True)
print("end", flush=True)
"""


def start(place: Path | str, run: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, str(place), run, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_processes_never_send_the_same_request(place: Path | str) -> None:
    Ledger(place).close()
    processes = [start(place, run, 150) for run in ("a", "b")]
    outputs = [process.communicate(timeout=100)[0].split("\n") for process in processes]
    sent = [line for lines in outputs for line in lines if line.startswith("sent")]
    assert len(sent) == len(set(sent)) == 150
    ledger = Ledger(place)
    assert sum(row.calls for row in ledger.runs()) == 150
    ledger.close()


def test_a_killed_process_has_lost_nothing_that_it_reported(place: Path | str) -> None:
    process = start(place, "a", 100_000)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(80)]
    time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    lines += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    kept = {int(line.split()[1]) for line in lines if line.startswith("kept")}
    sent = {int(line.split()[1]) for line in lines if line.startswith("sent")}
    ledger = Ledger(place)
    for i in kept:
        question = Request("openai", "small", (Message("user", f"question {i}"),))
        result = ledger.reserve(question, run="a", agent="write", worst=100, lease=600)
        assert result == LedgerAnswer(b"answer %d" % i, 1, 1)
    (spent,) = ledger.runs()
    # at most one was out, and it is charged at its worst
    out = spent.calls - len(kept)
    assert out in (0, 1)
    assert len(sent - kept) <= out
    assert spent.nano_usd in (spent.calls * 10, spent.calls * 10 + 90)
    ledger.close()
