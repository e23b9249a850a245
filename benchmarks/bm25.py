"""BM25 over 50,000 documents against rank_bm25: index, then every query's first 100.

Both are called the way `gen eval` calls them, tokenising included; rank-bm25 answers the first
hundred queries only and is counted by the query.

    .venv/bin/python benchmarks/bm25.py [--documents 50000]
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import retgen
from retgen.evaluation.collection import Collection, load
from retgen.evaluation.retrievers import Options, retriever
from retgen.progress import no_progress

FEW = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, default=50_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        size = {"params.docs": given.documents}
        collection = load(retgen.run("limit_dense", out=Path(folder) / "run", overrides=size).path)
        print(f"{platform.machine()}, {collection.documents:,} documents")
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
    began = time.perf_counter()
    list(retriever(name, Options()).rank(collection, 100, no_progress))
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
