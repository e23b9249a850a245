"""Leases end with the process that holds them, and no clock of the wall stretches them."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from retgen.agents.ledger import Busy, Ledger, Send
from retgen.agents.ledger.owners import Owner, this_process
from tests.agents.ledgers import Clock, read_to, reserve, send, worker


@pytest.fixture
def ledger(path: Path, clock: Clock) -> Iterator[Ledger]:
    made = Ledger(path, clock)
    yield made
    made.close()


def owned_by(ledger: Ledger, **changes: object) -> None:
    """Make the sender of everything another process."""
    with ledger.transaction() as db:
        for name, value in changes.items():
            db.execute(f"UPDATE owners SET {name} = ?", (value,))


@pytest.mark.parametrize("reaped", [False, True])
def test_a_killed_process_holds_nothing_back(path: Path, ledger: Ledger, reaped: bool) -> None:
    process = worker(path, "hold", 3)
    read_to(process, 2)
    assert reserve(ledger, 2, run="b") == Busy(f"process {process.pid} on this machine", 60.0)
    process.kill()
    if reaped:
        process.wait()
    else:  # it is still in the table of processes
        while this := Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split():
            if this[0] == "Z":
                break
    began = time.monotonic()
    assert isinstance(reserve(ledger, 2, run="b"), Send)
    assert time.monotonic() - began < 0.5
    process.communicate()


def test_a_living_process_keeps_its_lease(path: Path, ledger: Ledger, clock: Clock) -> None:
    process = worker(path, "hold", 1)
    read_to(process, 0)
    assert reserve(ledger) == Busy(f"process {process.pid} on this machine", 60.0)
    clock.now += 59.0
    assert reserve(ledger) == Busy(f"process {process.pid} on this machine", 1.0)
    clock.now += 1.0
    assert isinstance(reserve(ledger), Send)
    process.communicate("")


@pytest.mark.parametrize("days", [-1, 1])
def test_a_clock_that_is_set_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    ledger = Ledger(path)
    first = send(ledger)
    now = time.time
    # reason: a test cannot set the clock of the machine
    monkeypatch.setattr(time, "time", lambda: now() + 86_400 * days)
    busy = reserve(ledger, run="b")
    assert isinstance(busy, Busy)
    assert 59 < busy.left <= 60
    ledger.record_lost(first, "timeout")
    assert isinstance(reserve(ledger, run="b"), Send)
    ledger.close()


def test_a_number_that_was_given_out_again(path: Path, ledger: Ledger) -> None:
    send(ledger)
    owned_by(ledger, started="1")  # before this process, under its number
    assert isinstance(reserve(ledger, run="b"), Send)


def test_another_machine_is_waited_for(path: Path, ledger: Ledger, clock: Clock) -> None:
    send(ledger)
    owned_by(ledger, machine="other", name="node7", boot="other", pid=12)
    assert reserve(ledger, run="b") == Busy("node7, process 12", 60.0)
    clock.now += 45
    assert reserve(ledger, run="b") == Busy("node7, process 12", 15.0)
    late = Clock()  # a waiter that comes later sees it for the first time
    with sqlite3.connect(path) as db:
        db.execute("UPDATE sends SET sent_at = 0")
    db.close()
    other = Ledger(path, late)
    assert reserve(other, run="c") == Busy("node7, process 12", 60.0)
    other.close()
    clock.now += 15
    second = send(ledger, run="b")
    owned_by(ledger, boot="other", pid=12)  # sent anew by that machine: waited for anew
    assert reserve(ledger, run="b") == Busy("node7, process 12", 60.0)
    ledger.record_failure(second, "429")
    # what was taken over has no lease left
    assert isinstance(reserve(ledger, run="c"), Send)


def test_a_container_is_another_machine(path: Path, ledger: Ledger) -> None:
    send(ledger)
    owned_by(ledger, space="pid:[1]", name="box", pid=4_000_000)  # no such process here
    assert reserve(ledger, run="b") == Busy("box, process 4000000", 60.0)


def test_a_machine_that_was_started_anew_holds_nothing() -> None:
    here = Owner("m", "host", "now", "pid:[4026531836]", os.getpid(), this_process().started)
    before = here._replace(boot="before")
    assert before.has_ended(here)
    assert not before._replace(name="another").has_ended(here)
    assert not before._replace(machine="").has_ended(here)
    box = here._replace(space="pid:[1]")  # of a container nobody can tell
    assert not before._replace(space="pid:[1]").has_ended(box)
    assert not here.has_ended(here)


def test_nothing_is_claimed_where_nothing_is_known() -> None:
    unknown = Owner("", "", "", "", os.getpid(), "")
    assert not unknown.has_ended()
    assert not unknown.runs_here()
    assert str(unknown) == f"another machine, process {os.getpid()}"
    assert this_process().runs_here()
    assert not this_process()._replace(started="").has_ended()
    assert not Owner(*this_process()[:4], 1, "").has_ended()  # another user's
