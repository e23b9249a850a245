"""LoRA and memory: what is trained, what is saved, what happens after a kill or without room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import nn

from retgen.errors import UsageError
from retgen.evaluation.training import Pairs, TrainConfig, make_config, read_pairs
from retgen.evaluation.training.adapters import add_adapters, merge_adapters
from retgen.evaluation.training.fit import train
from tests.evaluation.training.conftest import weights

pytestmark = pytest.mark.usefixtures("one_torch_thread")
LORA: dict[str, Any] = {"lora": 4, "max_steps": 6, "batch_size": 10, "learning_rate": 0.01}


def changed(model: Path, other: Path) -> set[str]:
    """The layers whose weights differ between two models."""
    one, two = (
        SentenceTransformer(str(path), device="cpu").state_dict() for path in (model, other)
    )
    assert one.keys() == two.keys()
    return {
        name.removesuffix(".weight").rpartition(".")[2]
        for name in one
        if not torch.equal(one[name], two[name])
    }


@pytest.mark.slow
def test_adapters_change_linear_layers_alone_and_are_merged(
    layer: Path, pairs: Pairs, other: Path, tmp_path: Path
) -> None:
    some = {**LORA, "lora_targets": ["query", "value"], "max_steps": 2}
    trained = train(str(layer), pairs, make_config(None, some), tmp_path / "some")
    assert changed(layer, trained.path) == {"query", "value"}
    assert {path.name for path in trained.path.iterdir()} >= {"model.safetensors", "modules.json"}
    assert not list(trained.path.glob("adapter*"))
    config = make_config(None, {**LORA, "max_steps": 40})
    every = train(str(layer), read_pairs(other), config, tmp_path / "all")
    assert changed(layer, every.path) >= {"query", "key", "value", "dense"}
    losses = [loss for _, loss in every.losses]
    assert sum(losses[-6:]) < 0.8 * sum(losses[:6])


@pytest.mark.slow
def test_killed_adapters_end_with_the_same_weights(
    layer: Path, pairs: Pairs, tmp_path: Path
) -> None:
    config = make_config(
        None,
        {
            **LORA,
            "max_steps": 9,
            "eval_every": 4,
            "lora_dropout": 0.1,
            "accumulate": 2,
            "weight_decay": 0.1,
            "schedule": "cosine",
            "gradient_checkpointing": True,
            "dimension": 12,
            "hold_out": 0.2,
        },
    )
    fatal = 0

    def evaluate(model: SentenceTransformer, when: str) -> dict[str, float]:
        nonlocal fatal
        fatal -= when == "during"
        if fatal == 0 and when == "during":
            raise KeyboardInterrupt
        return {"score": float(np.abs(model.encode(["a"])).sum())}

    whole = train(str(layer), pairs, config, tmp_path / "whole", evaluate=evaluate)
    assert (whole.planned, whole.steps) == (9, 9)
    fatal, out = 2, tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        train(str(layer), pairs, config, out, evaluate=evaluate)
    checkpoint = out / "checkpoints/checkpoint-4"
    assert (checkpoint / "trained.safetensors").is_file()
    assert not (checkpoint / "model.safetensors").exists()
    resumed = train(str(layer), pairs, config, out, evaluate=evaluate)
    ours, theirs = weights(whole), weights(resumed)
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert (resumed.history, resumed.losses) == (whole.history, whole.losses)


def test_merged_weights_say_what_was_trained(layer: Path) -> None:
    config = make_config(None, {"lora": 4, "lora_targets": ["query"]})
    model = SentenceTransformer(str(layer), device="cpu").eval()
    add_adapters(model, config)
    for name, one in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(one, generator=torch.Generator().manual_seed(1))
    before = model.encode(["an owl runs", "a bee"])
    merge_adapters(model, config)
    assert {type(one).__name__ for one in model.modules() if isinstance(one, nn.Linear)} == {
        "Linear"
    }
    np.testing.assert_allclose(model.encode(["an owl runs", "a bee"]), before, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "changes", "text"),
    [
        (
            "layer",
            {"lora": 2, "lora_targets": ["q_proj"]},
            "lora_targets q_proj: the model has no such layers. Its linear ones: dense, key, query, value",
        ),
        ("static", {"lora": 2}, "lora is for transformers, which the model is not. Leave it out"),
        (
            "static",
            {"weight_decay": 0.1},
            "weight_decay is for transformers, which the model is not. Leave it out",
        ),
        (
            "static",
            {"gradient_checkpointing": True},
            "gradient_checkpointing is for transformers, which the model is not. Leave it out",
        ),
    ],
)
def test_what_cannot_be(
    kind: str,
    changes: dict[str, Any],
    text: str,
    pairs: Pairs,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    model = request.getfixturevalue(kind)
    with pytest.raises(UsageError) as caught:
        train(str(model) if kind == "layer" else model, pairs, make_config(None, changes), tmp_path)
    assert str(caught.value) == text


def test_adapter_options_need_a_rank() -> None:
    with pytest.raises(UsageError) as caught:
        make_config(None, {"lora_targets": ["query"], "lora_dropout": 0.1})
    assert str(caught.value) == (
        "the training configuration is wrong\n"
        "  together: lora_dropout, lora_targets needs lora, the rank of the adapters"
    )


@pytest.mark.slow
def test_steps_of_several_batches(layer: Path, pairs: Pairs, tmp_path: Path) -> None:
    """Two batches a step are half the steps, and the last step takes what is left."""
    changes = {"batch_size": 8, "loss": "listwise", "epochs": 1}
    single = train(str(layer), pairs, make_config(None, changes), tmp_path / "one")
    double = train(
        str(layer), pairs, make_config(None, {**changes, "accumulate": 2}), tmp_path / "two"
    )
    assert len(pairs) == 120
    assert (single.planned, double.planned) == (15, 8)
    assert double.steps == 8
    assert [entry["epoch"] for entry in double.evaluated()] == [1.0]


def no_room_for_more_than_four(module: nn.Module, inputs: tuple[dict[str, Any], ...]) -> None:
    """Before a forward pass: as a device whose memory holds four texts in training."""
    if module.training and len(inputs[0]["input_ids"]) > 4:
        raise torch.OutOfMemoryError("out of memory")


@pytest.mark.slow
def test_gradients_are_cached_where_a_batch_does_not_fit(
    layer: Path, pairs: Pairs, tmp_path: Path
) -> None:
    config = make_config(None, {"max_steps": 2, "batch_size": 12, "mini_batch_size": 4})
    model = SentenceTransformer(str(layer), device="cpu")
    model[0].register_forward_pre_hook(no_room_for_more_than_four)
    trained = train(model, pairs, config, tmp_path / "little")
    assert trained.loss == "cached-mnrl"
    asked = train(
        str(layer), pairs, config.model_copy(update={"loss": "cached-mnrl"}), tmp_path / "asked"
    )
    ours, theirs = weights(trained), weights(asked)
    assert [ours[a].tolist() for a in sorted(ours)] == [theirs[a].tolist() for a in sorted(theirs)]
    card = (trained.path / "README.md").read_text()
    assert "- loss: cached-mnrl, as a batch of mnrl did not fit into memory\n" in card


def test_preset_of_the_paper() -> None:
    config = make_config("capretrieval")
    named = ("loss", "temperature", "learning_rate", "weight_decay", "max_steps", "hold_out")
    assert [getattr(config, name) for name in named] == ["mnrl", 0.01, 5e-6, 0.1, 4000, 0.05]
    assert TrainConfig().weight_decay == 0
