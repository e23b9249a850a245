"""`gen run` with a model: what it makes, what it costs, where it stops, and what it says."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agents.minds import description, mind
from tests.agents.server import Server, serving
from tests.command import Done, in_process
from tests.conftest import read_jsonl
from tests.with_agents.conftest import KEY, Gen, contents, environment, recipe_of


@pytest.mark.slow
def test_a_data_set_that_a_model_wrote(ask: Gen, asked: Path, server: Server) -> None:
    done = ask("run", asked, "--out", "runs/a")
    assert done.returncode == 0, done.stderr
    run = asked.parent / "runs" / "a"
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["counts"]["documents"] == 120
    assert manifest["counts"]["queries"] == 60
    assert manifest["evidence"] == {"structural": 0, "judged": 120, "human": 0}
    assert manifest["calls"] == len(server.requests)
    assert manifest["tokens"] == {"in": 200 * manifest["calls"], "out": 12 * manifest["calls"]}
    # gpt-5-mini: $0.25 and $2.00 per million tokens
    assert manifest["usd"] == pytest.approx(manifest["calls"] * (200 * 0.25 + 12 * 2.0) / 1e6)
    assert set(manifest["models"]) == {
        "propose_attributes", "remove_overlaps", "paraphrase_query", "identify_attribute",
    }  # fmt: skip
    assert manifest["models"]["paraphrase_query"]["model"] == "openai:gpt-5-mini"
    assert sorted(manifest["prompts"]) == [
        "limit/identify_attribute", "limit/paraphrase_query", "limit/propose_attributes",
        "limit/remove_overlaps",
    ]  # fmt: skip
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


def test_limit_builds_its_attributes_through_agents(
    ask: Gen, server: Server, tmp_path: Path
) -> None:
    done = ask(
        "run", "limit_small", "--model", "openai:gpt-5-mini", "--set", "params.queries=50", "--set",
        "params.docs=30", "--set", "params.attributes_per_doc=12", "--out", "runs/a", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    manifest = json.loads(done.stdout)
    assert manifest["evidence"]["structural"] == 100
    listed = (tmp_path / "runs/a/sources/attributes.txt").read_text().splitlines()
    attributes = {line for line in listed if line and not line.startswith("[")}
    assert len(attributes) == 2 * (50 + 19 * 12)
    texts = [row["text"] for row in read_jsonl(tmp_path / "runs/a/dataset/corpus.jsonl")]
    for text in texts:
        held = text.rstrip(".").partition(" likes ")[2].replace(" and ", ", ").split(", ")
        assert len(held) == 12
        assert attributes.issuperset(held)


@pytest.mark.slow
def test_a_second_run_pays_nothing_and_concurrency_changes_no_byte(
    ask: Gen, asked: Path, server: Server
) -> None:
    assert ask("run", asked, "--out", "runs/a").returncode == 0
    paid = len(server.requests)
    assert ask("run", asked, "--out", "runs/b").returncode == 0
    assert len(server.requests) == paid
    one = asked.read_text().replace(
        "model: openai:gpt-5-mini", "model: {provider: openai, name: gpt-5-mini, concurrency: 1}"
    )
    asked.write_text(one)
    # another ledger, so everything is asked again, one after the other
    assert ask("run", asked, "--out", "other/a").returncode == 0
    assert len(server.requests) == 2 * paid
    runs = asked.parent / "runs"
    first = contents(runs / "a" / "dataset")
    assert first == contents(runs / "b" / "dataset")
    card = first.pop("README.md")
    other = contents(asked.parent / "other" / "a" / "dataset")
    assert other.pop("README.md") == card
    assert other == first
    # the page shows the pace of the recipe, and is compared with it
    assert json.loads(ask("validate", "other/a", "--json").stdout)["findings"] == []


@pytest.mark.slow
def test_the_key_is_nowhere(ask: Gen, asked: Path, server: Server) -> None:
    env = environment(server)
    del env["OPENAI_API_KEY"]
    (asked.parent / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    done = ask("run", asked, "--out", "runs/a", "-v", env=env)
    assert done.returncode == 0, done.stderr
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    # a server that repeats it in its error, and a traceback
    commands = [
        done,
        ask("run", asked, "--model", "openai:status-401", "--out", "runs/b", "-v", env=env),
    ]
    assert commands[1].returncode == 4
    assert "[key]" in commands[1].stderr
    commands.append(ask("ledger", "--ledger", "runs/ledger.sqlite", env=env))
    commands.append(ask("doctor", env=env))
    assert "set in .env" in commands[3].stdout
    commands.append(
        ask("ledger", "export", "answers.jsonl", "--ledger", "runs/ledger.sqlite", env=env)
    )
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
    with serving(mind) as server:
        server.usage = 300, 500  # much less than the worst case takes them for
        env = environment(server)

        def gen(*args: str | Path) -> Done:
            return in_process(*args, cwd=tmp_path, env=env)

        price = "--price", "10,40"
        assert gen("run", recipe, "--out", "whole/run", *price).returncode == 0
        manifest = json.loads((tmp_path / "whole/run/manifest.json").read_text())
        calls = len(server.requests)
        assert calls >= 1000
        assert manifest["usd"] == pytest.approx(calls * 0.023)
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
        assert spent["usd"] == pytest.approx(spent["calls"] * 0.023)
        # as far as one more worst case: never above, and not given up early
        assert cap - 0.2 < spent["usd"] <= cap

        assert gen("run", recipe, "--out", "capped/run", *price, "--max-usd", "100").returncode == 0
        assert len(server.requests) == calls
        assert contents(tmp_path / "capped/run/dataset") == contents(tmp_path / "whole/run/dataset")


def test_a_cap_needs_a_price(ask: Gen, asked: Path, server: Server) -> None:
    done = ask("run", asked, "--model", "openai:mine", "--max-usd", "1", "--out", "runs/a")
    assert done.returncode == 2
    assert done.stderr == (
        "gen: the price of openai:mine is not known, so --max-usd cannot be kept: add --price "
        "openai:mine=IN,OUT, the dollars per million tokens\n"
    )
    assert server.requests == []


@pytest.mark.slow
def test_a_replay_needs_neither_key_nor_network(ask: Gen, asked: Path, server: Server) -> None:
    assert ask("run", asked, "--out", "runs/a").returncode == 0
    assert ask("run", "limit_small", "--model", "openai:gpt-5-mini", "--set", "params.queries=5",
               "--set", "params.docs=9", "--set", "params.attributes_per_doc=4", "--out",
               "runs/other").returncode == 0  # fmt: skip
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
    assert f"its answers came from {server.url}, and this recipe asks openai: give it that" in (
        done.stderr
    )
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
    done = ask("plan", asked)
    assert done.returncode == 0
    assert server.requests == []
    planned = json.loads(ask("plan", asked, "--json").stdout)
    assert planned["calls"] == {
        "propose_attributes": 8, "remove_overlaps": 6, "paraphrase_query": 90,
        "identify_attribute": 93,
    }  # fmt: skip
    assert 0 < planned["usd"]["low"] < planned["usd"]["high"] < 1
    assert 0 < planned["seconds"]["low"] < planned["seconds"]["high"]
    unknown = ask("plan", asked, "--model", "openai:mine")
    assert "           ?  at these prices" in unknown.stdout
    assert "note: the price of openai:mine is not known: add --price openai:mine=IN,OUT" in (
        unknown.stdout
    )
    priced = ask("plan", asked, "--model", "openai:mine", "--price", "openai:mine=1,2")
    assert "not known" not in priced.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        (
            "status-401",
            4,
            "gen: status-401 at {url}: 401: not with [key], asked by propose_attributes (category '",
        ),
        (
            "status-404",
            4,
            "gen: status-404 at {url}: 404: not with [key], asked by propose_attributes (category '",
        ),
        ("too-long", 1, "gen: attributes: 0 of 100 were accepted; rejected were "),
        ("cut", 1, "gen: attributes: 0 of 100 were accepted; rejected were "),
        ("filtered", 1, "gen: attributes: 0 of 100 were accepted; rejected were "),
    ],
)
def test_every_fault_ends_as_documented(
    ask: Gen, asked: Path, server: Server, how: str, code: int, message: str
) -> None:
    done = ask("run", asked, "--model", f"openai:{how}", "--out", "runs/a")
    assert done.returncode == code, done.stderr
    assert message.format(url=server.url) in done.stderr
    assert "Traceback" not in done.stderr
    refused = (asked.parent / "runs/a/rejected.jsonl").read_text().splitlines()
    assert bool(refused) == (code == 1)
    # what came is kept: asked again, nothing is sent that was answered before
    before = len(server.requests)
    assert ask("run", asked, "--model", f"openai:{how}", "--out", "runs/a").returncode == code
    assert (len(server.requests) == before) == (code == 1)


@pytest.mark.slow
def test_what_passes_is_retried_without_a_trace(ask: Gen, asked: Path, server: Server) -> None:
    assert ask("run", asked, "--out", "good/a").returncode == 0
    calls = len(server.requests)
    done = ask("run", asked, "--model", "openai:flaky", "--out", "flaky/a")
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == calls + 3 * calls  # each is refused twice
    good, flaky = (contents(asked.parent / n / "a/dataset") for n in ("good", "flaky"))
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.jsonl"):
        assert good[name] == flaky[name]


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c(asked: Path, times: int) -> None:
    free, full, released = 8, threading.Event(), threading.Event()

    def held(body: dict[str, Any]) -> str:
        """Answers the first eight, then none before it is told to."""
        if len(server.requests) > free:
            full.set()
            released.wait(60)
        return mind(body)

    with serving(held, delay=0.05) as server:
        command = [sys.executable, "-m", "retgen.cli", "run", str(asked), "--out", "runs/a"]
        process = subprocess.Popen(
            command, env=environment(server), cwd=asked.parent, stderr=subprocess.PIPE, text=True,
            # where the tests run in the background, SIGINT may be ignored
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        killer = threading.Timer(100, process.kill)  # rather than wait for a line for ever
        killer.daemon = True
        killer.start()
        assert process.stderr is not None
        assert full.wait(60)
        process.send_signal(signal.SIGINT)
        message = ""
        while "waiting for what is in flight" not in message:
            line = process.stderr.readline()
            assert line, message
            message += line
        assert "stopping: nothing more is sent; waiting for what is in flight" in message
        if times == 2:
            process.send_signal(signal.SIGINT)
            process.wait(60)
        time.sleep(0.5)  # what was on its way when it stopped has come
        sent = len(server.requests)
        released.set()
        message += process.communicate(timeout=60)[1]
        killer.cancel()
        assert process.returncode == 130
        assert message.endswith(f"Resume with:\n  gen run {asked} --out runs/a\n")
        assert len(server.requests) == sent
        ledger = json.loads(
            subprocess.run(
                [sys.executable, "-m", "retgen.cli", "ledger", "--ledger", "runs/ledger.sqlite",
                 "--json"], capture_output=True, text=True, cwd=asked.parent, check=True,
            ).stdout
        )  # fmt: skip
        unanswered = sum(part["open"] for part in ledger["parts"])
        assert (unanswered > 0) == (times == 2)
        assert subprocess.run(
            [*command, "-q"], env=environment(server), cwd=asked.parent, check=False
        ).returncode == 0  # fmt: skip


def nasty(body: dict[str, Any]) -> str:
    """What a model may say that no one expects."""
    title = body["response_format"]["json_schema"]["name"]
    answer = mind(body)
    if title == "Description" and len(body["messages"]) == 2:
        kind = len(body["messages"][1]["content"]) % 4
        return [
            '{"description": "odd objects\u2028that come from somewhere else"}',
            '{"description": ' + "1" * 5000 + "}",
            '{"description": "odd objects \\u202e that come from somewhere"}',
            '{"a":' * 3000,
        ][kind]
    return answer


@pytest.mark.slow
def test_strange_answers_are_repaired(asked: Path) -> None:
    with serving(nasty) as server:
        done = in_process(
            "run", asked, "--out", "runs/a", cwd=asked.parent, env=environment(server)
        )
        assert done.returncode == 0, done.stderr
    texts = {row["text"] for row in read_jsonl(asked.parent / "runs/a/dataset/queries.jsonl")}
    assert len(texts) == 60
    assert all(text.isprintable() for text in texts)


def test_counts_that_cannot_be_true(asked: Path) -> None:
    with serving(mind) as server:
        server.usage = 2**63, 2
        env = environment(server)
        done = in_process("run", asked, "--out", "runs/a", cwd=asked.parent, env=env)
        assert done.returncode == 0, done.stderr
        server.usage = 10**6, 10**6  # more than any of the requests had room for
        done = in_process(
            "run", asked, "--out", "other/a", "--max-usd", "50", cwd=asked.parent, env=env
        )
        assert done.returncode == 4
        assert (
            ", asked by propose_attributes: an answer states 1,000,000 and 1,000,000 tokens, more than"
            in done.stderr
        )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--replay", "none.jsonl"), "gen: none.jsonl: cannot be read: No such file or directory"),
        (
            ("--max-usd", "1", "--price", "1"),
            "gen: --price 1: write the dollars per million tokens",
        ),
        (("--model", "opanai:gpt-5"), "gen: there is no provider 'opanai'; did you mean openai?"),
        (("--ledger", "."), ". is no ledger (it is a folder): name another with --ledger"),
        (
            ("--set", "params.catalogue.categories=['a]']"),
            "a category is one line of text, without",
        ),
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


def test_a_run_is_one_by_whatever_name(ask: Gen, asked: Path, server: Server) -> None:
    assert ask("run", asked, "--out", "runs/a", "--pilot", "5").returncode == 0
    assert ask("run", asked, "--out", "runs/../runs/a", "--pilot", "5").returncode == 0
    ledger = json.loads(ask("ledger", "--ledger", "runs/ledger.sqlite", "--json").stdout)
    assert [run["run"] for run in ledger["runs"]] == ["a"]
    assert ask("ledger", "--run", "runs/b", "--ledger", "runs/ledger.sqlite").stderr == (
        f"gen: {Path('runs/ledger.sqlite')} has no run 'runs/b'. It has: a\n"
    )
