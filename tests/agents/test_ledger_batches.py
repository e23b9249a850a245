"""What a ledger keeps of requests in batches: they are taken up by the run that put them there."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from retgen.agents.ledger import Busy, Ledger, LedgerAnswer, Send
from retgen.agents.ledger.care import check, forget
from tests.agents.ledgers import request, reserve
from tests.agents.ledgers import send as sent_directly


@pytest.fixture
def ledger(place: Path | str) -> Iterator[Ledger]:
    made = Ledger(place)
    yield made
    assert check(made).findings == []
    made.close()


def put(ledger: Ledger, number: int = 0, run: str = "a", cap: int | None = None) -> Send:
    """A request that goes into a batch."""
    result = ledger.reserve(
        request(number), run=run, agent="write", worst=100, lease=60, room=7, cap=cap, batch=True
    )
    assert isinstance(result, Send)
    return result


def test_what_is_in_a_batch_is_taken_up_and_charged_once(ledger: Ledger) -> None:
    first, second, third = (put(ledger, number) for number in range(3))
    assert (first.batch, first.room) == (None, 7)
    ledger.note_batch([first.id, second.id], "tag-1")
    for one in (first, second, third):
        ledger.record_lost(one, "the process ended")
    assert ledger.count_in_batches("a") == 2

    assert put(ledger, 0, cap=0) == first._replace(batch="tag-1")  # it is reserved already
    assert put(ledger, 2) == third._replace(batch="")  # in none yet
    assert ledger.spent("a").nano_usd == 300
    ledger.record_answer(first, b"yes", 1, 1, 10)
    assert ledger.spent("a").nano_usd == 210
    assert ledger.count_in_batches("a") == 1
    assert isinstance(reserve(ledger, 0), LedgerAnswer)


def test_what_was_sent_directly_or_by_another_run_is_not_taken_up(ledger: Ledger) -> None:
    direct, other = sent_directly(ledger, 0), put(ledger, 1, run="b")
    ledger.note_batch([other.id], "tag-1")
    for one in (direct, other):
        ledger.record_lost(one, "no answer in time")
    assert [put(ledger, number).batch for number in (0, 1)] == [None, None]
    assert [ledger.count_in_batches(run) for run in "ab"] == [0, 1]
    assert ledger.spent("a").nano_usd == 300  # what was sent directly stays charged


def test_what_is_out_is_waited_for(ledger: Ledger) -> None:
    put(ledger)
    assert isinstance(reserve(ledger, 0, run="b"), Busy)


KILLED = """
import os, signal, sys
from retgen.agents.ledger import Ledger
from tests.agents.test_ledger_batches import put

ledger = Ledger(sys.argv[1])
ledger.note_batch([put(ledger).id], "tag-1")
os.kill(os.getpid(), signal.SIGKILL)
"""


def kill(place: Path | str) -> None:
    """A process that puts a request into a batch, and is killed."""
    subprocess.run([sys.executable, "-c", KILLED, str(place)], cwd=Path(__file__).parents[2])


def test_what_is_forgotten_is_not_taken_up(place: Path | str) -> None:
    kill(place)
    ledger = Ledger(place)
    ledger.abandon("a")
    assert ledger.count_in_batches("a") == 1
    forget(ledger, run="a", states=("open",))
    assert ledger.count_in_batches("a") == 0
    ledger.close()


def test_what_a_killed_process_put_into_a_batch(place: Path | str) -> None:
    kill(place)
    ledger = Ledger(place)
    deadline = time.monotonic() + 20  # a server may need a moment to see that it is gone
    while isinstance(reserve(ledger, run="b", cap=0), Busy):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert put(ledger).batch == "tag-1"
    assert ledger.spent("a").calls == 1
    ledger.close()
