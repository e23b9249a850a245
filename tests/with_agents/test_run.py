"""`gen run` with a model: what it makes, what it costs, where it stops, and what it says."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.agents.minds import description, mind
from tests.agents.server import Server, serving
from tests.conftest import read_jsonl
from tests.with_agents.conftest import (
    KEY,
    Gen,
    arrived,
    begin,
    contents,
    environment,
    gen_at,
    holding,
    read_to,
    recipe_of,
)


@pytest.mark.slow
def test_a_data_set_that_a_model_wrote(ask: Gen, asked: Path, server: Server) -> None:
    done = ask("run", asked, "--out", "runs/a", "--price", "0.25,2")
    assert done.returncode == 0, done.stderr
    run = asked.parent / "runs" / "a"
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["counts"]["documents"] == 120
    assert manifest["counts"]["queries"] == 60
    assert manifest["evidence"] == {"structural": 0, "judged": 120, "human": 0}
    assert manifest["calls"] == len(server.requests)
    assert manifest["tokens"] == {"in": 200 * manifest["calls"], "out": 12 * manifest["calls"]}
    assert manifest["usd"] == pytest.approx(manifest["calls"] * (200 * 0.25 + 12 * 2.0) / 1e6)
    agents = ["identify_attribute", "paraphrase_query", "propose_attributes", "remove_overlaps"]
    assert sorted(manifest["models"]) == agents
    assert sorted(manifest["prompts"]) == [f"limit/{agent}" for agent in agents]
    assert manifest["models"]["paraphrase_query"]["model"] == "openai:gpt-5-mini"
    # the catalogue is exactly as large as asked, and what was refused says why
    listed = (run / "sources" / "attributes.txt").read_text().splitlines()
    attributes = [line for line in listed if line and not line.startswith("[")]
    assert len(attributes) == len(set(attributes)) == 100
    rejected = read_jsonl(run / "rejected.jsonl")
    assert manifest["counts"]["rejected"] == len(rejected)
    rules = {row["rule"] for row in rejected}
    assert "attributes/form" in rules
    assert "identify_attribute/answer" in rules
    # every query is a description that the model gave, and the proof reads it back
    rows = read_jsonl(run / "sources" / "descriptions.jsonl")
    assert {row["description"] for row in rows} == {description(row["attribute"]) for row in rows}
    texts = {row["text"] for row in read_jsonl(run / "dataset" / "queries.jsonl")}
    assert texts == {f"Who likes {row['description']}?" for row in rows}
    assert json.loads(ask("validate", run, "--json").stdout)["findings"] == []


@pytest.mark.slow
def test_a_second_run_pays_nothing_and_concurrency_changes_no_byte(
    ask: Gen, asked: Path, server: Server
) -> None:
    assert ask("run", asked, "--out", "runs/a").returncode == 0
    paid = len(server.requests)
    assert ask("run", asked, "--out", "runs/b").returncode == 0
    assert ask("run", asked, "--out", "runs/../runs/a").returncode == 0
    assert len(server.requests) == paid
    ledger = json.loads(ask("ledger", "--ledger", "runs/ledger.sqlite", "--json").stdout)
    assert [run["run"] for run in ledger["runs"]] == ["a", "b"]
    one = asked.read_text().replace(
        "model: openai:gpt-5-mini", "model: {provider: openai, name: gpt-5-mini, concurrency: 1}"
    )
    asked.write_text(one)
    # another ledger, so everything is asked again, one after the other
    assert ask("run", asked, "--out", "other/a").returncode == 0
    assert len(server.requests) == 2 * paid
    runs = ("runs/a", "runs/b", "other/a")
    first, again, other = (contents(asked.parent / run / "dataset") for run in runs)
    assert first == again == other
    # the page shows the pace of the recipe, and is compared with it
    assert json.loads(ask("validate", "other/a", "--json").stdout)["findings"] == []


@pytest.mark.slow
def test_the_key_is_nowhere(ask: Gen, asked: Path, server: Server) -> None:
    env = environment(server)
    del env["OPENAI_API_KEY"]
    (asked.parent / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    run, at = ("run", asked, "-v", "--out"), ("--ledger", "runs/ledger.sqlite")
    commands = [
        ask(*words, env=env)
        for words in (
            (*run, "runs/a"),
            # a server that repeats it in its error, and a traceback
            (*run, "runs/b", "--model", "openai:status-401"),
            ("doctor",),
            ("ledger", *at),
            ("ledger", "export", "answers.jsonl", *at),
        )
    ]
    assert [one.returncode for one in commands] == [0, 4, 0, 0, 0]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert "[key]" in commands[1].stderr
    assert "set in .env" in commands[2].stdout
    (asked.parent / ".env").unlink()
    for one in commands:
        assert KEY not in one.stdout + one.stderr
    for name, data in contents(asked.parent).items():
        assert KEY.encode() not in data, name


def test_without_a_key_nothing_is_sent(ask: Gen, asked: Path, server: Server) -> None:
    env = environment(None)
    done = ask("run", asked, "--out", "runs/a", env=env)
    assert done.returncode == 2
    assert done.stderr == (
        "gen: openai:gpt-5-mini needs a key: set OPENAI_API_KEY in the environment or in a .env "
        "file in this folder\n"
    )
    assert server.requests == []


@pytest.mark.slow
def test_the_cap_holds_and_can_be_raised(tmp_path: Path) -> None:
    """1,000 calls and more at a known price, capped at a third of what they cost."""
    recipe = tmp_path / "asked.yaml"
    recipe.write_text(recipe_of(420, 680))
    # much less than the worst case takes them for
    with serving(mind, usage=(300, 200)) as server:
        gen = gen_at(server, tmp_path)
        price = "--price", "10,40"
        assert gen("run", recipe, "--out", "whole/run", *price).returncode == 0
        manifest = json.loads((tmp_path / "whole/run/manifest.json").read_text())
        calls = len(server.requests)
        assert calls >= 1000
        assert manifest["usd"] == pytest.approx(calls * 0.011)
        server.requests.clear()

        cap = manifest["usd"] / 3
        stopped = gen("run", recipe, "--out", "capped/run", *price, "--max-usd", f"{cap:.6f}")
        assert stopped.returncode == 3
        assert "of the cap are left. Raise --max-usd to go on; what was answered is kept." in (
            stopped.stderr
        )
        assert "Done so far: attributes: 680 of 680, descriptions: " in stopped.stderr
        assert "Resume with:\n  gen run" in stopped.stderr
        assert "--max-usd MORE" in stopped.stderr  # the same cap would stop it again
        ledger = json.loads(gen("ledger", "--ledger", "capped/ledger.sqlite", "--json").stdout)
        (spent,) = ledger["runs"]
        assert spent["calls"] == len(server.requests)
        assert spent["usd"] == pytest.approx(spent["calls"] * 0.011)
        # as far as one more worst case: never above, and not given up early
        assert cap - 0.2 < spent["usd"] <= cap

        assert gen("run", recipe, "--out", "capped/run", *price, "--max-usd", "100").returncode == 0
        assert len(server.requests) == calls
        assert contents(tmp_path / "capped/run/dataset") == contents(tmp_path / "whole/run/dataset")


@pytest.mark.slow
def test_a_replay_needs_neither_key_nor_network(ask: Gen, asked: Path, server: Server) -> None:
    assert ask("run", asked, "--out", "runs/a").returncode == 0
    sizes = ("params.queries=5", "params.docs=9", "params.attributes_per_doc=4")
    other = [word for size in sizes for word in ("--set", size)]
    model = ("--model", "openai:gpt-5-mini")
    assert ask("run", "limit_small", *model, *other, "--out", "runs/other").returncode == 0
    done = ask("ledger", "export", "answers.jsonl", "--run", "runs/a")
    paid = len(server.requests)
    manifest = json.loads((asked.parent / "runs/a/manifest.json").read_text())
    assert done.stdout == f"wrote {manifest['calls']:,} answers to answers.jsonl\n"
    assert len(read_jsonl(asked.parent / "answers.jsonl")) == manifest["calls"] < paid
    # the address is a part of each request, and nobody listens there any more
    env = environment(None) | {"OPENAI_BASE_URL": server.url}
    server.shutdown()
    done = ask("run", asked, "--out", "again/a", "--replay", "answers.jsonl", env=env)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == paid
    assert contents(asked.parent / "again/a/dataset") == contents(asked.parent / "runs/a/dataset")
    assert not (asked.parent / "again/ledger.sqlite").exists()

    done = ask("run", asked, "--out", "third/a", "--replay", "answers.jsonl", env=environment(None))
    assert done.returncode == 2
    assert "answers.jsonl holds no answer of openai to a request of this recipe" in done.stderr
    lines = (asked.parent / "answers.jsonl").read_text().splitlines()
    lines[2] = lines[2].replace("gpt-5-mini", "gpt-5-nano")
    (asked.parent / "answers.jsonl").write_text("\n".join(lines))
    done = ask("run", asked, "--out", "third/b", "--replay", "answers.jsonl", env=env)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "gen: answers.jsonl, line 3: is no answer as gen ledger export writes it: its request was "
        "changed"
    )


@pytest.mark.slow
def test_a_pilot_plans_from_what_it_saw(ask: Gen, asked: Path, server: Server) -> None:
    done = ask("run", asked, "--out", "runs/a", "--pilot", "10")
    assert done.returncode == 0, done.stderr
    tried = len(server.requests)
    assert tried < 60
    assert "note: pilot, descriptions: 10 of " in done.stdout
    assert done.stdout.splitlines()[-1] == f"  gen run {asked} --out runs/a"
    planned = json.loads(ask("run", asked, "--out", "runs/a", "--pilot", "10", "--json").stdout)
    assert len(server.requests) == tried  # from the ledger
    assert planned["calls"]["paraphrase_query"] >= 60
    assert planned["usd"]["low"] <= planned["usd"]["high"]
    assert ask("run", asked, "--out", "runs/a").returncode == 0
    manifest = json.loads((asked.parent / "runs/a/manifest.json").read_text())
    assert planned["usd"]["low"] < manifest["usd"] < 2 * planned["usd"]["high"]


def test_what_a_plan_says(ask: Gen, asked: Path, server: Server) -> None:
    planned = json.loads(ask("plan", asked, "--json").stdout)
    assert planned["calls"] == {
        "propose_attributes": 8,
        "remove_overlaps": 6,
        "paraphrase_query": 90,
        "identify_attribute": 93,
    }
    assert 0 < planned["usd"]["low"] < planned["usd"]["high"] < 1
    assert 0 < planned["seconds"]["low"] < planned["seconds"]["high"]
    unknown = ask("plan", asked, "--model", "openai:mine").stdout
    assert "           ?  at these prices" in unknown
    assert "note: the price of openai:mine is not known: add --price openai:mine=IN,OUT" in unknown
    assert server.requests == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ("status-401", 4, "401: not with [key]. "),
        ("too-long", 1, "gen: attributes: 0 of 100 were accepted; rejected were "),
        ("cut", 1, "gen: attributes: 0 of 100 were accepted; rejected were "),
    ],
)
def test_every_fault_ends_as_documented(
    ask: Gen, asked: Path, server: Server, how: str, code: int, message: str
) -> None:
    done = ask("run", asked, "--model", f"openai:{how}", "--out", "runs/a")
    assert done.returncode == code, done.stderr
    if code == 4:
        whom = f"gen: {how} at {server.url}, asked by propose_attributes ("
        assert whom in done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    refused = (asked.parent / "runs/a/rejected.jsonl").read_text().splitlines()
    assert bool(refused) == (code == 1)
    # what came is kept: asked again, nothing is sent that was answered before
    before = len(server.requests)
    assert ask("run", asked, "--model", f"openai:{how}", "--out", "runs/a").returncode == code
    assert (len(server.requests) == before) == (code == 1)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c(asked: Path, times: int) -> None:
    with holding(8) as (server, full, released):
        process, gen = begin(asked, server), gen_at(server, asked.parent)
        assert full.wait(120)
        process.send_signal(signal.SIGINT)
        message = read_to(process, "waiting for what is in flight")
        assert "stopping: nothing more is sent; waiting for what is in flight" in message
        if times == 2:
            process.send_signal(signal.SIGINT)
            process.wait(120)
        sent = arrived(server, asked.parent / "runs" / "ledger.sqlite")
        released.set()
        message += process.communicate(timeout=120)[1]
        assert process.returncode == 130
        assert message.endswith(f"Resume with:\n  gen run {asked} --out runs/a\n")
        assert len(server.requests) == sent
        ledger = json.loads(gen("ledger", "--ledger", "runs/ledger.sqlite", "--json").stdout)
        unanswered = sum(part["open"] for part in ledger["parts"])
        assert (unanswered > 0) == (times == 2)
        assert gen("run", asked, "--out", "runs/a").returncode == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--replay", "none.jsonl"), "gen: none.jsonl: cannot be read: No such file or directory"),
        (
            ("--model", "openai:mine", "--max-usd", "1"),
            "gen: the price of openai:mine is not known, so --max-usd cannot be kept: add --price "
            "openai:mine=IN,OUT, the dollars per million tokens\n",
        ),
        (
            ("--model", "opanai:gpt-5"),
            "gen: opanai:gpt-5 cannot be asked: Unsupported provider='opanai'. Supported model providers",
        ),
        (("--ledger", "."), ". is no ledger (it is a folder): name another with --ledger"),
        (("--model", "offline", "--replay", "x"), "gen: --replay: this recipe asks no model; name"),
    ],
)
def test_bad_input(
    ask: Gen, asked: Path, server: Server, args: tuple[str, ...], message: str
) -> None:
    if "offline" in args:
        args = (*args, "--set", "params.docs=9000", "--set", "params.catalogue.size=null")
    done = ask("run", asked, "--out", "runs/a", *args)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr
    assert server.requests == []
