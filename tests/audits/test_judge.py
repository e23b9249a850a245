"""A chat model as a judge of pairs: paid once, corrected by people, refused where it is no use."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.server import Server, counted, serving
from tests.audits.people import fill
from tests.conftest import Gen

MODEL = "openai:gpt-5-mini"
JUDGE = ("--judge", MODEL)
PAIRS = 120


def mind(wrong: Callable[[int], bool]) -> Callable[[dict[str, Any]], str]:
    """A judge of the pairs, that is wrong about some of their numbers."""

    def say(body: dict[str, Any]) -> str:
        text = body["messages"][1]["content"]
        row, document = map(int, re.findall(r"<document>\nword(\d+) text (\d)\n", text)[0])
        return json.dumps({"relevant": (document < 2) != wrong(4 * row + document)})

    return say


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving(mind(lambda number: number % 5 == 0)) as result:
        result.usage = counted
        monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
        monkeypatch.setenv("OPENAI_BASE_URL", result.url)
        yield result


def read(folder: Path) -> Any:
    return json.loads((folder / "outputs" / "audit_made" / "audit.json").read_text())


@pytest.mark.slow
def test_its_word_alone_has_no_interval(
    gen: Gen, tmp_path: Path, made: Path, runs: list[str], server: Server
) -> None:
    done = gen("audit", made, *runs, *JUDGE)
    assert done.returncode == 0
    assert len(server.requests) == PAIRS
    assert "Labels: the judge's word, which nobody has checked, so no interval" in done.stdout
    value = read(tmp_path)
    assert (value["labelled"], value["judge"]["pairs"], value["judge"]["compared"]) == (0, 120, 0)
    assert value["judge"]["sensitivity"] is None
    assert value["judge"]["costs"]["calls"] == PAIRS
    # 48 of the 60 relevant pairs and 12 of the others, of which 24 and 6 have a positive label
    assert value["missing"] == {"value": pytest.approx(36 / 60), "low": None, "high": None}
    assert value["runs"][0]["judge's P@10"]["low"] is None
    assert value["labels_needed"] is None
    judged = (tmp_path / "outputs" / "audit_made" / "judged.tsv").read_text().splitlines()
    assert len(judged) == PAIRS + 1
    assert sum(line.endswith("\t1") for line in judged) == 60


@pytest.mark.slow
def test_people_correct_it(
    gen: Gen, tmp_path: Path, made: Path, runs: list[str], server: Server
) -> None:
    gen("audit", made, *runs, *JUDGE, "-q")
    fill(tmp_path / "outputs" / "audit_made" / "to_judge.tsv", 80, tmp_path / "some.tsv")
    done = gen("audit", made, *runs, *JUDGE, "--labels", "some.tsv")
    assert done.returncode == 0
    assert len(server.requests) == PAIRS  # what it labelled before is in the ledger
    value = read(tmp_path)
    judge = value["judge"]
    assert (value["labelled"], judge["compared"], judge["costs"]["cache_hits"]) == (80, 80, PAIRS)
    for name in ("sensitivity", "specificity"):
        assert judge[name]["low"] < 0.8 < judge[name]["high"]
    assert value["missing"]["low"] <= 0.5 <= value["missing"]["high"]
    good, poor = (one["corrected P@10"] for one in value["runs"])
    assert good["low"] <= 0.2 <= good["high"]
    assert poor["low"] <= 0.1 <= poor["high"]
    shares = [f"{100 * judge[name]['value']:.1f}%" for name in ("sensitivity", "specificity")]
    (line,) = (one for one in done.stdout.splitlines() if one.startswith("Judge: "))
    assert line.startswith(
        f"Judge: {MODEL} labelled 120 pairs. By 80 that people labelled too, it "
    )
    assert all(share in line for share in shares)

    # of more pairs than people labelled, but not of all
    again = gen("audit", made, *runs, *JUDGE, "--judge-pairs", "100", "--labels", "some.tsv", "-q")
    assert again.returncode == 0
    value = read(tmp_path)
    assert value["judge"]["pairs"] == 100
    assert value["missing"]["low"] <= 0.5 <= value["missing"]["high"]
    gen("audit", made, *runs, *JUDGE, "--judge-pairs", "5", "--labels", "some.tsv", "-q")
    assert read(tmp_path)["judge"]["pairs"] == 80


@pytest.mark.slow
def test_one_that_is_no_better_than_chance_is_refused(
    gen: Gen, tmp_path: Path, made: Path, runs: list[str], server: Server
) -> None:
    gen("audit", made, *runs, "-q")
    fill(tmp_path / "outputs" / "audit_made" / "to_judge.tsv", PAIRS, tmp_path / "all.tsv")
    call = ("audit", made, *runs, *JUDGE, "--labels", "all.tsv", "-q")
    server.say = mind(lambda number: number % 5 != 0)
    worse = gen(*call)
    assert worse.returncode == 1
    assert worse.stderr.splitlines()[-1] == (
        f"gen: --judge {MODEL}: is no better than chance. By 120 labels of people it finds 20.0% "
        "(95% interval 10.9 to 32.3) of the relevant pairs and rejects 20.0% (95% interval 10.9 to "
        "32.3) of the others: Youden's index is -0.60 (95% interval -0.73 to -0.44), that of a coin "
        "0. Nothing is corrected by it: label more pairs, name another judge, or leave --judge out; "
        "what it answered is kept"
    )
    server.say = mind(lambda number: number % 2 == 0)
    chance = gen(*call, "--ledger", "other.sqlite")
    assert chance.returncode == 1
    assert "of the others: Youden's index is +0.00 (95% interval -0.18 to +0.18)" in chance.stderr


@pytest.mark.slow
def test_killed_and_resumed_it_pays_nothing_twice(
    tmp_path: Path, made: Path, runs: list[str], server: Server
) -> None:
    server.delay = 0.05
    command = [sys.executable, "-m", "retgen.cli", "audit", str(made), *runs, *JUDGE, "-q"]
    at_most = {"cwd": tmp_path, "env": {**os.environ, "RETGEN_LEDGER": "kept.sqlite"}}
    for moment in (20, 70):
        process = subprocess.Popen(command, **at_most)  # type: ignore[call-overload]
        while len(server.requests) < moment:
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.2)  # what was on its way still reaches the server
    done = subprocess.run(command, **at_most, check=True, timeout=120)  # type: ignore[call-overload]
    assert done.returncode == 0
    judge = read(tmp_path)["judge"]
    costs = judge["costs"]
    assert judge["pairs"] == PAIRS
    # each is answered once; sent again is only what was in flight when it was killed
    assert costs["calls"] - costs["unanswered"] == PAIRS
    assert costs["unanswered"] > 0
    assert PAIRS < len(server.requests) <= costs["calls"]


def test_the_cap_holds(
    gen: Gen, tmp_path: Path, made: Path, runs: list[str], server: Server
) -> None:
    call = ("audit", made, *runs, *JUDGE, "-q", "--price", "10,10")
    some = gen(*call, "--max-usd", "0.25")
    assert some.returncode == 3
    assert "Resume with:\n  gen audit " in some.stderr
    assert "--max-usd MORE" in some.stderr
    sent = len(server.requests)
    assert 0 < sent < PAIRS
    assert "Done so far: judge: " in some.stderr
    assert gen(*call, "--max-usd", "50").returncode == 0
    assert len(server.requests) == PAIRS
    assert read(tmp_path)["judge"]["costs"]["calls"] == PAIRS


def test_an_answer_that_is_none_is_left_out(
    gen: Gen, tmp_path: Path, made: Path, runs: list[str], server: Server
) -> None:
    right = server.say
    server.say = lambda body: (
        "perhaps" if "\nword7 text 2\n" in body["messages"][1]["content"] else right(body)
    )
    done = gen("audit", made, *runs, *JUDGE)
    note = (
        "note: the judge gave no label that can be taken of 1 pairs, which stand in rejected.jsonl"
    )
    assert note in done.stdout
    folder = tmp_path / "outputs" / "audit_made"
    (rejected,) = map(json.loads, (folder / "rejected.jsonl").read_text().splitlines())
    assert rejected["rule"] == "judge_relevance/answer"
    assert rejected["record"]["record"] == {"query": "word7", "document": "word7 text 2"}
    assert read(tmp_path)["judge"]["failed_after_repairs"] == 1
    assert len((folder / "judged.tsv").read_text().splitlines()) == PAIRS


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["offline"], "--judge offline: a chat model judges pairs; name one, as openai:gpt-5-mini"),
        (["openai:"], "--judge openai:: a chat model judges pairs; name one, as openai:gpt-5-mini"),
        (
            [MODEL, "--real", "made"],
            "--judge: of one data set; --real scores systems on both: --model",
        ),
    ],
)
def test_what_is_refused(
    gen: Gen, made: Path, server: Server, given: list[str], message: str
) -> None:
    done = gen("audit", made, "--judge", *given)
    assert (done.returncode, done.stderr) == (2, f"gen: {message}\n")


def test_a_cap_without_anybody_to_pay_is_refused(gen: Gen, made: Path) -> None:
    done = gen("audit", made, "--model", "bm25", "--max-usd", "1")
    assert (done.returncode, done.stderr) == (
        2,
        "gen: --max-usd is about models behind an API: name one, as --judge openai:gpt-5-mini\n",
    )
