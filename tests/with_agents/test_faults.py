"""`gen run` against servers that fail: what is said, what is charged, and that it can go on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.agents.minds import mind
from tests.agents.server import FAULTS, PRICE, STATUS, Fault, Reply, Worked, by_bytes, serving
from tests.conftest import read_jsonl
from tests.with_agents.conftest import Gen, contents, gen_at, recipe_of
from tests.with_agents.families import FAMILIES

MODEL = (
    "--set",
    "model={provider: openai, name: m, outage_seconds: 0, outage_attempts: 5}",
    "--price",
    "1,4",
)
PARTS = ("dataset", "sources", "tables", "training")


def spent(gen: Gen, folder: str) -> int:
    """Nano-dollars that a ledger has charged."""
    content = json.loads(gen("ledger", "--ledger", f"{folder}/ledger.sqlite", "--json").stdout)
    return sum(round(1e9 * run["usd"]) for run in content["runs"])


# --- outages --------------------------------------------------------------------------------------


class Whole(NamedTuple):
    """A run that nothing disturbed, and how many requests it took."""

    path: Path
    requests: int


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    """The whole run of a family, made once."""
    made: dict[str, Whole] = {}

    def make(family: str) -> Whole:
        if family not in made:
            folder = tmp_path_factory.mktemp(family)
            with serving(FAMILIES[family].say, usage=by_bytes) as server:
                recipe = FAMILIES[family].write(folder)
                done = gen_at(server, folder)("run", recipe, *MODEL, "--out", "a/run")
                assert done.returncode == 0, done.stderr
                made[family] = Whole(folder / "a" / "run", len(server.requests))
        return made[family]

    return make


class Outage:
    """A fault of every request after so many answers, until it is over."""

    def __init__(self, fault: Fault, after: int) -> None:
        self.fault, self.after, self.over = fault, after, False
        self.answered = Counter[str]()

    def __call__(self, worked: Worked) -> Reply | None:
        if not self.over and len(self.answered) >= self.after:
            return self.fault(worked)
        self.answered[json.dumps(worked.asked, sort_keys=True)] += 1
        return None


HANG = "no answer in time"
KINDS: dict[str, tuple[Fault, str]] = {
    HANG: (lambda w: Reply(how="hang"), HANG),
    "hung up": (FAULTS["hung up"], "the connection was lost before the answer came"),
    "429": (FAULTS["429"], "429: slow"),
    "500": (FAULTS["500"], "500: boom"),
    "a page": (FAULTS["a page"], "200: <html>Bad gateway</html>"),
}


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("500", "limit"),
        *(
            pytest.param(kind, family, marks=pytest.mark.slow)
            for kind, family in zip((HANG, "hung up", "429", "a page"), FAMILIES, strict=True)
        ),
    ],
)
def test_an_outage_passes(
    tmp_path: Path, whole: Callable[[str], Whole], kind: str, family: str
) -> None:
    """In the middle of a run: nobody is rejected, and the same command ends as if it had not been."""
    path, calls = whole(family)
    fault, words = KINDS[kind]
    outage = Outage(fault, calls // 2)
    recipe = FAMILIES[family].write(tmp_path)
    timeout = ("--set", "model.timeout=2") if kind == HANG else ()
    with serving(FAMILIES[family].say, outage, usage=by_bytes) as server:
        gen = gen_at(server, tmp_path)
        command = ("run", recipe, *MODEL, "--max-usd", "5", "--out", "ill/run")
        done = gen(*command, *timeout)
        assert done.returncode == 4, done.stderr
        assert f": {words}" in done.stderr
        assert " tries without an answer)" in done.stderr
        assert "Resume with:\n  gen run " in done.stderr
        refused = read_jsonl(tmp_path / "ill" / "run" / "rejected.jsonl")
        assert not [row for row in refused if row["rule"].endswith(("/refused", "/too_long"))]
        assert server.bill <= spent(gen, "ill") <= 5 * 10**9
        outage.over = True
        assert gen(*command).returncode == 0
        assert server.bill <= spent(gen, "ill") <= 5 * 10**9
    for part in PARTS:
        assert contents(tmp_path / "ill" / "run" / part) == contents(path / part)
    assert read_jsonl(tmp_path / "ill/run/rejected.jsonl") == read_jsonl(path / "rejected.jsonl")
    assert (len(outage.answered), sum(outage.answered.values())) == (calls, calls)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "rule", "reason"),
    [
        (
            STATUS["400 too long"],
            "paraphrase_query/too_long",
            "the request is too long for the model (400: maximum context length is 9 tokens)",
        ),
        (STATUS["422"], "paraphrase_query/refused", "422: cannot be processed"),
    ],
)
def test_one_record_that_is_always_refused(
    tmp_path: Path, whole: Callable[[str], Whole], fault: Fault, rule: str, reason: str
) -> None:
    path, _ = whole("limit")
    recipe = FAMILIES["limit"].write(tmp_path)
    descriptions = [row["attribute"] for row in read_jsonl(path / "sources" / "descriptions.jsonl")]
    victim = descriptions[7]

    def refuse(worked: Worked) -> Reply | None:
        return fault(worked) if f'Describe "{victim}"' in str(worked.asked) else None

    with serving(mind, refuse) as server:
        gen = gen_at(server, tmp_path)
        command = ("run", recipe, *MODEL, "--out", "one/run")
        done = gen(*command)
        assert done.returncode == 0, done.stderr
        run = tmp_path / "one" / "run"
        (row,) = [row for row in read_jsonl(run / "rejected.jsonl") if row["rule"] == rule]
        assert (row["reason"], row["record"]["record"]) == (reason, victim)
        others = [row["attribute"] for row in read_jsonl(run / "sources" / "descriptions.jsonl")]
        assert others[:11] == descriptions[:7] + descriptions[8:]
        # nobody asks again: not even with a server that would answer now
        server.fault, first = lambda worked: None, contents(run / "dataset")
        server.requests.clear()
        assert gen(*command, "--fresh").returncode == 0
        assert server.requests == []
        assert contents(run / "dataset") == first
        # nor does a replay
        assert gen("ledger", "export", "answers.jsonl", "--run", "one/run").returncode == 0
        done = gen("run", recipe, *MODEL, "--out", "again/run", "--replay", "answers.jsonl")
        assert done.returncode == 0, done.stderr
        assert contents(tmp_path / "again" / "run" / "dataset") == first
        # until it is told to
        assert gen(*command, "--fresh", "--retry-refused").returncode == 0
        assert len(server.requests) in (1, 2)  # a description, and who recognises it
        assert contents(run / "dataset") == contents(path / "dataset")


@pytest.mark.slow
def test_a_package_that_does_not_do_is_told_before(tmp_path: Path) -> None:
    recipe = FAMILIES["limit"].write(tmp_path)
    model = "{provider: openai, name: m, via: langchain, extra: {temperature: warm}}"
    with serving(mind) as server:
        done = gen_at(server, tmp_path)("run", recipe, "--out", "runs/a", "--set", f"model={model}")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "gen: openai:m cannot be asked: 1 validation error for ChatOpenAI temperature Input should"
    )
    assert server.requests == []
    assert not (tmp_path / "runs").exists()


# --- answers that take more than they may ---------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [700, 1500])
def test_a_model_that_reasons_wastes_little(tmp_path: Path, hidden: int) -> None:
    """345 requests of four agents, each of which begins with fewer tokens than it turns out to need."""
    useful = wasted = 0

    def reasons(worked: Worked) -> Reply:
        nonlocal useful, wasted
        needed = hidden + len(worked.text) // 4
        whole = worked.max_tokens >= needed
        one = worked._replace(tokens_in=200, tokens_out=min(worked.max_tokens, needed))
        if whole:
            useful += PRICE.of(200, needed)
            return Reply(body=one.whole())
        wasted += PRICE.of(200, worked.max_tokens)
        return Reply(body=one.body("", ended="length", usage=one.usage()))

    recipe = tmp_path / "asked.yaml"
    recipe.write_text(recipe_of(130, 200))
    with serving(mind, reasons) as server:
        gen = gen_at(server, tmp_path)
        done = gen("run", recipe, *MODEL, "--out", "runs/a", "--max-usd", "5")
        assert done.returncode == 0, done.stderr
        assert len(server.requests) >= 330
        assert spent(gen, "runs") == useful + wasted
    assert wasted / (useful + wasted) <= 0.10
