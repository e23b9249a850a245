"""The client of a model: paid once, never past the cap, and an outage rejects no record."""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from retgen.agents.chat import Unusable
from retgen.agents.ledger import Ledger
from retgen.agents.limits import Budget, Stop
from retgen.agents.report import CallReport
from retgen.errors import BudgetReached, EndpointFailed
from tests.agents.ledgers import PRICE, WORST, open_client, request, request_all, spent, states
from tests.agents.server import Reply, Server, answering, completion, error, page

COST = PRICE.of(5, 2)  # of an answer of `completion`
HELLO = completion("hello")
Answer = Callable[[dict[str, Any]], Reply]


def ask(server: Server, ledger: Ledger, numbers: Sequence[int], **options: Any) -> list[Any]:
    """Texts and errors of questions that are asked at once."""
    tokens = options.pop("max_tokens", 100)
    requests = (request(number, max_tokens=tokens) for number in numbers)
    return request_all(ledger, server.url, *requests, **options)


def number_in(body: Mapping[str, Any]) -> int:
    result = re.search(r"question (\d+)\.", body["messages"][0]["content"])
    assert result
    return int(result[1])


def faulty(faults: Mapping[int, Reply]) -> Answer:
    """A server that answers all questions but some."""
    return lambda body: faults.get(number_in(body), HELLO)


def in_turn(*answers: Reply) -> Answer:
    """A server that sends these, the last again and again."""
    left = list(answers)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


def kinds(result: Sequence[Any]) -> dict[str, int]:
    return dict(Counter(type(one).__name__ for one in result))


def the(kind: type[Exception], result: Sequence[Any]) -> str:
    """The text of the only error of its kind."""
    (error,) = [one for one in result if type(one) is kind]
    return str(error)


# --- answers --------------------------------------------------------------------------------------


def test_a_request_is_sent_once(ledger: Ledger) -> None:
    with answering(faulty({})) as server:
        first, second, third = CallReport(), CallReport(), CallReport()
        assert ask(server, ledger, [*range(10, 50)], report=first) == ["hello"] * 40
        assert ask(server, ledger, range(10, 50), report=second, run="b") == ["hello"] * 40
        assert ask(server, ledger, [49, 50, 51], report=third) == ["hello"] * 3
        assert ask(server, ledger, [52] * 10, run="c") == ["hello"] * 10
        assert len(server.requests) == 43
    sums = spent(ledger)
    assert sums["a"] == (42, 0, 42 * 5, 42 * 2, 42 * COST)
    assert (sums["b"], sums["c"]) == ((0, 40, 0, 0, 0), (1, 0, 5, 2, COST))
    assert (first.calls, first.cached) == ({"write": 40}, {})
    assert (second.calls, second.cached) == ({}, {"write": 40})
    assert (third.calls, third.cached) == ({"write": 2}, {"write": 1})
    assert (third.tokens_in, third.tokens_out) == ({"write": 3 * 5}, {"write": 3 * 2})
    assert (third.unstated, third.in_flight) == (0, 0)


def test_usage_that_is_not_stated_is_charged_at_the_most(ledger: Ledger) -> None:
    with answering(lambda body: completion("hello", usage=None)) as server:
        counters = CallReport()
        assert ask(server, ledger, [10], report=counters) == ["hello"]
    assert ledger.spent("a").nano_usd == WORST
    assert (counters.unstated, counters.tokens_out) == (1, {"write": 100})


# --- what may pass --------------------------------------------------------------------------------


class Recorded(Stop):
    """Keeps how long is to be slept, and does not sleep so long."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await super().sleep(0)


def test_what_may_pass_is_tried_again_and_said_once(ledger: Ledger) -> None:
    """After delays that double, or as the server says; nobody documents that a 503 is free."""
    later = error(429, "slow down")._replace(headers={"retry-after": "7"})
    answers = error(503, "busy"), error(503, "busy"), later, Reply(0, b""), HELLO
    notices, stop = list[str](), Recorded()
    options = {"stop": stop, "notice": notices.append, "first_delay": 0.5}
    with answering(in_turn(*answers)) as server:
        assert ask(server, ledger, [10], **options) == ["hello"]
        assert len(server.requests) == 5
    # its own pause, or what the server asks for, and the pause before whatever is sent next
    assert stop.slept == [0.5, 0.5, 1.0, 1.0, 7.0, 2.0, 4.0, 4.0]
    assert spent(ledger) == {"a": (5, 0, 5, 2, 3 * WORST + COST)}
    until = "until the server has answered nobody for 0 seconds and 5 tries"
    at_most = "; every try is charged at its most"
    assert notices == [
        f"m at {server.url}: 503: busy. It is tried again, {until}{at_most}",
        f"m at {server.url}: 429: slow down. It is tried again, {until}",
    ]


@pytest.mark.parametrize(
    ("fault", "charged"),
    [
        (Reply(0, b""), WORST),
        (page(), WORST),
        (error(500, "boom"), WORST),
        (error(429, "slow down"), 0),
        (error(502, "upstream", 502)._replace(status=200), WORST),
    ],
)
def test_an_outage_of_any_kind_passes(ledger: Ledger, fault: Reply, charged: int) -> None:
    """Exit 4, charged what is stated or else the most, and the same command then completes."""
    with answering(lambda body: fault) as server:
        result = ask(server, ledger, range(10, 30))
        sent = len(server.requests)
    assert kinds(result).keys() <= {"EndpointFailed", "Stopped"}
    assert ledger.spent("a").nano_usd == charged * sent
    assert set(states(ledger.path)) <= {"failed", "lost"}
    with answering(faulty({})) as healthy:
        assert ask(healthy, ledger, range(10, 30)) == ["hello"] * 20
        assert len(healthy.requests) == 20
    assert ledger.spent("a").nano_usd == charged * sent + 20 * COST


def test_an_outage_in_the_middle_rejects_nobody(ledger: Ledger) -> None:
    numbers = itertools.count(1)
    with answering(lambda body: HELLO if next(numbers) <= 15 else error(502, "down")) as server:
        result = ask(server, ledger, range(10, 60), settings={"concurrency": 8})
    assert set(kinds(result)) == {"str", "EndpointFailed", "Stopped"}
    assert states(ledger.path).keys() == {"answered", "failed"}
    assert states(ledger.path)["answered"] == 15


def test_nobody_there(ledger: Ledger) -> None:
    (result,) = request_all(ledger, "http://127.0.0.1:9/v1", request(10))
    assert re.fullmatch(
        r"m at loopback, asked by write \(number 10\): no connection to .* \(5 tries without an "
        r"answer\)\. No record was rejected for it, and what was answered is kept; run the command "
        r"again to go on\.",
        str(result),
    )
    assert ledger.spent("a").nano_usd == 0


def test_a_record_whose_answer_never_comes_is_not_rejected(ledger: Ledger) -> None:
    """The server may fail for this record alone: nobody knows, and the same command goes on."""
    others = threading.Semaphore(0)

    def answer(body: dict[str, Any]) -> Reply:
        if number_in(body) != 13:
            others.release()
            return HELLO
        for _ in range(29):
            others.acquire()
        others.release(29)
        return error(500, "boom")

    with answering(answer) as server:
        result = ask(server, ledger, range(10, 40))
        assert kinds(result) == {"str": 29, "EndpointFailed": 1}
    assert states(ledger.path).keys() == {"answered", "failed"}
    with answering(faulty({})) as healthy:
        assert ask(healthy, ledger, range(10, 40)) == ["hello"] * 30
        assert len(healthy.requests) == 1


@pytest.mark.parametrize("fault", [error(500, "down"), error(403, "no longer")])
def test_what_the_ledger_answers_is_no_sign_of_life(ledger: Ledger, fault: Reply) -> None:
    """Resumed while the server fails or refuses all: its answers of before say nothing of it now."""

    async def main(url: str) -> list[Any]:
        async with open_client(ledger, url) as client:
            work = (client.request(request(i), "write") for i in range(40, 70))
            new = [asyncio.ensure_future(one) for one in work]
            while states(ledger.path).get("failed", 0) < 4:
                await asyncio.sleep(0.01)
            old = (client.request(request(i), "write") for i in range(10, 40))
            return await asyncio.gather(*old, *new, return_exceptions=True)

    with answering(faulty({})) as server:
        ask(server, ledger, range(10, 40))
    with answering(lambda body: fault) as server:
        result = asyncio.run(main(server.url))
    assert "EndpointFailed" in kinds(result[30:])
    assert states(ledger.path).keys() == {"answered", "failed"}


# --- refusals -------------------------------------------------------------------------------------

FILTERED = "the request or its answer was filtered, or the model refused"


@pytest.mark.parametrize(
    ("fault", "why", "reason", "concurrency"),
    [
        (
            error(400, "flagged", "invalid_prompt"),
            "filtered",
            f"{FILTERED} (400: invalid_prompt: flagged)",
            1,
        ),
        (completion("he", "content_filter"), "filtered", f"{FILTERED} (content_filter)", 64),
        (
            error(400, "maximum context length is 9 tokens"),
            "too_long",
            "the request is too long for the model (400: maximum context length is 9 tokens)",
            64,
        ),
        (page(413), "refused", "413: <html>Bad gateway</html>", 1),
        (error(400, "no"), "refused", "400: no", 64),
    ],
)
def test_a_record_that_is_always_refused(
    ledger: Ledger, fault: Reply, why: str, reason: str, concurrency: int
) -> None:
    """It is rejected with the server's words, the others go on, and it is not asked again."""
    with answering(faulty({13: fault})) as server:
        result = ask(server, ledger, range(10, 40), settings={"concurrency": concurrency})
        assert kinds(result) == {"str": 29, "Unusable": 1}
        assert isinstance(result[3], Unusable)
        assert (result[3].why, str(result[3])) == (why, reason)
        assert len(server.requests) == 30
        again = ask(server, ledger, range(10, 40))
        assert (again[3].why, str(again[3])) == (why, reason)
        assert again[:3] + again[4:] == result[:3] + result[4:] == ["hello"] * 29
        assert len(server.requests) == 30
    cost = COST if fault.status == 200 else WORST
    assert ledger.spent("a").nano_usd == 29 * COST + cost
    assert states(ledger.path) == {"answered": 29, "refused": 1}


@pytest.mark.parametrize("refused", [10, 15])
def test_the_first_or_the_last_record_is_refused(ledger: Ledger, refused: int) -> None:
    """One request at a time: the next answer tells, and after the last record those before."""
    with answering(faulty({refused: error(400, "no")})) as server:
        result = ask(server, ledger, range(10, 16), settings={"concurrency": 1})
        assert (kinds(result), str(result[refused - 10])) == ({"Unusable": 1, "str": 5}, "400: no")
    kept = states(ledger.path)
    assert (kept["answered"], kept["refused"]) == (5, 1)
    assert kept.get("failed", 0) <= 1  # it was sent again if the next answer took long


def test_every_record_is_refused(ledger: Ledger) -> None:
    words = "Invalid parameter: 'response_format' of type 'json_schema' is not supported"
    with answering(lambda body: error(400, words)) as server:
        result = ask(server, ledger, range(10, 30))
        first = next(one for one in result if isinstance(one, EndpointFailed))
        assert re.fullmatch(
            rf"m at loopback, asked by write \(number \d\d\): 400: {words}\. Add `structured: "
            r"prompt` to the recipe's model block: then the prompt says what form an answer has\. "
            r"No record was rejected for it, and what was answered is kept; correct this, and run "
            r"again\.",
            str(first),
        )
        sent = len(server.requests)
        assert 8 <= sent <= 15  # eight are enough, and seven more may be in flight
        assert states(ledger.path) == {"failed": sent}
        assert ledger.spent("a").nano_usd == sent * WORST
    with answering(faulty({})) as healthy:  # nothing was rejected, so nothing is lost
        assert ask(healthy, ledger, range(10, 30)) == ["hello"] * 20


@pytest.mark.parametrize(("count", "kind"), [(19, "Unusable"), (20, "EndpointFailed")])
def test_a_server_that_refuses_all_from_now_on(ledger: Ledger, count: int, kind: str) -> None:
    """It answered before: up to 19 refusals in a row are their records', more are the server's."""
    with answering(faulty({})) as server:
        ask(server, ledger, range(10, 25))
    with answering(lambda body: error(403, "no longer")) as server:
        result = ask(server, ledger, [*range(10, 25), *range(30, 30 + count)])
        assert len(server.requests) == count
    assert kind in kinds(result)
    assert states(ledger.path) == {
        "answered": 15,
        "refused" if kind == "Unusable" else "failed": count,
    }


def test_agents_are_told_apart(ledger: Ledger) -> None:
    """That a judge is answered says nothing of a writer's schema."""
    judged = threading.Event()

    async def main(url: str) -> list[Any]:
        async with open_client(ledger, url) as client:
            work = [client.request(request(i), "write" if i < 20 else "judge") for i in (10, 20)]
            return await asyncio.gather(*work, return_exceptions=True)

    def answer(body: dict[str, Any]) -> Reply:
        if number_in(body) == 20:
            judged.set()
            return HELLO
        judged.wait()
        return error(400, "no")

    with answering(answer) as server:
        result = asyncio.run(main(server.url))
    assert isinstance(result[0], EndpointFailed)
    assert "refused" not in states(ledger.path)


# --- what ends a run ------------------------------------------------------------------------------


def test_what_no_record_can_help_stops_the_others(ledger: Ledger) -> None:
    stop, one = Stop(), {"concurrency": 1}
    with answering(faulty({10: error(401, "Not with sk-planted-0123.")})) as server:
        result = ask(server, ledger, range(10, 41), stop=stop, settings=one)
        assert kinds(result) == {"EndpointFailed": 1, "Stopped": 30}
        assert len(server.requests) == 1
    assert result[0] is stop.error
    assert result[0].exit_code == 4
    assert str(result[0]) == (
        "m at loopback, asked by write (number 10): 401: Not with [key]. `gen doctor` shows which "
        "keys are set. No record was rejected for it, and what was answered is kept; correct this, "
        "and run again."
    )
    assert ledger.spent("a").nano_usd == 0


def test_what_is_in_flight_when_it_stops_is_kept(ledger: Ledger) -> None:
    stopped = threading.Event()

    def answer(body: dict[str, Any]) -> Reply:
        if number_in(body) == 10:
            return error(401, "no")
        stopped.wait()
        return HELLO

    async def main(url: str) -> list[Any]:
        async with open_client(ledger, url) as client:
            work = (client.request(request(i), "write") for i in range(10, 40))
            tasks = [asyncio.ensure_future(one) for one in work]
            await asyncio.wait(tasks[:1])
            stopped.set()
            return await asyncio.gather(*tasks, return_exceptions=True)

    with answering(answer) as server:
        result = asyncio.run(main(server.url))
        assert len(server.requests) == 8  # so many go out at first
    assert kinds(result) == {"EndpointFailed": 1, "str": 7, "Stopped": 22}
    assert spent(ledger) == {"a": (8, 0, 35, 14, 7 * COST)}


def test_a_stop_ends_a_back_off_at_once(ledger: Ledger) -> None:
    stop = Stop()
    options = {"stop": stop, "first_delay": 3600.0, "notice": lambda text: stop.set()}
    with answering(lambda body: error(500, "boom")) as server:
        assert kinds(ask(server, ledger, [10], **options)) == {"Stopped": 1}
        assert len(server.requests) == 1


def test_cancelled_at_any_moment_the_client_goes_on(ledger: Ledger) -> None:
    """What reached the server was committed before, and what was not sent holds up nobody."""

    stop = Stop()
    budget = Budget(10**12, 0, stop)

    async def main(server: Server) -> str:
        async with open_client(ledger, server.url, stop=stop, budget=budget) as client:
            work = (client.request(request(i), "write") for i in range(1000, 1200))
            tasks = [asyncio.ensure_future(one) for one in work]
            while len(server.requests) < 30:
                await asyncio.sleep(0.001)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            return await client.request(request(10), "write")

    with answering(faulty({})) as server:
        assert asyncio.run(main(server)) == "hello"
        assert 30 < len(server.requests) <= ledger.spent("a").calls
    assert budget.charged >= ledger.spent("a").nano_usd


# --- the cap --------------------------------------------------------------------------------------


def test_the_cap_is_never_passed_and_can_be_raised(ledger: Ledger) -> None:
    """There is room for three at their worst; each that is answered makes room for more."""
    cap = 3 * WORST
    answered = (cap - WORST) // COST + 1
    with answering(faulty({})) as server:
        result = ask(server, ledger, range(100, 300), cap=cap)
        assert kinds(result) == {"str": answered, "BudgetReached": 1, "Stopped": 199 - answered}
        assert len(server.requests) == answered == 91
        assert ledger.spent("a").nano_usd == answered * COST <= cap
        left = (cap - answered * COST) / 1e9
        assert the(BudgetReached, result) == (
            f"the next call could cost ${PRICE.worst(request(100), 100) / 1e9:.4f}, and "
            f"${left:.4f} of the cap are left. Raise --max-usd to go on; what was answered is kept."
        )
        assert ask(server, ledger, range(100, 300)) == ["hello"] * 200
        assert len(server.requests) == 200


def test_a_cap_below_one_call_sends_nothing(ledger: Ledger) -> None:
    with answering(faulty({})) as server:
        result = ask(server, ledger, [10, 11], cap=WORST - 1)
        assert kinds(result) == {"BudgetReached": 1, "Stopped": 1}
        assert (server.requests, ledger.sums()) == ([], [])
        ask(server, ledger, [10])
        assert ask(server, ledger, [10], cap=0) == ["hello"]  # the ledger's answers need none


def with_usage(tokens_in: int, tokens_out: int, **more: Any) -> Reply:
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, **more}
    return completion("hello", usage=usage)


@pytest.mark.parametrize("beside", [False, True])
def test_a_server_that_spends_more_than_it_was_given(ledger: Ledger, beside: bool) -> None:
    """The first such answer halts what is not yet sent; the same command then goes on."""
    # as xAI states it, or as all others
    spent = with_usage(5, 2, total_tokens=2007) if beside else with_usage(5, 2002)
    true = PRICE.of(5, 2002)
    with answering(lambda body: spent) as server:
        result = ask(server, ledger, range(10, 60), cap=10 * true)
        assert kinds(result).keys() == {"EndpointFailed", "Stopped"}
        sent = len(server.requests)
        assert sent <= 8  # what is in flight at first
        assert ledger.spent("a").nano_usd == sent * true
        first = next(one for one in result if isinstance(one, EndpointFailed))
        assert re.sub(r"number \d\d", "number N", str(first)) == (
            "m at loopback, asked by write (number N): an answer took more tokens than its "
            f"request allowed, and costs ${true / 1e9:.4f} where at most ${WORST / 1e9:.4f} were "
            "reserved, so the cap could be passed. Nothing more is sent; the answer is kept. The "
            "same command goes on if --max-usd allows it, and reserves half as much again as that "
            "for every call."
        )
        # from now on the worst case is known, and the cap holds
        assert "BudgetReached" in kinds(ask(server, ledger, range(10, 60), cap=10 * true))
        assert ledger.spent("a").nano_usd == len(server.requests) * true <= 10 * true
        assert ask(server, ledger, range(10, 60)) == ["hello"] * 50
        assert len(server.requests) == 50


def test_overshoot_is_bounded_by_what_is_in_flight(ledger: Ledger) -> None:
    """After a hundred plain answers, with 64 in flight."""
    excess = with_usage(5, 10_000)
    with answering(lambda body: HELLO if number_in(body) < 1000 else excess) as server:
        cap = 100 * COST + 70 * WORST
        assert ask(server, ledger, range(100, 200), cap=cap) == ["hello"] * 100
        result = ask(server, ledger, range(1000, 1400), cap=cap)
        assert kinds(result).keys() == {"EndpointFailed", "Stopped"}
        more = len(server.requests) - 100
        assert more <= 64
        assert ledger.spent("a").nano_usd == 100 * COST + more * PRICE.of(5, 10_000)


# --- tokens of an answer --------------------------------------------------------------------------


def reasoning(hidden: int, visible: int = 40) -> Answer:
    """A model that spends `hidden` tokens before it writes, out of the same `max_tokens`."""

    def answer(body: dict[str, Any]) -> Reply:
        most, needed = body["max_tokens"], hidden + visible
        details = {"reasoning_tokens": min(most, hidden)}
        result = with_usage(30, min(most, needed), completion_tokens_details=details)
        if most < needed:
            return completion("", "length", result.body["usage"])
        return result

    return answer


def asked_tokens(server: Server) -> Counter[int]:
    return Counter(body["max_tokens"] for body in server.requests)


def test_hidden_tokens_are_learned_from_the_first_that_is_cut_off(ledger: Ledger) -> None:
    with answering(reasoning(700)) as server:
        one = {"concurrency": 1}
        assert ask(server, ledger, range(10, 30), max_tokens=512, settings=one) == ["hello"] * 20
        assert asked_tokens(server) == {512: 1, 2048: 20}
        # more tokens are no other question
        assert ask(server, ledger, range(10, 30), max_tokens=100) == ["hello"] * 20
        assert len(server.requests) == 21
    assert states(ledger.path) == {"answered": 20, "failed": 1}
    assert ledger.spent("a").nano_usd == PRICE.of(30, 512) + 20 * PRICE.of(30, 740)


def test_one_answer_without_end_is_rejected(ledger: Ledger) -> None:
    """Text that fills all its tokens is asked for with twice as many, once; nobody else gets more."""

    def answer(body: dict[str, Any]) -> Reply:
        return (
            completion("x" * 2 * body["max_tokens"], "length") if number_in(body) == 13 else HELLO
        )

    with answering(answer) as server:
        result = ask(server, ledger, range(10, 30))
        assert kinds(result) == {"str": 19, "Unusable": 1}
        assert str(result[3]) == "the answer was cut off, even with 200 tokens"
        assert asked_tokens(server) == {100: 20, 200: 1}
    assert states(ledger.path) == {"answered": 19, "failed": 1, "refused": 1}


def test_a_model_that_writes_fewer_tokens(ledger: Ledger) -> None:
    """What it cannot write is not asked for again; the refusals are charged at their most."""
    most = 300

    def answer(body: dict[str, Any]) -> Reply:
        too_many = body["max_tokens"] > most
        return error(400, f"max_tokens is too large: at most {most}") if too_many else HELLO

    with answering(answer) as server:
        assert ask(server, ledger, range(10, 30), max_tokens=4096) == ["hello"] * 20
        refused = [tokens for tokens in asked_tokens(server).elements() if tokens > most]
        assert len(server.requests) == 20 + len(refused)
        assert len(refused) <= 4 * 8  # four halvings, of what is in flight
    charged = sum(PRICE.worst(request(10), tokens) for tokens in refused)
    assert ledger.spent("a").nano_usd == 20 * COST + charged


def test_a_request_that_is_too_long_takes_no_tokens_from_others(ledger: Ledger) -> None:
    """It is asked for a shorter answer, in vain; the others get as many tokens as they need."""
    words = "maximum context length is 99 tokens; you requested 120 (90 in the messages, 30 in the completion)"
    with answering(faulty({13: error(400, words)})) as server:
        result = ask(server, ledger, range(10, 40))
        assert (kinds(result), str(result[3])) == ({"str": 29, "Unusable": 1}, f"400: {words}")
        tokens = [(number_in(body), body["max_tokens"]) for body in server.requests]
    assert [n for number, n in tokens if number == 13] == [100, 50, 25]
    assert {n for number, n in tokens if number != 13} == {100}


def test_a_server_with_another_name_for_max_tokens(ledger: Ledger) -> None:
    """As OpenAI's own models have, behind another address: it gets that, and as many tokens."""
    words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."

    def answer(body: dict[str, Any]) -> Reply:
        return HELLO if "max_completion_tokens" in body else error(400, words)

    with answering(answer) as server:
        result = ask(server, ledger, range(10, 30), settings={"outage_attempts": 20})
        assert result == ["hello"] * 20
        renamed = [
            body["max_completion_tokens"] for body in server.requests if "max_tokens" not in body
        ]
        assert renamed == [100] * 20
        assert len(server.requests) <= 20 + 8  # what was in flight at first
