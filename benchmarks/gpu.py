"""Speed of what needs a device, as fractions of what that device was measured to do.

The limits come first: the rate of a large matrix product in each number format, and of a copy. Then
encoding, exact search, a training step and free embeddings, each with the floating-point operations
that its mathematics asks for (padding, optimiser and tokeniser count as nothing), divided by the
measured matrix rate of the same format. Exact search stands beside its matrix product alone.

    .venv/bin/python benchmarks/gpu.py                  on the best device here
    .venv/bin/python benchmarks/gpu.py --device cpu --small
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from retgen.evaluation.capacity import free
from retgen.evaluation.collection import Collection
from retgen.evaluation.devices import choose_device
from retgen.evaluation.embedders import SentenceEmbedder, load_model
from retgen.evaluation.retrievers import Options
from retgen.evaluation.retrievers.dense import search
from retgen.evaluation.training import Pairs, make_config
from retgen.evaluation.training.train import train

ROUNDS = 5
FORMATS = {"float32": torch.float32, "bf16": torch.bfloat16}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--device", default=None)
    parser.add_argument(
        "--small", action="store_true", help="sizes that a processor does in minutes"
    )
    arguments = parser.parse_args()
    device = choose_device(arguments.device)
    small = arguments.small or device == "cpu"
    name = torch.cuda.get_device_name() if device.startswith("cuda") else platform.machine()
    print(f"{device}: {name}, {torch.get_num_threads()} threads, torch {torch.__version__}, "
          f"median of {ROUNDS}")  # fmt: skip
    rates = limits(device, small)
    encode(device, small, rates)
    exact_search(device, small, rates)
    training_step(device, small, rates)
    free_embeddings(device, small, rates)


def limits(device: str, small: bool) -> dict[str, float]:
    """Floating-point operations a second of a large product, by format; prints a copy's rate."""
    side = 2048 if small else 8192
    rates = {}
    for name, dtype in FORMATS.items():
        left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
        seconds = timed(lambda a=left, b=right: a @ b, device)  # type: ignore[misc]
        rates[name] = 2 * side**3 / seconds
        print(f"  matrix product {side:,}², {name}: {rates[name] / 1e12:.3f} TFLOP/s")
    source = torch.randn(2**26 if small else 2**30, device=device)
    target = torch.empty_like(source)
    seconds = timed(lambda: target.copy_(source), device)
    rate = 2 * source.nbytes / seconds / 1e9
    print(f"  memory, copying {source.nbytes / 1e9:.1f} GB: {rate:.0f} GB/s read and written")
    return rates


def encode(device: str, small: bool, rates: dict[str, float]) -> None:
    """Documents as LIMIT has them, through all-MiniLM-L6-v2."""
    texts = documents(512 if small else 16_384)
    for name in FORMATS:
        model = load_model("minilm", device, name)
        embedder = SentenceEmbedder("minilm", model, Options(device=device))
        tokens = sum(min(t, embedder.max_length or t) for t in embedder.tokens(texts, "document"))
        flops = 2 * weights(model) * tokens
        seconds = timed(lambda e=embedder: e.encode(texts, "document"), device)  # type: ignore[misc]
        said("encode", name, seconds, flops, rates, f"{len(texts) / seconds:,.0f} documents/s of "
             f"{tokens / len(texts):.0f} tokens")  # fmt: skip


def exact_search(device: str, small: bool, rates: dict[str, float]) -> None:
    """1,000 queries, the first 100, over documents of 4,096 dimensions."""
    count, dim = (50_000 if small else 1_000_000), 4096
    block = 16_384
    vectors = torch.nn.functional.normalize(torch.randn(count, dim, device=device), dim=1)
    queries = torch.nn.functional.normalize(torch.randn(1_000, dim, device=device), dim=1)
    blocks = [(i, vectors[i : i + block]) for i in range(0, count, block)]
    place: Any = None
    collection = Collection(
        Path(), "random", "test", place, np.array([b"%d" % i for i in range(count)]),
        np.arange(count), [], {}, True,
    )  # fmt: skip
    whole = timed(lambda: search(iter(blocks), queries, [dim], False, collection, 100), device)
    alone = timed(lambda: [queries @ vectors[i : i + block].T for i, _ in blocks], device)
    plain = timed(lambda: (queries @ vectors.T).topk(100, dim=1), device)
    flops = 2 * count * dim * len(queries)
    said("exact search", "float32", whole, flops, rates,
         f"{count:,} x {dim:,}: {whole / alone:.2f} of the product alone, "
         f"{whole / plain:.2f} of matmul and topk without blocks")  # fmt: skip


def training_step(device: str, small: bool, rates: dict[str, float]) -> None:
    """A step of InfoNCE on all-MiniLM-L6-v2: three times the operations of a forward pass."""
    batch, steps = (32, 6) if small else (512, 40)
    texts = documents(batch * steps)
    queries = [f"Who likes item {i}?" for i in range(len(texts))]
    pairs = Pairs(queries, texts, [[] for _ in texts], queries, "a benchmark")
    for name in FORMATS:
        if name == "bf16" and not device.startswith("cuda"):
            continue
        model = load_model("minilm", device)
        embedder = SentenceEmbedder("minilm", model, Options(device=device))
        tokens = sum(
            sum(min(t, embedder.max_length or t) for t in embedder.tokens(part, "document"))
            for part in (texts, queries)
        )
        config = make_config(None, {"batch_size": batch, "max_steps": steps, "dtype": name})
        with tempfile.TemporaryDirectory() as folder:
            seconds = train(model, pairs, config, Path(folder) / "out", device=device).seconds
        said("training", name, seconds, 6 * weights(model) * tokens, rates,
             f"{steps / seconds:.2f} steps/s of {batch} pairs")  # fmt: skip


def free_embeddings(device: str, small: bool, rates: dict[str, float]) -> None:
    """The paper's protocol at its own critical n, 8 seeds side by side."""
    for dimension, count in ((8, 28), (12, 47)) if small else ((12, 47), (30, 284), (45, 682)):
        began = time.perf_counter()
        batch = free._Batch(dimension, [(count, seed) for seed in range(8)], device)
        batch.step()
        steps = 100 if small or count < 500 else 20
        sync(device)
        began = time.perf_counter()
        for _ in range(steps):
            batch.step()
        sync(device)
        seconds = (time.perf_counter() - began) / steps
        queries = count * (count - 1) // 2
        flops = 8 * 3 * 2 * queries * count * dimension  # scores, and both gradients
        said("free embeddings", "float32", seconds, flops, rates,
             f"d={dimension}, n={count}, 8 seeds: {1 / seconds:,.0f} steps/s, "
             f"{8 * queries * count * 4 * 4 / seconds / 1e9:.0f} GB/s of scores")  # fmt: skip


def documents(count: int) -> list[str]:
    """Texts of 45 listed things."""
    return [
        f"Person {i} likes " + ", ".join(f"thing {(i * 45 + j) % 997}" for j in range(45)) + "."
        for i in range(count)
    ]


def weights(model: SentenceTransformer) -> int:
    """Weights that every token is multiplied by: all but the embeddings."""
    return sum(p.numel() for n, p in model.named_parameters() if "embeddings" not in n)


def timed(work: Callable[[], object], device: str) -> float:
    """Median seconds, after one round to warm up."""
    work()
    seconds = []
    for _ in range(ROUNDS):
        sync(device)
        began = time.perf_counter()
        work()
        sync(device)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def sync(device: str) -> None:
    """Wait for what was started on a device."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    elif device.startswith("mps"):
        torch.mps.synchronize()


def said(
    what: str, name: str, seconds: float, flops: float, rates: dict[str, float], more: str
) -> None:
    """One line of results."""
    rate = flops / seconds
    print(f"  {what}, {name}: {more}; {rate / 1e12:.3f} TFLOP/s, "
          f"{rate / rates[name]:.0%} of the matrix rate")  # fmt: skip


if __name__ == "__main__":
    main()
