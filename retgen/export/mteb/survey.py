"""A data set read once: MTEB's descriptive statistics, and the records that its gates object to.

The figures are those of `AbsTask.calculate_descriptive_statistics` (MTEB 2.26), which wants the
whole corpus in memory and MTEB installed; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from retgen.data import Dataset, Query
from retgen.rows import text_hash

SHORT = 3  # characters: MTEB takes a text of so many for one of poor quality


@dataclass
class TextStatistics:
    """The texts of a table, as a model reads them. `short`, `repeated`: ids, in order."""

    count: int = 0
    total: int = 0
    shortest: int = 0
    longest: int = 0
    short: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    _seen: set[int] = field(default_factory=set)

    def add(self, name: str, text: str) -> None:
        """Count a text."""
        size = len(text)
        self.shortest = min(self.shortest, size) if self.count else size
        self.longest = max(self.longest, size)
        self.count += 1
        self.total += size
        if len(text.strip()) <= SHORT:
            self.short.append(name)
        key = text_hash(text)
        if key in self._seen:
            self.repeated.append(name)
        self._seen.add(key)

    def statistics(self) -> dict[str, Any]:
        """MTEB's `TextStatistics`."""
        return {
            "total_text_length": self.total,
            "min_text_length": self.shortest,
            "average_text_length": self.total / self.count if self.count else 0.0,
            "max_text_length": self.longest,
            "unique_texts": len(self._seen),
        }


class SameText(NamedTuple):
    """A query, and what has the same text."""

    query_id: str
    other: str


@dataclass
class SplitSurvey:
    """What is found in a split. `missing`: ids that qrels name and no table has."""

    queries: TextStatistics = field(default_factory=TextStatistics)
    positives: dict[str, int] = field(default_factory=dict)  # of every query with a qrel
    judged: set[str] = field(default_factory=set)  # documents
    missing_queries: list[str] = field(default_factory=list)
    missing_documents: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)  # a positive
    as_document: list[SameText] = field(default_factory=list)
    in_train: list[SameText] = field(default_factory=list)

    def relevant(self) -> dict[str, Any]:
        """MTEB's `RelevantDocsStatistics`."""
        counts = self.positives.values()
        return {
            "num_relevant_docs": sum(counts),
            "min_relevant_docs_per_query": min(counts, default=0),
            "average_relevant_docs_per_query": sum(counts) / max(len(counts), 1),
            "max_relevant_docs_per_query": max(counts, default=0),
            "unique_relevant_docs": len(self.judged),
            "num_missing_query_ids": len(self.missing_queries),
            "num_missing_corpus_ids": len(self.missing_documents),
            "queries_with_all_gold_black_or_white": 0,
        }


@dataclass
class Survey:
    """A data set: its documents, and what is found in each split. `own`: some queries have the id
    of a document that is not judged relevant to them: they are that document (`Collection.own`).
    """

    documents: TextStatistics
    splits: dict[str, SplitSurvey]
    own: bool = False

    def statistics(self, splits: Iterable[str]) -> dict[str, Any]:
        """MTEB's descriptive statistics of the splits."""
        return {name: self._of(self.splits[name]) for name in splits}

    def _of(self, split: SplitSurvey) -> dict[str, Any]:
        documents, queries = self.documents, split.queries
        none = {f"{kind}_statistics": None for kind in ("image", "audio", "video")}
        return {
            "num_samples": documents.count + queries.count,
            "num_queries": queries.count,
            "num_documents": documents.count,
            "number_of_characters": documents.total + queries.total,
            "documents_text_statistics": documents.statistics(),
            **{f"documents_{key}": value for key, value in none.items()},
            "queries_text_statistics": queries.statistics(),
            **{f"queries_{key}": value for key, value in none.items()},
            "relevant_docs_statistics": split.relevant(),
            "top_ranked_statistics": None,
        }


def eval_splits(splits: Sequence[str]) -> list[str]:
    """The splits that a task is scored on: test where there is one, never train beside others."""
    if "test" in splits:
        return ["test"]
    return [one for one in splits if one != "train"] or list(splits)


def survey(dataset: Dataset, path: Path) -> Survey:
    """Read a data set. Raises `DatasetError`, naming `path`, for a row that is none."""
    splits = {name: SplitSurvey() for name in dataset.qrels}
    own = apart = False
    for name, split in splits.items():
        for qrel in dataset.qrels[name].records(path):
            # MTEB counts every score but 0
            positive = float(qrel.relevance) != 0
            split.positives[qrel.query_id] = split.positives.get(qrel.query_id, 0) + positive
            split.judged.add(qrel.doc_id)
            apart |= positive and qrel.query_id == qrel.doc_id
    queries = dataset.queries.records(path)
    by_text = _queries(queries, splits)
    documents = TextStatistics()
    unseen = {name: set(split.judged) for name, split in splits.items()}
    for one in dataset.documents(path):
        text = f"{one.title} {one.text}".strip()
        documents.add(one.doc_id, text)
        for name, ids in unseen.items():
            ids.discard(one.doc_id)
            own |= one.doc_id in splits[name].positives
        for name, query_id in by_text.get(text_hash(text), ()):
            splits[name].as_document.append(SameText(query_id, one.doc_id))
    for name, ids in unseen.items():
        splits[name].missing_documents = sorted(ids)
    # MTEB would leave out a relevant document with the query's id as well
    return Survey(documents, splits, own and not apart)


def _queries(
    queries: Iterable[Query], splits: dict[str, SplitSurvey]
) -> dict[int, list[tuple[str, str]]]:
    """Count the queries of each split; (split, query) by what their texts hash to."""
    by_text: dict[int, list[tuple[str, str]]] = {}
    known = set()
    for query in queries:
        known.add(query.query_id)
        of = [name for name, one in splits.items() if query.query_id in one.positives]
        positive = any(splits[name].positives[query.query_id] for name in of)
        for name in of or splits:  # one that no split names belongs to none: all lack it
            if name in of:
                splits[name].queries.add(query.query_id, query.text)
                by_text.setdefault(text_hash(query.text.strip()), []).append((name, query.query_id))
            if not positive or (name in of and not splits[name].positives[query.query_id]):
                splits[name].without.append(query.query_id)
    for split in splits.values():
        split.missing_queries = sorted(split.positives.keys() - known)
    for same in by_text.values():
        train = [query_id for name, query_id in same if name == "train"]
        for name, query_id in same:
            if train and name != "train":
                splits[name].in_train.append(SameText(query_id, train[0]))
    return by_text
