"""BM25 beside rank_bm25, bm25s and tantivy: index, then every query's first 100.

Ours and rank_bm25 are called the way `gen eval` calls them, tokenising included; rank-bm25 answers
the first hundred queries only and is counted by the query. bm25s has the tokens of its own
tokeniser, tantivy (Lucene's design in Rust, one thread, in memory) those of its English analyser;
their queries are the same texts.

    .venv/bin/python benchmarks/bm25.py [--documents 50000] [--fast 1] [--rounds 3]

--fast 1: without rank_bm25, which takes minutes at a million documents.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from common import measured, options

import retgen
from retgen.evaluation.retrievers import Options, retriever
from retgen.progress import no_progress
from retgen.search.collection import Collection, load

FEW = 100
DEPTH = 100
Ranking = Callable[[Collection], object]


def main() -> None:
    given = options(__doc__, documents=50_000, fast=0, rounds=3)
    with tempfile.TemporaryDirectory() as folder:
        size = {"params.docs": given.documents}
        collection = load(retgen.run("limit_dense", out=Path(folder) / "run", overrides=size).path)
        first = replace(collection, queries=collection.queries[:FEW])
        one = replace(collection, queries=collection.queries[:1])
        ours("bm25")(one)  # compiles
        base = per_query("bm25", ours("bm25"), collection, one, given.rounds)
        others: list[tuple[str, Ranking, Collection]] = [
            ("bm25s", bm25s_ranking, collection),
            ("tantivy", tantivy_ranking, collection),
        ]
        if not given.fast:
            others.append(("rank-bm25", ours("rank-bm25"), first))
        for name, ranking, asked in others:
            seconds = per_query(name, ranking, asked, one, given.rounds)
            print(f"  {name} / bm25, a query: {seconds / base:.1f}")


def per_query(
    name: str, ranking: Ranking, collection: Collection, one: Collection, rounds: int
) -> float:
    """Seconds a query; the index is what a single query costs. Each is the least of `rounds`."""
    index, whole = (
        min(measured(lambda of=of: ranking(of))[0] for _ in range(rounds))
        for of in (one, collection)
    )
    each = (whole - index) / (len(collection.queries) - 1)
    print(
        f"  {name}: index and one query {index:.1f} s, then {1000 * each:.2f} ms a query",
        flush=True,
    )
    return each


def ours(name: str) -> Ranking:
    """Those that `gen eval` ranks with."""
    ranks = retriever(name, Options()).rank
    return lambda collection: list(ranks(collection, DEPTH, no_progress))


def texts_of(collection: Collection) -> tuple[list[str], list[str]]:
    """Of documents and of queries."""
    documents = [text for _, block in collection.blocks(4096) for text in block]
    return documents, [query.text for query in collection.queries]


def bm25s_ranking(collection: Collection) -> object:
    import bm25s

    documents, queries = texts_of(collection)
    index = bm25s.BM25()
    index.index(bm25s.tokenize(documents, show_progress=False), show_progress=False)
    asked = bm25s.tokenize(queries, show_progress=False)
    return index.retrieve(asked, k=DEPTH, show_progress=False)


def tantivy_ranking(collection: Collection) -> object:
    import tantivy

    documents, queries = texts_of(collection)
    schema = tantivy.SchemaBuilder().add_text_field("text", tokenizer_name="en_stem").build()
    index = tantivy.Index(schema)
    writer = index.writer(heap_size=500_000_000, num_threads=1)
    for text in documents:
        writer.add_document(tantivy.Document(text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    return [
        searcher.search(index.parse_query(" ".join(re.findall(r"\w+", text)), ["text"]), DEPTH)
        for text in queries
    ]


if __name__ == "__main__":
    main()
