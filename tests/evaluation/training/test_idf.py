"""Token vectors weighted by idf: by hand, and as saved."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from retgen.evaluation.training import Pairs, TrainConfig
from retgen.evaluation.training.fit import train
from tests.evaluation.training.conftest import weights

pytestmark = pytest.mark.usefixtures("one_torch_thread")

WORDS = ["the", "owl", "cat", "fox", "bee"]


@pytest.fixture
def words() -> SentenceTransformer:
    """A vector of ones for each of five words."""
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="the"))
    tokenizer.pre_tokenizer = Whitespace()
    vectors = torch.ones(5, 2) * torch.tensor([1.0, 2.0])
    return SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, embedding_weights=vectors)], device="cpu"
    )


# d1 stands there twice, each time without another part, and counts once; "bee" is in a query alone
PAIRS = Pairs(
    ["bee", "owl", "cat", "fox"],
    ["the owl the", "the cat", "the owl cat", "the fox"],
    [["bee bee"], [], [], []],
    ["1", "2", "3", "4"],
    "a test",
    ["d1", "d1", "d2", "d3"],
)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 2])
def test_idf_counts_documents_of_the_positives(
    words: SentenceTransformer, tmp_path: Path, limit: int | None
) -> None:
    """N 3; the: 3, owl: 2, cat: 2, fox: 1, bee: none; cat: 1 where two tokens are read of a text."""
    if limit:
        words[0].tokenizer.enable_truncation(limit)
    seen = {}

    def look(model: SentenceTransformer, when: str) -> dict[str, float]:
        seen[when] = model.state_dict()["0.embedding.weight"].numpy().copy()
        return {"x": 0.5}

    config = TrainConfig(init="idf", max_steps=1, hard_negatives=0, learning_rate=1e-9)
    trained = train(words, PAIRS, config, tmp_path / "out", evaluate=look, device="cpu")
    frequencies = [3, 2, 2, 1, 0] if limit is None else [3, 2, 1, 1, 0]
    idf = np.array([math.log(4 / (1 + df)) + 1 for df in frequencies], np.float32)
    assert (seen["before"] == [1.0, 2.0]).all()
    np.testing.assert_allclose(seen["idf"], idf[:, None] * [1.0, 2.0], rtol=1e-6)
    np.testing.assert_allclose(weights(trained)["0.embedding.weight"], seen["idf"], rtol=1e-6)
    assert list(trained.scores) == ["before", "idf", "after"]
    assert trained.start == (
        "token vectors times ln((1 + N) / (1 + df)) + 1 of the 3 documents of the training pairs, "
        "which hold 4 of its 5 tokens; df of the others is 0"
    )
    card = (trained.path / "README.md").read_text()
    assert f"- start: {trained.start}" in card.replace("\\", "")
    assert "| measure | before | idf alone | after |" in card


def test_idf_counts_the_other_documents_of_the_training_side(
    words: SentenceTransformer, tmp_path: Path
) -> None:
    """N 5: d1 to d3 as above, of which d3 is whole now, and two more."""
    others = {"d3": "the fox cat", "d4": "bee", "d5": "the bee"}
    pairs = replace(PAIRS, documents=others)
    assert pairs.digest() != PAIRS.digest()
    config = TrainConfig(init="idf", max_steps=1, hard_negatives=0, learning_rate=1e-9)
    trained = train(words, pairs, config, tmp_path / "out", device="cpu")
    idf = np.array([math.log(6 / (1 + df)) + 1 for df in (4, 2, 3, 1, 2)], np.float32)
    found = weights(trained)["0.embedding.weight"]
    np.testing.assert_allclose(found, idf[:, None] * [1.0, 2.0], rtol=1e-6)
    assert trained.start.endswith(
        "of the 5 documents of the training side, which hold 5 of its 5 tokens; df of the others is 0"
    )


def test_a_start_elsewhere_keeps_the_vectors(words: SentenceTransformer, tmp_path: Path) -> None:
    config = TrainConfig(init="model", max_steps=1, hard_negatives=0, learning_rate=1e-9)
    trained = train(words, PAIRS, config, tmp_path / "out", device="cpu")
    np.testing.assert_allclose(weights(trained)["0.embedding.weight"], [[1.0, 2.0]] * 5, rtol=1e-6)
    assert trained.start == ""
