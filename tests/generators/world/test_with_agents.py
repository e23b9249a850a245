"""Documents that a model writes and another reads, asked through a server on loopback."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from retgen.facts.domain import load_domain
from retgen.facts.facts import World
from tests.agents.server import Server, counted, serving
from tests.conftest import read_jsonl
from tests.generators.world.mind import NOWHERE, fails, mind, slips
from tests.with_agents.conftest import Gen, ask, contents

__all__ = ["ask"]

MODEL = ("--model", "openai:gpt-5-mini", "--max-usd", "3")
RECIPE = """name: told
family: world
seed: 3
params:
  domain: films
  documents: 150
  operators: [eq, and, and-not, two-hop]
  answer_sizes: [1, 3]
  wordings: [literal, paraphrase]
  queries_per_cell: 1
"""
MEASURED = (
    "accuracy 99.2% on 752 calibration cases (95% interval 98.3% to 99.6%; precision and recall: "
    "not stated 99% and 100%, stated 99% and 96%)"
)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(mind) as made:
        yield made


def asked(server: Server) -> Counter[str]:
    return Counter(one["response_format"]["json_schema"]["name"] for one in server.requests)


@pytest.mark.slow
def test_documents_are_accepted_where_the_facts_agree(
    ask: Gen, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "told.yaml").write_text(RECIPE)
    done = ask("run", "told.yaml", *MODEL, "--out", "told")
    assert done.returncode == 0, done.stderr
    world = World(load_domain("films"), 3, 150, "world")
    names = world.names(np.arange(200))
    kept = [i for i, name in enumerate(names) if not fails(name)][:150]
    gone = [name for name in names[: kept[-1] + 1] if fails(name)]
    told = [name for name in (names[i] for i in kept) if slips(name)]
    assert len(gone) == 8
    assert len(told) > 5
    # one of each a document, one more where it was repaired, three where that was no use
    calls = 150 + len(told) + 3 * len(gone)
    assert asked(server) == {"WrittenDocument": calls, "ReadFacts": calls + 40}

    run = tmp_path / "told"
    corpus = read_jsonl(run / "dataset" / "corpus.jsonl")
    assert [row["title"] for row in corpus] == [names[i] for i in kept]
    for row in corpus:
        assert (
            " is a film of which much has been told over the years. Its release is " in row["text"]
        )
    sources = read_jsonl(run / "sources" / "documents.jsonl")
    assert [row["entity"] for row in sources] == kept
    assert all(row["read"] == row["facts"] for row in sources if row["title"] not in told)
    rejected = read_jsonl(run / "rejected.jsonl")
    assert [row["record"]["record"]["title"] for row in rejected] == gone
    for row in rejected:
        record = row["record"]["record"]
        city = next(one.split("=")[1] for one in record["facts"] if one.startswith("setting="))
        assert row["rule"] == "read_facts/facts"
        reasons = [f"of setting it states {one!r}, not {city!r}" for one in NOWHERE]
        assert row["reason"] == reasons[-1]
        assert [turn["reason"] for turn in row["record"]["history"]] == reasons

    manifest = json.loads((run / "manifest.json").read_bytes())
    qrels = manifest["counts"]["qrels"]
    assert (manifest["evidence"]["judged"], manifest["evidence"]["structural"]) == (qrels, 0)
    assert manifest["complete"] is True
    card = (run / "dataset" / "README.md").read_text("utf-8")
    assert f"- read_facts by openai:gpt-5-mini, {MEASURED}\n" in card
    replaced = sum(i >= 150 for i in kept)
    assert f"So {replaced} of 150 documents are of such others." in card

    # films that continue one that was rejected name it, and no query does
    facts = [fact for row in corpus for fact in row["metadata"]["facts"]]
    assert {f"predecessor={name}" for name in gone} & {*facts}
    for row in read_jsonl(run / "dataset" / "queries.jsonl"):
        assert not any(name in row["metadata"]["expression"] for name in gone)

    assert ask("validate", "told").returncode == 0
    before, known = contents(run / "dataset"), len(server.requests)
    assert ask("run", "told.yaml", *MODEL, "--out", "told", "--fresh").returncode == 0
    assert len(server.requests) == known  # the ledger answered
    after = contents(run / "dataset")
    assert {name for name in before if before[name] != after[name]} == set()


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on(ask: Gen, server: Server, tmp_path: Path) -> None:
    recipe = RECIPE.replace("150", "60").replace("[eq, and, and-not, two-hop]", "[eq]")
    (tmp_path / "told.yaml").write_text(recipe)
    server.usage = counted  # as long as the texts are
    stopped = ask("run", "told.yaml", *MODEL[:2], "--max-usd", "0.05", "--out", "told")
    assert stopped.returncode == 3, stopped.stderr
    paid = len(server.requests)
    assert "Done so far: calibration: 40 of 40, documents: " in stopped.stderr
    assert 40 < paid < 160
    assert not (tmp_path / "told" / "sources" / "documents.jsonl").exists()
    assert ask("run", "told.yaml", *MODEL, "--out", "told").returncode == 0
    names = World(load_domain("films"), 3, 60, "world").names(np.arange(100))
    kept = [i for i, name in enumerate(names) if not fails(name)][:60]
    considered = names[: kept[-1] + 1]
    calls = 60 + sum(map(slips, considered)) + 3 * sum(map(fails, considered))
    # nothing is asked twice
    assert asked(server) == {"WrittenDocument": calls, "ReadFacts": calls + 40}


def test_the_plan_says_what_is_asked(ask: Gen, tmp_path: Path) -> None:
    (tmp_path / "told.yaml").write_text(RECIPE)
    done = ask("plan", "told.yaml", *MODEL[:2], "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["documents"] == 150
    assert plan["calls"] == {"write_document": 195, "read_facts": 195, "calibrate_reader": 40}
    assert 0.1 < plan["usd"]["low"] < plan["usd"]["high"] < 3
    offline = json.loads(ask("plan", "told.yaml", "--json").stdout)
    assert (offline["calls"], offline["usd"]) == ({}, {"low": 0.0, "high": 0.0})


def test_what_a_model_writes_a_model_reads(ask: Gen, tmp_path: Path) -> None:
    models = "models: {write: openai:gpt-5-mini, judge: offline}\n"
    (tmp_path / "told.yaml").write_text(RECIPE + models)
    done = ask("plan", "told.yaml")
    assert done.returncode == 2
    assert (
        "models: a model writes the documents, so one has to read them: name one for "
        "calibrate_reader and read_facts (models.judge), or leave write_document offline"
    ) in done.stderr


def test_large_worlds_say_how_to_ask_for_fewer(ask: Gen, tmp_path: Path) -> None:
    (tmp_path / "told.yaml").write_text(RECIPE.replace("150", "6000"))
    done = ask("plan", "told.yaml", *MODEL[:2])
    assert (
        "a model writes each of 6,000 documents, and another reads it: fewer with --set "
        "params.documents=1000 --set params.answer_sizes=[1,10]"
    ) in done.stdout
