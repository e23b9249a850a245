"""Losses, by hand and falling."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from retgen.evaluation.training import (
    Pairs,
    TrainConfig,
    make_config,
)
from retgen.evaluation.training.fit import train
from retgen.evaluation.training.losses import dense_loss
from tests.evaluation.training.conftest import FAST, weights, with_negatives

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def given_vectors(loss: str, **options: float) -> float:
    """The loss of a batch of three pairs over known vectors; documents 0 and 1 belong to query 0."""

    class Given(torch.nn.Module):
        def forward(self, column: Any) -> Any:
            return {"sentence_embedding": column["vectors"]}

    queries = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    documents = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.6, 0.8]])
    numbers = torch.tensor([[0, 0], [0, 1], [1, 1]])  # the third pair shares document 1
    config = TrainConfig(loss=loss, **options)  # type: ignore[arg-type]
    module = dense_loss(Given(), config, numbers)  # type: ignore[arg-type]
    return float(module([{"vectors": queries}, {"vectors": documents}], torch.tensor([0, 1, 2])))


def test_listwise_by_hand() -> None:
    # query 0, once: cosines 1 and 0.6, both relevant; query 1: 0 and 0.8, the second relevant
    t = 0.5
    first = -sum(0.5 * (c / t - math.log(math.exp(1 / t) + math.exp(0.6 / t))) for c in (1, 0.6))
    second = -(0.8 / t - math.log(math.exp(0 / t) + math.exp(0.8 / t)))
    assert given_vectors("listwise", temperature=t) == pytest.approx((first + second) / 2, rel=1e-5)


def test_margin_by_hand() -> None:
    # query 0 has no irrelevant document in the batch; query 1 has document 0, cosine 0 against 0.8
    t, m = 0.5, 0.9
    expected = t * math.log(1 + math.exp((0 - 0.8 + m) / t)) / 3
    assert given_vectors("margin", temperature=t, margin=m) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "loss",
    ["mnrl", *(pytest.param(n, marks=pytest.mark.slow) for n in ("triplet", "margin", "listwise"))],
)
def test_every_loss_falls(
    loss: str, pairs: Pairs, static: SentenceTransformer, tmp_path: Path
) -> None:
    config = make_config(None, {**FAST, "loss": loss, "hard_negatives": 1, "epochs": 3})
    before = static[0].state_dict()["embedding.weight"].clone()
    trained = train(static, with_negatives(pairs), config, tmp_path / "out")
    curve = [entry["loss"] for entry in trained.history if entry["when"] == "during"]
    assert len(curve) == 3
    assert curve[-1] < 0.8 * curve[0]
    assert trained.losses[-1][0] == trained.steps == trained.planned
    assert torch.equal(static[0].state_dict()["embedding.weight"], before)  # left as it was


@pytest.mark.slow
def test_cached_loss_is_the_plain_loss(layer: Path, pairs: Pairs, tmp_path: Path) -> None:
    plain = make_config(None, {"batch_size": "full", "max_steps": 2, "learning_rate": 1e-3})
    cached = plain.model_copy(update={"loss": "cached-mnrl", "mini_batch_size": 5})
    model = SentenceTransformer(str(layer), device="cpu")
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0  # two passes over a text must see the same network
    one, other = (train(model, pairs, c, tmp_path / c.loss) for c in (plain, cached))
    assert [loss for _, loss in one.losses] == pytest.approx([v for _, v in other.losses], rel=1e-4)
    for name, value in weights(one).items():
        np.testing.assert_allclose(value, weights(other)[name], atol=2e-4)
