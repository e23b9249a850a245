"""Models in training: what fits, how they are changed, when one collapsed, what their card says."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from tokenizers import Tokenizer

from retgen.errors import RetgenError, UsageError
from retgen.evaluation.training.config import TrainConfig, TrainingRun
from retgen.evaluation.training.pairs import Pairs
from retgen.markdown import escape_markdown, markdown_table
from retgen.search.embedders.loading import choose_device, out_of_memory, prompts_of
from retgen.version import __version__
from retgen.write import os_errors, write_file

# --- several processes, one a device, that torchrun starts ---

_PATIENCE = timedelta(days=7)  # processes wait while rank 0 scores


def ranks() -> int:
    """How many processes train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    """Which of them this one is, from 0, which alone scores and writes."""
    return int(os.environ.get("RANK", "0"))


def join_processes(device: str) -> None:
    """Connect this process with the others, where torchrun started several.

    Raises `UsageError` for fewer GPUs than processes on this machine.
    """
    if ranks() == 1:
        return
    from accelerate import PartialState  # type: ignore[import-untyped]

    for name in ("torch", "accelerate", "sentence_transformers"):  # which speak to one another
        warnings.filterwarnings("ignore", category=FutureWarning, module=name)
    place, count = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if device == "cuda" and place >= count:
        raise UsageError(
            f"process {place + 1:,} of this machine has no GPU: there are {count:,}. Start fewer "
            "(--nproc-per-node)"
        )
    PartialState(cpu=device == "cpu", timeout=_PATIENCE)


def wait_for_all() -> None:
    """Wait at a barrier for all processes."""
    if ranks() > 1:
        torch.distributed.barrier()


# --- models before and after ---


def check_fit(model: SentenceTransformer, config: TrainConfig) -> None:
    """Raise `UsageError` where model and configuration do not fit."""
    static = isinstance(model[0], StaticEmbedding)
    if static and config.loss == "cached-mnrl":
        raise UsageError(
            "cached-mnrl cuts batches into mini-batches, which a static embedding cannot do. Take "
            "mnrl: such a model needs so little memory that a batch may be the full data set."
        )
    network = getattr(model[0], "auto_model", None)
    for option in ("lora", "gradient_checkpointing", "weight_decay", "max_length"):
        if getattr(config, option) and network is None:
            raise UsageError(f"{option} is for transformers, which the model is not. Leave it out")
    if config.init == "idf" and not static:
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


def add_adapters(model: SentenceTransformer, config: TrainConfig) -> None:
    """Put the adapters of a configuration into a transformer in place, if it has some (LoRA, arXiv
    2106.09685); all other weights of its body stay as they are from here on.
    """
    if config.lora is None:
        return
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise UsageError("lora needs PEFT: pip install 'retgen[eval]'") from error
    network: Any = model[0].auto_model
    wanted = LoraConfig(r=config.lora, lora_alpha=2 * config.lora, target_modules="all-linear")
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        inject_adapter_in_model(wanted, network)
    body = {id(one) for one in network.base_model.parameters()}
    for one in network.parameters():  # a head, which may be a random one
        if id(one) not in body:
            one.requires_grad_(True)


def merge_adapters(model: SentenceTransformer) -> None:
    """Add adapters to the weights they stand beside, in place: the model is a plain one again."""
    from peft.tuners.lora import LoraLayer

    for name, layer in list(model.named_modules()):
        if isinstance(layer, LoraLayer):
            layer.merge()
            parent, _, own = name.rpartition(".")
            setattr(model.get_submodule(parent), own, layer.get_base_layer())


def pick_device(device: str | None, dtype: str) -> str:
    """The device to train on: the one asked for, else a GPU if there is one, else the CPU.

    Raises `UsageError` for a device that is not there, or that cannot compute in `dtype`. A CPU can
    in bf16, if slowly.
    """
    if device is not None and ":" in device:
        raise UsageError(f"--device {device}: say cuda, and which one by CUDA_VISIBLE_DEVICES")
    device = choose_device(device)
    able = device == "cpu" or (device == "cuda" and torch.cuda.is_bf16_supported(False))
    if dtype != "float32" and not able:
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


ALIKE_OF = 8  # queries, and documents, whose scores are compared
_GUESSING = 0.99  # of the loss of guessing: what counts as no better
_LEAST_STEPS = 5  # steps that are looked at: fewer may be hard ones


def collapse(
    trained: TrainingRun,
    config: TrainConfig,
    batches: Sequence[int],
    failure: str,
    compared: int | None = None,
) -> str:
    """How a training collapsed (its loss is that of guessing, or its scores are all alike), and
    what to try; "" for one that did not.

    `batches`: their sizes, none for a loss that is not over their documents; `failure`: what the
    trained model shows, or ""; `compared`: see `Kind`.
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
    trained: TrainingRun,
    config: TrainConfig,
    rows: Sequence[Mapping[str, str]],
    batches: Sequence[Set[int]],
) -> str:
    """Say that batches held too few pairs to compare a query with other documents; "" if not.

    `batches`: which `rows` stand in each. Hard negatives are compared in every batch.
    """
    if trained.hard_negatives:
        return ""
    # pairs of the same query, or of the same document, are not negatives of one another
    sizes = [
        min(len({rows[i][column] for i in batch}) for column in ("anchor", "positive"))
        for batch in batches
    ]
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
    return (
        f"{found}. Pairs with the same query or document are no negatives of one another: train on "
        "pairs of more queries and documents, or on hard negatives"
    )


def _loss(
    trained: TrainingRun, config: TrainConfig, batches: Sequence[int], compared: int | None
) -> list[str]:
    """Looks at the last quarter of the steps, each point of the curve against its own batches."""
    begins = [0, *(step for step, _ in trained.losses)]
    last = begins[-1]
    since = max((one for one in begins if one <= last - max(_LEAST_STEPS, last // 4)), default=last)
    scale, own = max(1, len(config.matryoshka)), 1 + trained.hard_negatives

    def documents(pairs: int) -> int:
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


def be_deterministic(device: str) -> None:
    """Choose deterministic kernels on a GPU, where there are any; a CPU needs nothing."""
    if device == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it
        warnings.filterwarnings("ignore", message=".*deterministic")
        torch.use_deterministic_algorithms(True, warn_only=True)


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
    if after := scores.get("after"):
        named = {"before": "before", "idf": "idf alone", "after": "after"}
        shown = {text: scores[when] for when, text in named.items() if scores.get(when)}
        rows = [[name, *(f"{of[name]:.4f}" for of in shown.values())] for name in after]
        lines.append(markdown_table(["measure", *shown], rows))
    path = folder / "README.md"
    text = path.read_text("utf-8") if path.is_file() else "---\n---\n"
    write_file(path, text.rstrip("\n") + "\n" + "\n".join(lines).rstrip("\n") + "\n")


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
