"""`gen run` against servers that fail: what is said, what is charged, and that it can go on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen.agents.models import ModelSettings
from retgen.agents.prices import Prices
from tests.agents.canned import Canned, Server, serving
from tests.agents.minds import mind
from tests.agents.test_outcomes import completion, error, page
from tests.command import Done, in_process
from tests.conftest import read_jsonl
from tests.with_agents.conftest import USAGE, contents, recipe_of

Gen = Callable[..., Done]
Answer = Callable[[dict[str, Any]], Canned]
PRICE = Prices().of(ModelSettings(provider="openai", name="gpt-5-mini"))
assert PRICE is not None
USD = PRICE.of(*USAGE) / 1e9  # of an answer of `healthy`


def healthy(body: dict[str, Any]) -> Canned:
    result = completion(mind(body))
    usage = dict(zip(("prompt_tokens", "completion_tokens"), USAGE, strict=True))
    return result._replace(body={**result.body, "usage": usage})


def about(body: dict[str, Any], text: str) -> bool:
    return any(text in message["content"] for message in body["messages"])


class Switch:
    """A server whose behaviour can be changed while it runs."""

    def __init__(self) -> None:
        self.answer: Answer = healthy

    def __call__(self, body: dict[str, Any]) -> Canned:
        return self.answer(body)


@pytest.fixture
def switch() -> Switch:
    return Switch()


@pytest.fixture
def server(switch: Switch) -> Iterator[Server]:
    with serving(switch) as result:
        yield result


@pytest.fixture
def gen(server: Server, tmp_path: Path) -> Gen:
    (tmp_path / "asked.yaml").write_text(recipe_of(40, 70))
    plain = {name: one for name, one in os.environ.items() if not name.startswith("OPENAI_")}
    env = plain | {"OPENAI_API_KEY": "sk-planted-4f7a0c", "OPENAI_BASE_URL": f"{server.url}/v1"}

    def start(*args: str) -> subprocess.Popen[str]:
        """In a process: what runs beside another one."""
        return subprocess.Popen(
            [sys.executable, "-m", "retgen.cli", *args], env=env, cwd=tmp_path, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def call(*args: str) -> Done:
        return in_process(*args, cwd=tmp_path, env=env)

    call.start = start  # type: ignore[attr-defined]
    return call


def charged(gen: Gen, ledger: str) -> float:
    content = json.loads(gen("ledger", "--ledger", f"{ledger}/ledger.sqlite", "--json").stdout)
    return float(content["runs"][0]["usd"])


@pytest.mark.slow
def test_an_outage_passes(gen: Gen, server: Server, switch: Switch, tmp_path: Path) -> None:
    """In the middle of a run: the same command ends as if it had not been.

    A page in the place of answers; tests/agents/test_faults.py has the other kinds.
    """
    fault = page()
    assert gen("run", "asked.yaml", "--out", "whole/run").returncode == 0
    calls = len(server.requests)
    server.requests.clear()
    switch.answer = lambda body: healthy(body) if len(server.requests) < 40 else fault
    done = gen("run", "asked.yaml", "--out", "ill/run")
    assert done.returncode == 4, done.stderr
    assert "tries), asked by " in done.stderr
    assert "What was answered is kept; run the command again to go on." in done.stderr
    assert done.stderr.endswith("Resume with:\n  gen run asked.yaml --out ill/run\n")
    # pages say nothing of usage, so each stays charged at its most: at least its room
    usd = charged(gen, "ill")
    assert f"Charged so far: ${usd:.4f}." in done.stderr
    pages = [body["max_tokens"] for body in server.requests[39:]]
    assert usd > 39 * USD + PRICE.of(0, sum(pages)) / 1e9
    assert not (tmp_path / "ill/run/rejected.jsonl").read_text().count("tries")
    server.requests.clear()
    switch.answer = healthy
    assert gen("run", "asked.yaml", "--out", "ill/run").returncode == 0
    assert len(server.requests) == calls - 39
    assert contents(tmp_path / "ill/run/dataset") == contents(tmp_path / "whole/run/dataset")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "rule", "reason"),
    [
        (error(400, "Invalid prompt: it was flagged", "invalid_prompt"), "paraphrase_query/filtered",
         "the request was filtered (400: invalid_prompt: Invalid prompt: it was flagged)"),
        pytest.param(page(413), "paraphrase_query/too_long",
         "the request is too large (413: <html>Bad gateway</html>)", marks=pytest.mark.slow),
        pytest.param(
            error(422, "no"), "paraphrase_query/refused", "422: no", marks=pytest.mark.slow
        ),
    ],
)  # fmt: skip
def test_one_record_that_is_always_refused(
    gen: Gen, server: Server, switch: Switch, tmp_path: Path, fault: Canned, rule: str, reason: str
) -> None:
    assert gen("run", "asked.yaml", "--out", "whole/run").returncode == 0
    descriptions = read_jsonl(tmp_path / "whole/run/sources/descriptions.jsonl")
    victim = descriptions[7]["attribute"]
    switch.answer = lambda body: fault if about(body, f'Describe "{victim}"') else healthy(body)
    done = gen("run", "asked.yaml", "--out", "one/run")
    assert done.returncode == 0, done.stderr
    rows = read_jsonl(tmp_path / "one/run/rejected.jsonl")
    (row,) = [row for row in rows if row["rule"] == rule]
    assert (row["reason"], row["record"]["record"]) == (reason, victim)
    others = [
        row["attribute"] for row in read_jsonl(tmp_path / "one/run/sources/descriptions.jsonl")
    ]
    before = [row["attribute"] for row in descriptions]
    assert others[:7] + others[7:39] == before[:7] + before[8:]
    # nobody asks again: not even with a server that would answer now
    server.requests.clear()
    switch.answer = healthy
    first = contents(tmp_path / "one/run/dataset")
    assert gen("run", "asked.yaml", "--out", "one/run", "--fresh").returncode == 0
    assert server.requests == []
    assert contents(tmp_path / "one/run/dataset") == first
    # nor does a replay
    assert gen("ledger", "export", "answers.jsonl", "--run", "one/run").returncode == 0
    done = gen("run", "asked.yaml", "--out", "again/run", "--replay", "answers.jsonl")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "again/run/dataset") == first
    # until it is told to
    done = gen("ledger", "forget", "--run", "one/run", "--state", "refused", "--yes")
    assert done.returncode == 0, done.stderr
    assert gen("run", "asked.yaml", "--out", "one/run", "--fresh").returncode == 0
    assert contents(tmp_path / "one/run/dataset") == contents(tmp_path / "whole/run/dataset")


def test_a_server_without_json_schema(gen: Gen, server: Server, switch: Switch) -> None:
    switch.answer = lambda body: error(400, "response_format json_schema is not supported")
    done = gen("run", "asked.yaml", "--out", "runs/a")
    assert done.returncode == 4
    assert (
        "400: response_format json_schema is not supported, asked by propose_attributes (category '"
    ) in done.stderr
    assert "Add `structured: prompt` to the recipe's model block" in done.stderr
    assert len(server.requests) <= 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("upstage:solar", "gen: upstage:solar cannot be asked: Initializing ChatUpstage requires the "
         "langchain-upstage package. Please install it with `pip install langchain-upstage`"),
        ("{provider: openai, name: m, via: langchain, extra: {temperature: warm}}",
         "gen: openai:m cannot be asked: temperature Input should be a valid number"),
    ],
)  # fmt: skip
def test_a_package_that_does_not_do_is_told_before(
    gen: Gen, server: Server, tmp_path: Path, model: str, message: str
) -> None:
    done = gen("run", "asked.yaml", "--out", "runs/a", "--set", f"model={model}")
    assert done.returncode == 2
    assert done.stderr.startswith(message), done.stderr
    assert server.requests == []
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [700, 1500])
def test_a_model_that_reasons_wastes_little(
    gen: Gen, server: Server, switch: Switch, tmp_path: Path, hidden: int
) -> None:
    """345 requests of four agents, each of which begins with less room than it turns out to need."""
    useful = wasted = 0

    def reasons(body: dict[str, Any]) -> Canned:
        nonlocal useful, wasted
        text = mind(body)
        needed = hidden + len(text) // 4
        room = body["max_tokens"]
        whole = room >= needed
        usage = {"prompt_tokens": 200, "completion_tokens": min(room, needed)}
        if whole:
            useful += 200 * 250 + needed * 2000
        else:
            wasted += 200 * 250 + room * 2000
        result = completion(text if whole else "", "stop" if whole else "length")
        return result._replace(body={**result.body, "usage": usage})

    switch.answer = reasons
    (tmp_path / "asked.yaml").write_text(recipe_of(130, 200))
    done = gen("run", "asked.yaml", "--out", "runs/a", "--max-usd", "5")
    assert done.returncode == 0, done.stderr
    assert len(server.requests) >= 330
    assert charged(gen, "runs") == pytest.approx((useful + wasted) / 1e9)
    assert wasted / (useful + wasted) <= 0.10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("texts", "larger", "reason"),
    [
        ([f"and then there are {chr(97 + n // 26)}{chr(97 + n % 26)} too" for n in range(26 * 60)],
         {1024}, "the answer was cut off, even with room for 1,024 tokens"),
        (["and then there are birds"], set(),
         "the answer repeats itself, to the end of 512 tokens"),
    ],
)  # fmt: skip
def test_a_small_model_that_rambles_is_told_of_at_once(
    gen: Gen, server: Server, switch: Switch, tmp_path: Path, texts: list[str],
    larger: set[int], reason: str,
) -> None:  # fmt: skip
    """Prose at first, then a repair without end, that says new things or the same over and over: no
    answer gets much more room than it needs."""

    def rambles(body: dict[str, Any]) -> Canned:
        if len(body["messages"]) == 2:
            return completion("Sure! Here are some things that people could like: music, trees")
        things = range(body["max_tokens"])
        return completion(" ".join(texts[number % len(texts)] for number in things), "length")

    switch.answer = rambles
    done = gen("run", "asked.yaml", "--out", "runs/a")
    assert done.returncode == 1, done.stderr
    told = [line for line in done.stderr.splitlines() if "cannot be used" in line]
    assert len(told) == 1
    first = (
        "gen: the first 3 answers of openai:gpt-5-mini to propose_attributes cannot be used. The "
    )
    prose = (
        "last one begins 'Sure! Here are some things that people could like: music, tr' and fails: "
    )
    endings = ("it is not JSON", reason)  # a repair may have come to its end before another answer
    assert told[0].startswith(first)
    assert any(f"fails: {one}. If the others are like these" in told[0] for one in endings)
    assert reason in told[0] or prose in told[0]
    rooms = Counter(body["max_tokens"] for body in server.requests)
    assert rooms.keys() == {512} | larger  # a first answer, its repair, and that once with more
    assert all(rooms[512] == 2 * rooms[room] for room in larger)
    rows = read_jsonl(tmp_path / "runs/a/rejected.jsonl")
    assert {row["reason"] for row in rows} == {reason}


@pytest.mark.slow
def test_reasoning_beside_the_answer_cannot_pass_the_cap(
    gen: Gen, server: Server, switch: Switch
) -> None:
    """As xAI states it: total = prompt + completion + reasoning."""

    def beside(body: dict[str, Any]) -> Canned:
        result = healthy(body)
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 2120,
                 "completion_tokens_details": {"reasoning_tokens": 2000}}  # fmt: skip
        return result._replace(body={**result.body, "usage": usage})

    switch.answer = beside
    true = 100 * 0.25e-6 + 2020 * 2e-6
    cap, command = 20 * true, ("run", "asked.yaml", "--out", "runs/a", "--max-usd")
    done = gen(*command, f"{cap:.6f}")
    while done.returncode == 4:  # each agent finds out once; nothing more is sent then
        assert "Nothing more is sent; it is kept. The same command goes on" in done.stderr
        sent = len(server.requests)
        assert charged(gen, "runs") == pytest.approx(sent * true)
        assert sent * true <= cap
        done = gen(*command, f"{cap:.6f}")
    assert done.returncode == 3, done.stderr
    assert charged(gen, "runs") == pytest.approx(len(server.requests) * true)
    assert len(server.requests) * true <= cap
    assert gen(*command, "10").returncode in (0, 4)


@pytest.mark.slow
def test_waiting_for_another_run_says_for_whom_and_how_long(
    gen: Gen, server: Server, switch: Switch, tmp_path: Path
) -> None:
    """Two runs that share a ledger want the same answers; the second waits for the first."""
    released = threading.Event()

    def held(body: dict[str, Any]) -> Canned:
        released.wait(30)
        return healthy(body)

    switch.answer = held
    start = gen.start  # type: ignore[attr-defined]
    first = start("run", "asked.yaml", "--out", "runs/a", "-q")
    while not server.requests:
        time.sleep(0.01)
    second = start("run", "asked.yaml", "--out", "runs/b", "-q")
    line = second.stderr.readline()
    released.set()
    for run in (first, second):
        assert run.communicate(timeout=60) == ("", "")
    assert first.returncode == 0
    assert second.returncode == 0
    assert re.fullmatch(
        r"gen: waiting for process \d+ on this machine, which has sent a request that this run "
        r"needs: until its answer comes, 6[56]\d seconds at most\n",
        line,
    )
    asked = [json.dumps(body, sort_keys=True) for body in server.requests]
    assert len(asked) == len(set(asked))
    assert contents(tmp_path / "runs/a/dataset") == contents(tmp_path / "runs/b/dataset")
