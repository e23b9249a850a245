"""What a call to a chat model costs us ourselves, against the bare `openai` client.

Ours is the whole path as `retgen/generate.py` puts it together: records side by side, the
agent's prompt, the ledger on disk (durable before a call is sent and before its answer is read),
the answer parsed by pydantic and checked. The client is used as it comes, and what it returns is
not parsed. A server in a process of its own answers at once. Each case is a process of its own too;
the CPU time of all its threads is counted, after a warm-up in which our gate, which begins at 8 in
flight, opens to the number stated. The ledger's bytes are those of its files when all is over.
Cases are taken in turn, and the best of all rounds is printed. Last comes what it takes to begin
and end a run on a ledger of a million calls (`ledger.py`; `--ledger 0` leaves it out).

    .venv/bin/python benchmarks/agents.py [--calls 6000] [--rounds 3] [--in-flight 64 256 512]
    .venv/bin/python benchmarks/agents.py --long [--calls 100000]

`--long`: calls of ours at 64 in flight instead, and the memory that they take.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import ANSWER, SCHEMA, SYSTEM, TASK

IN_FLIGHT = (64, 256, 512)
WARM_UP = 2_000  # calls: the gate lets one more through after each that went well
CPU_MS, CALLS_A_SECOND = 1.0, 1_000  # what ours may cost, and must do


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--in-flight", type=int, nargs="+", default=IN_FLIGHT)
    parser.add_argument("--warm-up", type=int, default=WARM_UP, help="calls that are not counted")
    parser.add_argument("--long", action="store_true")
    parser.add_argument(
        "--ledger",
        type=int,
        default=1_000_000,
        help="calls of the ledger that runs begin and end on",
    )
    given = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    if given.long:
        memory(given.calls or 100_000)
    else:
        compare(given.calls or 6_000, given.rounds, given.in_flight, given.warm_up)
        if given.ledger:
            print(f"a ledger of {given.ledger:,} calls:", flush=True)
            script = Path(__file__).with_name("ledger.py")
            command = [sys.executable, str(script), "--calls", str(given.ledger)]
            subprocess.run(command, check=True)


def compare(calls: int, rounds: int, in_flight: Sequence[int], warm_up: int) -> None:
    """Measure both clients in turn and print the best round of each, and ratios."""
    print(f"{calls:,} calls after {warm_up:,} to warm up, best of {rounds} rounds")
    cases = [(who, flight) for flight in in_flight for who in ("openai", "retgen")]
    result: dict[tuple[str, int], list[dict[str, float]]] = {case: [] for case in cases}
    for _ in range(rounds):
        for case in cases:
            result[case].append(measured(*case, calls, warm_up))
    best = {}
    for case, rows in result.items():
        cpu, rate = min(row["cpu_ms"] for row in rows), max(row["rate"] for row in rows)
        best[case] = cpu, rate
        ledger = f"{rows[0]['ledger']:,.0f} bytes of ledger a call, " if case[0] == "retgen" else ""
        print(
            f"  {case[0]}, {case[1]:3} in flight: {cpu:.2f} ms of CPU a call, {rate:,.0f} calls/s, "
            f"{ledger}{rows[0]['connections']:,.0f} connections"
            f" (server: {min(row['server_ms'] for row in rows):.2f} ms a call)"
        )
    for flight in in_flight:
        (theirs, their_rate), (cpu, rate) = best["openai", flight], best["retgen", flight]
        kept = "reached" if cpu <= CPU_MS and rate >= CALLS_A_SECOND else "NOT reached"
        print(
            f"  {flight:3} in flight: {theirs / cpu:.2f} times less CPU, {rate / their_rate:.2f} "
            f"times the calls; at most {CPU_MS} ms and at least {CALLS_A_SECOND:,}/s {kept}"
        )


def memory(calls: int) -> None:
    """Print the resident memory of ours after a tenth, a half, and all of the calls."""
    print(f"{calls:,} calls at 64 in flight: resident memory, and its maximum so far")
    with serving() as (url, _), subprocess.Popen(
        [sys.executable, __file__, "long", url, "64", str(calls), "0"], stdout=subprocess.PIPE
    ) as child:  # fmt: skip
        assert child.stdout is not None
        for line in child.stdout:
            print(f"  {line.decode().strip()}", flush=True)
    if child.returncode:
        raise SystemExit(f"the case failed with {child.returncode}")


def measured(who: str, flight: int, calls: int, warm_up: int) -> dict[str, float]:
    """One case in a process of its own, against a server of its own."""
    with serving() as (url, server):
        numbers = map(str, (flight, calls, warm_up))
        command = [sys.executable, __file__, who, url, *numbers]
        case = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.close()
        text = json.loads(server.stdout.read())
    assert text["answered"] == calls + warm_up, text
    return {
        "cpu_ms": 1e3 * case["cpu"] / calls,
        "rate": calls / case["wall"],
        "server_ms": 1e3 * text["cpu"] / text["answered"],
        "connections": text["connections"],
        "ledger": case.get("ledger", 0) / text["answered"],
    }


class Window:
    """CPU seconds of the process and seconds that pass."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def closed(self) -> dict[str, float]:
        return {
            "cpu": time.process_time() - self._cpu,
            "wall": time.perf_counter() - self._wall,
        }


async def bare(url: str, flight: int, calls: int, warm_up: int) -> None:
    """The client as it comes, on the standard event loop."""
    from openai import AsyncOpenAI

    form: Any = {
        "type": "json_schema",
        "json_schema": {"name": "Said", "schema": SCHEMA, "strict": True},
    }
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def work(numbers: Iterator[int]) -> None:
            for number in numbers:
                result = await client.chat.completions.create(
                    model="fixed",
                    messages=[
                        {"role": "system", "content": SYSTEM},
                        {"role": "user", "content": f"The thing is {thing(number)}. {TASK * 8}"},
                    ],
                    response_format=form,
                    max_tokens=1024,
                )
                assert result.choices[0].message.content

        async def all_of(first: int, count: int) -> None:
            numbers = iter(range(first, first + count))
            await asyncio.gather(*(work(numbers) for _ in range(flight)))

        await all_of(0, warm_up)
        window = Window()
        await all_of(warm_up, calls)
        print(json.dumps(window.closed()))


def ours(url: str, flight: int, calls: int, warm_up: int, *, long: bool = False) -> None:
    """Our whole path, as a run has it. `long`: say the memory on the way, not the times."""
    from retgen.agents.agent import Agent, AnswerSchema, Question
    from retgen.agents.calls import CallReport, ModelOptions, call_models
    from retgen.agents.context import Context
    from retgen.agents.models import ModelSettings
    from retgen.agents.prompt import Prompt
    from retgen.progress import no_progress

    class Naming(Question):
        thing: str

    class Description(AnswerSchema):
        description: str

    def offline(question: Naming) -> Description:
        return Description(description=ANSWER)

    def check(question: Naming, answer: Description) -> str | None:
        named = question.thing.casefold() in answer.description.casefold()
        return "it names the thing" if named else None

    user = "The thing is {{thing}}. " + TASK * 8
    prompt = Prompt("say", "Say what a thing is.", ("thing",), SYSTEM, user, "0" * 64)
    agent = Agent("say", "write", prompt, Naming, Description, offline, check)

    marks = {max(1, calls // 10), calls // 2, calls}
    result: dict[str, float] = {}

    async def work(context: Context) -> None:
        async def all_of(name: str, first: int, count: int) -> None:
            stage = context.stage(name, count, agent)
            questions = (Naming(thing=thing(number)) for number in range(first, first + count))
            done = context.accepted_records(
                stage, questions, lambda one: context.answer(agent, one), Naming.model_dump
            )
            async for _ in done:
                if long and stage.done in marks:
                    now, most = resident()
                    print(f"{stage.done:7,} calls: {now:.0f} MB, {most:.0f} MB", flush=True)

        await all_of("warm-up", 0, warm_up)
        window = Window()
        await all_of("counted", warm_up, calls)
        result.update(window.closed())

    settings = ModelSettings(provider="openai", name="fixed", base_url=url, concurrency=flight)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept = folder / "kept"
        kept.mkdir()
        model_options = ModelOptions(ledger=kept / "ledger.sqlite")
        call_models(
            work,
            folder,
            folder / "run",
            {agent.name: settings},
            model_options,
            CallReport(),
            None,
            no_progress,
        )
        result["ledger"] = sum(path.stat().st_size for path in kept.iterdir())
    if not long:
        print(json.dumps(result))


def thing(number: int) -> str:
    return f"thing {number}"


def resident() -> tuple[float, float]:
    """Megabytes that are resident, and the most that ever were (Linux)."""
    status = Path("/proc/self/status").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in status if line.startswith("Vm")}
    return sizes["VmRSS"] / 1024, sizes["VmHWM"] / 1024


@contextmanager
def serving() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The server in its process; it ends when its input does, and says what it did."""
    command = [sys.executable, __file__, "serve"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1", server
        finally:
            server.kill()


class Fixed(asyncio.Protocol):
    """Reads a request's length and no more of it, and answers every one alike."""

    answered = connections = 0
    answer = b""

    def __init__(self) -> None:
        self._read, self._wanted = bytearray(), 0
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        Fixed.connections += 1
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        read = self._read
        read += data
        while True:
            if not self._wanted:
                head = read.find(b"\r\n\r\n")
                if head < 0:
                    return
                fields = bytes(read[:head]).lower()
                length = fields.split(b"\r\ncontent-length:", 1)[1].split(b"\r\n", 1)[0]
                self._wanted = head + 4 + int(length)
            if len(read) < self._wanted:
                return
            del read[: self._wanted]
            self._wanted = 0
            Fixed.answered += 1
            self._transport.write(Fixed.answer)


def serve() -> None:
    """Print a port, answer until the input ends, print what was done."""
    import uvloop

    message = {"role": "assistant", "content": json.dumps({"description": ANSWER * 3})}
    body = json.dumps(
        {
            "id": "chatcmpl-0123456789abcdef",
            "object": "chat.completion",
            "created": 1_760_000_000,
            "model": "fixed",
            "choices": [
                {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360},
            "system_fingerprint": "fp_0",
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    Fixed.answer = head.encode() + b"\r\n\r\n" + body

    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Fixed, "127.0.0.1", 0, backlog=1024)
        print(server.sockets[0].getsockname()[1], flush=True)
        began = time.process_time()
        await asyncio.to_thread(sys.stdin.read)
        did = {"answered": Fixed.answered, "connections": Fixed.connections}
        print(json.dumps({**did, "cpu": time.process_time() - began}), flush=True)

    uvloop.run(run())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve"]:
            serve()
        case ["openai", url, *numbers]:
            asyncio.run(bare(url, *map(int, numbers)))
        case ["retgen" | "long" as what, url, *numbers]:
            ours(url, *map(int, numbers), long=what == "long")
        case _:
            main()
