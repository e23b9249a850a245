"""What a call to a chat model costs us ourselves, against the bare `openai` client.

Ours is the whole path as `retgen/generate.py` puts it together: records side by side, the
agent's prompt, the ledger on disk (durable before a call is sent and before its answer is read),
the answer parsed by pydantic and checked. The client is used as it comes, and what it returns is
not parsed. A server in a process of its own answers at once. Each case is a process of its own too;
the CPU time of all its threads is counted, after a warm-up in which our gate, which begins at 8 in
flight, opens to the number stated. Cases are taken in turn, and the best of all rounds is printed.

    .venv/bin/python benchmarks/agents.py [--calls 6000] [--rounds 3] [--in-flight 64 256]
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SYSTEM = "You describe things without naming them, in the manner of a careful encyclopedia. " * 6
TASK = "Say what it is made of, where one meets it, what it is used for and by whom it is liked. "
ANSWER = "A thing of the household that most people have met and few have ever looked at closely. "
SCHEMA = {
    "title": "Said",
    "type": "object",
    "properties": {"description": {"type": "string"}},
    "required": ["description"],
    "additionalProperties": False,
}
CPU_MS = 0.6  # what a call of ours may cost


def main() -> None:
    from common import options

    given = options(__doc__, calls=6_000, rounds=3, in_flight=[64, 256], warm_up=2_000)
    calls, flights = given.calls, given.in_flight
    print(f"{calls:,} calls after {given.warm_up:,} to warm up, best of {given.rounds} rounds")
    cases = [(who, flight) for flight in flights for who in ("openai", "retgen")]
    result: dict[tuple[str, int], list[dict[str, float]]] = {case: [] for case in cases}
    for _ in range(given.rounds):
        for case in cases:
            result[case].append(measured(*case, calls, given.warm_up))
    cpu = {case: min(row["cpu_ms"] for row in rows) for case, rows in result.items()}
    for (who, flight), rows in result.items():
        rate = max(row["rate"] for row in rows)
        ledger = f", {rows[0]['ledger']:,.0f} bytes of ledger a call" * (who == "retgen")
        print(
            f"  {who}, {flight:3} in flight: {cpu[who, flight]:.2f} ms of CPU a call, "
            f"{rate:,.0f} calls/s{ledger}"
        )
    for flight in flights:
        ours = cpu["retgen", flight]
        kept = "reached" if ours <= CPU_MS else "NOT reached"
        of = ours / cpu["openai", flight]
        print(f"  {flight:3} in flight: {of:.2f} of openai's CPU; at most {CPU_MS:.2f} ms {kept}")


def measured(who: str, flight: int, calls: int, warm_up: int) -> dict[str, float]:
    """One case in a process of its own, against a server of its own."""
    with serving() as url:
        command = [sys.executable, __file__, who, url, *map(str, (flight, calls, warm_up))]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    case = json.loads(done.stdout.splitlines()[-1])
    return {
        "cpu_ms": 1e3 * case["cpu"] / calls,
        "rate": calls / case["wall"],
        "ledger": case.get("ledger", 0) / (calls + warm_up),
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
def serving() -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, __file__, "serve"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.kill()


async def serve() -> None:
    """Print a port, and answer every request alike until the input ends."""
    from aiohttp import web

    message = {"role": "assistant", "content": json.dumps({"description": ANSWER * 3})}
    body = {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": "fixed",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360},
        "system_fingerprint": "fp_0",
    }
    data = json.dumps(body).encode()

    async def answer(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(body=data, content_type="application/json")

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve"]:
            import uvloop

            uvloop.run(serve())
        case ["openai", url, *numbers]:
            asyncio.run(bare(url, *map(int, numbers)))
        case ["retgen", url, *numbers]:
            ours(url, *map(int, numbers))
        case _:
            main()
