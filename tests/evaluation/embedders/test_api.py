"""Embedders behind an API: the scores of the same model here, paid for once, within the cap."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import retgen
from retgen.agents.calls import ModelOptions
from retgen.agents.ledger import Ledger
from retgen.errors import BudgetReached, EndpointFailed, UsageError
from retgen.evaluation.embedders.loading import load_model
from retgen.evaluation.retrievers import asked_models
from retgen.evaluation.scoring.evaluate import evaluate
from tests.agents.loopback import running
from tests.command import in_process
from tests.evaluation.embedders.embedding_server import LONGEST, EmbeddingServer

pytestmark = pytest.mark.usefixtures("one_torch_thread")
PRICE = ("1,0",)  # a dollar per million tokens


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 documents and 40 queries."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    retgen.run("limit_small", out=out, overrides={"params.queries": 40, "params.docs": 200})
    return out


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    with running(EmbeddingServer(load_model("static:minilm", "cpu"))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def scored(run: Path, model: str, out: Path, **more: Any) -> Any:
    options = ModelOptions(prices=PRICE, max_usd=more.pop("max_usd", None))
    (result,) = evaluate(
        run, models=[model], out=out, cache=False, model_options=options, **more
    ).datasets
    return result.scores[0]


def sizes(server: EmbeddingServer) -> list[int]:
    """Texts of each request."""
    return sorted(len(one["input"]) for one in server.requests)


@pytest.mark.parametrize("model", ["ok", "base64"])
def test_scores_are_those_of_the_same_model_here(
    model: str, run: Path, server: EmbeddingServer, tmp_path: Path
) -> None:
    (here,) = evaluate(run, models=["static:minilm"], out=tmp_path / "here", cache=False).datasets
    first = scored(run, f"openai:{model}", tmp_path / "api")
    assert first.values.tolist() == here.scores[0].values.tolist()
    # one text to learn the dimension, 40 queries, two batches of 200 documents
    assert sizes(server) == [1, 40, 72, 128]
    again = scored(run, f"openai:{model}", tmp_path / "api")
    assert again.values.tolist() == first.values.tolist()
    assert len(server.requests) == 4
    ledger = Ledger(tmp_path / "ledger.sqlite")
    tokens = sum(sum(len(t.encode()) for t in r["input"]) // 4 + 1 for r in server.requests)
    assert [one.nano_usd for one in ledger.runs()] == [tokens * 1000]
    ledger.close()


def test_prompts_and_dimensions(run: Path, server: EmbeddingServer, tmp_path: Path) -> None:
    from retgen.evaluation.retrievers import Options

    options = Options(query_prompt="query: ")
    score = scored(run, "openai:ok", tmp_path, dims=[32], options=options)
    assert score.dim == 32
    assert all(text.startswith("query: ") for text in server.requests[1]["input"])
    assert server.headers[0]["authorization"] == "Bearer none"


def test_a_server_that_fails_now_and_then(
    run: Path, server: EmbeddingServer, tmp_path: Path
) -> None:
    steady = scored(run, "openai:ok", tmp_path / "ok")
    flaky = scored(run, "openai:flaky", tmp_path / "flaky")
    assert flaky.values.tolist() == steady.values.tolist()


def test_texts_that_are_too_long_are_shortened(server: EmbeddingServer, tmp_path: Path) -> None:
    folder = tmp_path / "long"
    folder.mkdir()
    texts = ["owl " * 3000, "cat", "", "dog"]  # 12,000 characters, and none
    rows = [f'{{"_id": "d{i}", "title": "", "text": "{text}"}}' for i, text in enumerate(texts)]
    (folder / "corpus.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "owl"}\n')
    (folder / "qrels.jsonl").write_text('{"query-id": "q", "corpus-id": "d0", "score": 1}\n')
    score = scored(folder, "openai:ok", tmp_path / "out", metrics=["recall@1"])
    assert score.values.tolist() == [[1.0]]
    assert score.details["shortened"] == 1  # halved twice
    assert max(map(len, server.answered)) <= LONGEST
    assert "." in server.answered


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("few", "39 vectors for 40 texts"),
        ("zeros", "vectors of zeros"),
        ("nan", "vectors that are not numbers"),
        ("none", "an answer that holds no vectors"),
        ("other", "vectors of 5 dimensions among those of 384"),
    ],
)
def test_answers_that_are_no_vectors(
    model: str, fault: str, run: Path, server: EmbeddingServer, tmp_path: Path
) -> None:
    with pytest.raises(EndpointFailed) as caught:
        scored(run, f"openai:{model}", tmp_path)
    assert str(caught.value).partition("\n")[0] == (
        f"openai:{model} at {server.url}: gave {fault}. The answer is kept; `gen ledger forget "
        f"--agent embed --model openai:{model} --state answered --yes` has all of this model asked "
        "again"
    )


def test_the_cap_holds_and_a_higher_one_goes_on(
    run: Path, server: EmbeddingServer, tmp_path: Path
) -> None:
    with pytest.raises(BudgetReached) as caught:
        scored(run, "openai:ok", tmp_path, max_usd=0.01)
    assert "Raise --max-usd to go on" in str(caught.value)
    before = len(server.requests)
    assert 0 < before < 4
    scored(run, "openai:ok", tmp_path, max_usd=1)
    assert sizes(server) == [1, 40, 72, 128]


@pytest.mark.slow
def test_a_killed_run_pays_again_for_what_was_in_flight_alone(
    run: Path, server: EmbeddingServer, tmp_path: Path
) -> None:
    server.delay = 0.3
    command = [sys.executable, "-m", "retgen.cli", "eval", str(run), "--model", "openai:ok", "--out",
               str(tmp_path / "out"), "--no-cache", "-q", "--price", "1,0", "--max-usd", "1"]  # fmt: skip
    for seen in (1, 2):
        process = subprocess.Popen(command, env=dict(os.environ))
        while len(server.answered) < seen and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    (spent,) = ledger.runs()
    ledger.close()
    assert spent.nano_usd < 1e9
    # each kill has at most two requests in flight: one after the other, then the two of documents
    assert len(server.requests) <= 4 + 4


def test_names() -> None:
    assert asked_models("openai:text-embedding-3-small") == ["openai:text-embedding-3-small"]
    assert asked_models("hybrid:bm25+openai:small") == ["openai:small"]
    assert asked_models("llm:openai:gpt-5-mini") == ["openai:gpt-5-mini"]
    assert asked_models("late:minilm") == asked_models("minilm") == asked_models("bm25") == []


def test_without_a_key(run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UsageError) as caught:
        scored(run, "openai:text-embedding-3-small", tmp_path)
    assert str(caught.value) == (
        "openai:text-embedding-3-small needs a key: set OPENAI_API_KEY in the environment or in a "
        ".env file in this folder"
    )


def test_a_cap_without_a_model_that_costs(run: Path) -> None:
    done = in_process("eval", run, "--model", "bm25", "--max-usd", "1")
    assert done.returncode == 2
    assert done.stderr == (
        "gen: --max-usd is about models behind an API: name one, as openai:text-embedding-3-small "
        "or llm:PROVIDER:NAME\n"
    )
