"""Models in training: what fits, how they are changed, when one collapsed, what their card says."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import random
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from tokenizers import Tokenizer
from transformers.tokenization_utils_base import VERY_LARGE_INTEGER

from retgen.errors import RetgenError, UsageError
from retgen.evaluation.training import distributed
from retgen.evaluation.training.config import TrainConfig, TrainingRun
from retgen.evaluation.training.pairs import Pairs
from retgen.markdown import escape_markdown, markdown_table
from retgen.search.embedders.base import length_limit
from retgen.search.embedders.devices import choose_device
from retgen.search.embedders.loading import out_of_memory, prompts_of
from retgen.version import __version__
from retgen.write import os_errors, write_file


def check_fit(model: SentenceTransformer, config: TrainConfig) -> None:
    """Raise `UsageError` where model and configuration do not fit."""
    first = model[0]
    if isinstance(first, StaticEmbedding) and config.loss == "cached-mnrl":
        raise UsageError(
            "cached-mnrl cuts batches into mini-batches, which a static embedding cannot do. Take "
            "mnrl: such a model needs so little memory that a batch may be the full data set."
        )
    if distributed.ranks() > 1:
        if isinstance(first, StaticEmbedding):
            raise UsageError(
                "a static embedding trains on one processor: start it without torchrun"
            )
        if config.loss in ("margin", "listwise"):
            raise UsageError(
                f"loss {config.loss} compares the documents of one process. Take mnrl or "
                "cached-mnrl, or start it without torchrun"
            )
    network = getattr(first, "auto_model", None)
    for option in ("lora", "gradient_checkpointing", "weight_decay"):
        if getattr(config, option) and network is None:
            raise UsageError(f"{option} is for transformers, which the model is not. Leave it out")
    if config.init == "idf" and not isinstance(first, StaticEmbedding):
        raise UsageError(
            "init idf weights the token vectors of a static embedding, which the model is not. "
            "Take init=model"
        )
    most = getattr(getattr(network, "config", None), "max_position_embeddings", None)
    if config.max_length is not None and most is not None and config.max_length > most:
        raise UsageError(
            f"max_length {config.max_length:,} is above the {most:,} positions of the model"
        )
    width = config.dimension
    if width is None and isinstance(model, SentenceTransformer):
        width = model.get_embedding_dimension()
    if width is not None and max(config.matryoshka, default=0) > width:
        raise UsageError(
            f"matryoshka {max(config.matryoshka)} is above the {width} dimensions of the model"
        )


def batch_sizes(batches: Sequence[Sequence[int]], config: TrainConfig) -> list[float]:
    """Pairs a batch, of each step; the geometric mean where a step takes several."""
    logs = [math.log(len(one)) for one in batches]
    steps = [logs[i : i + config.accumulate] for i in range(0, len(logs), config.accumulate)]
    return [math.exp(sum(one) / len(one)) for one in steps]


def reading_limit(model: Any) -> int | None:
    """Tokens of a text that a model reads; None where that has no limit."""
    if isinstance(model[0], StaticEmbedding):
        truncation = model[0].tokenizer.truncation
        return None if truncation is None else int(truncation["max_length"])
    return length_limit(model)


def limit_reading(model: SentenceTransformer, tokens: int | None) -> None:
    """Let a model read so many tokens of a text, in place."""
    if not isinstance(model[0], StaticEmbedding):
        model.max_seq_length = VERY_LARGE_INTEGER if tokens is None else tokens
    elif tokens is None:
        model[0].tokenizer.no_truncation()
    else:
        model[0].tokenizer.enable_truncation(tokens)


def add_head(model: SentenceTransformer, config: TrainConfig) -> None:
    """Append the projection head of a configuration in place, if it has one.

    It is linear without bias, orthonormal at the start, and stands before the normalisation.
    """
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


def keep_few_activations(model: SentenceTransformer) -> None:
    """Let a transformer compute its activations again when gradients need them (gradient
    checkpointing), in place.
    """
    network: Any = model[0].auto_model
    # transformers 5.24 has another name for it
    enable = getattr(network, "activation_checkpointing_enable", None)
    (enable or network.gradient_checkpointing_enable)({"use_reentrant": False})


_SAMPLE = 2000  # positives whose tokens are counted


def cut_share(
    model: SentenceTransformer, texts: Sequence[str], limit: int | None
) -> dict[str, float]:
    """Of some texts, the share that is longer than `limit` tokens, and of tokens beyond it.

    {"texts", "tokens"}; empty where nothing is cut off, or the tokenizer does not tell.
    """
    tokenizer: Any = model.tokenizer
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if limit is None or not hasattr(backend, "to_str"):
        return {}
    distinct = list(dict.fromkeys(texts))
    sample = distinct[:: math.ceil(len(distinct) / _SAMPLE)]
    plain = Tokenizer.from_str(backend.to_str())
    plain.no_truncation()
    plain.no_padding()
    marked = not isinstance(model[0], StaticEmbedding)  # whose texts begin and end unmarked
    encoded = plain.encode_batch(sample, add_special_tokens=marked)
    lengths = np.array([len(one.ids) for one in encoded])
    beyond = np.maximum(lengths - limit, 0)
    if not beyond.any():
        return {}
    return {"texts": float((beyond > 0).mean()), "tokens": float(beyond.sum() / lengths.sum())}


def pick_device(device: str | None, dtype: str) -> str:
    """The device to train on: the one asked for, else a GPU if there is one, else the CPU.

    Raises `UsageError` for a device that is not there, or that cannot compute in `dtype`. A CPU can
    in bf16, if slowly.
    """
    if device is not None and ":" in device:
        raise UsageError(f"--device {device}: say cuda, and which one by CUDA_VISIBLE_DEVICES")
    device = choose_device(device)
    # the same generations of GPUs have both
    gpu = device == "cuda" and torch.cuda.is_bf16_supported(False)
    if dtype != "float32" and not gpu and (device, dtype) != ("cpu", "bf16"):
        raise UsageError(
            f"dtype {dtype} needs a GPU that computes in it, and {device} is none. Take float32."
        )
    return device


def set_prompts(model: Any, config: TrainConfig) -> dict[str, str]:
    """Give a model the prompts of a configuration, to be saved with it; those that it then has."""
    for name, prompt in (("query", config.query_prompt), ("document", config.document_prompt)):
        if prompt is not None:
            model.prompts[name] = prompt
    return prompts_of(model)


def weights_dtype(model: Any) -> str:
    """What the weights are in."""
    result = {str(one.dtype).removeprefix("torch.") for one in model.parameters()}
    return " and ".join(sorted(result))


@contextlib.contextmanager
def products_dtype(model: Any) -> Iterator[set[str]]:
    """What the products of a model were in while it was trained, as seen at its first layer that
    multiplies (of word vectors, at their sums).
    """
    seen: set[str] = set()
    layers = [
        one
        for kind in (torch.nn.Linear, torch.nn.EmbeddingBag)
        for one in model.modules()
        if isinstance(one, kind)
    ]

    def look(module: torch.nn.Module, _: Any, output: torch.Tensor) -> None:
        if module.training:
            seen.add(str(output.dtype).removeprefix("torch."))

    hooks = [one.register_forward_hook(look) for one in layers[:1]]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def same_random_state() -> Iterator[None]:
    """Put the global random states back as they were."""
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        yield
    random.setstate(python)
    np.random.set_state(numpy)


def weight_by_idf(model: SentenceTransformer, pairs: Pairs) -> str:
    """Weight the token vectors of a static embedding in place; how that was done, in words.

    A static embedding is the mean of its tokens' vectors, in which "the" counts as much as a name.
    With each vector multiplied by its token's idf it is the mean weighted by idf. Most of what
    training on own documents gains is that, so it is where training starts and what its gain is
    measured against.

        idf(token) = ln((1 + N) / (1 + df(token))) + 1

    is scikit-learn's smooth idf: N documents, of which df hold the token; a token of none has df 0.
    Counted are the documents of the training pairs, the texts of one document as one, and the other
    documents of the training side: no text that is held out or tested on says anything.
    """
    first = model[0]
    assert isinstance(first, StaticEmbedding)
    frequencies, documents = document_frequencies(first.tokenizer, pairs)
    rows = first.embedding.weight
    # a tokenizer may know tokens that have no vector, and vectors may have no token
    known = frequencies[: len(rows)]
    idf = np.full(len(rows), np.log(1 + documents) + 1)
    idf[: len(known)] = np.log((1 + documents) / (1 + known)) + 1
    with torch.no_grad():
        rows.mul_(torch.from_numpy(idf).to(rows)[:, None])
    of = "side" if pairs.documents else "pairs"
    return (
        f"token vectors times ln((1 + N) / (1 + df)) + 1 of the {documents:,} documents of the "
        f"training {of}, which hold {int((known > 0).sum()):,} of its {len(rows):,} tokens; df of "
        "the others is 0"
    )


def document_frequencies(tokenizer: Tokenizer, pairs: Pairs) -> tuple[NDArray[np.int64], int]:
    """In how many documents to train on each token stands, (tokens,); how many there are."""
    texts = {doc_id: {text} for doc_id, text in pairs.documents.items()}
    ids = pairs.positive_ids or [""] * len(pairs)
    for doc_id, text in zip(ids, pairs.positives, strict=True):
        texts.setdefault(doc_id or text, set()).add(text)
    counts = np.zeros(tokenizer.get_vocab_size(), np.int64)
    for of in texts.values():
        encoded = tokenizer.encode_batch(sorted(of), add_special_tokens=False)
        counts[sorted({token for one in encoded for token in one.ids})] += 1
    return counts, len(texts)


ALIKE_OF = 64  # texts whose vectors are compared
_GUESSING = 0.99  # of the loss of guessing: what counts as no better
_LEAST_STEPS = 5  # steps that are looked at: fewer may be hard ones


def collapse(
    trained: TrainingRun,
    config: TrainConfig,
    batches: Sequence[float],
    failure: str,
    compared: int | None = None,
) -> str:
    """How a training collapsed (its loss is that of guessing, or its vectors are all alike), and
    what to try; "" for one that did not.

    `batches`: their sizes, see `batch_sizes`, none for a loss that is not over their documents;
    `failure`: what the trained model shows, or ""; `compared`: see `Kind`.
    """
    guessing = _loss(trained, config, batches, compared) if batches else []
    found = [*guessing, *([failure] if failure else [])]
    if not found:
        return ""
    if compared is not None and not failure:
        return (
            f"the training learnt next to nothing: {guessing[0]}. A cross-encoder whose head "
            "starts at random takes hundreds of steps: raise max_steps, or learning_rate (now "
            f"{config.learning_rate:g})"
        )
    return (
        f"the training collapsed: {' and '.join(found)}. Lower learning_rate (now "
        f"{config.learning_rate:g}); if that does not help, raise warmup_ratio or lower temperature"
    )


_FEW = 32  # pairs a batch: a quarter of that is called too few


def few_to_compare(
    trained: TrainingRun, config: TrainConfig, pairs: Pairs, batches: Sequence[Set[int]]
) -> str:
    """Say that batches held too few pairs to compare a query with other documents; "" if not.

    `batches`: numbers of the pairs in each. Hard negatives are compared in every batch.
    """
    if trained.hard_negatives:
        return ""
    # pairs of the same query, or of the same document, are not negatives of one another
    texts = (pairs.anchors, pairs.positives)
    sizes = [min(len({of[i] for i in batch}) for of in texts) for batch in batches]
    ones, mean = sizes.count(1), sum(sizes) / len(sizes)
    wanted = trained.pairs if config.batch_size == "full" else int(config.batch_size or 1)
    if 2 * ones > len(sizes):
        which = "every batch" if ones == len(sizes) else f"{ones:,} of {len(sizes):,} batches"
        found = f"{which} held 1 pair, so there was nothing to compare it with or learn from it"
    elif 4 * mean < min(wanted, trained.pairs, _FEW):
        found = f"batches held {mean:.1f} pairs on average: little could be learnt"
    else:
        return ""
    if wanted == 1:
        return f"{found}. Raise batch_size"
    rule = " (no_duplicates)" if config.no_duplicates else ""
    return (
        f"{found}. Pairs with the same query or document are no negatives of one another{rule}: "
        "train on pairs of more queries and documents, or on hard negatives"
    )


def _loss(
    trained: TrainingRun, config: TrainConfig, batches: Sequence[float], compared: int | None
) -> list[str]:
    """Looks at the last quarter of the steps, each point of the curve against its own batches."""
    if config.loss not in ("mnrl", "cached-mnrl"):
        return []
    begins = [0, *(step for step, _ in trained.losses)]
    last = begins[-1]
    since = max((one for one in begins if one <= last - max(_LEAST_STEPS, last // 4)), default=last)
    scale, own = max(1, len(config.matryoshka)), 1 + trained.hard_negatives

    def documents(pairs: float) -> float:
        return pairs * own if compared is None else own + min(compared, pairs - 1)

    loss = guess = 0.0
    for begin, (end, mean) in zip(begins, trained.losses, strict=False):
        if begin < since:
            continue
        chance = scale * sum(math.log(documents(n)) for n in batches[begin:end])
        if mean * (end - begin) < _GUESSING * chance:
            return []
        loss, guess = loss + mean * (end - begin), guess + chance
    if not guess:
        return []
    steps = last - since
    return [
        f"over the last {steps:,} of {trained.steps:,} steps its loss was {loss / steps:.2f}, and "
        f"guessing among the documents of a batch has {guess / steps:.2f}"
    ]


@contextlib.contextmanager
def saving(folder: Path) -> Iterator[None]:
    """Turn what keeps a model from being written into an `OutputError`.

    Of a disk that is full the libraries raise a `RuntimeError`, an `Exception`, whatever they like.
    """
    try:
        with os_errors(folder):
            yield
    except Exception as error:
        if isinstance(error, RetgenError) or out_of_memory(error):
            raise
        room = shutil.disk_usage(folder.parent).free
        full = "os error 28" in str(error) or room < _FULL
        with os_errors(folder):
            raise OSError(errno.ENOSPC if full else 0, str(error).partition("\n")[0]) from error


_FULL = 1 << 20  # bytes: a file that could not be written has left less


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


def extend_card(
    folder: Path,
    identity: Mapping[str, Any],
    origin: str,
    scores: Mapping[str, Mapping[str, float]],
    facts: Mapping[str, Any],
) -> None:
    """Append the section to the README.md of a saved model.

    `scores`: "before", "idf" and "after", measure to fraction; `facts`: what to say of the
    training, in order.
    """
    base = Path(identity["model"]).name if Path(identity["model"]).exists() else identity["model"]
    lines = [
        "",
        f"## How this model was fine-tuned (retgen {__version__})",
        "",
        f"- base model: {escape_markdown(base)}",
        f"- training data: {escape_markdown(origin)}",
        *(f"- {name}: {escape_markdown(str(value))}" for name, value in facts.items()),
        "",
        markdown_table(
            ["hyper-parameter", "value"],
            [[key, _cell(value)] for key, value in identity["config"].items()],
            names=2,
        ),
    ]
    if after := scores["after"]:
        named = {"before": "before", "idf": "idf alone", "after": "after"}
        shown = {named[when]: of for when, of in scores.items() if of}
        rows = [[k, *(_score(of.get(k)) for of in shown.values())] for k in after]
        lines.append(markdown_table(["measure", *shown], rows))
    path = folder / "README.md"
    text = path.read_text("utf-8") if path.is_file() else "---\n---\n"
    write_file(path, text.rstrip("\n") + "\n" + "\n".join(lines).rstrip("\n") + "\n")


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
