"""`gen run --batch`: the same data at half the price, what it refuses, what it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import batch_server
from tests.agents.minds import mind
from tests.command import Done, in_process
from tests.with_agents.conftest import contents, environment, recipe_of
from tests.with_agents.test_batch_kills import MODELS


@pytest.fixture(params=MODELS)
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    with batch_server.serving(request.param, mind) as made:
        made.protocol = request.param
        yield made


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "asked.yaml"
    path.write_text(recipe_of(20, 40))
    return path


def gen(server: Any, recipe: Path, *args: str) -> Done:
    model = MODELS[server.protocol]
    env = environment(None) | batch_server.environment(server.protocol, server)
    return in_process("run", recipe, "--model", model, *args, cwd=recipe.parent, env=env)


def ledger_of(run: Path) -> dict[str, Any]:
    """What a ledger has of its one run."""
    path = run.parent / "ledger.sqlite"
    (result,) = json.loads(in_process("ledger", "--json", "--ledger", path).stdout)["runs"]
    return result


@pytest.mark.slow
@pytest.mark.parametrize("how", ["well", "ill"])
def test_the_same_data_at_half_the_price(server: Any, recipe: Path, how: str) -> None:
    """Also where calls of every kind fail, the queue is full, and requests expire or fail."""
    if how == "ill":
        server.modes, server.unlisted = ["done", "full", "expired", "faulty"], 1
        server.faults = [
            ("upload", 503),
            ("created", 0),
            ("list", b"<html>"),
            ("poll", b"null"),
            ("download", lambda data: data[: len(data) // 2]),
            ("download", 404),
        ]
    done = gen(server, recipe, "--batch", "--max-usd", "1", "--out", "batched/run")
    assert done.returncode == 0, done.stderr
    assert (server.faults, server.direct, server.paid_twice) == ([], 0, 0)
    assert gen(server, recipe, "--out", "direct/run").returncode == 0
    batched, direct = recipe.parent / "batched" / "run", recipe.parent / "direct" / "run"
    for part in ("dataset", "sources"):
        assert contents(batched / part) == contents(direct / part)
    half, full = ledger_of(batched), ledger_of(direct)
    assert full["calls"] == server.direct == len(server.worked)
    if how == "well":
        assert half["calls"] == full["calls"] == sum(server.sizes)
        assert half["usd"] == pytest.approx(full["usd"] / 2, abs=1e-9)


@pytest.mark.slow
def test_without_the_flag_what_is_in_batches_is_not_paid_for_again(recipe: Path) -> None:
    with batch_server.serving("openai", mind) as server:
        server.protocol, server.modes = "openai", ["never"]
        server.faults = [("poll", 401)]
        done = gen(server, recipe, "--batch")
        assert done.returncode == 4
        assert "gen: openai:gpt-5-mini: its batch API fails: 401: not now. Batches" in done.stderr
        assert "Done so far: attributes: 0 of 40. Charged so far: $" in done.stderr
        assert done.stderr.splitlines()[-1].endswith(" --batch")

        done = gen(server, recipe)
        assert (done.returncode, server.direct) == (2, 0)
        assert (
            "is in a batch whose answers were not fetched: --batch takes it up; --no-batch asks "
            "again, and pays for it twice\n"
        ) in done.stderr
        assert gen(server, recipe, "--no-batch").returncode == 0
        assert (len(server.sizes), server.paid_twice) == (1, 0)


@pytest.mark.slow
def test_the_cap_holds_what_a_batch_may_cost(server: Any, recipe: Path) -> None:
    done = gen(server, recipe, "--batch", "--max-usd", "0.0015")
    assert done.returncode == 3, done.stderr
    run = ledger_of(recipe.parent / "outputs" / "asked")
    assert 0 < run["usd"] <= 0.0015
    assert run["calls"] == sum(server.sizes)
    assert server.paid_twice == 0


def test_what_has_no_batches_is_refused_by_name(recipe: Path) -> None:
    model = ("--model", "mistralai:mistral-small-latest")
    done = in_process("run", recipe, "--batch", *model, cwd=recipe.parent, env=environment(None))
    assert (done.returncode, done.stderr) == (
        2,
        "gen: --batch: mistralai:mistral-small-latest has no batch API; models of google_genai and "
        "openai can be asked in batches. Leave --batch out, or name another model\n",
    )
    assert not (recipe.parent / "outputs").exists()


def test_a_plan_at_the_prices_of_batches(recipe: Path) -> None:
    plans = [
        json.loads(in_process("plan", recipe, "--json", *flag, cwd=recipe.parent).stdout)
        for flag in ((), ("--batch",))
    ]
    plain, batched = (one["usd"] for one in plans)
    assert batched == {end: pytest.approx(usd / 2, rel=1e-3) for end, usd in plain.items()}
    text = in_process("plan", recipe, "--batch", cwd=recipe.parent).stdout
    assert "for the calls" not in text
    assert text.endswith(
        ", for batches\nnote: every round of questions and of repairs waits for a batch: minutes to "
        "a day\n"
    )
