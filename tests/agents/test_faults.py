"""What a caller does about faults: charges, rejections, and when a whole run is stopped.

A server says for each question what comes back; the others are answered.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.caller import Caller
from retgen.agents.chat import Unusable
from retgen.agents.flow import Flight, Stop
from retgen.agents.ledger import Ledger, Writer
from retgen.agents.models import ModelSettings
from retgen.agents.prices import Price
from retgen.agents.prompt import Message, Request
from retgen.errors import EndpointFailed
from tests.agents.canned import Canned, Server, serving
from tests.agents.test_outcomes import completion, error, page

PRICE = Price(token_in=1_000, token_out=10_000)
COST = 5 * 1_000 + 2 * 10_000  # of `said`


def request(number: int, room: int = 100) -> Request:
    asked = (Message("user", f"question {number}."),)
    return Request("loopback", "m", asked, room=room, about=f"number {number}")


WORST = PRICE.worst(request(10), 100)


def ask(
    server: Server, ledger: Ledger, numbers: Sequence[int], *, agent: str = "write",
    room: int = 100, concurrency: int = 64, **options: Any,
) -> list[Any]:  # fmt: skip
    """All at once; texts and errors in order."""

    async def run() -> list[Any]:
        settings = ModelSettings(provider="openai", name="m", base_url=f"{server.url}/v1",
                                 concurrency=concurrency)  # fmt: skip
        writer, stop = Writer(ledger), Stop()
        chat = OpenAIChat(base_url=f"{server.url}/v1", api_key="sk-planted", timeout=2.0)
        given = {"run": "a", "price": PRICE, "attempts": 4, "first_delay": 0.01, **options}
        caller = Caller(ledger, writer, chat, settings, stop=stop, flight=Flight(), **given)
        try:
            async with asyncio.timeout(50):
                asked = (caller.ask(request(number, room), agent) for number in numbers)
                return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await caller.close()
            await asyncio.to_thread(writer.close)

    return asyncio.run(run())


def number_in(body: Mapping[str, Any]) -> int:
    result = re.search(r"question (\d+)\.", body["messages"][0]["content"])
    assert result
    return int(result[1])


def faulty(faults: Mapping[int, Canned], delay: float = 0.0) -> Callable[[Any], Canned]:
    """A server that answers all questions but some."""
    return lambda body: faults.get(number_in(body), completion("hello"))


def states(ledger: Ledger) -> dict[str, int]:
    with sqlite3.connect(ledger.path) as database:
        return dict(database.execute("select state, count(*) from sends group by state"))


def kinds(result: Sequence[Any]) -> dict[str, int]:
    return dict(Counter(type(one).__name__ for one in result))


# --- one record ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "why", "reason", "sent"),
    [
        (error(400, "Invalid prompt: flagged by our usage policy", "invalid_prompt"), "filtered",
         "the request was filtered (400: invalid_prompt: Invalid prompt: flagged by our usage policy)", 1),
        (error(403, "moderation", metadata={"reasons": ["x"]}), "filtered",
         "the request was filtered (403: moderation: reasons: ['x'])", 1),
        (page(413), "too_long", "the request is too large (413: <html>Bad gateway</html>)", 1),
        (error(422, "cannot be processed"), "refused", "422: cannot be processed", 1),
        (error(400, "no"), "refused", "400: no", 1),
        (error(500, "boom"), "refused", "500: boom (4 tries; the server answers others)", 4),
        (page(), "refused",
         "200: <html>Bad gateway</html> (4 tries; the server answers others)", 4),
        (Canned(200, {"choices": []}), "refused",
         "no answer: no choices, or no content (4 tries; the server answers others)", 4),
    ],
)  # fmt: skip
@pytest.mark.parametrize("concurrency", [pytest.param(1, marks=pytest.mark.slow), 64])
def test_a_record_that_is_always_refused(
    ledger: Ledger, fault: Canned, why: str, reason: str, sent: int, concurrency: int
) -> None:
    """It is rejected with the server's words, the others go on, and it is not asked again.

    Where the others are done before its second try, as they are one at a time and may be on a busy
    machine, it is tried twice as often, alone.
    """
    with serving(slow(faulty({13: fault}))) as server:
        result = ask(server, ledger, range(10, 40), concurrency=concurrency)
        assert kinds(result) == {"str": 29, "Unusable": 1}
        assert isinstance(result[3], Unusable)
        numbers = Counter(number_in(body) for body in server.requests)
        if sent > 1 and (concurrency == 1 or numbers[13] == 8):
            sent, reason = 8, reason.replace("4 tries", "8 tries")
        assert (result[3].why, str(result[3])) == (why, reason)
        assert numbers == Counter(range(10, 40)) + Counter({13: sent - 1})
        assert ledger.runs()[0].nano_usd == 29 * COST + sent * WORST
        again = ask(server, ledger, range(10, 40))
        assert len(server.requests) == 29 + sent
        assert (again[3].why, str(again[3])) == (why, reason)
        assert again[:3] + again[4:] == result[:3] + result[4:]
    assert states(ledger)["refused"] == 1


def slow(answer: Callable[[Any], Canned]) -> Callable[[Any], Canned]:
    """Answers take a little, so that some are under way beside a failure."""

    def wait(body: Any) -> Canned:
        result = answer(body)
        if result.status == 200 and b"hello" in json.dumps(result.body, default=str).encode():
            time.sleep(0.02)
        return result

    return wait


def test_silence_for_one_record_alone(ledger: Ledger) -> None:
    """What is never answered stays charged, every time."""
    with serving(slow(faulty({13: Canned(0, b"")}))) as server:
        result = ask(server, ledger, range(10, 40))
    assert kinds(result) == {"str": 29, "Unusable": 1}
    assert str(result[3]) == (
        "the connection was lost before the answer came (4 tries; the server answers others)"
    )
    assert ledger.runs()[0].nano_usd == 29 * COST + 4 * WORST


def test_the_last_record_alone_is_tried_twice_as_often(ledger: Ledger) -> None:
    with serving(faulty({13: error(500, "boom")})) as server:
        assert kinds(ask(server, ledger, range(10, 13))) == {"str": 3}
        # those that the ledger answers show that the server takes such requests
        result = ask(server, ledger, range(10, 14))
        assert str(result[3]) == "500: boom (8 tries; the server answers others)"
        assert len(server.requests) == 3 + 8


def test_the_first_record_is_refused_and_others_are_not(ledger: Ledger) -> None:
    """At one request at a time nobody has been answered when the refusal comes: it waits."""
    with serving(faulty({10: error(400, "no")})) as server:
        result = ask(server, ledger, range(10, 16), concurrency=1)
    assert kinds(result) == {"Unusable": 1, "str": 5}
    assert states(ledger) == {"answered": 5, "refused": 1}


# --- all records --------------------------------------------------------------------------------


def test_every_record_is_refused(ledger: Ledger) -> None:
    refusal = error(
        400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported"
    )
    with serving(lambda body: refusal) as server:
        result = ask(server, ledger, range(10, 60))
        assert kinds(result).keys() == {"EndpointFailed", "Stopped"}
        assert 8 <= len(server.requests) <= 8 + 4
        first = next(one for one in result if isinstance(one, EndpointFailed))
        assert re.fullmatch(
            r"m at loopback: 400: Invalid parameter: 'response_format' of type 'json_schema' is not "
            r"supported, asked by write \(number \d\d\)\. Add `structured: prompt` to the recipe's "
            r"model block: then the prompt says what form an answer has\. What was answered is "
            r"kept; correct this, and run again\.",
            str(first),
        )
        assert states(ledger) == {"void": len(server.requests)}
        assert ledger.runs()[0].nano_usd == len(server.requests) * WORST
    with serving(faulty({})) as healthy:  # nothing was rejected, so nothing is lost
        assert kinds(ask(healthy, ledger, range(10, 60))) == {"str": 50}


def test_one_or_two_that_are_refused_do_not_stop_a_run(ledger: Ledger) -> None:
    """A stage may have no more under way; the third in a row is no record's fault."""
    with serving(lambda body: error(422, "no")) as server:
        assert kinds(ask(server, ledger, [10])) == {"Unusable": 1}
        assert kinds(ask(server, ledger, [10, 11])) == {"Unusable": 2}
        assert states(ledger) == {"void": 3}  # nobody was answered, so it is not for good
        assert kinds(ask(server, ledger, [10, 11, 12])).keys() == {"EndpointFailed", "Stopped"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "charged"),
    [
        (page(), WORST),
        (Canned(200, {"error": {"message": "upstream failed"}}), WORST),
        (Canned(200, b'data: {"choices": []}\n\n', {"content-type": "text/event-stream"}), WORST),
        (Canned(200, {"choices": []}), WORST),
        (completion(None), COST),
        (error(500, "boom"), WORST),
        (error(503, "overloaded"), WORST),
        (error(429, "slow down"), 0),
        (Canned(200, {"error": {"message": "upstream", "code": 502}}), WORST),
        (Canned(200, {"error": {"message": "slow down", "code": 429}}), WORST),
    ],
)
def test_an_outage_of_any_kind_passes(ledger: Ledger, fault: Canned, charged: int) -> None:
    """Exit 4, charged what is stated or else the most; the same command then completes."""
    with serving(lambda body: fault) as server:
        result = ask(server, ledger, range(10, 30))
        assert kinds(result).keys() <= {"EndpointFailed", "Stopped"}
        assert ledger.runs()[0].nano_usd == charged * len(server.requests)
        spent = ledger.runs()[0].nano_usd
    with serving(faulty({})) as healthy:
        assert kinds(ask(healthy, ledger, range(10, 30))) == {"str": 20}
        assert len(healthy.requests) == 20
    assert ledger.runs()[0].nano_usd == spent + 20 * COST


def test_an_outage_in_the_middle_rejects_nobody(ledger: Ledger) -> None:
    answered = 0

    def answer(body: Any) -> Canned:
        nonlocal answered
        answered += 1
        return completion("hello") if answered <= 15 else error(502, "down")

    with serving(answer) as server:
        result = ask(server, ledger, range(10, 60), concurrency=8)
    assert set(kinds(result)) == {"str", "EndpointFailed", "Stopped"}
    assert set(states(ledger)) <= {"answered", "void"}


# --- rooms --------------------------------------------------------------------------------------


def reasoning(hidden: int, visible: int = 40) -> Callable[[Any], Canned]:
    """A model that spends `hidden` tokens before it writes, out of the same room."""

    def answer(body: Any) -> Canned:
        room, needed = body["max_tokens"], hidden + visible
        usage = {"prompt_tokens": 30, "completion_tokens": min(room, needed),
                 "completion_tokens_details": {"reasoning_tokens": min(room, hidden)}}  # fmt: skip
        result = completion(
            "hello" if room >= needed else "", "stop" if room >= needed else "length"
        )
        return result._replace(body={**result.body, "usage": usage})

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [700, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("room", [512, 1024, pytest.param(2048, marks=pytest.mark.slow)])
def test_a_model_that_reasons(ledger: Ledger, hidden: int, room: int) -> None:
    """345 requests, as in LIMIT with descriptions: at most a tenth of the money is wasted."""
    with serving(reasoning(hidden)) as server:
        result = ask(server, ledger, range(100, 445), room=room, cap=10**12)
        assert kinds(result) == {"str": 345}
        spent = ledger.runs()[0].nano_usd
        useful = 345 * PRICE.of(30, hidden + 40)
        assert spent >= useful
        assert (spent - useful) / spent <= 0.10
        assert len(server.requests) - 345 <= 8
        # another run knows it, and so does another agent of the model
        before = len(server.requests)
        ask(server, ledger, range(500, 520), room=room)
        ask(server, ledger, range(520, 540), room=room, agent="judge")
        assert len(server.requests) == before + 40


def test_the_room_is_no_part_of_the_question(ledger: Ledger) -> None:
    with serving(reasoning(700)) as server:
        assert ask(server, ledger, [10], room=512) == ["hello"]
        assert [body["max_tokens"] for body in server.requests] == [512, 2048]
        assert ask(server, ledger, [10], room=100) == ["hello"]
        assert len(server.requests) == 2


def test_one_answer_without_end_is_rejected(ledger: Ledger) -> None:
    """Where others are whole it gets twice the room, twice, and nobody else gets more."""

    def answer(body: Any) -> Canned:
        return completion("x" * 9, "length") if number_in(body) == 13 else completion("hello")

    with serving(answer) as server:
        assert kinds(ask(server, ledger, range(20, 30))) == {"str": 10}
        result = ask(server, ledger, range(10, 20))
    assert kinds(result) == {"str": 9, "Unusable": 1}
    assert str(result[3]) == "the answer was cut off, even with room for 512 tokens"
    rooms = Counter(body["max_tokens"] for body in server.requests)
    assert rooms == {100: 20, 256: 1, 512: 1}
    assert states(ledger) == {"answered": 19, "cut": 2, "refused": 1}


def test_a_recipe_may_ask_for_more_room_than_is_learned(ledger: Ledger) -> None:
    with serving(reasoning(50_000)) as server:
        assert ask(server, ledger, [10], room=100_000) == ["hello"]
        assert [body["max_tokens"] for body in server.requests] == [100_000]


@pytest.mark.parametrize("most", [300, 3000])
def test_a_model_with_less_room(ledger: Ledger, most: int) -> None:
    """What it does not have is not asked for again; the refusals are charged at their most."""

    def answer(body: Any) -> Canned:
        if body["max_tokens"] > most:
            return error(400, f"max_tokens is too large: at most {most}", "invalid_value")
        return completion("hello")

    with serving(answer) as server:
        assert kinds(ask(server, ledger, range(10, 30), room=4096)) == {"str": 20}
        assert len(server.requests) <= 20 + 4 * 5
        refused = [body["max_tokens"] for body in server.requests if body["max_tokens"] > most]
    charged = sum(PRICE.worst(request(10), room) for room in refused)
    assert ledger.runs()[0].nano_usd == 20 * COST + charged


# --- usage above the room -----------------------------------------------------------------------


@pytest.mark.parametrize("beside", [False, True])
def test_a_server_that_spends_more_than_it_was_given(ledger: Ledger, beside: bool) -> None:
    """The first such answer halts what is not yet sent; the same command then goes on."""

    def answer(body: Any) -> Canned:
        stated = {"prompt_tokens": 5, "completion_tokens": 2 if beside else 2002}
        if beside:  # as xAI states it
            stated |= {"total_tokens": 2007}
        result = completion("hello")
        return result._replace(body={**result.body, "usage": stated})

    true = PRICE.of(5, 2002)
    with serving(answer) as server:
        result = ask(server, ledger, range(10, 60), cap=10 * true)
        assert kinds(result).keys() == {"EndpointFailed", "Stopped"}
        sent = len(server.requests)
        assert sent <= 4  # what was in flight: few, before an agent has any answer
        assert ledger.runs()[0].nano_usd == sent * true
        assert str(next(one for one in result if isinstance(one, EndpointFailed))) == (
            "m at loopback, asked by write: an answer states 5 and 2,002 tokens, more than its "
            f"request had room for ({len(request(10).body)} and 100), so the cap could be passed. "
            f"${true / 1e9:.4f} were charged for it where at most ${WORST / 1e9:.4f} were reserved. "
            "Nothing more is sent; it is kept. The same command goes on, and reserves half as much "
            "again as that for every call."
        )
        # from now on the worst case is known, and the cap holds
        result = ask(server, ledger, range(10, 60), cap=10 * true)
        assert "BudgetReached" in kinds(result)
        assert ledger.runs()[0].nano_usd == len(server.requests) * true <= 10 * true
        assert kinds(ask(server, ledger, range(10, 60))) == {"str": 50}
        assert len(server.requests) == 50


def test_overshoot_is_bounded_by_what_is_in_flight(ledger: Ledger) -> None:
    """After a hundred plain answers, with 64 in flight."""
    plain, excess = 100, 0

    def answer(body: Any) -> Canned:
        nonlocal excess
        result = completion("hello")
        if number_in(body) < 1000:
            return result
        excess += 1
        usage = {"prompt_tokens": 5, "completion_tokens": 10_000}
        return result._replace(body={**result.body, "usage": usage})

    with serving(slow(answer)) as server:
        cap = plain * COST + 70 * WORST
        assert kinds(ask(server, ledger, range(100, 200), cap=cap)) == {"str": plain}
        result = ask(server, ledger, range(1000, 1400), cap=cap, concurrency=64)
        assert kinds(result).keys() == {"EndpointFailed", "Stopped"}
        assert excess <= 64
        assert ledger.runs()[0].nano_usd == plain * COST + excess * PRICE.of(5, 10_000)


def test_what_the_ledger_answers_is_no_sign_of_life(ledger: Ledger) -> None:
    """Resumed during an outage: the answers of before say nothing of the server now."""
    with serving(faulty({})) as server:
        ask(server, ledger, range(10, 40))
    with serving(lambda body: error(500, "down")) as server:
        result = ask(server, ledger, range(10, 60), concurrency=4)
    assert set(kinds(result)) == {"str", "EndpointFailed", "Stopped"}
    assert states(ledger).keys() == {"answered", "void"}


def test_a_server_that_refuses_all_from_now_on(ledger: Ledger) -> None:
    """It answered before, so 32 refusals in a row are needed; none of them is for good."""
    answered = 0

    def answer(body: Any) -> Canned:
        nonlocal answered
        answered += 1
        if answered <= 15:
            return completion("hello")
        time.sleep(0.2)  # or an answer that was on its way would show that the server is alive
        return error(403, "no longer")

    with serving(answer) as server:
        result = ask(server, ledger, range(10, 100))
    assert set(kinds(result)) == {"str", "EndpointFailed", "Stopped"}
    assert "refused" not in states(ledger)
    assert 15 + 32 <= len(server.requests) <= 15 + 32 + 64


def test_a_firewall_that_dislikes_one_body(ledger: Ledger) -> None:
    with serving(slow(faulty({13: page(403)}))) as server:
        result = ask(server, ledger, range(10, 40))
    assert kinds(result) == {"str": 29, "Unusable": 1}
    assert str(result[3]) == "403: <html>Bad gateway</html>"


@pytest.mark.slow
def test_what_is_tried_again_is_said_once(ledger: Ledger) -> None:
    """With the server's words, and how long it has to be waited for."""
    failed: set[int] = set()

    def answer(body: Any) -> Canned:
        number = number_in(body)
        if number in failed:
            return completion("hello")
        failed.add(number)
        if number % 2:
            return error(429, "slow down")._replace(headers={"retry-after": "1.2"})
        return Canned(0, b"")

    notices: list[str] = []
    with serving(answer) as server:
        assert kinds(ask(server, ledger, range(10, 16), notice=notices.append)) == {"str": 6}
    assert sorted(notices) == [
        "m at loopback: 429: slow down. It is tried again in 1 seconds, as it says, 4 times in all",
        "m at loopback: the connection was lost before the answer came. It is tried again, 4 times "
        "in all; every try is charged at its most",
    ]
