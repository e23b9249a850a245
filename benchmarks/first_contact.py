"""Does everything run on this device? Ten minutes, one table; what fails is a row, not the end.

Encoding in three number formats and with each implementation of attention, beside float32; a batch
that memory does not hold; exact search; training in bf16, with adapters and with cached gradients;
a training that is killed. Speeds are shares of the rate of a matrix product measured first.

    .venv/bin/python benchmarks/gpu.py --first-contact [--device cuda] [--size tiny]
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load_file

from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options
from retgen.evaluation.training import Pairs, make_config
from retgen.evaluation.training.fit import train
from retgen.search.dense import search
from retgen.search.embedders.base import SentenceEmbedder
from retgen.search.embedders.loading import load_model, out_of_memory

if TYPE_CHECKING:
    from gpu import Sizes

FORMATS = ("float32", "bf16", "float16")
ATTENTION = ("sdpa", "eager", "flash_attention_2")
TRAININGS: dict[str, dict[str, Any]] = {
    "float32": {},
    "bf16": {"dtype": "bf16"},
    "bf16, adapters (LoRA)": {"dtype": "bf16", "lora": 8},
    "4 bits, adapters (QLoRA)": {"lora": 8, "quantize": "nf4"},
    "cached gradients": {"loss": "cached-mnrl", "mini_batch_size": 8},
}
_CLOSE = 0.02  # difference of two cosines that rounding may make


def contact(device: str, sizes: Sizes, rates: dict[str, float], texts: list[str]) -> None:
    """Print the table. `texts`: to encode, at least sizes.batch * sizes.steps."""
    checks: list[tuple[str, Callable[[], str]]] = [
        *(
            (
                f"encode, {dtype}, {attention}",
                partial(encode, device, dtype, attention, texts[: sizes.encoded], rates),
            )
            for dtype in FORMATS
            for attention in ATTENTION
        ),
        ("encode, a batch above memory", partial(above_memory, device, texts[: sizes.encoded])),
        ("exact search", partial(exact_search, device, sizes)),
        *(
            (f"train, {name}", partial(training, device, sizes, texts, settings))
            for name, settings in TRAININGS.items()
        ),
        ("train, killed and gone on with", partial(killed, device, sizes, texts)),
    ]
    began = time.perf_counter()
    refused = failed = 0
    for name, check in checks:
        try:
            result = check()
        except UsageError as error:
            refused += 1
            result = f"refused: {str(error).partition(chr(10))[0][:100]}"
        except Exception as error:  # whatever a new device may raise is a finding
            failed += 1
            result = f"FAILED: {type(error).__name__}: {str(error).partition(chr(10))[0][:100]}"
        print(f"  {name:34} {result}", flush=True)
    ran = len(checks) - refused - failed
    seconds = time.perf_counter() - began
    print(f"  {ran} of {len(checks)} ran, {refused} refused, {failed} failed; {seconds:.0f} s")


def embedder_of(device: str, dtype: str = "float32", attention: str = "sdpa") -> SentenceEmbedder:
    model = load_model("minilm", device, dtype, attn_implementation=attention)
    return SentenceEmbedder("minilm", model, Options(device=device, dtype=dtype))


def encode(
    device: str, dtype: str, attention: str, texts: list[str], rates: dict[str, float]
) -> str:
    """Documents a second, and how far cosines are from those of float32."""
    embedder = embedder_of(device, dtype, attention)
    embedder.encode(texts[:2], "document")
    began = time.perf_counter()
    vectors, tokens = embedder.encode(texts, "document")
    seconds = time.perf_counter() - began
    some = texts[:256]
    plain = np.asarray(embedder_of(device).encode(some, "document")[0], np.float64)
    apart = float(
        np.abs(np.asarray(vectors[: len(some)], np.float64) @ plain.T - plain @ plain.T).max()
    )
    weights = sum(p.numel() for n, p in embedder.model.named_parameters() if "embeddings" not in n)
    read = sum(min(one, embedder.max_length or one) for one in tokens)
    rate = rates["float32" if dtype == "float32" else "bf16"]
    share = 2 * weights * read / seconds / rate
    wrong = "" if apart <= _CLOSE else "; TOO FAR"
    return (
        f"{len(texts) / seconds:,.0f} documents/s, {share:.0%} of the matrix rate, cosines "
        f"{apart:.4f} from float32's{wrong}"
    )


def above_memory(device: str, texts: list[str]) -> str:
    """One batch of all texts, many times over, in little more memory than the model takes."""
    embedder = embedder_of(device)
    wanted = embedder.encode(texts[:64], "document")[0]
    if not device.startswith("cuda"):
        return "not here: a processor has no memory of its own to run out of"
    many = texts * max(1, 8192 // len(texts))
    total = torch.cuda.get_device_properties(device).total_memory
    torch.cuda.empty_cache()
    room = (torch.cuda.memory_reserved() + 400 * 2**20) / total
    torch.cuda.set_per_process_memory_fraction(min(1.0, room))
    try:
        try:
            embedder.model.encode(many, batch_size=len(many), show_progress_bar=False)
            return "it fitted: more texts are needed to try it"
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
        torch.cuda.empty_cache()
        whole = SentenceEmbedder(
            "minilm", embedder.model, Options(device=device, batch_size=len(many))
        )
        found = whole.encode(many, "document")[0][:64]
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    apart = float(np.abs(np.asarray(found) - np.asarray(wanted)).max())
    return f"{len(many):,} texts in smaller batches; vectors {apart:.5f} from the others"


def exact_search(device: str, sizes: Sizes) -> str:
    """The first 100 of 1,000 queries, beside matmul and topk."""
    vectors, queries = (
        torch.nn.functional.normalize(torch.randn(count, 384, device=device), dim=1)
        for count in (sizes.searched, 1_000)
    )
    blocks: Iterator[Any] = ((i, vectors[i : i + 16_384]) for i in range(0, sizes.searched, 16_384))
    began = time.perf_counter()
    (found,) = search(blocks, queries, [384], "cosine", np.arange(sizes.searched), 100)
    seconds = time.perf_counter() - began
    best = (queries[:50] @ vectors.T).topk(1, dim=1).indices[:, 0].cpu().numpy()
    same = float((found.documents[:50, 0] == best).mean())
    return (
        f"{sizes.searched:,} documents in {seconds:.2f} s; {same:.0%} of the first ones are topk's"
    )


def pairs_of(sizes: Sizes, texts: list[str]) -> Pairs:
    documents = texts[: sizes.batch * sizes.steps]
    queries = [f"Who likes item {i}?" for i in range(len(documents))]
    return Pairs(queries, documents, [[] for _ in documents], queries, "a benchmark")


def training(device: str, sizes: Sizes, texts: list[str], settings: dict[str, Any]) -> str:
    """Steps a second, the memory they took, the loss at the end."""
    config = make_config(None, {"batch_size": sizes.batch, "max_steps": sizes.steps, **settings})
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats()
    with tempfile.TemporaryDirectory() as folder:
        result = train(
            "minilm", pairs_of(sizes, texts), config, Path(folder) / "out", device=device
        )
    memory = ""
    if device.startswith("cuda"):
        memory = f", {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB"
    return (
        f"{result.steps / result.seconds:.2f} steps/s of {sizes.batch:,} pairs{memory}, loss "
        f"{result.losses[0][1]:.3f} to {result.losses[-1][1]:.3f}; weights {result.weights_dtype}, "
        f"products {result.dtype}"
    )


def killed(device: str, sizes: Sizes, texts: list[str]) -> str:
    """A training that ends at its first checkpoint and is gone on with, beside a whole one."""
    config = make_config(None, {"batch_size": sizes.batch, "max_steps": 2, "eval_every": 1})
    pairs = pairs_of(sizes, texts)

    def die(model: Any, when: str) -> dict[str, float]:
        if when == "during":
            raise KeyboardInterrupt
        return {}

    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder) / "one", Path(folder) / "two"
        with contextlib.suppress(KeyboardInterrupt):
            train("minilm", pairs, config, one, device=device, evaluate=die)
        train("minilm", pairs, config, one, device=device)
        train("minilm", pairs, config, two, device=device)
        ours, theirs = (load_file(path / "model" / "model.safetensors") for path in (one, two))
    apart = max(float((ours[name] - theirs[name]).abs().max()) for name in ours)
    return "the same weights" if apart == 0 else f"weights are {apart:.2g} apart"
