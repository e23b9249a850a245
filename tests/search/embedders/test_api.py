"""Embedders behind an API: the scores of the same model here, paid for once, within the cap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import retgen
from retgen.agents.ledger import Ledger
from retgen.agents.models import ModelOptions
from retgen.errors import BudgetReached, EndpointFailed
from retgen.evaluation.retrievers import Options
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.search.embedders.loading import load_model
from tests.agents.loopback import running
from tests.search.embedders.embedding_server import ADDRESSES, KEY, LONGEST, EmbeddingServer

pytestmark = pytest.mark.usefixtures("one_torch_thread")
PRICE = ("1,0",)  # a dollar per million tokens
PROVIDERS = list(ADDRESSES)
# texts of each request: one to learn the dimension, 40 queries, 200 documents
SIZES = {
    "openai": [1, 40, 72, 128],
    "google_genai": [1, 40, 100, 100],
}
every = pytest.mark.parametrize("provider", PROVIDERS)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 documents and 40 queries."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    retgen.run("limit_small", out=out, overrides={"params.queries": 40, "params.docs": 200})
    return out


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    with running(EmbeddingServer(load_model("static:minilm", "cpu"))) as server:
        for provider, (variable, _) in ADDRESSES.items():
            monkeypatch.setenv(variable, server.address(provider))
        for name in ("OPENAI_API_KEY", "GOOGLE_API_KEY"):
            monkeypatch.setenv(name, KEY)
        yield server


def scored(run: Path, model: str, out: Path, **more: Any) -> Any:
    options = ModelOptions(prices=more.pop("prices", PRICE), max_usd=more.pop("max_usd", None))
    (result,) = evaluate(
        run, models=[model], out=out, cache=more.pop("cache", False), model_options=options, **more
    ).datasets
    return result.scores[0]


def sizes(server: EmbeddingServer) -> list[int]:
    """Texts of each request."""
    return sorted(len(one.texts) for one in server.questions)


def charged(folder: Path) -> list[int]:
    """Nano-dollars, by run."""
    ledger = Ledger(folder / "ledger.sqlite")
    try:
        return [one.nano_usd for one in ledger.sums()]
    finally:
        ledger.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        *(f"{provider}:ok" for provider in PROVIDERS),
        *(f"openai:{how}" for how in ("base64", "huge", "tiny")),
    ],
)
def test_scores_are_those_of_the_same_model_here(
    model: str, run: Path, server: EmbeddingServer, tmp_path: Path
) -> None:
    provider = model.partition(":")[0]
    (here,) = evaluate(run, models=["static:minilm"], out=tmp_path / "here", cache=False).datasets
    first = scored(run, model, tmp_path / "api")
    assert first.values.tolist() == here.scores[0].values.tolist()
    assert sizes(server) == SIZES[provider]
    again = scored(run, model, tmp_path / "api")
    assert again.values.tolist() == first.values.tolist()
    assert sizes(server) == SIZES[provider]
    tokens = sum(sum(len(t.encode()) for t in one.texts) // 4 + 1 for one in server.questions)
    assert charged(tmp_path) == [tokens * 1000]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "query", "document"),
    [
        ("openai", None, None),
        ("google_genai", "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"),
    ],
)
def test_queries_and_documents_have_a_type_of_input_each(
    provider: str,
    query: str | None,
    document: str | None,
    run: Path,
    server: EmbeddingServer,
    tmp_path: Path,
) -> None:
    """A prompt of the user's stands in its place."""
    scored(run, f"{provider}:ok", tmp_path / "out")
    kinds = {(one.kind, len(one.texts) <= 40) for one in server.questions if len(one.texts) > 8}
    assert kinds == {(query, True), (document, False)}
    server.questions.clear()
    options = Options(query_prompt="query: ")
    score = scored(run, f"{provider}:ok", tmp_path / "out", dims=[32], options=options)
    assert score.dim == 32
    (short, longer) = sorted(server.questions, key=lambda one: len(one.texts))
    assert {one.kind for one in (short, longer)} == {None}
    assert all(text.startswith("query: ") for text in longer.texts)
    assert len(longer.texts) == 40  # documents are the same as before


@pytest.mark.slow
@every
def test_texts_that_are_too_long_are_shortened(
    provider: str, server: EmbeddingServer, tmp_path: Path
) -> None:
    folder = tmp_path / "long"
    folder.mkdir()
    texts = ["owl " * 3000, "cat", "", "dog", "cat", "  "]  # 12,000 characters, and none
    rows = [f'{{"_id": "d{i}", "title": "", "text": "{text}"}}' for i, text in enumerate(texts)]
    (folder / "corpus.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "owl"}\n')
    (folder / "qrels.jsonl").write_text('{"query-id": "q", "corpus-id": "d0", "score": 1}\n')
    score = scored(folder, f"{provider}:ok", tmp_path / "out", metrics=["recall@1"])
    assert score.values.tolist() == [[1.0]]
    read = server.texts()
    # one is halved twice, or cut by Gemini without a word
    assert score.details["shortened"] == (0 if provider == "google_genai" else 1)
    assert max(map(len, read)) == (2_999 if provider == "openai" else 11_999)
    assert all(one.cuts for one in server.answered if max(map(len, one.texts)) > LONGEST)
    # equal texts go out once, and none is empty
    assert sorted(text for text in read if len(text) < 9) == [".", "?", "cat", "dog", "owl"]
    before = len(server.questions)
    scored(folder, f"{provider}:ok", tmp_path / "out", metrics=["recall@1"])
    assert len(server.questions) == before


@pytest.mark.slow
@every
@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("few", "39 vectors for 40 texts"),
        ("zeros", "a vector of length 0 for the text that begins '?'"),
        ("nan", "a vector that is not finite for the text that begins '?'"),
        ("literal", "a vector that is not finite for the text that begins '?'"),
        *((model, "an answer that holds no vectors") for model in ("words", "object")),
        ("other", "vectors of 5 dimensions among those of 384"),
    ],
)
def test_answers_that_are_no_vectors(
    provider: str, model: str, fault: str, run: Path, server: EmbeddingServer, tmp_path: Path
) -> None:
    name = f"{provider}:{model}"
    with pytest.raises(EndpointFailed) as caught:
        scored(run, name, tmp_path / "out")
    assert str(caught.value).partition("\n")[0] == (
        f"{name} at {server.address(provider)}: gave {fault}. The answer is kept, so asking again "
        "does not help: take another model or, if the server is mended, another ledger (--ledger "
        "FILE)"
    )
    # the text from which the dimension is learned, and the queries
    asked = 2 if model in ("few", "other") else 1
    assert len(server.questions) == asked
    with pytest.raises(EndpointFailed):
        scored(run, name, tmp_path / "out")
    assert len(server.questions) == asked  # all answers are kept


@pytest.mark.slow
@every
def test_the_cap_holds_and_a_higher_one_goes_on(
    provider: str, run: Path, server: EmbeddingServer, tmp_path: Path
) -> None:
    """The estimate fits, but not the most that a request of documents may cost."""
    with pytest.raises(BudgetReached) as caught:
        scored(run, f"{provider}:ok", tmp_path / "out", max_usd=0.04)
    assert "the next call could cost $0.0" in str(caught.value)
    assert 0 < len(server.questions) < len(SIZES[provider])
    assert charged(tmp_path)[0] < 0.04e9
    scored(run, f"{provider}:ok", tmp_path / "out", max_usd=1)
    assert sizes(server) == SIZES[provider]


@pytest.mark.slow
def test_the_price_is_said_before_anything_is_sent(
    run: Path, server: EmbeddingServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "gen: openai:ok: up to 240 texts are to be sent"
    kept: Any = {"cache": True, "options": Options(cache=tmp_path / "cache")}
    scored(run, "openai:ok", tmp_path / "out", prices=())
    assert capsys.readouterr().err == (
        f"{said}; the price is not known: add --price openai:ok=IN,OUT\n"
    )
    scored(run, "openai:ok", tmp_path / "out", **kept)
    assert capsys.readouterr().err == f"{said}: $0.0209 to $0.0295\n"
    assert sizes(server) == SIZES["openai"]  # all was in the ledger
    scored(run, "openai:ok", tmp_path / "other" / "out", **kept)
    assert capsys.readouterr().err == ""  # another ledger, but the vectors are on disk
