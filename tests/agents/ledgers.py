"""Requests and reservations for tests of the ledger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from retgen.agents.ledger import Busy, Ledger, LedgerAnswer, OverCap, Refusal, Send
from retgen.agents.ledger.care import check
from retgen.agents.prompt import Message, Request
from tests.command import Done, in_process


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def gen(*args: str | Path, cwd: Path | None = None) -> Done:
    return in_process("ledger", *args, cwd=cwd)


def sound(path: Path, answers: int) -> None:
    ledger = Ledger(path)
    assert check(ledger).findings == []
    assert sum(1 for _ in ledger.answers()) == answers
    ledger.close()


def request(number: int = 0, sample: int = 0) -> Request:
    message = Message("user", f"question {number}")
    return Request("openai", "small", (message,), {"temperature": 1.0}, None, sample)


def reserve(
    ledger: Ledger, number: int = 0, *, run: str = "a", worst: int = 100, cap: int | None = None
) -> LedgerAnswer | Refusal | Send | Busy | OverCap:
    return ledger.reserve(request(number), run=run, agent="write", worst=worst, lease=60, cap=cap)


def send(ledger: Ledger, number: int = 0, **options: object) -> Send:
    result = reserve(ledger, number, **options)  # type: ignore[arg-type]
    assert isinstance(result, Send)
    return result


def fill(ledger: Ledger, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        ledger.record_answer(send(ledger, number), b"answer %d" % number, 1, 1, 10)


WORKER = """
import sys
from retgen.agents.ledger import Ledger, Send
from tests.agents.ledgers import reserve

place, what, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
number = 0
print("begins", flush=True)
while True:
    ledger = Ledger(place)
    for number in range(number, number + count):
        reserved = reserve(ledger, number)
        if isinstance(reserved, Send) and what != "hold":
            ledger.record_answer(reserved, b"answer %d" % number, 1, 1, 10)
        print(number, flush=True)
    number += 1
    if what != "again":
        sys.stdin.read()
    ledger.close()
    if what != "again":
        break
"""


def worker(place: Path | str, what: str, count: int) -> subprocess.Popen[str]:
    """A process that answers so many requests and waits, holds them, or does so again and again."""
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(place), what, str(count)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip


def read_to(process: subprocess.Popen[str], number: int) -> None:
    """Wait until the worker has come so far."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == str(number):
            return
    raise AssertionError("the worker ended")
