"""A chat model over the best documents of a first stage, asked at a server on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import retgen
from retgen.evaluation.retrievers import Options
from retgen.evaluation.scoring.evaluate import evaluate
from tests.agents.server import Server, serving
from tests.conftest import read_jsonl

NAME = "rerank:tfidf+llm:openai:gpt-5-mini"


def read_all(body: dict[str, Any]) -> str:
    """Documents that hold what is asked for, first."""
    text = body["messages"][1]["content"]
    (asked,) = re.findall(r"Who likes (.+)\?", text)
    shown = dict(re.findall(r"\[(\d+)\] (.+?)(?=\n\n|\Z)", text, re.DOTALL))
    liked = [
        asked.lower() in re.split(r", | and |\.", one.lower().replace(" likes ", ", "))
        for one in shown.values()
    ]
    order = sorted(range(len(shown)), key=lambda n: not liked[n])
    return json.dumps({"ranking": [n + 1 for n in order]})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving(read_all) as result:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
        monkeypatch.setenv("OPENAI_BASE_URL", result.url)
        yield result


@pytest.fixture
def small_set(tmp_path: Path) -> Path:
    settings = {"params.docs": 12, "params.queries": 60}
    return retgen.run("limit_small", out=tmp_path / "run", overrides=settings).path


def test_it_orders_the_documents_of_the_first_stage(small_set: Path, server: Server) -> None:
    call: Any = {"models": [NAME], "metrics": ["recall@2"], "options": Options(rerank=12)}
    result = evaluate(small_set, **call)
    (chat,) = result.datasets[0].scores
    assert (chat.model, chat.metrics) == (NAME, {"recall@2": 1.0})
    assert (chat.details["lists"], chat.details["reranked"]) == (60, 12)
    assert len(server.requests) == 60
    evaluate(small_set, **call)
    assert len(server.requests) == 60  # all of it is in the ledger


def test_an_order_that_failed_is_the_first_stages_and_counted(
    small_set: Path, server: Server
) -> None:
    unanswered = read_jsonl(small_set / "dataset" / "queries.jsonl")[0]["text"]
    server.say = lambda body: (
        '{"ranking": [1]}'
        if f"{unanswered}\n" in body["messages"][1]["content"]
        else read_all(body)
    )
    result = evaluate(small_set, models=[NAME], metrics=["recall@2"], options=Options(rerank=12))
    (score,) = result.datasets[0].scores
    assert score.details["failed_after_repairs"] == 1
    assert score.details["notes"] == [
        "ordered 60 lists, 1 failed after repairs, so the first stage decides"
    ]
    assert score.values[1:].min() == 1.0
    (first,) = evaluate(small_set, models=["tfidf"], metrics=["recall@2"]).datasets[0].scores
    assert score.values[0, 0] == first.values[0, 0]
