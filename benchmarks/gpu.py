"""Speed of what needs a device, as fractions of what that device was measured to do.

The limits come first: the rate of a large matrix product in each number format, and of a copy. Then
encoding, exact search, a training step and free embeddings, each with the floating-point operations
that its mathematics asks for (padding, optimiser and tokeniser count as nothing), divided by the
measured matrix rate of the same format. Exact search stands beside its matrix product alone, and
beside faiss where `pip install faiss-cpu` was run.

    .venv/bin/python benchmarks/gpu.py                  on the best device here
    .venv/bin/python benchmarks/gpu.py --device cpu     sizes that a processor does in minutes
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from retgen.evaluation.capacity import paper as free
from retgen.evaluation.retrievers import Options
from retgen.evaluation.training import Pairs, make_config
from retgen.evaluation.training.fit import train
from retgen.search.dense import search
from retgen.search.embedders.base import SentenceEmbedder
from retgen.search.embedders.devices import choose_device
from retgen.search.embedders.loading import load_model

FORMATS = {"float32": torch.float32, "bf16": torch.bfloat16}


class Sizes(NamedTuple):
    """How much of everything. `free`: dimension, documents, and steps that are timed."""

    rounds: int
    product: int  # side of the matrices
    copied: int  # numbers
    encoded: int  # documents
    searched: int
    ranked: int
    dim: int
    batch: int
    steps: int
    free: tuple[tuple[int, int, int], ...]


SIZES = {
    "tiny": Sizes(1, 128, 2**16, 4, 2_000, 2_000, 64, 2, 2, ((4, 9, 2),)),
    "small": Sizes(
        5, 2048, 2**26, 512, 50_000, 300_000, 4096, 32, 6, ((8, 28, 100), (12, 47, 100))
    ),
    "full": Sizes(
        5,
        8192,
        2**30,
        16_384,
        1_000_000,
        300_000,
        4096,
        512,
        40,
        ((12, 47, 100), (30, 284, 100), (45, 682, 20)),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default=None)
    parser.add_argument("--size", choices=SIZES, help="default: small on a processor, else full")
    given = parser.parse_args()
    device = choose_device(given.device)
    sizes = SIZES[given.size or ("small" if device == "cpu" else "full")]
    name = torch.cuda.get_device_name() if device.startswith("cuda") else platform.machine()
    print(
        f"{device}: {name}, {torch.get_num_threads()} threads, torch {torch.__version__}, "
        f"median of {sizes.rounds}"
    )
    rates = limits(device, sizes)
    encode(device, sizes, rates)
    exact_search(device, sizes, rates)
    for dim in (384, 1024):
        first_100(device, sizes, dim)
    training_step(device, sizes, rates)
    free_embeddings(device, sizes, rates)


def limits(device: str, sizes: Sizes) -> dict[str, float]:
    """Floating-point operations a second of a large product, by format; prints a copy's rate."""
    side = sizes.product
    rates = {}
    for name, dtype in FORMATS.items():
        left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
        seconds = timed(partial(torch.matmul, left, right), device, sizes)
        rates[name] = 2 * side**3 / seconds
        print(f"  matrix product {side:,}², {name}: {rates[name] / 1e12:.3f} TFLOP/s")
    source = torch.randn(sizes.copied, device=device)
    target = torch.empty_like(source)
    seconds = timed(lambda: target.copy_(source), device, sizes)
    rate = 2 * source.nbytes / seconds / 1e9
    print(f"  memory, copying {source.nbytes / 1e9:.1f} GB: {rate:.0f} GB/s read and written")
    return rates


def encode(device: str, sizes: Sizes, rates: dict[str, float]) -> None:
    """Documents as LIMIT has them, through all-MiniLM-L6-v2."""
    texts = documents(sizes.encoded)
    for name in FORMATS:
        model = load_model("minilm", device, name)
        embedder = SentenceEmbedder("minilm", model, Options(device=device))
        counts = embedder.encode(texts, "document")[1]
        tokens = sum(min(t, embedder.max_length or t) for t in counts)
        flops = 2 * weights(model) * tokens
        seconds = timed(partial(embedder.encode, texts, "document"), device, sizes)
        line(
            "encode",
            name,
            seconds,
            flops,
            rates,
            f"{len(texts) / seconds:,.0f} documents/s of {tokens / len(texts):.0f} tokens",
        )


def exact_search(device: str, sizes: Sizes, rates: dict[str, float]) -> None:
    """1,000 queries, the first 100, over documents of 4,096 dimensions."""
    count, dim = sizes.searched, sizes.dim
    block = 16_384
    vectors = torch.randn(count, dim, device=device)
    for i in range(0, count, block):  # in place: one copy is 15 GiB
        part = vectors[i : i + block]
        part /= part.norm(dim=1, keepdim=True)
    queries = torch.nn.functional.normalize(torch.randn(1_000, dim, device=device), dim=1)
    blocks = [(i, vectors[i : i + block]) for i in range(0, count, block)]
    whole, alone, plain = (
        timed(work, device, sizes)
        for work in (
            lambda: search(iter(blocks), queries, [dim], "cosine", np.arange(count), 100),
            lambda: [queries @ vectors[i : i + block].T for i, _ in blocks],
            lambda: (queries @ vectors.T).topk(100, dim=1),
        )
    )
    flops = 2 * count * dim * len(queries)
    line(
        "exact search",
        "float32",
        whole,
        flops,
        rates,
        f"{count:,} x {dim:,}: {whole / alone:.2f} of the product alone, "
        f"{whole / plain:.2f} of matmul and topk without blocks",
    )


def first_100(device: str, sizes: Sizes, dim: int) -> None:
    """200 queries, the first 100, over vectors as an embedder has them, beside faiss; in turn."""
    vectors, queries = (
        torch.nn.functional.normalize(torch.randn(n, dim, device=device), dim=1)
        for n in (sizes.ranked, 200)
    )
    blocks = [(i, vectors[i : i + 16_384]) for i in range(0, sizes.ranked, 16_384)]
    priority = np.arange(sizes.ranked)
    works: dict[str, Callable[[], object]] = {
        "product": lambda: [queries @ part.T for _, part in blocks],
        "search": lambda: search(iter(blocks), queries, [dim], "cosine", priority, 100),
    }
    with contextlib.suppress(ModuleNotFoundError):
        import faiss

        index = faiss.IndexFlatIP(dim)
        index.add(vectors.cpu().numpy())
        works["faiss"] = lambda: index.search(queries.cpu().numpy(), 100)
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(sizes.rounds):
        for name, work in works.items():
            seconds[name].append(timed(work, device, sizes._replace(rounds=1)))
    median = {name: statistics.median(of) for name, of in seconds.items()}
    ratio = {name: f"{one / median['product']:.2f}" for name, one in median.items()}
    print(
        f"  first 100 for 200 queries of {sizes.ranked:,} x {dim:,}: {median['search']:.3f} s, "
        f"{ratio['search']} of the product; faiss {ratio.get('faiss', 'not here')}"
    )


def training_step(device: str, sizes: Sizes, rates: dict[str, float]) -> None:
    """A step of InfoNCE on all-MiniLM-L6-v2: three times the operations of a forward pass."""
    batch, steps = sizes.batch, sizes.steps
    texts = documents(batch * steps)
    queries = [f"Who likes item {i}?" for i in range(len(texts))]
    pairs = Pairs(queries, texts, [[] for _ in texts], queries, "a benchmark")
    for name in FORMATS:
        if name == "bf16" and not device.startswith("cuda"):
            continue
        model = load_model("minilm", device)
        embedder = SentenceEmbedder("minilm", model, Options(device=device))
        tokens = sum(
            sum(min(t, embedder.max_length or t) for t in embedder.encode(part, "document")[1])
            for part in (texts, queries)
        )
        config = make_config(None, {"batch_size": batch, "max_steps": steps, "dtype": name})
        with tempfile.TemporaryDirectory() as folder:
            seconds = train(model, pairs, config, Path(folder) / "out", device=device).seconds
        line(
            "training",
            name,
            seconds,
            6 * weights(model) * tokens,
            rates,
            f"{steps / seconds:.2f} steps/s of {batch} pairs",
        )


def free_embeddings(device: str, sizes: Sizes, rates: dict[str, float]) -> None:
    """The paper's protocol at its own critical n, 8 seeds side by side."""
    for dimension, count, steps in sizes.free:
        batch = free._Batch(dimension, [(count, seed) for seed in range(8)], device)
        batch.step()
        sync(device)
        began = time.perf_counter()
        for _ in range(steps):
            batch.step()
        sync(device)
        seconds = (time.perf_counter() - began) / steps
        queries = count * (count - 1) // 2
        flops = 8 * 3 * 2 * queries * count * dimension  # scores, and both gradients
        line(
            "free embeddings",
            "float32",
            seconds,
            flops,
            rates,
            f"d={dimension}, n={count}, 8 seeds: {1 / seconds:,.0f} steps/s, "
            f"{8 * queries * count * 4 * 4 / seconds / 1e9:.0f} GB/s of scores",
        )


def documents(count: int) -> list[str]:
    """Texts of 45 listed things."""
    return [
        f"Person {i} likes " + ", ".join(f"thing {(i * 45 + j) % 997}" for j in range(45)) + "."
        for i in range(count)
    ]


def weights(model: SentenceTransformer) -> int:
    """Weights that every token is multiplied by: all but the embeddings."""
    return sum(p.numel() for n, p in model.named_parameters() if "embeddings" not in n)


def timed(work: Callable[[], object], device: str, sizes: Sizes) -> float:
    """Median seconds, after one round to warm up."""
    work()
    seconds = []
    for _ in range(sizes.rounds):
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


def line(
    what: str, name: str, seconds: float, flops: float, rates: dict[str, float], more: str
) -> None:
    """One line of results."""
    rate = flops / seconds
    print(
        f"  {what}, {name}: {more}; {rate / 1e12:.3f} TFLOP/s, "
        f"{rate / rates[name]:.0%} of the matrix rate"
    )


if __name__ == "__main__":
    main()
