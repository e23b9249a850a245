"""Batches, what is held out, negatives, and what is said of batches that teach nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from retgen.errors import UsageError
from retgen.evaluation.training import Pairs, TrainConfig, make_config
from retgen.evaluation.training.batches import draw_batches, prepare
from retgen.evaluation.training.config import TrainingRun
from retgen.evaluation.training.models import collapse, few_to_compare

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def test_an_epoch_is_every_pair_once_and_no_text_twice_in_a_batch(pairs: Pairs) -> None:
    config = make_config("limit")
    rows, held_out = prepare(pairs, config)
    assert held_out == []
    batches = draw_batches(rows, config)
    once = draw_batches(rows, config.model_copy(update={"epochs": 1}))
    assert batches[: len(once)] == once
    assert sorted(i for batch in once for i in batch) == list(range(120))
    assert sorted(i for batch in batches for i in batch) == sorted([*range(120)] * 5)
    for batch in batches:
        texts = [pairs.anchors[i] for i in batch] + [pairs.positives[i] for i in batch]
        assert len(set(texts)) == len(texts)
    assert max(map(len, batches)) <= 12  # as many as there are documents
    steps = config.model_copy(update={"max_steps": len(once) + 1})
    assert draw_batches(rows, steps) == batches[: len(once) + 1]
    other = config.model_copy(update={"seed": 7})
    assert draw_batches(rows, other) != batches


def test_held_out_queries_are_whole(pairs: Pairs) -> None:
    rows, held_out = prepare(pairs, TrainConfig(hold_out=0.25))
    assert (len(rows), len(held_out)) == (90, 30)
    queries = {row["anchor"] for row in held_out}
    assert not {row["anchor"] for row in rows} & queries
    assert len(queries) == 15
    with pytest.raises(UsageError) as caught:
        prepare(pairs, TrainConfig(hold_out=0.999))
    assert str(caught.value) == (
        "hold_out 0.999 of 60 queries leaves none to train on. Lower it, or give more pairs."
    )


def test_negatives_are_repeated_or_refused(pairs: Pairs) -> None:
    with pytest.raises(UsageError) as caught:
        prepare(pairs, TrainConfig(hard_negatives=1))
    assert str(caught.value) == (
        "hard_negatives is 1, but 120 of the 120 pairs have no negative. Set hard_negatives to 0, "
        "or leave those pairs out."
    )
    two = Pairs(["a", "b"], ["a+", "b+"], [["a-"], ["b-", "b--"]], ["a", "b"], "a test")
    row = {"anchor": "a", "positive": "a+", "negative_1": "a-", "negative_2": "a-"}
    assert prepare(two, TrainConfig(hard_negatives=2))[0][0] == row
    # by default as many as every pair has
    assert prepare(two, TrainConfig())[0] == [
        {"anchor": "a", "positive": "a+", "negative_1": "a-"},
        {"anchor": "b", "positive": "b+", "negative_1": "b-"},
    ]


@pytest.mark.parametrize(
    ("counts", "wanted", "used", "message"),
    [
        ([0, 0], "all", 0, "no hard negatives (the pairs have none)"),
        ([1, 1], "all", 1, "1 hard negatives a pair (of 1)"),
        ([2, 5], "all", 2, "2 hard negatives a pair (of 2 to 5)"),
        ([2, 5], 3, 3, "3 hard negatives a pair (of 2 to 5; 1 pairs have fewer and repeat theirs)"),
        ([2, 5], 0, 0, "no hard negatives, as hard_negatives says (pairs have 2 to 5)"),
        (
            [0, 5],
            "all",
            0,
            "no hard negatives, since 1 of the 2 pairs have none (pairs have 0 to 5)",
        ),
    ],
)
def test_what_is_used_of_the_negatives_is_told(
    counts: list[int], wanted: Any, used: int, message: str
) -> None:
    negatives = [[f"{i} {j}" for j in range(count)] for i, count in enumerate(counts)]
    pairs = Pairs(["a", "b"], ["a+", "b+"], negatives, ["a", "b"], "a test")
    assert pairs.negatives_used(wanted) == used
    assert pairs.negatives_in_words(wanted) == message


GUESS = math.log(16)
GUESSED = "over the last 6 of 24 steps its loss was {0}, and guessing among the documents of a batch has {0}"


@pytest.mark.parametrize(
    ("losses", "batches", "more", "loss"),
    [
        ([GUESS] * 24, [16] * 24, {}, GUESSED.format("2.77")),
        # a batch of one pair has no loss, and guessing none
        ([*[GUESS] * 23, 0.0], [*[16] * 23, 1], {}, GUESSED.format("2.31")),
        # batches are of many sizes: 2.5 is less than guessing among 16, more than among their mean
        (
            [2.3, 3.2, 2.3, 3.2, 2.3, 1.9, 2.3, 0.0, 2.6, 2.5],
            [16, 16, 16, 16, 2, 2, 2, 1, 16, 16],
            {},
            "",
        ),
        ([GUESS] * 23 + [2.5], [16] * 24, {}, ""),
        ([3.2, 3.2, 3.2], [16] * 3, {}, ""),  # too few steps to tell
        ([], [], {}, ""),
        # negatives are guessed among too
        ([GUESS] * 24, [8] * 24, {"hard_negatives": 1}, GUESSED.format("2.77")),
        ([GUESS] * 24, [16] * 24, {"hard_negatives": 1}, ""),
    ],
)
def test_a_loss_of_guessing(
    losses: list[float], batches: list[int], more: dict[str, Any], loss: str
) -> None:
    curve = [(step, loss) for step, loss in enumerate(losses, start=1)]
    trained = TrainingRun(Path("x"), losses=curve, steps=len(losses), **more)
    found = collapse(trained, TrainConfig(learning_rate=1.0), batches, "")
    assert found.partition("collapsed: ")[2].partition(". Lower")[0] == loss


def test_a_cross_encoder_that_has_not_begun_to_learn() -> None:
    """It chooses among its own documents and four others."""

    def told(loss: float) -> str:
        curve = [(step, loss) for step in range(1, 25)]
        trained = TrainingRun(Path("x"), losses=curve, steps=24, hard_negatives=4)
        return collapse(trained, TrainConfig(learning_rate=2e-5), [16] * 24, "", compared=4)

    assert told(math.log(9)) == (
        "the training learnt next to nothing: over the last 6 of 24 steps its loss was 2.20, and guessing "
        "among the documents of a batch has 2.20. A cross-encoder whose head starts at random "
        "takes hundreds of steps: raise max_steps, or learning_rate (now 2e-05)"
    )
    assert told(2.1) == ""


ONE = "{} held 1 pair, so there was nothing to compare it with or learn from it"
RULE = (
    ". Pairs with the same query or document are no negatives of one another: train on pairs of "
    "more queries and documents, or on hard negatives"
)
EVERY = ONE.format("every batch") + RULE
HALVES = " ".join(f"q{i}:d{i % 2}" for i in range(40)), [{i, i + 1} for i in range(0, 40, 2)]


@pytest.mark.parametrize(
    ("pairs", "batches", "settings", "message"),
    [
        ("q0:d0", [{0}], {}, EVERY),
        ("q0:d0 q1:d0", [{0}, {1}], {}, EVERY),
        ("q0:d0 q0:d1", [{0, 1}], {}, EVERY),
        ("q0:d0 q1:d0 q2:d0 q3:d1", [{0, 3}, {1}, {2}], {}, ONE.format("2 of 3 batches") + RULE),
        (
            "q0:d0 q1:d1",
            [{0}, {1}],
            {"batch_size": 1},
            ONE.format("every batch") + ". Raise batch_size",
        ),
        ("q0:d0 q1:d0 q2:d1 q3:d2", [{0, 2, 3}, {1}], {}, ""),
        (*HALVES, {}, "batches held 2.0 pairs on average: little could be learnt" + RULE),
        (*HALVES, {"batch_size": 8}, ""),
    ],
)
def test_batches_of_few_pairs(
    pairs: str, batches: list[set[int]], settings: dict[str, Any], message: str
) -> None:
    rows = [
        dict(zip(("anchor", "positive"), pair.split(":"), strict=True)) for pair in pairs.split()
    ]
    config = TrainConfig(**{"batch_size": 64, **settings})
    for hard_negatives, expected in ((0, message), (1, "")):
        trained = TrainingRun(Path("x"), pairs=len(rows), hard_negatives=hard_negatives)
        assert few_to_compare(trained, config, rows, batches) == expected
