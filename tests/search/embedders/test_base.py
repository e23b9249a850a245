"""Prompts, fingerprints and lengths of an embedder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, retriever
from retgen.search.embedders.base import SentenceEmbedder
from retgen.search.embedders.loading import load_model


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


def with_word(word: str, value: float) -> Any:
    """static:minilm with another vector of a word."""
    model = load_model("static:minilm", "cpu")
    (index,) = model.tokenizer.encode(word, add_special_tokens=False).ids
    with torch.no_grad():
        model[0].embedding.weight[index] = value
    return model


def test_a_vector_that_is_not_finite_is_named_with_its_text() -> None:
    embedder = SentenceEmbedder("m", with_word("cat", float("nan")), Options())
    with pytest.raises(UsageError) as caught:
        embedder.encode(["dog", "a cat", "cat"], "document")
    assert str(caught.value) == (
        "--model m: gives a vector that is not finite for the text that begins 'a cat'; try "
        "--dtype float32"
    )
