"""Adapters (LoRA) beside weights that stay as they are."""

from __future__ import annotations

from typing import Any

import torch
from sentence_transformers import SentenceTransformer

from retgen.errors import UsageError
from retgen.evaluation.training.config import TrainConfig
from retgen.evaluation.training.models import same_random_state


def add_adapters(model: SentenceTransformer, config: TrainConfig) -> None:
    """Put the adapters of a configuration into a transformer in place, if it has some (LoRA, arXiv
    2106.09685); all other weights of its body stay as they are from here on.

    Raises `UsageError` where PEFT is missing, or the transformer has no such layers.
    """
    if config.lora is None:
        return
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise UsageError("lora needs PEFT: pip install 'retgen[eval]'") from error
    network: Any = model[0].auto_model
    wanted = LoraConfig(
        r=config.lora,
        lora_alpha=config.lora_alpha or 2 * config.lora,  # type: ignore[arg-type]  # a float works
        lora_dropout=config.lora_dropout,
        target_modules=list(config.lora_targets) or "all-linear",
    )
    with same_random_state():
        torch.manual_seed(config.seed)
        try:
            inject_adapter_in_model(wanted, network)
        except ValueError as error:
            linear = {
                name.rpartition(".")[2]
                for name, one in network.named_modules()
                if isinstance(one, torch.nn.Linear)
            }
            raise UsageError(
                f"lora_targets {', '.join(config.lora_targets)}: the model has no such layers. Its "
                f"linear ones: {', '.join(sorted(linear)) or 'none'}"
            ) from error
    body = {id(one) for one in network.base_model.parameters()}
    for one in network.parameters():  # a head, which may be a random one
        if id(one) not in body:
            one.requires_grad_(True)


def merge_adapters(model: SentenceTransformer, config: TrainConfig) -> None:
    """Add adapters to the weights they stand beside, in place: the model is a plain one again."""
    if config.lora is None:
        return
    from peft.tuners.lora import LoraLayer

    for name, layer in list(model.named_modules()):
        if isinstance(layer, LoraLayer):
            layer.merge()
            parent, _, own = name.rpartition(".")
            setattr(model.get_submodule(parent), own, layer.get_base_layer())
