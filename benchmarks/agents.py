"""What a call to a chat model costs us ourselves, against the bare `openai` client and curator.

Ours is the whole path as `retgen/generate.py` puts it together: records side by side, the
agent's prompt, the ledger on disk (durable before a call is sent and before its answer is read),
the answer parsed by pydantic and checked. The client is used as it comes, and what it returns is
not parsed. A server in a process of its own answers at once. Each case is a process of its own too;
the CPU time of all its threads is counted, after a warm-up in which our gate, which begins at 8 in
flight, opens to the number stated. Cases are taken in turn, and the best of all rounds is printed.
`--curator` names a Python in which bespokelabs-curator is installed; its tokenizer, which it would
download, is replaced by one of bytes. Last comes a ledger of a million answered requests: what it
takes to open it, to begin a run on it, and its size.

    .venv/bin/python benchmarks/agents.py [--calls 6000] [--rounds 3] [--in-flight 64 256]
        [--curator PYTHON] [--ledger 1000000]
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

IN_FLIGHT = (64, 256)
WARM_UP = 2_000  # calls: the gate lets one more through after each that went well
CPU_MS, OF_CURATOR, OPEN_S = 0.6, 1 / 3, 2.0  # what ours may cost, and a large ledger takes
GROUP = 1_000  # calls of the large ledger in a transaction


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=6_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--in-flight", type=int, nargs="+", default=IN_FLIGHT)
    parser.add_argument("--warm-up", type=int, default=WARM_UP, help="calls that are not counted")
    parser.add_argument("--curator", help="a Python in which bespokelabs-curator is installed")
    parser.add_argument("--ledger", type=int, default=1_000_000, help="calls of the large ledger")
    given = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    compare(given.calls, given.rounds, given.in_flight, given.warm_up, given.curator)
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(large(Path(name) / "ledger.sqlite", given.ledger))


def compare(
    calls: int, rounds: int, in_flight: Sequence[int], warm_up: int, curator: str | None
) -> None:
    """Measure all clients in turn and print the best round of each, and ratios."""
    print(f"{calls:,} calls after {warm_up:,} to warm up, best of {rounds} rounds")
    pythons = {"openai": sys.executable, "retgen": sys.executable}
    if curator:
        pythons["curator"] = curator
    cases = [(who, flight) for flight in in_flight for who in pythons]
    result: dict[tuple[str, int], list[dict[str, float]]] = {case: [] for case in cases}
    for _ in range(rounds):
        for who, flight in cases:
            result[who, flight].append(measured(pythons[who], who, flight, calls, warm_up))
    cpu = {case: min(row["cpu_ms"] for row in rows) for case, rows in result.items()}
    for (who, flight), rows in result.items():
        rate = max(row["rate"] for row in rows)
        ledger = f", {rows[0]['ledger']:,.0f} bytes of ledger a call" * (who == "retgen")
        print(
            f"  {who}, {flight:3} in flight: {cpu[who, flight]:.2f} ms of CPU a call, "
            f"{rate:,.0f} calls/s{ledger}"
        )
    for flight in in_flight:
        ours = cpu["retgen", flight]
        most = [CPU_MS, *([OF_CURATOR * cpu["curator", flight]] if curator else [])]
        ratios = [
            f"{ours / cpu[who, flight]:.2f} of {who}'s CPU" for who in pythons if who != "retgen"
        ]
        kept = "reached" if ours <= min(most) else "NOT reached"
        print(f"  {flight:3} in flight: {', '.join(ratios)}; at most {min(most):.2f} ms {kept}")


async def large(path: Path, calls: int) -> None:
    """Fill a ledger and print what it takes to begin a run on it."""
    from retgen.agents.ledger import Answer, Ledger
    from retgen.agents.prompt import Message, Request

    answer = json.dumps({"description": ANSWER * 8}).encode()
    ledger = Ledger(path)
    window = Window()
    for first in range(0, calls, GROUP):

        async def call(number: int) -> None:
            messages = Message("system", SYSTEM), Message("user", f"{thing(number)}. {TASK * 7}")
            request = Request("openai", "small", messages, {"temperature": 1.0}, SCHEMA)
            run = f"run {10 * number // calls}"
            made = await ledger.add_call(
                request, run, f"agent {number % 3}", worst=100, max_tokens=512, priced=True
            )
            await ledger.end_call(made, "answered", 50, Answer(answer, 300, 60))

        await asyncio.gather(*map(call, range(first, min(first + GROUP, calls))))
    took = window.closed()
    await ledger.flush()
    ledger.close()
    size = path.stat().st_size
    print(
        f"a ledger of {calls:,} answered requests: {1e3 * took['cpu'] / calls:.3f} ms of CPU each, "
        f"{size / calls:,.0f} bytes each"
    )
    began = time.perf_counter()
    ledger = Ledger(path)
    opened = time.perf_counter() - began
    charged = ledger.begin("run 3")
    begun = time.perf_counter() - began
    assert calls < 10 or charged > 0
    ledger.close()
    kept = "reached" if begun <= OPEN_S else "NOT reached"
    print(f"  opened in {opened:.2f} s, a run begun in {begun:.2f} s; at most {OPEN_S} s {kept}")


def measured(python: str, who: str, flight: int, calls: int, warm_up: int) -> dict[str, float]:
    """One case in a process of its own, against a server of its own."""
    with serving() as (url, server):
        numbers = map(str, (flight, calls, warm_up))
        command = [python, __file__, who, url, *numbers]
        root = {"PYTHONPATH": str(Path(__file__).parent.parent)}  # for what scripts share
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ | root)
        case = json.loads(done.stdout.splitlines()[-1])
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.close()
        text = json.loads(server.stdout.read())
    assert text["answered"] >= calls + warm_up, text
    return {
        "cpu_ms": 1e3 * case["cpu"] / calls,
        "rate": calls / case["wall"],
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


def curator(url: str, flight: int, calls: int, warm_up: int) -> None:
    """bespokelabs-curator, whose requests are kept on disk as well and parsed by pydantic."""
    os.environ |= {"OPENAI_API_KEY": "none", "CURATOR_VIEWER": "0", "TELEMETRY_ENABLED": "false"}
    import tiktoken

    ranks = {bytes([byte]): byte for byte in range(256)}
    bytewise = tiktoken.Encoding("b", pat_str=r"[\s\S]", mergeable_ranks=ranks, special_tokens={})
    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: bytewise
    from bespokelabs import curator
    from bespokelabs.curator.request_processor.online import (
        openai_online_request_processor as online,
    )
    from datasets import Dataset
    from pydantic import BaseModel

    # it would ask the server for a form of its own before the first request
    processor = online.OpenAIOnlineRequestProcessor
    processor._check_structured_output_support_via_api = lambda self: True

    class Description(BaseModel):
        description: str

    class Say(curator.LLM):  # type: ignore[misc]
        response_format = Description

        def prompt(self, row: dict[str, str]) -> list[dict[str, str]]:
            user = f"The thing is {row['thing']}. {TASK * 8}"
            return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}]

        def parse(self, row: dict[str, str], response: Description) -> dict[str, str]:
            return {"description": response.description}

    with tempfile.TemporaryDirectory() as folder:
        os.environ["CURATOR_CACHE_DIR"] = folder
        options = {
            "base_url": url,
            "max_concurrent_requests": flight,
            "max_requests_per_minute": 10**8,
            "max_tokens_per_minute": 10**10,
        }
        say = Say(model_name="fixed", backend="openai", backend_params=options)

        def all_of(first: int, count: int) -> None:
            rows = [{"thing": thing(number)} for number in range(first, first + count)]
            say(Dataset.from_list(rows))

        all_of(0, warm_up)
        window = Window()
        all_of(warm_up, calls)
        print(json.dumps(window.closed()))


def ours(url: str, flight: int, calls: int, warm_up: int) -> None:
    """Our whole path, as a run has it."""
    from retgen.agents.agent import Agent, AnswerSchema, Question
    from retgen.agents.context import Context
    from retgen.agents.models import ModelOptions, ModelSettings
    from retgen.agents.prompt import Prompt
    from retgen.agents.report import CallReport
    from retgen.agents.session import call_models

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
    prompt = Prompt("say", "Say what a thing is.", SYSTEM, user, "0" * 64)
    agent = Agent("say", "write", prompt, Naming, Description, offline, check)

    result: dict[str, float] = {}

    async def work(context: Context) -> None:
        async def all_of(name: str, first: int, count: int) -> None:
            stage = context.stage(name, count, agent)
            questions = (Naming(thing=thing(number)) for number in range(first, first + count))
            done = context.accepted_records(
                stage, questions, lambda one: context.answer(agent, one), Naming.model_dump
            )
            async for _ in done:
                pass

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
        call_models(work, folder / "run", {agent.name: settings}, model_options, CallReport())
        result["ledger"] = sum(path.stat().st_size for path in kept.iterdir())
    print(json.dumps(result))


def thing(number: int) -> str:
    return f"thing {number}"


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
        case ["retgen", url, *numbers]:
            ours(url, *map(int, numbers))
        case ["curator", url, *numbers]:
            curator(url, *map(int, numbers))
        case _:
            main()
