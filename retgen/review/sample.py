"""The pairs that a review asks about, in the order in which they are judged.

Part 1, *labels*: the judged pairs of a split, all of them or a random sample. Where there are more
positives than the sample holds, at least half of it is positives, so that hard negatives do not
crowd them out.

Part 2, *missing*: pairs that look like missing labels. For each query a few retrievers rank the
corpus; what they rank first without a positive label comes first here, pairs that nobody judged
before judged zeros. These pairs are chosen, not sampled, so the report counts them and states no
rate. A set without labels has this part only, query by query, and as many pairs as the sample.

Questions that people asked have this part only as well: all that the retrievers find and nobody
has judged, question by question.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from retgen.data import Dataset, Document, Query
from retgen.errors import UsageError
from retgen.evaluation.retrievers import Options, check_name, ranks_a_corpus, retriever
from retgen.progress import Progress, no_progress
from retgen.review.records import Item, Part, Settings, ShownPair, item_id
from retgen.search.base import rank_corpus
from retgen.search.collection import PAGES, Collection, load
from retgen.streams import Stream
from retgen.write import cache_folder

NO_POOL = ("none",)  # in place of retrievers: labels only
# of questions that people asked: retrievers of different kinds, as far as they are installed
POOL = ("bm25", "minilm", "late:minilm")
_SLOW, _MOST = "late:minilm", 5000  # passages up to which it is one of them
DEPTH = 10  # documents of each retriever, for each query


class JudgedPair(NamedTuple):
    """A pair of a query and a document, with the label of the data set."""

    query_id: str
    doc_id: str
    label: float | None


def check_pool(models: Sequence[str]) -> None:
    """Raise `UsageError` for retrievers that cannot rank a corpus. Loads none."""
    if not models:
        raise UsageError("--pool is empty: name a retriever, bm25 for one, or none for no pool")
    for name in models if tuple(models) != NO_POOL else ():
        try:
            check_name(name)
        except UsageError as error:
            raise UsageError(str(error).replace("--model", "--pool")) from error
        if not ranks_a_corpus(name):
            raise UsageError(f"--pool {name}: orders candidate sets, and ranks no corpus")


def draw(
    path: Path, split: str | None, settings: Settings, progress: Progress = no_progress
) -> tuple[Settings, list[Item]]:
    """Choose the pairs of a review, and complete its settings with what the split holds.

    Raises `DatasetError` and `UsageError`.
    """
    collection = load(path, split, progress, every_query=True)
    by_question = any(query.facts.get("labels") == PAGES for query in collection.queries)
    default = _pool(collection) if by_question else ("bm25",)
    settings = replace(settings, pool=settings.pool or default)
    labels = [
        JudgedPair(query_id, doc_id, float(label))
        for query_id, judged in collection.qrels.items()
        for doc_id, label in judged.items()
        if doc_id not in collection.missing
    ]
    sample = [] if by_question else _sample(labels, settings.size)
    suspects = _suspects(collection, settings.pool, set(sample), progress)
    if by_question:
        suspects = [one for one in suspects if one.label is None]
    most = len(suspects) if by_question else settings.size // 2 if sample else settings.size
    candidates = suspects[:most]
    if not sample:  # nothing is labelled yet: people judge query by query
        candidates.sort(key=lambda one: one.query_id)
    chosen: list[tuple[Part, JudgedPair]] = [("labels", one) for one in sample]
    chosen += [("missing", one) for one in candidates]
    if not chosen:
        none = "every candidate has a label" if labels else "no pair has a label"
        raise UsageError(
            f"{path}: there is nothing to judge in split {collection.split}: {none}, and "
            f"{', '.join(settings.pool)} ranked nothing else (--pool names other retrievers)"
        )
    settings = replace(
        settings,
        split=collection.split,
        by_question=by_question,
        grades=3 if by_question or max((one.label or 0 for one in labels), default=0) > 1 else 2,
        labels={f"{label:g}": n for label, n in Counter(one.label or 0 for one in labels).items()},
        candidates=len(suspects),
        left_out=len(collection.missing),
    )
    queries = {query.query_id: query for query in collection.queries}
    texts = documents(collection.dataset, {one.doc_id for _, one in chosen})
    items = []
    for part, (q, d, label) in chosen:
        name = item_id(queries[q].text if by_question else q, d)
        items.append(Item(name, part, q, d, label, shown_of(queries[q], texts[d])))
    return settings, items


def _sample(labels: Sequence[JudgedPair], size: int) -> list[JudgedPair]:
    """A random sample of labels in random order, with positives for at least half of it."""
    order = Stream(0, "review/labels").permutation(len(labels)).tolist()
    positives = [i for i in order if (labels[i].label or 0) > 0]
    zeros = [i for i in order if (labels[i].label or 0) <= 0]
    kept = {*positives[: max(size - len(zeros), -(-size // 2))]}
    kept |= {*zeros[: size - len(kept)]}
    return [labels[i] for i in order if i in kept]


def _pool(collection: Collection) -> tuple[str, ...]:
    """Those of `POOL` that are installed, and fast enough for the collection."""

    def usable(name: str) -> bool:
        try:
            check_name(name)
        except (UsageError, ModuleNotFoundError):
            return False
        return name != _SLOW or collection.documents <= _MOST

    return tuple(filter(usable, POOL))


def _suspects(
    collection: Collection,
    pool: Sequence[str],
    sample: set[JudgedPair],
    progress: Progress,
) -> list[JudgedPair]:
    """Pairs without a positive label that the retrievers find, most suspicious first."""
    options, depth = Options(cache=cache_folder()), min(DEPTH, collection.documents)
    score: defaultdict[tuple[int, int], float] = defaultdict(float)  # sum of 1 / rank
    for name in pool if tuple(pool) != NO_POOL and collection.queries else ():
        for ranked in rank_corpus(retriever(name, options), collection, depth, progress):
            for row, found in enumerate(ranked.rankings.documents.tolist()):
                for rank, index in enumerate(found, start=1):
                    if index >= 0:
                        score[row, index] += 1 / rank
    suspects: list[tuple[bool, float, JudgedPair]] = []
    for (row, index), found in score.items():
        query_id, doc_id = collection.queries[row].query_id, collection.doc_ids[index].decode()
        judged = collection.qrels[query_id].get(doc_id)
        one = JudgedPair(query_id, doc_id, None if judged is None else float(judged))
        if (judged or 0) <= 0 and one not in sample:
            suspects.append((judged is not None, -found, one))
    order = Stream(0, "review/missing").permutation(len(suspects)).tolist()
    return [one for *_, one in sorted((suspects[i] for i in order), key=lambda s: s[:2])]


def documents(dataset: Dataset, ids: Iterable[str]) -> dict[str, Document]:
    """Some documents of a data set by id, in one pass; those that it lacks are left out."""
    wanted = set(ids)
    return {one.doc_id: one for one in dataset.documents() if one.doc_id in wanted}


def shown_of(query: Query, document: Document) -> ShownPair:
    """The texts and metadata that are shown of a pair."""
    metadata = document.metadata if isinstance(document.metadata, dict) else {}
    return ShownPair(query.text, document.title, document.text, query.facts, metadata)
