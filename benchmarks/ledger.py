"""What a ledger of a million calls costs: to open, to start and end a run, a call, its bytes.

Calls of ten runs and three agents, sixty-four a transaction: a prompt of 1.2 kB, an answer of
0.8 kB; one in ten is repaired once, one in a hundred is cut off first, one in fifty is taken from
an earlier run. Then three turns with a prompt of 3 kB, as repairs send them. Everything goes
through the disk, so times depend on it.

    .venv/bin/python benchmarks/ledger.py [--calls 1000000] [--folder DISK]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import ANSWER, SCHEMA, SYSTEM, TASK, options, peak

from retgen.agents.ledger import Ledger, Send
from retgen.agents.ledger.care import check, prune
from retgen.agents.ledger.file import size_of
from retgen.agents.prompt import Message, Request

GROUP = 64
MOST = 1.0  # seconds that a start and an end may take more than on an empty ledger


def main() -> None:
    given = options(__doc__, calls=1_000_000, folder=tempfile.gettempdir())
    calls = given.calls
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        large(Path(name) / "ledger.sqlite", calls)
        repairs(Path(name) / "repairs.sqlite", max(20, min(2000, calls // 50)))


def large(path: Path, calls: int) -> None:
    """Fill a ledger and print what everything takes then."""
    empty = cycle(path)
    print(f"an empty ledger: {shown(empty)}")
    window = min(20_000, max(1, calls // 4))
    ledger = Ledger(path)
    for first, last in ((0, window), (window, calls - window), (calls - window, calls)):
        with measured() as took:
            for number in range(first, last, GROUP):
                group(ledger, range(number, min(last, number + GROUP)), calls)
        if last - first == window:
            print(
                f"calls {first:,} to {last:,}: {1e3 * took['cpu'] / window:.3f} ms of CPU each, "
                f"{window / took['wall']:,.0f} calls/s"
            )
    ledger.close()
    print(
        f"{calls:,} calls: {size_of(path) / 1e6:,.0f} MB, {size_of(path) / calls:,.0f} bytes each"
    )
    print(f"peak memory of the process that wrote them: {peak():,.0f} MB")
    full = cycle(path)
    print(f"the same ledger, opened again: {shown(full)}")
    more = max(full[step] - empty[step] for step in full)
    kept = "reached" if more <= MOST else "NOT reached"
    print(f"no step takes more than {MOST} s longer than on an empty ledger: {more:.3f} s, {kept}")
    ledger = Ledger(path)
    steps: dict[str, Callable[[], Any]] = {
        "gen ledger": lambda: (ledger.runs(), ledger.parts()),
        "check": lambda: check(ledger),
        "prune, dry": lambda: prune(ledger, dry=True),
        "prune": lambda: prune(ledger),
        "check again": lambda: check(ledger),
    }
    for step, call in steps.items():
        with measured() as took:
            result = call()
        if step.startswith("check"):
            assert result.findings == [], result.findings
        print(f"{step}: {took['wall']:.2f} s, peak memory so far {peak():,.0f} MB")
    print(f"after that: {size_of(path) / 1e6:,.0f} MB")
    ledger.close()


def cycle(path: Path) -> dict[str, float]:
    """Seconds that opening, starting a run under a cap, one call, ending and closing take."""
    took = {}
    with measured() as step:
        ledger = Ledger(path)
    took["open"] = step["wall"]
    with measured() as step:
        ledger.abandon("run 3")
        assert all(part.priced for part in ledger.parts("run 3"))
        ledger.spent("run 3")
    took["start"] = step["wall"]
    with measured() as step:
        answer(ledger, Request("openai", "small", (Message("user", str(time.time())),)), "run 3", 0)
    took["call"] = step["wall"]
    with measured() as step:
        ledger.spent("run 3")
        sum(part.open for part in ledger.parts("run 3"))
    took["end"] = step["wall"]
    with measured() as step:
        ledger.close()
    took["close"] = step["wall"]
    return took


def group(ledger: Ledger, numbers: range, calls: int) -> None:
    """So many calls side by side: reserved in a transaction, answered in another."""
    sends: list[tuple[int, Send]] = []
    with ledger.transaction():
        for number in numbers:
            result = ledger.reserve(
                question(number), run=f"run {10 * number // calls}", agent=f"agent {number % 3}",
                worst=100, lease=660, cap=10**15,
            )  # fmt: skip
            if isinstance(result, Send):
                sends.append((number, result))
    with ledger.transaction():
        for number, send in sends:
            if number % 100 == 7:
                ledger.record_spoiled(
                    send, body(number), "cut", "cut off at 60 tokens", 300, 60, 50
                )
            else:
                ledger.record_answer(send, body(number), 300, 60, 50)


def question(number: int) -> Request:
    """One in ten is the repair of the one before; one in fifty was asked before."""
    if number % 50 == 49:
        number = number // 2
    thing = number - (number % 10 == 1)
    messages = (
        Message("system", SYSTEM),
        Message("user", f"The thing is thing {thing}. " + TASK * 7),
    )
    if number % 10 == 1:
        messages += (
            Message("assistant", body(thing)[60:].decode()),
            Message("user", f"It names thing {thing}. Describe it without its name."),
        )
    return Request("openai", "small", messages, {"temperature": 1.0}, SCHEMA)


def body(number: int) -> bytes:
    return b'{"id":"chatcmpl-%012d","choices":[{"message":"%s"}]}' % (number, ANSWER.encode() * 8)


def answer(ledger: Ledger, request: Request, run: str, number: int) -> None:
    result = ledger.reserve(request, run=run, agent="agent 0", worst=100, lease=660)
    if isinstance(result, Send):
        ledger.record_answer(result, body(number), 300, 60, 50)


def repairs(path: Path, records: int) -> None:
    """Bytes and CPU of a conversation that is repaired twice."""
    ledger = Ledger(path)
    sent = 0
    with measured() as took:
        for record in range(records):
            messages: tuple[Message, ...] = (
                Message("system", SYSTEM),
                Message("user", f"Record {record}. " + TASK * 33),
            )
            for turn in range(3):
                request = Request("openai", "small", messages, {"temperature": 1.0}, SCHEMA)
                sent += len(request.body)
                with ledger.transaction():
                    answer(ledger, request, "run", record)
                messages += (
                    Message("assistant", f"{record} {turn} {ANSWER * 8}"),
                    Message("user", f"{record} {turn}: it names the thing; describe it otherwise."),
                )
    ledger.close()
    each = 3 * records
    print(
        f"three turns, prompt of 3 kB: {size_of(path) / each:,.0f} bytes a call (its request is "
        f"{sent / each:,.0f}, its answer {len(body(0)):,}), {1e3 * took['cpu'] / each:.3f} ms of "
        "CPU in a transaction of its own"
    )


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Seconds that pass, and of CPU."""
    took: dict[str, float] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    yield took
    took.update(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)


def shown(took: dict[str, float]) -> str:
    return ", ".join(f"{step} {1e3 * seconds:.1f} ms" for step, seconds in took.items())


if __name__ == "__main__":
    main()
