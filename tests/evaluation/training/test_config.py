"""Configurations of a training, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer

from retgen.errors import UsageError
from retgen.evaluation.training import (
    TrainConfig,
    make_config,
)
from retgen.evaluation.training.kinds import resolve

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def test_the_preset_is_the_papers() -> None:
    config = make_config("limit", {"dimension": 32})
    assert (config.loss, config.batch_size) == ("mnrl", "full")
    assert (config.learning_rate, config.epochs, config.dimension) == (5e-5, 5, 32)
    assert config.hard_negatives == 0  # the paper's are those of the batch
    assert config.init == "model"
    other = make_config("capretrieval")
    named = ("loss", "temperature", "learning_rate", "weight_decay", "max_steps", "hold_out")
    assert [getattr(other, name) for name in named] == ["mnrl", 0.01, 5e-6, 0.1, 4000, 0.05]


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            {"loss": "mnlr", "batch_size": 0, "epochs": 0, "dimensions": 3, "seed": "x"},
            [
                "loss: must be 'mnrl' or 'cached-mnrl', not 'mnlr'; did you mean mnrl?",
                "batch_size: must be a whole number of at least 1, or 'full', not 0",
                "epochs: must be greater than or equal to 1, not 0",
                "seed: must be a valid integer, unable to parse string as an integer, not 'x'",
                f"dimensions: unknown key; did you mean dimension? Allowed: {', '.join(TrainConfig.model_fields)}",
            ],
        ),
        (
            {"hard_negatives": "some"},
            ["hard_negatives: must be a whole number of at least 0, or 'all', not 'some'"],
        ),
        ({"temperature": 0}, ["temperature: must be greater than 0, not 0"]),
        ({"matryoshka": [8, 0]}, ["matryoshka.1: must be greater than or equal to 1, not 0"]),
        (
            {"matryoshka": [64], "dimension": 32},
            ["together: matryoshka 64 is above dimension 32"],
        ),
    ],
)
def test_every_problem_of_a_configuration_is_named(
    changes: dict[str, Any], lines: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        make_config(None, changes)
    assert str(caught.value) == "\n  ".join(["the training configuration is wrong", *lines])


def test_unknown_preset() -> None:
    with pytest.raises(UsageError) as caught:
        make_config("limits")
    assert str(caught.value) == (
        "there is no training preset 'limits'; did you mean limit? Possible: limit, capretrieval, cpu"
    )


def test_start_rate_and_batch_follow_the_kind_of_model(
    static: SentenceTransformer, layer: Path, tmp_path: Path
) -> None:
    """By name, by the folder's modules, by the model; what is given stays."""
    static.save_pretrained(str(tmp_path / "words"))
    of = [
        resolve(TrainConfig(), model)
        for model in ("static:minilm", "minilm", str(tmp_path / "words"), str(layer), static)
    ]
    assert [one.learning_rate for one in of] == [0.008, 2e-5, 0.002, 2e-5, 0.002]
    assert [one.batch_size for one in of] == [128, 64, 128, 64, 128]
    assert {one.temperature for one in of} == {0.05}
    # tokens of a model that somebody saved may be weighted already
    assert [one.init for one in of] == ["idf", "model", "model", "model", "model"]
    paper = resolve(make_config("limit"), "static:minilm")
    assert (paper.learning_rate, paper.batch_size, paper.init) == (5e-5, "full", "model")
    given = {"learning_rate": 0.5, "batch_size": 3, "init": "idf", "temperature": 0.1}
    assert resolve(make_config(None, given), static) == make_config(None, given)
