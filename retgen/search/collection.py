"""A data set as it is scored: ids, queries with a positive, qrels, texts as a stream.

Texts are never held together: `blocks` reads them from disk again. What is kept of a document is
its id and its place in the order of ties.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from retgen.data import (
    HIGHEST_GRADE,
    Dataset,
    Qrel,
    Query,
    lookup_caution,
    open_dataset,
    read_manifest,
    refuse,
)
from retgen.dataset_files import missing_table_hint
from retgen.errors import DatasetError
from retgen.messages import did_you_mean
from retgen.progress import Progress, no_progress

PAGES = "pages"  # the value of a query's `labels` where these are of pages, not of passages


@dataclass(frozen=True)
class Collection:
    """What is scored.

    `doc_ids` (documents,) UTF-8 bytes in corpus order; `priority` (documents,) int64: of two
    documents with equal scores the one with the higher priority comes first, which is trec_eval's
    order (ids descending, bytewise). `queries`: those with at least one positive, in order
    (all of the split where `load` was asked for them).
    `qrels`: query id -> document id -> relevance; `grades`: the grades beside binary qrels in the
    same shape, None where there are none. `complete`: a pair without a qrel is known to be
    not relevant. `notes`: what a reader of the scores must know. `missing`: judged documents that
    the corpus does not hold. `breakdown`: columns of the queries by whose values the data set wants
    its scores shown. `main_measure`: what it is scored by first; MTEB's for data sets of others.
    `pages` (documents,): where labels are of pages whose passages are the documents, the first
    passage of each one's page, which stands for the page in qrels and rankings; None elsewhere.
    """

    path: Path
    name: str
    split: str
    dataset: Dataset
    doc_ids: NDArray[np.bytes_]
    priority: NDArray[np.int64]
    queries: list[Query]
    qrels: dict[str, dict[str, int]]
    complete: bool
    notes: list[str] = field(default_factory=list)
    missing: frozenset[str] = frozenset()
    grades: dict[str, dict[str, int]] | None = None
    breakdown: tuple[str, ...] = ()
    main_measure: str = "nDCG@10"
    pages: NDArray[np.int64] | None = None

    @property
    def documents(self) -> int:
        """Number of documents in the corpus."""
        return len(self.doc_ids)

    @property
    def page_count(self) -> int:
        """Number of what is ranked: documents, or pages."""
        return self.documents if self.pages is None else len(np.unique(self.pages))

    def reach(self, depth: int) -> int:
        """How many documents hold the best `depth` pages in any case."""
        longest = 1 if self.pages is None else int(np.bincount(self.pages).max())
        return min(self.documents, depth * longest)

    @property
    def caution(self) -> str:
        """What its queries favour (`lookup_caution`), "" where they favour nothing."""
        return lookup_caution([one.facts for one in self.queries])

    @cached_property
    def own(self) -> NDArray[np.int64]:
        """(queries,) the document with the query's id, -1 where there is none: the query itself,
        which no ranking of it counts, as in BEIR and MTEB's `ignore_identical_ids`.

        A document that is judged relevant to the query with its id is another text: ids of queries
        and documents were numbered alike. It stays, where BEIR would count it as not found.
        """
        names = [query.query_id for query in self.queries]
        places = self.places(name for name in names if self.qrels[name].get(name, 0) <= 0)
        return np.array([places.get(name, -1) for name in names], np.int64)

    def digest(self) -> str:
        """A hash of everything that a score depends on: ids, texts and qrels."""
        result = xxhash.xxh3_128()
        for _, texts in self.blocks(4096):
            result.update(orjson.dumps(texts))
        result.update(self.doc_ids.tobytes())
        result.update(orjson.dumps([(q.query_id, q.text) for q in self.queries]))
        result.update(orjson.dumps(self.qrels, option=orjson.OPT_SORT_KEYS))
        if self.pages is not None:
            result.update(self.pages.tobytes())
        if self.grades is not None:
            result.update(orjson.dumps(self.grades, option=orjson.OPT_SORT_KEYS))
        return result.hexdigest()

    def blocks(self, size: int) -> Iterator[tuple[int, list[str]]]:
        """(index of the first document, texts) of up to `size` documents at a time, in order.

        A text is title and text joined by a space, as MTEB joins them.
        """
        texts: list[str] = []
        first = 0
        for document in self.dataset.documents():
            texts.append(f"{document.title} {document.text}".strip())
            if len(texts) == size:
                yield first, texts
                first += size
                texts = []
        if texts:
            yield first, texts

    def places(self, ids: Iterable[str]) -> dict[str, int]:
        """The index of each of some documents; those that the corpus lacks are left out."""
        wanted = list(dict.fromkeys(ids))
        names = _encoded(wanted)
        order = by_priority(self.priority)
        place = np.searchsorted(self.doc_ids, names, sorter=order)
        index = order[np.minimum(place, len(order) - 1)]
        there = self.doc_ids[index] == names
        return {d: i for d, i, held in zip(wanted, index.tolist(), there, strict=True) if held}

    def texts(self, documents: NDArray[np.int64]) -> dict[int, str]:
        """The texts of some documents, by index."""
        wanted = set(documents.tolist())
        result = {}
        for first, block in self.blocks(4096):
            for i in wanted.intersection(range(first, first + len(block))):
                result[i] = block[i - first]
        return result


def _encoded(ids: Iterable[str]) -> NDArray[np.bytes_]:
    return np.array([doc.encode() for doc in ids], dtype=np.bytes_)


def by_priority(priority: NDArray[np.int64]) -> NDArray[np.int64]:
    """The document of each priority, (documents,)."""
    inverse = np.empty_like(priority)
    inverse[priority] = np.arange(len(priority))
    return inverse


def load(
    path: Path | str,
    split: str | None = None,
    progress: Progress = no_progress,
    *,
    every_query: bool = False,
) -> Collection:
    """Open a data set of any layout for scoring. Raises `DatasetError` where that is impossible.

    `every_query`: for what looks for relevant documents instead of scoring: those of the split
    without a positive as well, a data set without qrels, and a run that was changed.
    """
    path = Path(path)
    dataset = open_dataset(path, checked=not every_query)
    if every_query and not dataset.qrels:
        split = split or "test"
        rows: list[Qrel] = []
        queries, problems = dataset.queries.read()
        refuse(dataset.queries, problems, path)
    else:
        split = which_split(dataset, path, split)
        queries, rows = dataset.queries_and_qrels(path, split, unjudged=every_query)
    by_query = _by_query(path, rows)
    notes: list[str] = []
    kept = of_split = _of_split(dataset, split, by_query, queries)
    if not every_query:
        kept = [q for q in queries if any(r > 0 for r in by_query.get(q.query_id, {}).values())]
        if not kept:
            strangers = by_query.keys().isdisjoint(query.query_id for query in queries)
            raise DatasetError(
                f"{path}: no query has a relevant document in the qrels of split {split}, so "
                "nothing can be scored"
                + "; they name other queries than there are" * strangers
                + (f"; splits: {', '.join(dataset.qrels)}" if len(dataset.qrels) > 1 else "")
            )
        if idle := len(of_split) - len(kept):
            notes.append(
                f"{idle:,} of {len(of_split):,} queries have no relevant document and are left out"
            )
    ids = _ids(dataset, path, progress)
    order = np.argsort(ids, kind="stable")
    if len(ids) > 1 and bool((ids[order[1:]] == ids[order[:-1]]).any()):
        twice = ids[order[1:]][ids[order[1:]] == ids[order[:-1]]][0].decode()
        raise DatasetError(f"{path}: document {twice} stands twice in the corpus")
    priority = np.empty(len(ids), np.int64)
    priority[order] = np.arange(len(ids))
    named = {doc for query in kept for doc in by_query.get(query.query_id, ())}
    missing = named.difference(map(bytes.decode, ids[np.isin(ids, _encoded(named))].tolist()))
    notes += _dangling(by_query, queries, kept, missing)
    pages = None
    if not every_query and any(query.facts.get("labels") == PAGES for query in kept):
        pages = _pages(dataset)
        names = dict(zip(ids.tolist(), ids[pages].tolist(), strict=True))
        by_query = {q.query_id: _of_pages(by_query[q.query_id], names) for q in kept}
        notes.append(
            f"labels are of {len(np.unique(pages)):,} pages, each ranked by the best of its "
            "passages; a page has the highest grade of them"
        )
    manifest = manifest_of(dataset)
    result = Collection(
        path,
        path.resolve().name,
        split,
        dataset,
        ids,
        priority,
        kept,
        {q.query_id: by_query.get(q.query_id, {}) for q in kept},
        bool(manifest.get("complete")),
        notes,
        frozenset(missing),
        _grades(dataset, path, split, kept),
        tuple(manifest.get("breakdown", ())),
        str(manifest.get("main_measure", Collection.main_measure)),
        pages,
    )
    if own := int((result.own >= 0).sum()):
        notes.append(f"queries with a document's id, which rankings leave out, as in BEIR: {own:,}")
    return result


def _pages(dataset: Dataset) -> NDArray[np.int64]:
    """(documents,) the first document with the same `metadata.source`."""
    first: dict[str, int] = {}
    return np.array(
        [
            first.setdefault(str(document.facts.get("source") or document.doc_id), index)
            for index, document in enumerate(dataset.documents())
        ]
    )


def _of_pages(labels: Mapping[str, int], names: Mapping[bytes, bytes]) -> dict[str, int]:
    """The labels of pages: the highest of their passages. `names`: the page of each document."""
    result: dict[str, int] = {}
    for doc_id, relevance in labels.items():
        page = names.get(doc_id.encode(), doc_id.encode()).decode()
        result[page] = max(result.get(page, relevance), relevance)
    return result


def _dangling(
    by_query: Mapping[str, Mapping[str, int]],
    queries: Sequence[Query],
    kept: Sequence[Query],
    missing: Set[str],
) -> Iterator[str]:
    """Count the qrels whose query or document is not there, and what that does to scores."""
    total = sum(map(len, by_query.values()))
    unknown = by_query.keys() - {query.query_id for query in queries}
    if unknown:
        count = sum(len(by_query[query_id]) for query_id in unknown)
        yield f"{count:,} of {total:,} qrels name queries that are not there, and are left out"
    if missing:
        of = [by_query.get(query.query_id, {}) for query in kept]
        count = sum(len(docs.keys() & missing) for docs in of)
        text = f"{count:,} of {total:,} qrels name documents that are not in the corpus and cannot"
        wanted = [{doc for doc, r in docs.items() if r > 0} for docs in of]
        idle = sum(bool(docs) and docs <= missing for docs in wanted)
        end = f"; {idle:,} of {len(of):,} queries have no other relevant document and count as 0"
        yield f"{text} be found{end * bool(idle)}"


def _of_split(
    dataset: Dataset, split: str, judged: Container[str], queries: Sequence[Query]
) -> list[Query]:
    """The queries that are not of another split, as its qrels or their metadata say."""
    elsewhere = {
        qrel.query_id
        for other in dataset.qrels
        if other != split
        for qrel in dataset.qrels[other].read()[0]
    }

    return [
        query
        for query in queries
        if query.query_id in judged
        or (query.query_id not in elsewhere and str(query.facts.get("split", split)) == split)
    ]


def _by_query(path: Path, rows: Iterable[Qrel]) -> dict[str, dict[str, int]]:
    result: dict[str, dict[str, int]] = {}
    for qrel in rows:
        known = abs(qrel.relevance) <= HIGHEST_GRADE  # false for NaN
        if not known or qrel.relevance != int(qrel.relevance):
            raise DatasetError(
                f"{path}: relevance {qrel.relevance:g} of {qrel.query_id} and {qrel.doc_id} is not "
                f"a grade: measures are defined on 0, 1, 2, ..., at most {HIGHEST_GRADE:,}"
            )
        result.setdefault(qrel.query_id, {})[qrel.doc_id] = int(qrel.relevance)
    return result


def _grades(
    dataset: Dataset, path: Path, split: str, queries: Sequence[Query]
) -> dict[str, dict[str, int]] | None:
    """Grades beside the qrels of a split, of the queries that are scored."""
    if split not in dataset.graded:
        return None
    rows, problems = dataset.graded[split].read()
    refuse(dataset.graded[split], problems, path)
    result = _by_query(path, rows)
    return {query.query_id: result.get(query.query_id, {}) for query in queries}


def which_split(dataset: Dataset, path: Path, wanted: str | None) -> str:
    """The split that is wanted; by default test, else the first. Raises `DatasetError`."""
    if not dataset.qrels:
        raise DatasetError(
            f"{path} holds no qrels: no qrels.jsonl, no qrels.tsv, and none under qrels/ or data/."
            f"{missing_table_hint(dataset.root, 'qrels')}"
        )
    if wanted is None:
        return "test" if "test" in dataset.qrels else next(iter(dataset.qrels))
    if wanted not in dataset.qrels:
        raise DatasetError(
            f"{path} has no qrels of split {wanted!r}{did_you_mean(wanted, dataset.qrels) or '.'} "
            f"Splits: {', '.join(dataset.qrels)}"
        )
    return wanted


def _ids(dataset: Dataset, path: Path, progress: Progress) -> NDArray[np.bytes_]:
    parts: list[NDArray[np.bytes_]] = []
    documents = iter(dataset.documents(strict=path))
    while block := [one.doc_id for one in islice(documents, 100_000)]:
        parts.append(_encoded(block))
        seen = 100_000 * (len(parts) - 1) + len(block)
        progress("ids", seen, seen)
    if not parts:
        raise DatasetError(f"{path}: the corpus holds no document")
    return np.concatenate(parts)


def manifest_of(dataset: Dataset) -> dict[str, Any]:
    """What a run says of its data set; nothing of others."""
    if dataset.run is None:
        return {}
    return read_manifest(dataset.run) or {}
