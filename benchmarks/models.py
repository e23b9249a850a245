"""Speed of what scores, trains and optimises: each beside its reference, or the device's own rate.

Encoding and training steps are divided by the measured rate of a large matrix product: counted are
the floating-point operations that their mathematics asks for (padding, optimiser and tokeniser are
nothing). Exact search stands beside its matrix product alone, and beside faiss where `pip install
faiss-cpu` was run; BM25 beside rank_bm25 and bm25s; free embeddings beside the paper's protocol as
one would first write it, with a look at all queries after each step.

    .venv/bin/python benchmarks/models.py [--device cpu] [--size tiny|small|full] [--rounds 3]
"""

from __future__ import annotations

import contextlib
import math
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from common import in_turn, measured, options, ratio

# matrix side, documents encoded, searched, of BM25, pairs a step, steps
SIZES = {
    "tiny": (128, 4, 2_000, 500, 2, 2),
    "small": (2048, 512, 300_000, 50_000, 32, 6),
    "full": (8192, 16_384, 300_000, 50_000, 512, 40),
}
FORMATS = {"float32": torch.float32, "bf16": torch.bfloat16}
CASES = [(4, 9, 1), (5, 14, 8)]  # dimension, documents, random starts


def main() -> None:
    from retgen.search.embedders.loading import choose_device

    given = options(__doc__, device="", size="", rounds=3)
    device = choose_device(given.device or None)
    size = given.size or ("small" if device == "cpu" else "full")
    side, encoded, searched, ranked, batch, steps = SIZES[size]
    name = torch.cuda.get_device_name() if device.startswith("cuda") else device
    print(f"{name}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    rates = {}
    for form, dtype in FORMATS.items():
        left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
        seconds = timed(partial(torch.matmul, left, right), device, given.rounds)
        rates[form] = 2 * side**3 / seconds
        print(f"  matrix product {side:,}², {form}: {rates[form] / 1e12:.3f} TFLOP/s")
    encode(device, encoded, given.rounds, rates)
    for dim in (384, 1024):
        exact_search(device, searched, dim, given.rounds)
    training_steps(device, batch, steps, rates["float32"])
    bm25(ranked, given.rounds)
    for case in CASES if size != "tiny" else CASES[:1]:
        free_embeddings(*case, given.rounds)


def timed(work: Callable[[], object], device: str, rounds: int) -> float:
    """Median seconds, after one round to warm up."""

    def done() -> None:
        work()
        if device.startswith("cuda"):
            torch.cuda.synchronize()

    done()
    return statistics.median(measured(done)[0] for _ in range(rounds))


def documents(count: int) -> list[str]:
    """Texts of 45 listed things."""
    return [
        f"Person {i} likes " + ", ".join(f"thing {(i * 45 + j) % 997}" for j in range(45)) + "."
        for i in range(count)
    ]


def encode(device: str, count: int, rounds: int, rates: dict[str, float]) -> None:
    """Documents as LIMIT has them, through all-MiniLM-L6-v2; beside `encode` of its library."""
    from retgen.evaluation.retrievers import Options
    from retgen.search.embedders.base import SentenceEmbedder
    from retgen.search.embedders.loading import load_model

    texts = documents(count)
    for form, rate in rates.items():
        model = load_model("minilm", device, form)
        embedder = SentenceEmbedder("minilm", model, Options(device=device))
        counts = embedder.encode(texts, "document")[1]
        tokens = sum(min(t, embedder.max_length or t) for t in counts)
        seconds = timed(partial(embedder.encode, texts, "document"), device, rounds)
        plain = timed(partial(model.encode, texts, show_progress_bar=False), device, rounds)
        print(
            f"  encode, {form}: {count / seconds:,.0f} documents/s of {tokens / count:.0f} tokens, "
            f"{plain / seconds:.2f} of SentenceTransformer.encode's; "
            f"{2 * weights(model) * tokens / seconds / rate:.0%} of the matrix rate"
        )


def weights(model: torch.nn.Module) -> int:
    """Weights that every token is multiplied by: all but the embeddings."""
    return sum(p.numel() for n, p in model.named_parameters() if "embeddings" not in n)


def exact_search(device: str, count: int, dim: int, rounds: int) -> None:
    """200 queries, the first 100, over vectors as an embedder has them; in turn."""
    from retgen.search.vectors import search

    vectors, queries = (
        torch.nn.functional.normalize(torch.randn(n, dim, device=device), dim=1)
        for n in (count, 200)
    )
    blocks = [(i, vectors[i : i + 16_384]) for i in range(0, count, 16_384)]
    priority = np.arange(count)
    works: dict[str, Callable[[], object]] = {
        "product": lambda: [queries @ part.T for _, part in blocks],
        "search": lambda: search(iter(blocks), queries, [dim], "cosine", priority, 100),
    }
    with contextlib.suppress(ModuleNotFoundError):
        import faiss

        index = faiss.IndexFlatIP(dim)
        index.add(vectors.cpu().numpy())
        works["faiss"] = lambda: index.search(queries.cpu().numpy(), 100)
    shown = [f"{name} {timed(work, device, rounds):.3f} s" for name, work in works.items()]
    print(f"  first 100 for 200 queries of {count:,} x {dim:,}: {', '.join(shown)}")


def training_steps(device: str, batch: int, steps: int, rate: float) -> None:
    """Steps of InfoNCE on all-MiniLM-L6-v2: three times the operations of a forward pass."""
    from retgen.evaluation.retrievers import Options
    from retgen.evaluation.training import Pairs, make_config
    from retgen.evaluation.training.fit import train
    from retgen.search.embedders.base import SentenceEmbedder
    from retgen.search.embedders.loading import load_model

    texts = documents(batch * steps)
    queries = [f"Who likes item {i}?" for i in range(len(texts))]
    pairs = Pairs(queries, texts, [[] for _ in texts], queries, "a benchmark")
    model = load_model("minilm", device)
    embedder = SentenceEmbedder("minilm", model, Options(device=device))
    tokens = sum(
        sum(min(t, embedder.max_length or t) for t in embedder.encode(part, "document")[1])
        for part in (texts, queries)
    )
    config = make_config(None, {"batch_size": batch, "max_steps": steps})
    with tempfile.TemporaryDirectory() as folder:
        seconds = train(model, pairs, config, Path(folder) / "out", device=device).seconds
    share = 6 * weights(model) * tokens / seconds / rate
    print(f"  training: {steps / seconds:.2f} steps/s of {batch}, {share:.0%} of the matrix rate")


def bm25(count: int, rounds: int) -> None:
    """1,000 queries of LIMIT, the first 100; rank-bm25 answers a hundred of them."""
    import bm25s

    import retgen
    from retgen.evaluation.retrievers import Options, retriever
    from retgen.progress import no_progress
    from retgen.search.collection import Collection, load

    def ours(name: str, collection: Collection) -> None:
        list(retriever(name, Options()).rank(collection, 100, no_progress))

    def theirs(collection: Collection) -> None:
        texts = [text for _, block in collection.blocks(4096) for text in block]
        index = bm25s.BM25()
        index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
        asked = bm25s.tokenize([one.text for one in collection.queries], show_progress=False)
        index.retrieve(asked, k=100, show_progress=False)

    with tempfile.TemporaryDirectory() as folder:
        size = {"params.docs": count}
        collection = load(retgen.run("limit_dense", out=Path(folder) / "run", overrides=size).path)
        one = replace(collection, queries=collection.queries[:1])
        few = replace(collection, queries=collection.queries[:100])
        ours("bm25", one)  # compiles
        for name, work, asked in (
            ("bm25", partial(ours, "bm25"), collection),
            ("bm25s", theirs, collection),
            ("rank-bm25", partial(ours, "rank-bm25"), few),
        ):
            index, whole = (
                min(measured(partial(work, of))[0] for _ in range(rounds)) for of in (one, asked)
            )
            each = 1000 * (whole - index) / (len(asked.queries) - 1)
            print(f"  {name}: index and one query {index:.1f} s, then {each:.2f} ms a query")


def free_embeddings(dimension: int, count: int, starts: int, rounds: int) -> None:
    """The paper's protocol, ours and as a plain script, from the same vectors; on one thread."""
    from retgen.evaluation.capacity import paper

    torch.set_num_threads(1)
    works = {
        "ours": lambda: paper.solve(dimension, count, range(starts)),
        "plain": lambda: [plain_protocol(dimension, count, seed) for seed in range(starts)],
    }
    times = in_turn(works, rounds)
    print(
        f"  free embeddings, d={dimension}, n={count}, {starts} starts: "
        f"{statistics.median(times['ours']):.3f} s, plain script / ours "
        f"{ratio(times['plain'], times['ours'])}"
    )


def plain_protocol(dimension: int, count: int, seed: int) -> bool:
    """Autograd, Adam, unit vectors after each step, until all are solved or a plateau; solved?"""
    from retgen.evaluation.capacity import paper

    both = paper.pairs(count).T
    qrels = torch.zeros(len(both), count).scatter_(1, both, 1.0)
    start = paper.random_units(len(both) + count, dimension, seed)
    queries = start[: len(both)].clone().requires_grad_()
    vectors = start[len(both) :].clone().requires_grad_()
    optimiser = torch.optim.Adam([queries, vectors], lr=0.01)
    best, since = math.inf, 0
    while since < 1_000:
        optimiser.zero_grad()
        each = torch.log_softmax(queries @ vectors.T / 0.1, dim=1) * qrels
        loss = -each.sum() / qrels.sum()
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            queries /= queries.norm(dim=1, keepdim=True)
            vectors /= vectors.norm(dim=1, keepdim=True)
            top = torch.topk(queries @ vectors.T, 2, dim=1).indices
            if qrels.gather(1, top).all():
                return True
        best, since = (loss.item(), 0) if loss.item() < best - 1e-5 else (best, since + 1)
    return False


if __name__ == "__main__":
    main()
