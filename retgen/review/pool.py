"""Which pairs may be relevant though nobody said so: what several retrievers rank first.

Pairs outside the pool are not looked at, and nothing is said of them; more retrievers of different
kinds and a greater depth make it wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from retgen.errors import UsageError
from retgen.evaluation.collection import Collection, load
from retgen.evaluation.embedders.cache import default_folder
from retgen.evaluation.retrievers import Options, check_name, ranks_a_corpus, retriever
from retgen.evaluation.search.rankings import Rankings
from retgen.progress import Progress, no_progress


class Found(NamedTuple):
    """How retrievers rank a document for a query. `best`: from 1; `mean`: of 1/rank, 0 without."""

    best: int
    mean: float


class Pool(NamedTuple):
    """A data set with every query of a split, and what retrievers rank first for each."""

    collection: Collection
    rankings: Sequence[Rankings]

    def found(self, row: int) -> dict[str, Found]:
        """By document id what was found for the query of a row, best first."""
        ids, result = self.collection.doc_ids, dict[str, Found]()
        for ranking in self.rankings:
            for rank, index in enumerate(ranking.documents[row].tolist(), start=1):
                if index < 0:
                    break
                doc_id = ids[index].decode()
                best, mean = result.get(doc_id, (rank, 0.0))
                share = 1 / rank / len(self.rankings)
                result[doc_id] = Found(min(best, rank), mean + share)
        return result


def check(models: Sequence[str], depth: int) -> None:
    """Raise `UsageError` for retrievers that cannot make a pool. Loads none."""
    if not models:
        raise UsageError("--pool is empty: name a retriever, bm25 for one")
    for name in models:
        try:
            check_name(name)
        except UsageError as error:
            raise UsageError(str(error).replace("--model", "--pool")) from error
        if not ranks_a_corpus(name):
            raise UsageError(f"--pool {name}: orders candidate sets, and ranks no corpus")
    if depth < 1:
        raise UsageError(f"--depth {depth}: look at one document a query at least")


def make(
    path: Path,
    split: str | None,
    models: Sequence[str],
    depth: int,
    progress: Progress = no_progress,
) -> Pool:
    """Rank the corpus for every query of a split. Raises `DatasetError` and `UsageError`."""
    check(models, depth)
    collection = load(path, split, progress, every_query=True)
    if not collection.queries:
        raise UsageError(
            f"{path}: no query belongs to split {collection.split}; "
            f"splits: {', '.join(collection.dataset.qrels)}"
        )
    depth = min(depth, collection.documents)
    options = Options(cache=default_folder())
    rankings = [
        ranked.rankings
        for name in models
        for ranked in retriever(name, options).rank(collection, depth, progress)
    ]
    return Pool(collection, rankings)
