"""Work on many records: in their order, no more asked than needed, and what was not taken is kept."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from retgen.agents.agent import Agent, AnswerSchema, Question, RepairsFailed, Turn
from retgen.agents.context import Context
from retgen.agents.ledger import Ledger
from retgen.agents.limits import Stop, Stopped
from retgen.agents.models import ModelSettings
from retgen.agents.prices import Price
from retgen.agents.prompt import Prompt
from retgen.agents.report import CallReport, Rejection, Stage
from retgen.errors import ChecksFailed, EndpointFailed
from tests.agents.ledgers import open_client
from tests.agents.server import Server, serving

Work = Callable[[int], Awaitable[int]]


class Number(Question):
    number: int


class Half(AnswerSchema):
    half: int


def halved(question: Number, answer: Half) -> str | None:
    odd = question.number % 2
    return f"{question.number} is odd" if odd else None


HALVE = Agent(
    name="halve",
    role="write",
    prompt=Prompt("halve", "Halve.", "", "Halve {{number}}.", "0" * 64),
    question=Number,
    answer=Half,
    offline=lambda question: Half(half=question.number // 2),
    check=halved,
    repairs=0,
)


def asked(server: Server) -> list[int]:
    """The numbers that were asked for, as they came."""
    texts = [request["messages"][0]["content"] for request in server.requests]
    return [int(text.removeprefix("Halve ").removesuffix(".")) for text in texts]


@asynccontextmanager
async def context_of(
    server: Server, folder: Path, cap: int | None = None, **options: Any
) -> AsyncIterator[Context]:
    """A context whose agent `halve` is the server's."""
    settings = {"name": "ok", "concurrency": 4, **options.pop("settings", {})}
    given = {"cap": cap, "settings": settings, "price": Price(200_000, 1_000_000)}
    if "notice" in options:
        given["notice"] = options.pop("notice")
    with closing(Ledger(folder / "ledger.sqlite")) as ledger:
        async with open_client(ledger, server.url, **given) as client:
            model = ModelSettings(provider="openai", base_url=server.url, **settings)
            models = {"halve": (model, client)}
            session = client.session
            yield Context(folder, models, session.report, session=session, **options)


async def taken(
    context: Context, stage: Stage, candidates: Any, work: Work, **options: Any
) -> list[int]:
    result = context.accepted_records(stage, candidates, work, lambda one: f"no. {one}", **options)
    return [one async for one in result]


async def halved_by_model(context: Context, wanted: int, candidates: int) -> None:
    """Ask for halves until so many are accepted; fewer will do."""

    async def halve(number: int) -> int:
        return (await context.answer(HALVE, Number(number=number))).half

    stage = context.stage("halves", wanted, HALVE)
    await taken(context, stage, range(candidates), halve, exact=False)


async def at_once(number: int) -> int:
    if number % 3 == 0:
        raise RepairsFailed("work/three", f"{number} is a multiple of 3", [Turn("x", "y")])
    return number


def record_of(number: int) -> dict[str, Any]:
    return {"record": f"no. {number}", "history": [{"answer": "x", "reason": "y"}]}


# --- records ------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 7, 64])
def test_what_is_asked_is_the_shortest_beginning_that_suffices(
    tmp_path: Path, concurrency: int
) -> None:
    chance = random.Random(concurrency)
    numbers = chance.sample(range(1000), 200)

    def say(body: dict[str, Any]) -> str:
        time.sleep(chance.random() * 0.01)
        number = int(body["messages"][0]["content"].split()[1][:-1])
        return json.dumps({"half": number // 2})

    async def run(server: Server) -> tuple[list[int], list[Rejection], Stage]:
        async with context_of(server, tmp_path, settings={"concurrency": concurrency}) as context:
            stage = context.stage("halves", 12, HALVE)

            async def halve(number: int) -> int:
                return (await context.answer(HALVE, Number(number=number))).half

            result = await taken(context, stage, iter(numbers), halve)
            return result, context.report.rejected, stage

    even = [number for number in numbers if number % 2 == 0][:12]
    beginning = numbers[: numbers.index(even[-1]) + 1]
    odd = [number for number in beginning if number % 2]
    with serving(say) as server:
        result, rejected, stage = asyncio.run(run(server))
        assert sorted(asked(server)) == sorted(beginning)
    assert result == [number // 2 for number in even]
    assert stage == Stage("halves", 12, ("halve",), done=12, rejected=len(odd))
    for number, one in zip(odd, rejected, strict=True):
        turn = {"answer": json.dumps({"half": number // 2}), "reason": f"{number} is odd"}
        record = {"record": f"no. {number}", "history": [turn]}
        assert one == Rejection("halve/check", f"{number} is odd", record)


def test_what_is_made_is_admitted_in_order(tmp_path: Path) -> None:
    seen: list[int] = []

    def admit(made: int) -> str | None:
        seen.append(made)
        return "it ends in 4" if made % 10 == 4 else None

    async def backwards(number: int) -> int:
        await asyncio.sleep(0.004 * (3 - number % 4))
        return await at_once(number)

    async def run() -> Context:
        context = Context(tmp_path, {}, CallReport())
        stage = context.stage("numbers", 6)
        result = await taken(context, stage, range(100), backwards, admit=admit)
        assert result == [1, 2, 5, 7, 8, 10]
        assert stage == Stage("numbers", 6, (), done=6, rejected=5)
        return context

    context = asyncio.run(run())
    assert seen == [1, 2, 4, 5, 7, 8, 10]
    assert list(context.report.rejected) == [
        Rejection("work/three", "0 is a multiple of 3", record_of(0)),
        Rejection("work/three", "3 is a multiple of 3", record_of(3)),
        Rejection("numbers/admitted", "it ends in 4", {"record": "no. 4", "history": []}),
        Rejection("work/three", "6 is a multiple of 3", record_of(6)),
        Rejection("work/three", "9 is a multiple of 3", record_of(9)),
    ]


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (
            range(7),
            "3 of 1,000 were accepted; rejected were 4 (work/three 3 times, numbers/admitted 1 "
            "times), see rejected.jsonl.",
        ),
        (range(0), "0 of 1,000 were accepted."),
        # to go on would only cost
        (
            range(0, 9000, 3),
            "0 of 1,000 were accepted; rejected were 50 (work/three 50 times), see rejected.jsonl.",
        ),
    ],
)
def test_too_few(tmp_path: Path, candidates: range, message: str) -> None:
    async def run() -> None:
        context = Context(tmp_path, {}, CallReport())
        before = context.stage("before", 1)
        context.reject(before, RepairsFailed("before/x", "y", ()), "of another stage")
        stage = context.stage("numbers", 1000)
        admit = {4: "it is 4"}.get
        await taken(context, stage, candidates, at_once, admit=admit)

    with pytest.raises(ChecksFailed) as error:
        asyncio.run(run())
    assert str(error.value) == f"numbers: {message} Ask for fewer, or try another model."


@pytest.mark.parametrize(
    ("pilot", "candidates", "expected"),
    [(2, 100, [1, 2]), (2, 2, [1]), (9, 100, [1, 2, 4]), (1, 0, [])],
)
def test_a_pilot_wants_fewer_and_takes_what_there_is(
    tmp_path: Path, pilot: int, candidates: int, expected: list[int]
) -> None:
    async def run() -> list[int]:
        context = Context(tmp_path, {}, CallReport(), pilot=pilot)
        assert (context.pilot_size(100), context.pilot_size(1)) == (pilot, 1)
        return await taken(context, context.stage("numbers", 3), range(candidates), at_once)

    assert asyncio.run(run()) == expected


# --- errors -------------------------------------------------------------------------------------


class Slow:
    """Work that takes a while; that on some numbers fails at once."""

    def __init__(self, *fail: int) -> None:
        self.fail = fail
        self.begun: list[int] = []
        self.ended: list[int] = []

    async def __call__(self, number: int) -> int:
        self.begun.append(number)
        if number in self.fail:
            raise EndpointFailed(f"{number} failed")
        await asyncio.sleep(0.03 if number else 0)
        self.ended.append(number)
        return number


@pytest.mark.parametrize("how", ["accepted_records", "gather"])
def test_the_first_error_stops_and_waits_for_what_is_in_flight(tmp_path: Path, how: str) -> None:
    work = Slow(1, 3) if how == "gather" else Slow(1)

    async def run() -> None:
        stop = Stop()
        context = Context(tmp_path, {}, CallReport(), stop=stop)
        stage = context.stage("numbers", 10)
        if how == "gather":
            all_of_it = context.gather(stage, map(work, range(5)))
        else:
            all_of_it = taken(context, stage, range(100), work)
        with pytest.raises(EndpointFailed, match=r"^1 failed$"):
            await all_of_it
        with pytest.raises(Stopped):
            stop.check()

    asyncio.run(run())
    assert work.begun == [0, 1, 2, 3, 4]
    assert work.ended == ([0, 2, 4] if how == "gather" else [0, 2, 3, 4])


def test_who_reads_no_further_stops_the_rest(tmp_path: Path) -> None:
    work = Slow()

    async def run() -> None:
        stop = Stop()
        context = Context(tmp_path, {}, CallReport(), stop=stop)
        made = context.accepted_records(context.stage("numbers", 10), range(100), work, str)
        async with aclosing(made):
            async for one in made:
                assert one == 0
                break
        assert (work.begun, work.ended) == ([0, 1, 2, 3], [0, 1, 2, 3])
        with pytest.raises(Stopped):
            stop.check()

    asyncio.run(run())


# --- agents without a model, and progress -------------------------------------------------------


def test_an_agent_without_a_model_answers_by_rules(tmp_path: Path) -> None:
    async def run() -> None:
        context = Context(tmp_path, {}, CallReport())
        assert context.offline(HALVE)
        assert await context.answer(HALVE, Number(number=8)) == Half(half=4)
        with pytest.raises(RepairsFailed) as error:
            await context.answer(HALVE, Number(number=7))
        assert (error.value.rule, error.value.reason) == ("halve/check", "7 is odd")
        assert error.value.history == ()

    asyncio.run(run())


def test_progress(tmp_path: Path) -> None:
    shown: list[tuple[int, int, str]] = []
    two_were_out = threading.Event()

    def progress(stage: str, done: int, total: int, note: str = "") -> None:
        assert stage == "halves"
        shown.append((done, total, note))
        if "2 in flight" in note:
            two_were_out.set()

    def say(body: dict[str, Any]) -> str:
        two_were_out.wait(120)
        return '{"half": 1}'

    async def run(server: Server) -> None:
        async with context_of(server, tmp_path, progress=progress, cap=2 * 10**9) as context:
            await halved_by_model(context, 2, 9)

    asyncio.run(halved_by_model(Context(tmp_path, {}, CallReport(), progress=progress), 2, 9))
    assert (shown[0], shown[-1]) == ((0, 2, ""), (2, 2, ""))
    shown.clear()
    with serving(say) as server:
        asyncio.run(run(server))
    assert shown[0] == (0, 2, "$0.0000 of $2, 0 in flight, 0 rejected")
    assert (0, 2, "$0.0000 of $2, 2 in flight, 0 rejected") in shown
    assert shown[-1] == (2, 2, "$0.0090 of $2, 0 in flight, 1 rejected")
