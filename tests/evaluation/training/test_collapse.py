"""When a training collapsed, told from its curve, its batches and its vectors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer

from retgen.evaluation.training import TrainConfig
from retgen.evaluation.training.config import TrainingRun
from retgen.evaluation.training.kinds import split_name
from retgen.evaluation.training.models import collapse, few_to_compare
from retgen.evaluation.training.pairs import Pairs

TEXTS = ["red roof", "blue door", "old tree", "new lake"]


class Vectors(torch.nn.Module):
    """A text's vector is `base`, and its number of letters e beside."""

    def __init__(self, base: list[float]) -> None:
        super().__init__()
        self.base = torch.nn.Parameter(torch.tensor(base))

    def preprocess(self, texts: list[str], **_: Any) -> dict[str, Any]:
        return {"letters": torch.tensor([[text.count(one) for one in "eodr"] for text in texts])}

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {"sentence_embedding": self.base + features["letters"].float()}

    def get_embedding_dimension(self) -> int:
        return 4


def said(losses: list[float], batches: list[int], base: float = 0.0, **more: Any) -> str:
    curve = [(step, loss) for step, loss in enumerate(losses, start=1)]
    model = SentenceTransformer(modules=[Vectors([base] * 4)], device="cpu")
    failure = split_name(model)[0].failure(model, TEXTS)
    config = TrainConfig(loss="mnrl", learning_rate=1.0)
    trained = TrainingRun(Path("x"), losses=curve, steps=len(losses), **more)
    return collapse(trained, config, batches, failure)


GUESS = math.log(16)


@pytest.mark.parametrize(
    ("losses", "batches", "loss"),
    [
        (
            [GUESS] * 24,
            [16] * 24,
            "over the last 6 of 24 steps its loss was 2.77, and guessing among the documents of a batch has 2.77",
        ),
        # a batch of one pair has no loss, and guessing none
        (
            [*[GUESS] * 23, 0.0],
            [*[16] * 23, 1],
            "over the last 6 of 24 steps its loss was 2.31, and guessing among the documents of a batch has 2.31",
        ),
        # batches are of many sizes: 2.5 is less than guessing among 16, more than among their mean
        (
            [2.3, 3.2, 2.3, 3.2, 2.3, 1.9, 2.3, 0.0, 2.6, 2.5],
            [16, 16, 16, 16, 2, 2, 2, 1, 16, 16],
            "",
        ),
        ([GUESS] * 23 + [2.5], [16] * 24, ""),
        ([3.2, 3.2, 3.2], [16] * 3, ""),  # too few steps to tell
        ([], [], ""),
    ],
)
def test_a_loss_of_guessing(losses: list[float], batches: list[int], loss: str) -> None:
    found = said(losses, batches)
    assert found.partition("collapsed: ")[2].partition(". Lower")[0] == loss


def test_negatives_are_guessed_among_too() -> None:
    losses = [math.log(16)] * 24
    assert said(losses, [8] * 24, hard_negatives=1)
    assert not said(losses, [16] * 24, hard_negatives=1)


def test_a_cross_encoder_that_has_not_begun_to_learn() -> None:
    """It chooses among its own documents and four others."""
    config = TrainConfig(loss="mnrl", learning_rate=2e-5)

    def told(loss: float) -> str:
        curve = [(step, loss) for step in range(1, 25)]
        trained = TrainingRun(Path("x"), losses=curve, steps=24, hard_negatives=4)
        return collapse(trained, config, [16] * 24, "", compared=4)

    assert told(math.log(9)) == (
        "the training learnt next to nothing: over the last 6 of 24 steps its loss was 2.20, and guessing "
        "among the documents of a batch has 2.20. A cross-encoder whose head starts at random "
        "takes hundreds of steps: raise max_steps, or learning_rate (now 2e-05)"
    )
    assert told(2.1) == ""


def test_vectors_that_are_alike() -> None:
    assert said([], []) == ""
    found = said([], [], base=1_000.0)
    assert "the vectors of 4 of its texts are alike (mean cosine 1.000)" in found


ONE = "{} held 1 pair, so there was nothing to compare it with or learn from it"
RULE = (
    ". Pairs with the same query or document are no negatives of one another{}: train on pairs of "
    "more queries and documents, or on hard negatives"
)
EVERY = ONE.format("every batch") + RULE.format(" (no_duplicates)")
HALVES = " ".join(f"q{i}:d{i % 2}" for i in range(40)), [{i, i + 1} for i in range(0, 40, 2)]


@pytest.mark.parametrize(
    ("pairs", "batches", "settings", "message"),
    [
        ("q0:d0", [{0}], {}, EVERY),
        ("q0:d0 q1:d0", [{0}, {1}], {}, EVERY),
        ("q0:d0 q0:d1", [{0}, {1}], {}, EVERY),
        # margin knows that both documents are relevant
        ("q0:d0 q0:d1", [{0, 1}], {"loss": "margin"}, EVERY),
        (
            "q0:d0 q1:d0 q2:d0 q3:d1",
            [{0, 3}, {1}, {2}],
            {"no_duplicates": False},
            ONE.format("2 of 3 batches") + RULE.format(""),
        ),
        (
            "q0:d0 q1:d1",
            [{0}, {1}],
            {"batch_size": 1},
            ONE.format("every batch") + ". Raise batch_size",
        ),
        ("q0:d0 q1:d0 q2:d1 q3:d2", [{0, 2, 3}, {1}], {}, ""),
        (
            *HALVES,
            {},
            "batches held 2.0 pairs on average: little could be learnt"
            + RULE.format(" (no_duplicates)"),
        ),
        (*HALVES, {"batch_size": 8}, ""),
    ],
)
def test_batches_of_few_pairs(
    pairs: str, batches: list[set[int]], settings: dict[str, Any], message: str
) -> None:
    queries, documents = zip(*(pair.split(":") for pair in pairs.split()), strict=True)
    given = Pairs([*queries], [*documents], [[] for _ in queries], [*queries], "a test")
    config = TrainConfig(**{"batch_size": 64, **settings})
    trained = TrainingRun(Path("x"), pairs=len(given))
    assert few_to_compare(trained, config, given, batches) == message
    with_negatives = TrainingRun(Path("x"), pairs=len(given), hard_negatives=1)
    assert few_to_compare(with_negatives, config, given, batches) == ""
