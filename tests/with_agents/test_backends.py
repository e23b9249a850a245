"""The same data set through every backend: what differs is who is asked, and how."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.server import Server
from tests.with_agents.conftest import Gen, contents, environment

TABLES = ("corpus.jsonl", "queries.jsonl", "qrels.jsonl")
MODELS = {
    "google": "{{provider: google_genai, name: ok, base_url: '{url}'}}",
    "langchain": "{{provider: openai, name: gpt-5-mini, base_url: '{url}/', via: langchain}}",
    # the address in a recipe, with or without its last slash, is the one of the environment
    "prompted": "{{provider: openai, name: gpt-5-mini, base_url: '{url}/'}}",
}


def titles(server: Server, gemini: bool) -> set[str]:
    """The schemas that a provider was asked for."""
    if gemini:
        configs = [body["generationConfig"] for body in server.requests if "contents" in body]
        return {config["responseJsonSchema"]["title"] for config in configs}
    asked = [body["response_format"] for body in server.requests if "messages" in body]
    return {form["json_schema"]["name"] for form in asked}


@pytest.mark.slow
def test_every_backend_makes_the_same(ask: Gen, asked: Path, server: Server) -> None:
    assert ask("run", asked, "--out", "runs/openai").returncode == 0
    calls, text = len(server.requests), asked.read_text()
    env = environment(server) | {"GOOGLE_API_KEY": "g-planted"}
    for name, model in MODELS.items():
        server.requests.clear()
        model = model.format(url=server.url)
        asked.write_text(text.replace("model: openai:gpt-5-mini", f"model: {model}"))
        done = ask("run", asked, "--out", f"runs/{name}", env=env)
        assert done.returncode == 0, done.stderr
        first, other = (contents(asked.parent / "runs" / n / "dataset") for n in ("openai", name))
        assert [first[table] == other[table] for table in TABLES] == [True] * 3
        assert len(server.requests) == (0 if name == "prompted" else calls)


@pytest.mark.slow
def test_models_by_role(ask: Gen, asked: Path, server: Server) -> None:
    judge = MODELS["google"].format(url=server.url)
    asked.write_text(f"{asked.read_text()}models: {{judge: {judge}}}\n")
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
    assert titles(server, gemini=False) == {"Proposed", "Description"}
    assert titles(server, gemini=True) == {"Removed", "Choice"}
    # one of them has no price that is known, so the whole has none
    assert json.loads(done.stdout)["usd"] is None
