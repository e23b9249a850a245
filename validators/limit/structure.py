"""What must hold of a LIMIT set as a whole.

The rebuilt qrel matrix is the one that the recipe and the metadata describe; no two documents have
the same list of attributes, and where an attribute stands in a list tells nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retgen.validators.limit.spec import LimitSpec, error
from retgen.validators.rule import Batch, Finding, Judgements, RuleState


def check_matrix(
    spec: LimitSpec,
    judgements: Judgements,
    rebuilt: dict[str, frozenset[str]],
    columns: dict[str, int],
) -> Iterator[Finding]:
    """Coordinates, distinct rows, shared documents, and a user's own matrix.

    `rebuilt`: relevant documents of each query, from the words. `columns`: matrix column of each
    document with an asked attribute, from its metadata.
    """
    owner: dict[int, str] = {}
    for doc_id in sorted(judgements.relevant_documents & columns.keys()):
        column = columns[doc_id]
        if column < 0 or column in owner:
            also = [owner[column]] if column in owner else []
            yield error(
                "coordinates",
                [doc_id, *also],
                f"the metadata of document {doc_id} gives matrix column {column}"
                + (f", which is that of {also[0]} too" if also else " to a relevant document"),
            )
        owner.setdefault(column, doc_id)
    rows: dict[int, str] = {}
    for query in judgements.queries:
        row = query.facts.get("row")
        if type(row) is not int:
            row = -1
        if not 0 <= row < spec.queries or row in rows:
            also = [rows[row]] if row in rows else []
            yield error(
                "coordinates",
                [query.query_id, *also],
                f"the metadata of query {query.query_id} gives matrix row {row}"
                + (f", which is that of {also[0]} too" if also else ", which does not exist"),
            )
        rows.setdefault(row, query.query_id)
    yield from _structure(spec, judgements, owner)
    twins: dict[frozenset[str], str] = {}
    for query_id, docs in rebuilt.items():
        if spec.distinct_rows and docs and docs in twins:
            yield error(
                "twin-queries",
                [twins[docs], query_id],
                f"queries {twins[docs]} and {query_id} have the same relevant documents",
            )
        twins.setdefault(docs, query_id)
    if spec.common_documents is not None:
        yield from _shared_documents(rebuilt, spec.common_documents)
    if spec.matrix_file is not None:
        yield from _own_matrix(spec.matrix_file, rebuilt, rows, owner)


def _structure(spec: LimitSpec, judgements: Judgements, owner: dict[int, str]) -> Iterator[Finding]:
    """As many relevant documents, and as many queries to each, as the pattern has."""
    relevant = judgements.relevant_documents
    if spec.relevant_documents is not None and len(relevant) != spec.relevant_documents:
        yield error(
            "structure",
            [],
            f"{len(relevant)} documents are relevant to some query, the pattern has "
            f"{spec.relevant_documents}",
        )
    for column in sorted(owner.keys() - set(range(len(relevant)))):
        if column >= 0:
            yield error(
                "coordinates",
                [owner[column]],
                f"the metadata of document {owner[column]} gives matrix column {column}, but "
                f"there are {len(relevant)}",
            )
    if spec.column_sum is None:
        return
    counts = Counter(d for docs in judgements.positives.values() for d in docs)
    for doc_id, count in sorted(counts.items()):
        if count != spec.column_sum:
            yield error(
                "structure",
                [doc_id],
                f"document {doc_id} is relevant to {count} queries, in the pattern each is to "
                f"{spec.column_sum}",
            )


def _own_matrix(
    path: Path, rebuilt: dict[str, frozenset[str]], rows: dict[int, str], owner: dict[int, str]
) -> Iterator[Finding]:
    """Row and column coordinates lead back to the lines of the user's qrels TSV."""
    wanted: dict[str, set[str]] = {}
    columns: dict[str, int] = {}
    for line in path.read_text("utf-8-sig").splitlines()[1:]:
        if not line.strip():
            continue
        asking, document, score = line.split("\t")[:3]
        if float(score) > 0:
            wanted.setdefault(asking, set()).add(document)
            columns.setdefault(document, len(columns))
    for row, documents in enumerate(wanted.values()):
        query_id = rows.get(row, "")
        if rebuilt.get(query_id, set()) != {owner.get(columns[d]) for d in documents}:
            yield error(
                "matrix-file",
                [query_id] if query_id else [],
                f"the relevant documents of query {query_id} are not those of row {row} of "
                f"{path.name}",
            )


def _shared_documents(rebuilt: dict[str, frozenset[str]], common: int) -> Iterator[Finding]:
    """Any two queries share exactly `common` documents, counted through an incidence matrix."""
    ids = list(rebuilt)
    columns = {d: j for j, d in enumerate(sorted({d for docs in rebuilt.values() for d in docs}))}
    incidence = np.zeros((len(ids), len(columns)), np.float32)
    for i, query_id in enumerate(ids):
        incidence[i, [columns[d] for d in rebuilt[query_id]]] = 1
    shared = incidence @ incidence.T
    np.fill_diagonal(shared, common)
    for i, j in np.argwhere(np.triu(shared != common)).tolist():
        yield error(
            "common-documents",
            [ids[i], ids[j]],
            f"queries {ids[i]} and {ids[j]} share {int(shared[i, j])} documents, not {common}",
        )


_P = 1e-6  # below, chance is no explanation


@dataclass
class AttributeLists(RuleState):
    """What lists of attributes show.

    `hashes`: of each document's set, eight bytes a document; `rank` and `variance`: how far the
    places of asked attributes are from the middle, in all, and the variance that chance gives that.
    """

    hashes: list[NDArray[np.uint64]] = field(default_factory=list)
    rank: float = 0.0
    variance: float = 0.0

    def add(
        self, hashes: NDArray[np.uint64], counts: NDArray[np.int64], asked: NDArray[np.bool_]
    ) -> None:
        """Take in documents: `counts` (n,), and of their attributes `hashes` and `asked`."""
        starts = np.cumsum(counts) - counts
        filled = counts > 0
        sums = np.zeros(len(counts), np.uint64)
        if filled.any():
            sums[filled] = np.add.reduceat(hashes, starts[filled])
        self.hashes.append(sums)
        flat = np.flatnonzero(asked)
        owners = np.searchsorted(starts, flat, "right") - 1
        held = np.bincount(owners, minlength=len(counts))
        places = np.bincount(owners, weights=flat - starts[owners], minlength=len(counts))
        # the sum of ranks of a sample without replacement (Wilcoxon)
        self.rank += float((places - held * (counts - 1) / 2).sum())
        self.variance += float((held * (counts - held) * (counts + 1) / 12).sum())

    def repeated_hashes(self) -> frozenset[int]:
        """Hashes that stand more than once."""
        ordered = np.sort(np.concatenate([np.empty(0, np.uint64), *self.hashes]))
        return frozenset(ordered[1:][ordered[1:] == ordered[:-1]].tolist())

    def check_order(self, holders: list[str]) -> Iterator[Finding]:
        """Asked attributes stand at the front no more often than at the back."""
        if not self.variance:
            return
        z = self.rank / math.sqrt(self.variance)
        p = math.erfc(abs(z) / math.sqrt(2))
        if p < _P:
            where = "behind" if z > 0 else "in front of"
            yield error(
                "places",
                holders,
                f"attributes that queries ask for stand {where} the others of their document (p = "
                f"{p:.1g}): the first or last attributes give the relevant documents away",
            )


def attribute_hashes(vocabulary: int) -> NDArray[np.uint64]:
    """(vocabulary + 1,) a 64-bit hash of each attribute, the last of what is none.

    The sum over a set is a hash of the set.
    """
    mixed = (np.arange(-1, vocabulary) + 2).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, odd in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(odd)
    return np.roll(mixed, -1)


class EqualLists:
    """Documents whose sets of attributes stand more than once, found in a second look."""

    def __init__(
        self, spec: LimitSpec, queried: NDArray[np.bool_], mixed: NDArray[np.uint64]
    ) -> None:
        """`queried` (vocabulary + 1,): which attributes queries ask for; `mixed`: their hashes."""
        self.spec = spec
        self.queried = queried
        self.mixed = mixed
        self.repeated: frozenset[int] = frozenset()
        self.groups: dict[frozenset[str], list[str]] = {}

    def look(self, batch: Batch, lists: Sequence[tuple[str, list[str]]]) -> None:
        """`lists`: name and attributes of each document of the batch."""
        if not self.repeated:
            return
        for doc_id, (_, listed) in zip(batch.ids, lists, strict=True):
            terms = np.array([self.spec.attributes.get(a, -1) for a in listed], np.int64)
            if int(self.mixed[terms].sum()) in self.repeated:
                self.groups.setdefault(frozenset(listed), []).append(doc_id)

    def findings(self, documents: int) -> Iterator[Finding]:
        """Documents hold the same attributes no more often than draws would."""
        twins = [
            ids
            for attributes, ids in self.groups.items()
            if len(ids) > 1 and self._by_chance(attributes, documents) < _P
        ]
        if twins:
            largest = max(twins, key=len)
            groups = "1 group" if len(twins) == 1 else f"{len(twins):,} groups"
            yield error(
                "twins",
                [doc_id for ids in twins for doc_id in ids],
                f"{sum(map(len, twins)):,} of {documents:,} documents have the attributes of "
                f"another one, in {groups}; the largest, of {len(largest):,}, begins with "
                f"{largest[0]} and {largest[1]}",
            )

    def _by_chance(self, attributes: frozenset[str], documents: int) -> float:
        """How many pairs of documents would draw the same fillers, of those no query asks for."""
        terms = [self.spec.attributes.get(a, -1) for a in attributes]
        drawn = sum(not (term >= 0 and self.queried[term]) for term in terms)
        pool = len(self.spec.attributes) - int(self.queried.sum())
        return documents**2 / 2 / max(math.comb(max(pool, 0), drawn), 1)
