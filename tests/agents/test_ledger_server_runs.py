"""Runs and writers on one PostgreSQL ledger: from two machines, killed, under a cap."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from retgen.agents.ledger import Ledger
from retgen.agents.ledger.care import check
from tests.agents.ledgers import gen
from tests.agents.minds import mind
from tests.agents.postgres import PASSWORD, USER
from tests.agents.server import serving
from tests.agents.test_caller import request
from tests.command import Done, in_process
from tests.with_agents.conftest import environment, recipe_of


@pytest.mark.slow
def test_two_machines_pay_once(tmp_path: Path, url: str) -> None:
    """Two folders stand for them. What both make is the same, and no text has the password."""
    with serving(mind) as server:

        def run(machine: str, *options: str) -> Done:
            folder = tmp_path / machine
            folder.mkdir(exist_ok=True)
            (folder / "asked.yaml").write_text(recipe_of(12, 30))
            words = ("run", "asked.yaml", "--ledger", url, *options)
            return in_process(*words, cwd=folder, env=environment(server))

        stopped = run("here", "--max-usd", "0.0005", "-v")
        assert (stopped.returncode, stopped.stdout) == (3, "")
        assert "Traceback" in stopped.stderr
        shown = f"--ledger postgresql://{USER}@127.0.0.1"
        assert shown in stopped.stderr
        first = run("here")
        assert first.returncode == 0, first.stderr
        paid = len(server.requests)
        second = run("there")
        assert second.returncode == 0, second.stderr
        assert len(server.requests) == paid
        with closing(Ledger(url)) as ledger:
            (spent,) = ledger.runs()  # one run: it has one name wherever it is
            assert (spent.run, spent.calls) == ("asked", paid)
            assert check(ledger).findings == []
        listed = gen("--run", tmp_path / "there" / "outputs" / "asked", "--ledger", url, "--json")
        assert json.loads(listed.stdout)["ledger"].startswith(f"postgresql://{USER}@127.0.0.1:")
        answers = tmp_path / "answers.jsonl"
        exported = gen("export", answers, "--run", "asked", "--ledger", url)
        assert exported.returncode == 0
        replayed = run("replayed", "--replay", str(answers))
        assert replayed.returncode == 0, replayed.stderr
        assert len(server.requests) == paid
    files = [
        {
            one.relative_to(root): one.read_bytes()
            for one in sorted(root.rglob("*")) if one.is_file() and "dataset" in one.parts
        }
        for root in (tmp_path / name / "outputs" / "asked" for name in ("here", "there", "replayed"))
    ]  # fmt: skip
    assert files[0] == files[1] == files[2] != {}
    texts = [one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()]
    for done in (stopped, first, second, exported, listed, replayed):
        texts.append((done.stdout + done.stderr).encode())
    assert not any(PASSWORD.encode() in text for text in texts)


# of an answer: all that it may cost, so that the cap is one of 150 requests
BYTES = len(request(100).body)
COST = 1000 * BYTES
WRITER = """
import asyncio, random, sys
from retgen.agents.flow import Flight, Stop
from retgen.agents.backends.openai import OpenAIChat
from retgen.agents.caller import Caller
from retgen.agents.ledger import Ledger, Writer
from retgen.agents.models import ModelSettings
from retgen.agents.prices import Price
from tests.agents.test_caller import request

server, place, seed = sys.argv[1:]

async def main():
    ledger = Ledger(place)
    ledger.abandon("a")
    writer, chat = Writer(ledger), OpenAIChat(base_url=server, api_key="sk", timeout=30.0)
    caller = Caller(
        ledger, writer, chat, ModelSettings(provider="openai", name="any", concurrency=6),
        run="a", price=Price(1000, 0), cap=150 * 1000 * len(request(100).body), stop=Stop(), flight=Flight(), first_delay=0.01,
    )
    numbers = list(range(100, 300))
    random.Random(int(seed)).shuffle(numbers)
    print("begins", flush=True)
    calls = (caller.ask(request(number), "write") for number in numbers)
    results = await asyncio.gather(*calls, return_exceptions=True)
    print(sorted({type(one).__name__ for one in results}))
    await caller.close()
    writer.close()
    ledger.close()

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_eight_writers_with_kills_send_nothing_twice(url: str, seed: int) -> None:
    """200 requests and money for 150 of them; five of the writers are killed, others come.

    What a killed writer had sent and not heard of stays charged, and is sent again: nothing else.
    """
    chance = random.Random(seed)
    Ledger(url).close()
    with serving(delay=0.1) as server:
        server.usage = BYTES, 2

        def start(number: int) -> subprocess.Popen[str]:
            return subprocess.Popen(
                [sys.executable, "-c", WRITER, server.url, url, str(number)],
                stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
            )  # fmt: skip

        writers = [start(number) for number in range(8)]
        for number in range(5):
            writer = writers[chance.randrange(8)]
            assert writer.stdout is not None
            writer.stdout.readline()  # it has begun
            time.sleep(chance.uniform(0.05, 0.4))
            writer.kill()
            writer.wait()
            writer.stdout.close()
            writers[writers.index(writer)] = start(100 + number)
        results = [writer.communicate(timeout=120)[0].splitlines()[-1] for writer in writers]
        sent = Counter(body["messages"][0]["content"] for body in server.requests)
    assert all(one.startswith("['BudgetReached'") for one in results), results
    with closing(Ledger(url)) as ledger:
        assert check(ledger).findings == []
        spent = ledger.spent("a")
        with ledger.read_transaction() as db:
            twice = db.execute(
                "SELECT count(*) FROM sends GROUP BY key HAVING count(*) > 1"
            ).fetchall()
            states = Counter(row[0] for row in db.execute("SELECT state FROM sends").fetchall())
            ended = db.execute(
                "SELECT count(*) FROM sends WHERE state = 'sent' AND lease = 0"
            ).fetchone()[0]
            answered = db.execute(
                "SELECT count(*), count(DISTINCT key) FROM sends WHERE state = 'answered'"
            ).fetchone()
    assert answered[0] == answered[1]
    assert {*states} <= {"answered", "sent"}
    # a request came twice only where the first was of a writer that was killed
    assert sum(sent.values()) - len(sent) <= sum(row[0] - 1 for row in twice) <= ended
    assert sum(sent.values()) <= spent.calls == 150
    assert spent.nano_usd == 150 * COST
