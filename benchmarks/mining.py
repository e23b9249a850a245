"""Hard negatives of 100,000 generated passages against sentence-transformers' mine_hard_negatives.

By the same rule with the same model, and how many of the negatives are the same; then by BM25,
which sentence-transformers does not mine by.

    .venv/bin/python benchmarks/mining.py [--documents 100000] [--queries 5000]
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from common import measured, options, peak, words
from datasets import Dataset
from sentence_transformers.util import mine_hard_negatives

from retgen.evaluation.retrievers import Options
from retgen.search.embedders.loading import load_model
from retgen.search.mining import mine
from retgen.streams import Stream

COUNT, DEPTH = 4, 50
T = TypeVar("T")


def main() -> None:
    given = options(__doc__, documents=100_000, queries=5_000)
    corpus, queries = generated(given.documents, given.queries)
    positives = [[i] for i in range(len(queries))]
    print(f"{len(corpus):,} passages, {len(queries):,} queries")
    rule = {"count": COUNT, "depth": DEPTH, "margin": 0.95}

    by_words, _ = timed("mine, by bm25", lambda: list(mine(corpus, queries, positives, **rule)))
    print(f"    {sum(map(len, by_words)):,} negatives")
    with tempfile.TemporaryDirectory() as folder:
        keep = Options(cache=Path(folder))

        def embedded() -> list[list[int]]:
            return list(mine(corpus, queries, positives, by="static:minilm", options=keep, **rule))

        ours, first = timed("mine, by static:minilm", embedded)
        _, again = timed("  again, vectors from the cache", embedded)
    model = load_model("static:minilm", "cpu")
    rows = {"anchor": queries, "positive": corpus[: len(queries)]}

    def by_others() -> Dataset:
        return mine_hard_negatives(
            Dataset.from_dict(rows),
            model,
            corpus=corpus,
            num_negatives=COUNT,
            range_max=DEPTH,
            relative_margin=0.05,
            output_format="triplet",
            faiss_batch_size=2048,
            verbose=False,
        )

    theirs, other = timed("mine_hard_negatives, by static:minilm", by_others)
    print(f"    {other / first:.1f} times as long; {other / again:.1f} times as with a cache")
    where = {text: i for i, text in enumerate(corpus)}
    number = {text: i for i, text in enumerate(queries)}
    mined = {(q, d) for q, row in enumerate(ours) for d in row}
    known = {(number[row["anchor"]], where[row["negative"]]) for row in theirs}
    print(f"    {len(mined & known):,} of {len(mined):,} negatives are among their {len(known):,}")
    print(f"  peak memory of the process {peak() / 1024:.1f} GiB")


def generated(documents: int, queries: int) -> tuple[list[str], list[str]]:
    """Passages of 40 to 80 words, half of them of one of 2,000 topics; a query is five of those."""
    stream = Stream(42, "benchmarks/mining")
    known = sorted(words())
    of_topic = stream.integers(len(known), 2_000 * 60).reshape(2_000, 60)
    topics = stream.integers(2_000, documents)
    lengths = stream.integers(41, documents) + 40
    texts, asked = [], []
    for topic, length in zip(topics.tolist(), lengths.tolist(), strict=True):
        half = of_topic[topic, stream.integers(60, length // 2)]
        rest = stream.integers(len(known), length - length // 2)
        mixed = [known[i] for pair in zip(half, rest, strict=False) for i in pair]
        texts.append(" ".join(mixed))
        if len(asked) < queries:
            asked.append(" ".join(mixed[0:10:2]))
    return texts, asked


def timed(what: str, do: Callable[[], T]) -> tuple[T, float]:
    took, _, result = measured(do)
    print(f"  {what}: {took:.1f} s", flush=True)
    return result, took


if __name__ == "__main__":
    main()
