"""BM25 over 50,000 documents against rank_bm25: index, then every query's first 100.

Both are called the way `gen eval` calls them, tokenising included; rank-bm25 answers the first
hundred queries only and is counted by the query.

    .venv/bin/python benchmarks/bm25.py [--documents 50000]
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from common import measured, options

import retgen
from retgen.evaluation.collection import Collection, load
from retgen.evaluation.retrievers import Options, retriever
from retgen.progress import no_progress

FEW = 100


def main() -> None:
    given = options(__doc__, documents=50_000)
    with tempfile.TemporaryDirectory() as folder:
        size = {"params.docs": given.documents}
        collection = load(retgen.run("limit_dense", out=Path(folder) / "run", overrides=size).path)
        first = replace(collection, queries=collection.queries[:FEW])
        one = replace(collection, queries=collection.queries[:1])
        ranked("bm25", one)  # compiles
        ours, theirs = per_query("bm25", collection, one), per_query("rank-bm25", first, one)
        print(f"  a query: {theirs / ours:.0f} times as fast")


def per_query(name: str, collection: Collection, one: Collection) -> float:
    """Seconds a query; the index is what a single query costs."""
    index = ranked(name, one)
    queries = len(collection.queries)
    each = (ranked(name, collection) - index) / (queries - 1)
    print(f"  {name}: index and one query {index:.1f} s, then {1000 * each:.2f} ms a query")
    return each


def ranked(name: str, collection: Collection) -> float:
    """Seconds of a whole ranking, index and all."""
    ranks = retriever(name, Options()).rank
    return measured(lambda: list(ranks(collection, 100, no_progress)))[0]


if __name__ == "__main__":
    main()
