"""Speed of hard negatives for one's own documents, against sentence-transformers' miner.

Negatives are mined by the rule of its mine_hard_negatives with the same model, and it is counted
how many are the same. What whole runs take, stage by stage, is printed by large.py.

    .venv/bin/python benchmarks/own_documents.py [--passages 100000] [--queries 5000]
"""

from __future__ import annotations

from common import measured, options, words

from retgen.streams import Stream

WORDS = 60  # of a passage, about


def main() -> None:
    given = options(__doc__, passages=100_000, queries=5_000)
    mining(given.passages, given.queries)


def mining(passages: int, count: int) -> None:
    """Four negatives a query from passages of 40 to 80 words, by BM25 and by static:minilm."""
    from datasets import Dataset
    from sentence_transformers.util import mine_hard_negatives

    from retgen.search.embedders.loading import load_model
    from retgen.search.mining import mine

    known = words()
    picks = Stream(42, "benchmarks/mining").integers(len(known), passages * WORDS)
    corpus = [
        " ".join(known[i] for i in row[: 40 + row[0] % 21])
        for row in picks.reshape(passages, WORDS).tolist()
    ]
    queries = [" ".join(text.split()[0:10:2]) for text in corpus[:count]]
    positives = [[i] for i in range(count)]
    for by in ("bm25", "static:minilm"):
        took, _, ours = measured(
            lambda by=by: [*mine(corpus, queries, positives, by=by, count=4, depth=50, margin=0.95)]
        )
        print(f"mine, by {by}: {took:.1f} s, {sum(map(len, ours)):,} negatives")
    model = load_model("static:minilm", "cpu")
    rows = Dataset.from_dict({"anchor": queries, "positive": corpus[:count]})
    other, _, theirs = measured(
        lambda: mine_hard_negatives(
            rows,
            model,
            corpus=corpus,
            num_negatives=4,
            range_max=50,
            relative_margin=0.05,
            output_format="triplet",
            faiss_batch_size=2048,
            verbose=False,
        )
    )
    mined = {(queries[q], corpus[d]) for q, row in enumerate(ours) for d in row}
    same = len(mined & {(row["anchor"], row["negative"]) for row in theirs})
    print(f"mine_hard_negatives, by static:minilm: {other:.1f} s, {other / took:.1f} times as long")
    print(f"    {same:,} of {len(mined):,} negatives are among their {len(theirs):,}")


if __name__ == "__main__":
    main()
