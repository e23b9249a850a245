"""The same data set through every backend: what differs is who is asked, and how."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents import google_server
from tests.agents.minds import mind
from tests.agents.server import Server
from tests.with_agents.conftest import Gen, contents, environment

TABLES = ("corpus.jsonl", "queries.jsonl", "qrels.jsonl")


@pytest.fixture
def google() -> Iterator[google_server.Server]:
    with google_server.serving(mind) as result:
        yield result


@pytest.mark.slow
def test_every_backend_makes_the_same(
    ask: Gen, asked: Path, server: Server, google: google_server.Server
) -> None:
    assert ask("run", asked, "--out", "runs/openai").returncode == 0
    calls = len(server.requests)
    text = asked.read_text()
    models = {
        "google": f"{{provider: google_genai, name: ok, base_url: '{google.url}'}}",
        "langchain": f"{{provider: openai, name: gpt-5-mini, base_url: '{server.url}', via: langchain}}",
        "prompted": f"{{provider: openai, name: gpt-5-mini, base_url: '{server.url}/'}}",
    }
    for name, model in models.items():
        asked.write_text(text.replace("model: openai:gpt-5-mini", f"model: {model}"))
        env = environment(server) | {"GOOGLE_API_KEY": "g-planted"}
        done = ask("run", asked, "--out", f"runs/{name}", env=env)
        assert done.returncode == 0, done.stderr
        first, other = (contents(asked.parent / "runs" / n / "dataset") for n in ("openai", name))
        assert [first[table] == other[table] for table in TABLES] == [True] * 3
    assert len(google.requests) == calls
    # the address in a recipe, with or without its last slash, is the one of the environment
    assert len(server.requests) == 2 * calls


@pytest.mark.slow
def test_models_by_role(
    ask: Gen, asked: Path, server: Server, google: google_server.Server
) -> None:
    asked.write_text(
        asked.read_text()
        + f"models: {{judge: {{provider: google_genai, name: ok, base_url: '{google.url}'}}}}\n"
    )
    env = environment(server) | {"GEMINI_API_KEY": "g-planted"}
    done = ask("run", asked, "--out", "runs/a", "--json", env=env)
    assert done.returncode == 0, done.stderr
    models = {agent: one["model"] for agent, one in json.loads(done.stdout)["models"].items()}
    assert models == {
        "propose_attributes": "openai:gpt-5-mini",
        "remove_overlaps": "google_genai:ok",
        "paraphrase_query": "openai:gpt-5-mini",
        "identify_attribute": "google_genai:ok",
    }
    titles = {body["response_format"]["json_schema"]["name"] for body in server.requests}
    assert titles == {"Proposed", "Description"}
    asked_google = {
        body["generationConfig"]["responseJsonSchema"]["title"] for body in google.requests
    }
    assert asked_google == {"Removed", "Choice"}
    # one of them has no price that is known, so the whole has none
    assert json.loads(done.stdout)["usd"] is None


def test_a_mixed_run_needs_only_the_keys_of_its_models(
    ask: Gen, asked: Path, server: Server
) -> None:
    asked.write_text(
        asked.read_text()
        .replace(
            "model: openai:gpt-5-mini", "model: offline\nmodels: {identify_attribute: openai:ok}"
        )
        .replace(", size: 100", "")
    )
    done = ask("run", asked, "--out", "runs/a", "--json")
    assert done.returncode == 1  # the mind does not know the glossary's descriptions
    assert (
        "of 60 were accepted; rejected were 50 (identify_attribute/answer 50 times)" in done.stderr
    )
    assert {b["response_format"]["json_schema"]["name"] for b in server.requests} == {"Choice"}
