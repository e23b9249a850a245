"""Prompts, fingerprints and lengths of an embedder."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from retgen.evaluation.embedders.base import SentenceEmbedder
from retgen.evaluation.embedders.loading import load_model
from retgen.evaluation.retrievers import Options, retriever


@pytest.mark.slow
def test_prompts_change_the_vectors_and_the_fingerprint() -> None:
    model = load_model("minilm")
    plain = SentenceEmbedder("minilm", model, Options())
    asked = SentenceEmbedder("minilm", model, Options(query_prompt="search: "))
    assert plain.fingerprint != asked.fingerprint
    one, tokens = plain.encode(["search: tea"], "query")
    two, same = asked.encode(["tea"], "query")
    torch.testing.assert_close(one, two)
    assert tokens == same == [5]
    some = ["tea", "salt " * 40, "tea", "a b c " * 5, "x " * 14]
    short = SentenceEmbedder("minilm", model, Options(max_length=16))
    assert short.encode(some, "document")[1] == [3, 42, 3, 17, 16]  # before they were cut
    assert "preprocess" not in vars(model)


def test_other_weights_have_another_fingerprint() -> None:
    model = load_model("static:minilm")
    before = SentenceEmbedder("m", model, Options()).fingerprint
    assert before == SentenceEmbedder("m", load_model("static:minilm"), Options()).fingerprint
    with torch.no_grad():
        next(model.parameters())[5, 5] += 1
    assert SentenceEmbedder("m", model, Options()).fingerprint != before


def test_a_model_trained_for_truncation_is_known_by_its_card(tmp_path: Path) -> None:
    load_model("static:minilm").save_pretrained(str(tmp_path / "m"))
    (tmp_path / "m" / "README.md").write_text("---\ntags:\n- loss:MatryoshkaLoss\n---\n# m\n")
    (one,) = [retriever(str(tmp_path / "m"), Options())]
    assert one.embedder.details["trained_for_truncation"] is True  # type: ignore[attr-defined]
