"""Adapters (LoRA) beside weights that stay as they are, whole or in 4 bits (QLoRA)."""

from __future__ import annotations

from typing import Any, cast

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
    if config.quantize is not None:
        quantize(network.base_model)
        network.is_loaded_in_4bit = True  # as PEFT asks
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
        finally:
            network.is_loaded_in_4bit = False  # or transformers would train nothing but its own
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
            plain: Any = layer.get_base_layer()
            if config.quantize is None:
                layer.merge()
            else:
                plain, adapter = dequantized(plain), cast(Any, layer)
                with torch.no_grad():
                    plain.weight += adapter.get_delta_weight("default").to(plain.weight)
            _replace(model, name, plain)
    if config.quantize is not None:
        for name, layer in list(model.named_modules()):
            if type(layer).__name__ == "Linear4bit":
                _replace(model, name, dequantized(layer))


def quantize(network: torch.nn.Module) -> None:
    """Turn the weights of all linear layers into NF4 in place: 4 bits, with a scale for 64 of them
    (QLoRA, arXiv 2305.14314).

    Raises `UsageError` where bitsandbytes is missing.
    """
    try:
        from bitsandbytes.nn.modules import Linear4bit, Params4bit
    except ImportError as error:
        raise UsageError("quantize nf4 needs bitsandbytes: pip install 'retgen[qlora]'") from error
    for name, layer in list(network.named_modules()):
        if isinstance(layer, torch.nn.Linear):
            weight = layer.weight.data
            new: Any = Linear4bit(
                layer.in_features,
                layer.out_features,
                layer.bias is not None,
                compute_dtype=weight.dtype,
                quant_type="nf4",
            )
            new.weight = Params4bit(weight, requires_grad=False, quant_type="nf4")
            new.bias = layer.bias
            # else some processors repack weights in place where a model only encodes, for good
            new.support_avx512bf16_for_cpu = False
            _replace(network, name, new.to(weight.device))


def dequantized(layer: Any) -> torch.nn.Linear:
    """A linear layer of 4 bits as an ordinary one."""
    from bitsandbytes.functional import dequantize_4bit

    weight = dequantize_4bit(layer.weight.data, layer.weight.quant_state)
    result = torch.nn.Linear(
        layer.in_features, layer.out_features, layer.bias is not None, weight.device, weight.dtype
    )
    result.weight.data = weight
    result.bias = layer.bias
    return result


def _replace(model: torch.nn.Module, name: str, layer: torch.nn.Module) -> None:
    parent, _, own = name.rpartition(".")
    setattr(model.get_submodule(parent), own, layer)
