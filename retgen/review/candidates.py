"""The two populations: the positives of a split, and the other pairs that may be relevant.

The others come from a pool: what several retrievers rank first for each query. Nothing is said of
pairs outside it; more retrievers of different kinds and a greater depth make it wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, check_name, ranks_a_corpus, retriever
from retgen.progress import Progress, no_progress
from retgen.review.records import Population
from retgen.search.base import rank_corpus
from retgen.search.collection import Collection, load
from retgen.search.rankings import Rankings
from retgen.write import cache_folder

NO_POOL = ("none",)  # in place of retrievers: only pairs with a label are looked at
# of a pair that was judged, against one that nobody looked at and that ranks the same
_JUDGED = 0.25
_LEAST = 0.25  # of a positive that all retrievers rank first, against one that none finds


class PoolRank(NamedTuple):
    """How retrievers rank a document for a query. `best`: from 1; `mean`: of 1/rank, 0 without."""

    best: int
    mean: float


class CandidatePool(NamedTuple):
    """A data set with every query of a split, and what retrievers rank first for each."""

    collection: Collection
    rankings: Sequence[Rankings]

    def ranks(self, row: int) -> dict[str, PoolRank]:
        """By document id how it ranks for the query of a row, best first."""
        ids, result = self.collection.doc_ids, dict[str, PoolRank]()
        for ranking in self.rankings:
            for rank, index in enumerate(ranking.documents[row].tolist(), start=1):
                if index < 0:
                    break
                doc_id = ids[index].decode()
                best, mean = result.get(doc_id, (rank, 0.0))
                share = 1 / rank / len(self.rankings)
                result[doc_id] = PoolRank(min(best, rank), mean + share)
        return result


def check_pool(models: Sequence[str], depth: int) -> None:
    """Raise `UsageError` for retrievers that cannot make a pool. Loads none."""
    if not models:
        raise UsageError("--pool is empty: name a retriever, bm25 for one, or none for no pool")
    if tuple(models) == NO_POOL:
        return
    for name in models:
        try:
            check_name(name)
        except UsageError as error:
            raise UsageError(str(error).replace("--model", "--pool")) from error
        if not ranks_a_corpus(name):
            raise UsageError(f"--pool {name}: orders candidate sets, and ranks no corpus")
    if depth < 1:
        raise UsageError(f"--depth {depth}: look at one document a query at least")


def make_pool(
    path: Path,
    split: str | None,
    models: Sequence[str],
    depth: int,
    progress: Progress = no_progress,
) -> CandidatePool:
    """Rank the corpus for every query of a split. Raises `DatasetError` and `UsageError`."""
    check_pool(models, depth)
    collection = load(path, split, progress, every_query=True)
    if not collection.queries:
        raise UsageError(
            f"{path}: no query belongs to split {collection.split}; "
            f"splits: {', '.join(collection.dataset.qrels)}"
        )
    depth = min(depth, collection.documents)
    options = Options(cache=cache_folder())
    rankings = [
        ranked.rankings
        for name in (models if tuple(models) != NO_POOL else ())
        for ranked in rank_corpus(retriever(name, options), collection, depth, progress)
    ]
    return CandidatePool(collection, rankings)


class Candidate(NamedTuple):
    """A pair of a population. `row`: of its query. `found`: by the retrievers, if by any.

    `grade`: beside binary labels. `proven`: its label is proven. `suspicion`: how likely
    the label is wrong, in any unit.
    """

    row: int
    doc_id: str
    label: float | None
    suspicion: float
    found: PoolRank | None
    grade: int | None = None
    proven: bool = False


def candidates(pool: CandidatePool, *, proven: bool) -> dict[Population, list[Candidate]]:
    """Both populations, query by query. `proven`: the labels of the data set are proven.

    Suspicious is a positive that retrievers do not find, and of the others what they rank first,
    above all where nobody judged it; and what a grade beside binary labels calls nearly relevant.
    What is proven is as suspicious as all else: no retriever sees where a proof fails. Judged
    documents that the corpus does not hold cannot be shown, and are left out.
    """
    positives: list[Candidate] = []
    others: list[Candidate] = []
    collection = pool.collection
    # of a complete set a pair without a qrel is known not to be relevant
    unjudged = 0.0 if collection.complete else None
    for row, query in enumerate(collection.queries):
        found = pool.ranks(row)
        grades = (collection.grades or {}).get(query.query_id, {})
        top = max(grades.values(), default=0)
        judged = collection.qrels[query.query_id]
        for doc_id, label in judged.items():
            if doc_id in collection.missing:
                continue
            at, grade = found.get(doc_id), grades.get(doc_id)
            mean = at.mean if at else 0.0
            if label > 0:
                doubt = 1.0 if proven else 1 - (1 - _LEAST) * mean
                one = Candidate(row, doc_id, float(label), doubt, at, grade, proven)
                positives.append(one)
            else:
                near = (grade or 0) / top if top > 0 else 0.0
                suspicion = 1.0 if proven else _JUDGED * max(mean, near)
                others.append(Candidate(row, doc_id, float(label), suspicion, at, grade, proven))
        for doc_id, at in found.items():
            if doc_id not in judged:
                known = proven and unjudged is not None
                suspicion = 1.0 if known else at.mean
                others.append(Candidate(row, doc_id, unjudged, suspicion, at, None, known))
    return {"positives": positives, "others": others}
