"""Documents that a model writes and another reads, asked through a server on loopback."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.server import Server, serving
from tests.conftest import read_jsonl
from tests.generators.world.mind import mind
from tests.with_agents.conftest import Gen, ask

__all__ = ["ask"]

MODEL = ("--model", "openai:gpt-5-mini", "--max-usd", "3")
BOATS = Path(__file__).parents[2] / "world" / "boats.yaml"
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


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(mind) as made:
        yield made


def test_x(ask: Gen, server: Server, tmp_path: Path) -> None:
    (tmp_path / "told.yaml").write_text(RECIPE)
    done = ask("run", "told.yaml", *MODEL, "--out", "told")
    print(done.stdout, done.stderr)
    print(Counter(one["response_format"]["json_schema"]["name"] for one in server.requests))
    for row in read_jsonl(tmp_path / "told" / "rejected.jsonl"):
        print(row["rule"], row["reason"], row["record"]["record"]["title"])
    print((tmp_path / "told" / "dataset" / "README.md").read_text())
    print(read_jsonl(tmp_path / "told" / "sources" / "documents.jsonl")[0])
    print((tmp_path / "told" / "sources" / "calibration.json").read_text()[:1500])
    print(json.dumps(server.requests[40]["messages"])[:6000])
    print(ask("plan", "told.yaml", *MODEL[:2]).stdout)
    assert 0
