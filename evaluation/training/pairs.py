"""Training pairs of a run directory or data set: (query, relevant document, negatives).

Where they come from decides what a score after training means (arXiv 2508.21038, section 5):
trained on the pairs of the test split, a model is scored on what it memorised. `Pairs.origin` says
so in a sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson

from retgen.data import Dataset, check_files, open_dataset, pair_tables, training_pairs
from retgen.errors import DatasetError, UsageError
from retgen.messages import did_you_mean
from retgen.search.collection import Collection, which_split


@dataclass(frozen=True)
class Pairs:
    """Pairs in order, one entry a pair in every list. `negatives`: texts, possibly none.

    `positive_ids`: of the documents, "" (or no list at all) where only the text is known.
    `documents`: texts of the training side's documents by id, where the data set tells its sides.
    """

    anchors: list[str]
    positives: list[str]
    negatives: list[list[str]]
    query_ids: list[str]
    origin: str
    positive_ids: list[str] = field(default_factory=list)
    documents: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.anchors)

    def least_negatives(self) -> int:
        """How many negatives every pair has."""
        return min(map(len, self.negatives), default=0)

    def negatives_used(self, wanted: int | Literal["all"]) -> int:
        """Of every pair, where so many are wanted; "all": as many as every pair has."""
        return self.least_negatives() if wanted == "all" else wanted

    def negatives_in_words(self, wanted: int | Literal["all"]) -> str:
        """What is used of the negatives, and what is not, in words."""
        used, counts = self.negatives_used(wanted), [len(result) for result in self.negatives]
        least, most = min(counts, default=0), max(counts, default=0)
        if not most:
            return "no hard negatives (the pairs have none)"
        there = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        if used:
            short = sum(count < used for count in counts)
            repeated = f"; {short:,} pairs have fewer and repeat theirs" if short else ""
            return f"{used:,} hard negatives a pair (of {there}{repeated})"
        why = "as hard_negatives says"
        if wanted == "all":
            why = f"since {counts.count(0):,} of the {len(self):,} pairs have none"
        return f"no hard negatives, {why} (pairs have {there})"

    def digest(self) -> str:
        """SHA-256 of the texts and query ids, hex."""
        rows: list[Any] = [self.anchors, self.positives, self.negatives, self.query_ids]
        rows += [self.documents] if self.documents else []
        return hashlib.sha256(orjson.dumps(rows)).hexdigest()


def read_pairs(
    path: Path | str,
    split: str | None = None,
    limit: int | None = None,
    data: Sequence[str] = (),
) -> Pairs:
    """The training pairs of a run directory or data set, the first `limit` of them.

    Without `split`: training/*.parquet of the run if there, or those of them that `data` names,
    else the qrels of split train, else of split test (or the only one). Qrels above 0 are the
    pairs; a query's qrels of 0 are its negatives. Raises `DatasetError` where there is no pair, a
    row is broken or a document missing, `UsageError` for a split or a file that is not there.
    """
    path = Path(path)
    if limit is not None and limit < 1:
        raise UsageError(f"the number of pairs must be at least 1, not {limit}")
    dataset = open_dataset(path)
    name = path.resolve().name
    files = training_files(dataset)
    if data and split is not None:
        raise UsageError(
            f"the pairs are those of training files ({', '.join(data)}) or of qrels (split "
            f"{split}); name one of them"
        )
    files = _named(files, data, path) if data else [*pair_tables(files)] or files
    if files and split is None:
        rows, documents = _from_tables(files, path), _of_training_side(dataset)
        origin = f"the training pairs of {name} ({', '.join(file.name for file in files)})"
    else:
        split, documents = _split(dataset, path, split), {}
        rows = _from_qrels(dataset, path, split)
        origin = f"the qrels of split {split} of {name}"
        if split != "train":
            origin += ", so a score on that split measures memory, not retrieval"
    if limit is not None and limit < len(rows):
        origin = f"the first {limit:,} of {len(rows):,} pairs from {origin}"
        rows = rows[:limit]
    else:
        origin = f"{len(rows):,} pairs from {origin}"
    anchors, positives, negatives, ids, docs = (list(c) for c in zip(*rows, strict=True))
    return Pairs(anchors, positives, negatives, ids, origin, docs, documents)


def _of_training_side(dataset: Dataset) -> dict[str, str]:
    """The documents of split train of a run over own documents; none of another data set."""
    if dataset.run is None:
        return {}
    return {
        one.doc_id: f"{one.title} {one.text}".strip()
        for one in dataset.documents()
        if isinstance(one.metadata, dict) and one.metadata.get("split") == "train"
    }


def training_files(dataset: Dataset) -> list[Path]:
    """The files of the folder training. Raises `DatasetError` for one that was changed since."""
    check_files(dataset.run or dataset.root, "training/")
    return sorted((dataset.run or dataset.root).glob("training/*.parquet"))


_Row = tuple[str, str, list[str], str, str]


def _named(files: list[Path], names: Sequence[str], path: Path) -> list[Path]:
    """The files of some names, with or without .parquet, in the order of the files."""
    there = {file.stem: file for file in files}
    wanted = [name.strip().removesuffix(".parquet") for name in names]
    for name in wanted:
        if name not in there:
            known = ", ".join(there) or "none"
            raise UsageError(
                f"{path} has no training file {name!r}{did_you_mean(name, there) or '.'} "
                f"Files in its folder training: {known}"
            )
    return [file for name, file in there.items() if name in wanted]


def _from_tables(files: list[Path], path: Path) -> list[_Row]:
    """One row a (query, positive); the negatives of its rows in all files, each once."""
    result: dict[tuple[str, str], tuple[str, str, dict[str, None]]] = {}
    for one in chain.from_iterable(map(training_pairs, files)):
        new = one.query_id or one.anchor, one.positive_id, dict[str, None]()
        kept = result.setdefault((one.anchor, one.positive), new)[2]
        kept.update((text, None) for _, text in one.negatives)
    if not result:
        named = " and ".join(file.name for file in files)
        raise DatasetError(f"{path}: its training files hold no pair ({named})")
    return [(a, p, list(texts), i, doc) for (a, p), (i, doc, texts) in result.items()]


def _from_qrels(dataset: Dataset, path: Path, split: str) -> list[_Row]:
    queries, qrels = dataset.queries_and_qrels(path, split)
    anchors = {query.query_id: query.text for query in queries}
    positives = [qrel for qrel in qrels if qrel.relevance > 0]
    if not positives:
        raise DatasetError(
            f"{path}: no qrel of split {split} is above 0, so there is no pair to train on"
        )
    for qrel in positives:
        if qrel.query_id not in anchors:
            raise DatasetError(
                f"{path}: the qrels of split {split} name query {qrel.query_id}, which is not "
                f"among the queries; `gen validate {path}` lists all such rows"
            )
    negatives: dict[str, list[str]] = {}
    for qrel in qrels:
        if qrel.relevance <= 0:
            negatives.setdefault(qrel.query_id, []).append(qrel.doc_id)
    texts = dict.fromkeys(qrel.doc_id for qrel in qrels)
    for document in dataset.documents():
        if document.doc_id in texts:
            texts[document.doc_id] = f"{document.title} {document.text}".strip()
    missing = [doc_id for doc_id, text in texts.items() if text is None]
    if missing:
        raise DatasetError(
            f"{path}: the qrels of split {split} name {len(missing):,} documents that are not in "
            f"the corpus, such as {missing[0]}; `gen validate {path}` lists them"
        )
    return [
        (
            anchors[qrel.query_id],
            _text(texts, qrel.doc_id),
            [_text(texts, doc_id) for doc_id in negatives.get(qrel.query_id, ())],
            qrel.query_id,
            qrel.doc_id,
        )
        for qrel in positives
    ]


def _text(texts: dict[str, Any], doc_id: str) -> str:
    return str(texts[doc_id])


def _split(dataset: Dataset, path: Path, wanted: str | None) -> str:
    if not dataset.qrels:
        raise DatasetError(f"{path} holds no training pairs and no qrels, so nothing to train on")
    first = "train" if "train" in dataset.qrels else None
    return which_split(dataset, path, wanted or first)


def shared_pairs(pairs: Pairs, collection: Collection) -> int:
    """How many training pairs are pairs of a collection, by their texts."""
    asked: dict[str, set[str]] = {}
    for query in collection.queries:
        relevant = {d for d, r in collection.qrels[query.query_id].items() if r > 0}
        asked.setdefault(query.text, set()).update(relevant)
    wanted = set(pairs.anchors) & asked.keys()
    named = {doc.encode() for text in wanted for doc in asked[text]}
    if not named:
        return 0
    texts = collection.texts(np.flatnonzero(np.isin(collection.doc_ids, list(named))))
    by_id = {collection.doc_ids[i].decode(): text for i, text in texts.items()}
    known = {(q, by_id[doc]) for q in wanted for doc in asked[q] if doc in by_id}
    return sum(pair in known for pair in zip(pairs.anchors, pairs.positives, strict=True))


def shared_texts(pairs: Pairs, collection: Collection) -> tuple[int, int]:
    """How many documents and queries of a collection are texts of the pairs."""
    anchors, positives = set(pairs.anchors), set(pairs.positives)
    return (
        sum(text in positives for _, texts in collection.blocks(4096) for text in texts),
        sum(query.text in anchors for query in collection.queries),
    )
