"""What a ledger keeps of requests in batches: they are taken up by the run that put them there."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from retgen.agents.ledger import Busy, Ledger, LedgerAnswer, Send
from retgen.agents.ledger.care import check, forget
from tests.agents.ledgers import request, reserve


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


KILLED = """
import os, signal, sys
from retgen.agents.ledger import Ledger
from tests.agents.ledgers import send
from tests.agents.test_ledger_batches import put

ledger = Ledger(sys.argv[1])
for words in sys.argv[2:]:
    run, number, tag = words.split()
    one = send(ledger, int(number), run=run) if tag == "direct" else put(ledger, int(number), run)
    if tag.startswith("tag"):
        ledger.note_batch([one.id], tag)
os.kill(os.getpid(), signal.SIGKILL)
"""


def kill(place: Path | str, *words: str) -> Ledger:
    """The ledger after a process that sent requests (`RUN NUMBER TAG`) and was killed."""
    command = [sys.executable, "-c", KILLED, str(place), *words]
    process = subprocess.run(command, cwd=Path(__file__).parents[2])
    assert process.returncode == -signal.SIGKILL
    ledger = Ledger(place)
    for run in "ab":
        ledger.abandon(run)
    deadline = time.monotonic() + 20  # a server may need a moment to see that it is gone
    while isinstance(reserve(ledger, 0, run="c", cap=0), Busy):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return ledger


@pytest.mark.slow
def test_what_is_in_a_batch_is_taken_up_and_charged_once(place: Path | str) -> None:
    ledger = kill(place, "a 0 tag-1", "a 1 tag-1", "a 2 none")
    assert ledger.count_in_batches("a") == 2
    first = put(ledger, 0, cap=0)  # it is reserved already
    assert first == Send(first.id, "a", 100, 7, "tag-1")
    assert put(ledger, 2).batch == ""  # in none yet
    assert ledger.spent("a").nano_usd == 300
    ledger.record_answer(first, b"yes", 1, 1, 10)
    assert ledger.spent("a").nano_usd == 210
    assert ledger.count_in_batches("a") == 1
    assert isinstance(reserve(ledger, 0), LedgerAnswer)
    assert check(ledger).findings == []
    ledger.close()


@pytest.mark.slow
def test_what_was_sent_directly_or_by_another_run_is_not_taken_up(place: Path | str) -> None:
    ledger = kill(place, "a 0 direct", "b 1 tag-1")
    assert [put(ledger, number).batch for number in (0, 1)] == [None, None]
    assert [ledger.count_in_batches(run) for run in "ab"] == [0, 1]
    assert ledger.spent("a").nano_usd == 300  # what was sent directly stays charged
    ledger.close()


def test_what_is_lost_is_not_taken_up(ledger: Ledger) -> None:
    one = put(ledger)
    ledger.note_batch([one.id], "tag-1")
    ledger.record_lost(one, "its answers are gone")
    assert put(ledger).batch is None


def test_what_is_out_is_waited_for(ledger: Ledger) -> None:
    put(ledger)
    assert isinstance(reserve(ledger, 0, run="b"), Busy)


@pytest.mark.slow
def test_what_is_forgotten_is_not_taken_up(place: Path | str) -> None:
    ledger = kill(place, "a 0 tag-1")
    assert ledger.count_in_batches("a") == 1
    forget(ledger, run="a", states=("open",))
    assert ledger.count_in_batches("a") == 0
    ledger.close()
