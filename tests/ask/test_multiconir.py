"""Ladders written through a model's protocol: the bytes of a run without one, and after kills."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.ladder_mind import ladder_mind
from tests.agents.server import Server, serving
from tests.ask.conftest import Gen, contents, environment
from tests.ask.test_kill import still_open
from tests.conftest import read_jsonl

MODEL = ("--model", "openai:gpt-5-mini")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(ladder_mind) as found:
        yield found


@pytest.mark.parametrize("domain", ["movies", "people"])
def test_a_model_that_says_what_the_baselines_say(
    ask: Gen, server: Server, tmp_path: Path, domain: str
) -> None:
    recipe = f"multiconir_{domain}"
    assert ask("run", recipe, "--out", "offline").returncode == 0
    done = ask("run", recipe, *MODEL, "--max-usd", "5", "--out", "asked")
    assert done.returncode == 0, done.stderr
    offline, asked = (contents(tmp_path / name) for name in ("offline", "asked"))
    assert {name for name in offline if name.startswith("tables/")} == {
        "tables/task1.jsonl", "tables/task2_3.jsonl", "tables/task4_512.jsonl",
        "tables/task4_1024.jsonl", "tables/position.jsonl", "tables/review_queries.jsonl",
        "tables/review_labels.jsonl",
    }  # fmt: skip
    same = [
        name
        for name in offline
        if name.startswith(("dataset/", "tables/", "training/", "sources/"))
    ]
    assert [name for name in same if offline[name] != asked[name]] == ["dataset/README.md"]
    a, b = (json.loads(files["manifest.json"]) for files in (offline, asked))
    assert a["counts"] == b["counts"]
    assert a["judges"] == b["judges"]
    assert b["calls"] == len(server.requests)
    assert set(b["models"]) == {
        "extract_conditions", "write_query", "write_hard_negative", "verify_condition",
        "verify_document",
    }  # fmt: skip


def test_killed_and_resumed(tmp_path: Path) -> None:
    recipe = tmp_path / "six.yaml"
    recipe.write_text(
        "name: six\nfamily: multiconir\nmodel: openai:gpt-5-mini\nlimit: 6\nparams: {domain: legal}\n"
    )
    command = [sys.executable, "-m", "retgen.cli", "run", str(recipe), "-q", "--out"]
    with serving(ladder_mind, delay=0.02) as server:
        env = environment(server)
        whole = tmp_path / "whole" / "run"
        subprocess.run([*command, str(whole)], env=env, check=True, timeout=300)
        unique = len(server.requests)
        assert unique == len({json.dumps(one, sort_keys=True) for one in server.requests})
        server.requests.clear()
        run = tmp_path / "killed" / "run"
        for moment in sorted(random.Random(5).sample(range(240, unique), 4)):
            process = subprocess.Popen([*command, str(run)], env=env)
            while len(server.requests) < moment:
                assert process.poll() is None
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.wait()
            time.sleep(0.1)  # what was on its way still reaches the server
        in_flight = still_open(run.parent / "ledger.sqlite")
        subprocess.run([*command, str(run)], env=env, check=True, timeout=300)
        for part in ("dataset", "tables", "training", "sources"):
            assert contents(run / part) == contents(whole / part)
        assert len(read_jsonl(run / "sources" / "ladders.jsonl")) == 6
        assert unique < len(server.requests) <= unique + in_flight


def test_a_judge_of_another_family_is_the_default(tmp_path: Path) -> None:
    """With keys of two providers the judge is of the one that does not write."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}

    def models(*more: str, **keys: str) -> dict[str, str]:
        command = [sys.executable, "-m", "retgen.cli", "plan", "multiconir_books", "--json"]
        done = subprocess.run(
            [*command, *more], env=plain | keys, capture_output=True, text=True, cwd=tmp_path
        )
        found: dict[str, str] = json.loads(done.stdout)["models"]
        return found

    both = models(*MODEL, OPENAI_API_KEY="a", GOOGLE_API_KEY="b")
    assert both["write_hard_negative"] == "openai:gpt-5-mini"
    assert both["verify_condition"] == both["verify_document"] == "google_genai:gemini-2.5-flash"
    other = models(
        "--model", "google_genai:gemini-2.5-flash", OPENAI_API_KEY="a", GOOGLE_API_KEY="b"
    )
    assert other["verify_condition"] == "openai:gpt-5-mini"
    assert set(models(*MODEL, OPENAI_API_KEY="a").values()) == {"openai:gpt-5-mini"}
    # a server of one's own: nothing goes elsewhere unasked
    local = {"OPENAI_BASE_URL": "http://localhost:1/v1", "GOOGLE_API_KEY": "b"}
    assert set(models(*MODEL, **local).values()) == {"openai:gpt-5-mini"}
    named = models(
        *MODEL, "--set", "models.judge=openai:gpt-5", OPENAI_API_KEY="a", GOOGLE_API_KEY="b"
    )
    assert named["verify_condition"] == "openai:gpt-5"


def stubborn(title: str, said: Callable[[dict[str, Any]], str]) -> Callable[[dict[str, Any]], str]:
    """The baselines' answers, but for one agent's."""

    def mind(body: dict[str, Any]) -> str:
        asked = body["response_format"]["json_schema"]["name"]
        return said(body) if asked == title else ladder_mind(body)

    return mind


def verdict(said: str, evidence: str = "") -> Callable[[dict[str, Any]], str]:
    return lambda body: json.dumps({"verdict": said, "evidence": evidence})


@pytest.mark.parametrize(
    ("title", "said", "rule", "told"),
    [
        ("Verified", verdict("cannot_tell"), "verify_condition/sentence",
         "the judge does not find a condition met by its sentence: "),
        ("Verified", verdict("satisfied", "nowhere"), "verify_condition/check",
         "the evidence 'nowhere' is not a part of the text"),
        ("Rewritten", lambda body: "I would rather not.", "write_hard_negative/answer",
         "it is not JSON"),
        ("Rewritten", lambda body: json.dumps({"rewrite": "It was another day entirely."}),
         "write_hard_negative/check", "it "),
        ("Extracted", lambda body: json.dumps({"sentences": ["Nothing of the kind."] * 10}),
         "extract_conditions/check", "does not stand in the document; copy it letter by letter"),
        ("Written", lambda body: json.dumps({"texts": []}), "write_query/check",
         "there are 0 conditions for 10 sentences"),
        ("Surveyed", lambda body: json.dumps(
            {"found": [{"condition": 99, "sentence": 1, "verdict": "violated"}]}),
         "verify_document/check", "there is no condition 99"),
        ("Surveyed", lambda body: json.dumps(
            {"found": [{"condition": 1, "sentence": s, "verdict": "violated"} for s in range(1, 11)]}),
         "verify_document/sentences", "is found to contradict the condition"),
    ],
)  # fmt: skip
def test_answers_that_cannot_be_taken(
    tmp_path: Path, title: str, said: Callable[[dict[str, Any]], str], rule: str, told: str
) -> None:
    """Every document is rejected with the rule, the reason and what was said; the cost is bounded."""
    with serving(stubborn(title, said)) as server:
        done = subprocess.run(
            [sys.executable, "-m", "retgen.cli", "run", "multiconir_legal", *MODEL, "--limit", "2",
             "--set", "params.replacements=1", "--out", "a"],
            env=environment(server), cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        assert "ladders: 0 of 2 were accepted" in done.stderr
        rejected = read_jsonl(tmp_path / "a" / "rejected.jsonl")
        assert {row["rule"] for row in rejected} == {rule}
        assert all(told in row["reason"] for row in rejected)
        assert len(rejected) == 24
        # of a document: 2 tries at ten sentences, each of 3 turns, and some of 10 each
        assert len(server.requests) < 240 * 3 + 24 * 2 * 3 * 35
