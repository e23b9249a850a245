"""A model behind an API is diagnosed: scored as the same model here, paid for once, within a cap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retgen.agents.models import ModelOptions
from retgen.diagnosis.diagnose import diagnose
from retgen.diagnosis.scores import Diagnosis
from retgen.errors import BudgetReached
from retgen.search.embedders.loading import load_model
from tests.agents.loopback import running
from tests.search.embedders.embedding_server import ADDRESSES, KEY, EmbeddingServer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_torch_thread")]


def diagnosed(model: str, out: Path, **more: Any) -> Diagnosis:
    options = ModelOptions(prices=("1,0",), max_usd=more.pop("max_usd", None))
    return diagnose(
        model,
        references=(),
        abilities=["combinations"],
        quick=True,
        seed=4,
        out=out,
        cache=False,
        model_options=options,
    )


def test_scores_price_and_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(EmbeddingServer(load_model("static:minilm", "cpu"))) as server:
        monkeypatch.setenv(ADDRESSES["openai"][0], server.address("openai"))
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with pytest.raises(BudgetReached):
            diagnosed("openai:ok", tmp_path / "api", max_usd=0.0001)
        first = diagnosed("openai:ok", tmp_path / "api")
        texts = server.texts()
        assert len(texts) == len(set(texts))  # each is sent once
        sent = len(server.questions)
        (tmp_path / "api" / "systems" / "openai--ok" / "combinations.json").unlink()
        again = diagnosed("openai:ok", tmp_path / "api")  # the ledger answers
        assert len(server.questions) == sent
    here = diagnosed("static:minilm", tmp_path / "here")
    won = [next(iter(one.scores.values()))["combinations"].won for one in (first, again, here)]
    assert won[0].tolist() == won[1].tolist() == won[2].tolist()
