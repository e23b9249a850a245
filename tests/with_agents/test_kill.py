"""Killed at any instant, resumed, and the same in the end: nothing lost, nothing paid twice.

The short proof runs with all tests; the long one (2,000 queries of two steps, 20 kills) by

    make proof
"""

from __future__ import annotations

import math
import os
import random
import signal
import sqlite3
import threading
import time
from contextlib import closing
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tests.agents.server import by_bytes, serving
from tests.with_agents.conftest import contents, environment, recipe_of
from tests.with_agents.families import FAMILIES
from tests.with_agents.processes import start

LONG = bool(os.environ.get("RETGEN_LONG_PROOFS"))
CAP = 20  # dollars
OPTIONS = ("--model", "openai:gpt-5-mini", "--price", "1,4", "--max-usd", str(CAP), "-q")


@pytest.mark.parametrize(
    ("family", "queries", "kills"),
    [
        ("limit", 12, 2),
        pytest.param("limit", 60, 20, marks=pytest.mark.slow),
        *(
            pytest.param(name, 0, 20, marks=pytest.mark.slow)
            for name in FAMILIES
            if name != "limit"
        ),
        pytest.param(
            "limit", 2000, 20, marks=pytest.mark.skipif(not LONG, reason="minutes: make proof")
        ),
    ],
)
def test_killed_and_resumed(tmp_path: Path, family: str, queries: int, kills: int) -> None:
    recipe = FAMILIES[family].write(tmp_path)
    if queries:
        recipe.write_text(recipe_of(queries, queries * 8 // 5 + 6))
    run, whole = tmp_path / "killed" / "run", tmp_path / "whole" / "run"
    ledger, chance = run.parent / "ledger.sqlite", random.Random(f"{family} {queries}")
    to_the_end = threading.Event()

    def say(asked: dict[str, Any]) -> str:
        if not to_the_end.is_set() and len(server.worked) >= unique - 1:
            to_the_end.wait(900)  # so that no process comes to its end before it is killed
        return FAMILIES[family].say(asked)

    with serving(FAMILIES[family].say, usage=by_bytes, delay=0.02) as server:
        env = environment(server)

        def gen(out: Path) -> BaseProcess:
            return start(tmp_path, env, "run", recipe, *OPTIONS, "--out", out)

        process = gen(whole)
        process.join(900)
        assert process.exitcode == 0
        unique, paid = len(server.worked), server.bill
        assert set(server.worked.values()) == {1}
        server.worked.clear()
        server.bill, server.say = 0, say

        for number, moment in enumerate(sorted(chance.choices(range(unique - 1), k=kills))):
            process, sent = gen(run), len(server.requests)
            # some die while they start, the others when so much is answered and they have sent more
            early = time.monotonic() + chance.uniform(0.1, 0.9) if number % 4 == 0 else math.inf
            while len(server.worked) < moment or len(server.requests) == sent:
                assert process.is_alive()
                if time.monotonic() > early:
                    break
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
            process.join()
            assert process.exitcode == -signal.SIGKILL
            bill = server.bill  # before the ledger is read: what comes later is charged there
            assert bill <= charges(ledger)[0] <= CAP * 10**9
        to_the_end.set()
        process = gen(run)
        process.join(900)
        assert process.exitcode == 0
        charged, open_calls, open_usd = charges(ledger)

        for part in ("dataset", "sources", "tables", "training"):
            assert contents(run / part) == contents(whole / part)
        assert (run / "rejected.jsonl").read_bytes() == (whole / "rejected.jsonl").read_bytes()
        # paid: what a run without kills pays, and what was out when a process was killed
        assert len(server.worked) == unique
        assert sum(server.worked.values()) <= unique + open_calls
        assert paid <= server.bill <= charged == paid + open_usd <= CAP * 10**9
        print(f"{family}: {unique} requests, {kills} kills, {open_calls} were in flight")


def charges(ledger: Path) -> tuple[int, int, int]:
    """Nano-dollars charged, and calls without an answer: how many, and what they are charged."""
    if not ledger.exists():
        return 0, 0, 0
    query = (
        "select coalesce(sum(cost), 0), sum(state in ('sent', 'lost')), "
        "coalesce(sum(case when state in ('sent', 'lost') then cost end), 0) from calls"
    )
    with closing(sqlite3.connect(ledger)) as database:
        charged, count, usd = database.execute(query).fetchone()
        return charged, count or 0, usd
