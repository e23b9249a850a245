"""Tables as hashes of their rows, matched by id and by text.

All that is held of a corpus is 32 bytes a document. Hashes have 64 bits (xxh3): of two tables of a
million rows each, a pair of different ids collides with a chance of one in ten million.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from retgen.data import Document, Query, TableFiles, document_of, qrel_of, query_of, refuse
from retgen.errors import DatasetError
from retgen.progress import Progress
from retgen.rows import Problem

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]  # rows of a table, from 0
NONE = "none"  # the label of a pair without a row
PARTS = ("title", "text", "metadata")  # of a document or query, beside its id


@dataclass(frozen=True)
class RowSource:
    """A table on disk, read row by row. `path`: the data set, as errors name it."""

    table: TableFiles
    path: Path

    def _parse(self, row: Any) -> Any:
        kind = self.table.name
        if kind == "corpus":
            return document_of(row)
        return query_of(row) if kind == "queries" else qrel_of(row)

    def chunks(self, progress: Progress) -> Iterator[list[Any]]:
        """The records, chunk by chunk. Raises `DatasetError` for a row that is none."""
        chunks, seen = self.table.chunks(), 0
        for number, chunk in enumerate(chunks, start=1):
            parsed = list(map(self._parse, self.table.rows(chunk)))
            bad = [Problem(seen + i, p) for i, p in enumerate(parsed, 1) if isinstance(p, str)]
            refuse(self.table, bad, self.path)
            seen += len(parsed)
            yield parsed
            progress(f"{self.table.name} of {self.path}", number, len(chunks))

    def records(self, starts: Rows, wanted: Sequence[int]) -> dict[int, Any]:
        """The records of some rows, by row; of the others nothing is read but their chunks.

        `starts`: the first row of each chunk.
        """
        result: dict[int, Any] = {}
        places = np.searchsorted(starts, wanted, side="right") - 1
        chunks = self.table.chunks()
        for place in np.unique(places).tolist():
            rows = self.table.rows(chunks[place]) if place < len(chunks) else []
            first = int(starts[place])
            for row in (r for r, p in zip(wanted, places, strict=True) if p == place):
                record = self._parse(rows[row - first]) if row - first < len(rows) else ""
                if isinstance(record, str):
                    raise DatasetError(
                        f"{self.table.files[0]} changed while it was read; run the command again"
                    )
                result[row] = record
        return result


@dataclass(frozen=True)
class TextHashes:
    """Documents or queries. Each of the columns (rows,): ids, and `PARTS` by name."""

    source: RowSource
    starts: Rows
    ids: Hashes
    parts: dict[str, Hashes]

    def content(self) -> Hashes:
        """Title and text together, without id and metadata, (rows,)."""
        return pair_hashes(self.parts["title"], self.parts["text"])

    def records(self, rows: Sequence[int]) -> dict[int, Any]:
        """Documents or queries by row."""
        return self.source.records(self.starts, rows)


@dataclass(frozen=True)
class QrelHashes:
    """Qrels, or grades. Each column (rows,): hashes of both ids, and labels."""

    source: RowSource | None  # None: this data set has no such split
    starts: Rows
    queries: Hashes
    documents: Hashes
    labels: NDArray[np.float64]

    def records(self, rows: Sequence[int]) -> dict[int, Any]:
        """Qrels by row."""
        return self.source.records(self.starts, rows) if self.source is not None else {}


def hash_texts(source: RowSource, progress: Progress) -> TextHashes:
    """The hashes of a corpus or of queries."""
    ids, title, text, metadata = array("Q"), array("Q"), array("Q"), array("Q")
    starts: list[int] = []
    for records in source.chunks(progress):
        starts.append(len(ids))
        ids.extend(map(_hash, [record[0] for record in records]))
        title.extend(map(_hash, [_title(record) for record in records]))
        text.extend(map(_hash, [record.text for record in records]))
        metadata.extend([_hash_metadata(record.metadata) for record in records])
    columns = [np.frombuffer(column, np.uint64) for column in (title, text, metadata)]
    return TextHashes(
        source, np.array(starts, np.int64), np.frombuffer(ids, np.uint64),
        dict(zip(PARTS, columns, strict=True)),
    )  # fmt: skip


def hash_qrels(source: RowSource | None, progress: Progress) -> QrelHashes:
    """The hashes of a table of qrels; no rows where there is no such table."""
    queries, documents, labels = array("Q"), array("Q"), array("d")
    starts: list[int] = []
    for records in source.chunks(progress) if source is not None else ():
        starts.append(len(labels))
        queries.extend(map(_hash, [qrel.query_id for qrel in records]))
        documents.extend(map(_hash, [qrel.doc_id for qrel in records]))
        labels.extend([float(qrel.relevance) for qrel in records])
    return QrelHashes(
        source, np.array(starts, np.int64), np.frombuffer(queries, np.uint64),
        np.frombuffer(documents, np.uint64), np.frombuffer(labels, np.float64),
    )  # fmt: skip


def pair_hashes(first: Hashes, second: Hashes) -> Hashes:
    """A hash of pairs of hashes, in their order, (rows,)."""
    result: Hashes = first * np.uint64(0x9E3779B97F4A7C15) + second * np.uint64(0xC2B2AE3D27D4EB4F)
    return result


def distinct_hashes(hashes: Hashes) -> tuple[Hashes, int]:
    """The same with a repeated value told apart from its first one, and how many are repeated.

    The second d7 of one table belongs to the second d7 of the other.
    """
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    rows = np.arange(len(hashes))
    begins = np.ones(len(hashes), bool)
    begins[1:] = ordered[1:] != ordered[:-1]
    number = rows - np.maximum.accumulate(np.where(begins, rows, 0)) if len(rows) else rows
    result = np.empty_like(hashes)
    result[order] = ordered + number.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    return result, int(np.count_nonzero(number))


@dataclass(frozen=True)
class TextChanges:
    """Documents or queries of two data sets.

    `pairs` (rows of A, rows of B) of the changed in B's order, texts before metadata alone, and of
    the `renamed`; `removed` rows of A, `added` rows of B. `parts`: how many of the changed differ
    in their title, text and metadata. `reordered`: records of both stand in another order.
    `repeated`: rows of A and of B whose id stood before.
    """

    before: TextHashes
    after: TextHashes
    same: int
    pairs: tuple[Rows, Rows]
    renamed: tuple[Rows, Rows]
    removed: Rows
    added: Rows
    parts: dict[str, int]
    metadata_only: int
    reordered: bool
    repeated: tuple[int, int]

    @property
    def differ(self) -> bool:
        """Whether anything differs, the order included."""
        lists = (self.pairs[0], self.renamed[0], self.removed, self.added)
        return self.reordered or any(map(len, lists))

    def to_json(self) -> dict[str, Any]:
        """Counts."""
        return {
            "same": self.same,
            "changed": len(self.pairs[0]),
            "added": len(self.added),
            "removed": len(self.removed),
            "renamed": len(self.renamed[0]),
            "changed_in": self.parts,
            "metadata_only": self.metadata_only,
            "reordered": self.reordered,
        }


@dataclass(frozen=True)
class LabelChanges:
    """Qrels, or grades, of a split. `pairs`: rows of A and of B whose labels differ."""

    before: QrelHashes
    after: QrelHashes
    same: int
    pairs: tuple[Rows, Rows]
    removed: Rows
    added: Rows
    labels: Counter[str] = field(default_factory=Counter)

    @property
    def differ(self) -> bool:
        """Whether any judgement differs."""
        return any(map(len, (self.pairs[0], self.removed, self.added)))

    def to_json(self) -> dict[str, int]:
        """Counts."""
        return {
            "same": self.same,
            "changed": len(self.pairs[0]),
            "added": len(self.added),
            "removed": len(self.removed),
        }


def match_texts(before: TextHashes, after: TextHashes) -> TextChanges:
    """Records by their ids; of those that one side lacks, by title and text."""
    (a, again_a), (b, again_b) = distinct_hashes(before.ids), distinct_hashes(after.ids)
    rows_a, rows_b, removed, added = _match_rows(a, b)
    differ = {part: before.parts[part][rows_a] != after.parts[part][rows_b] for part in PARTS}
    texts = differ["title"] | differ["text"]
    changed = texts | differ["metadata"]
    renamed_a, renamed_b, _, _ = _match_rows(
        distinct_hashes(before.content()[removed])[0], distinct_hashes(after.content()[added])[0]
    )
    renamed = removed[renamed_a], added[renamed_b]
    order = np.lexsort((rows_b[changed], ~texts[changed]))
    return TextChanges(
        before, after, int(np.count_nonzero(~changed)),
        (rows_a[changed][order], rows_b[changed][order]),
        renamed, np.setdiff1d(removed, renamed[0]), np.setdiff1d(added, renamed[1]),
        {part: int(np.count_nonzero(differ[part])) for part in PARTS},
        int(np.count_nonzero(changed & ~texts)),
        bool((np.diff(rows_a) < 0).any()), (again_a, again_b),
    )  # fmt: skip


def match_labels(
    before: QrelHashes, after: QrelHashes, queries: TextChanges, documents: TextChanges
) -> LabelChanges:
    """Qrels by their ids; those left over by the new ids of renamed queries and documents."""
    a, _ = distinct_hashes(pair_hashes(before.queries, before.documents))
    b, _ = distinct_hashes(pair_hashes(after.queries, after.documents))
    rows_a, rows_b, left, added = _match_rows(a, b)
    there = (
        _renamed_ids(before.queries[left], queries),
        _renamed_ids(before.documents[left], documents),
    )
    moved_a, moved_b, _, _ = _match_rows(distinct_hashes(pair_hashes(*there))[0], b[added])
    rows_a, rows_b = np.append(rows_a, left[moved_a]), np.append(rows_b, added[moved_b])
    removed, added = np.delete(left, moved_a), np.delete(added, moved_b)
    changed = before.labels[rows_a] != after.labels[rows_b]
    pairs = rows_a[changed], rows_b[changed]
    labels: Counter[str] = Counter()
    for old, new in zip(
        before.labels[pairs[0]].tolist(), after.labels[pairs[1]].tolist(), strict=True
    ):
        labels[f"{old:g}->{new:g}"] += 1
    for value, number in _value_counts(before.labels[removed]):
        labels[f"{value:g}->{NONE}"] += number
    for value, number in _value_counts(after.labels[added]):
        labels[f"{NONE}->{value:g}"] += number
    return LabelChanges(
        before, after, int(np.count_nonzero(~changed)), pairs, removed, added, labels
    )


def _match_rows(a: Hashes, b: Hashes) -> tuple[Rows, Rows, Rows, Rows]:
    """(rows of A, rows of B) of the values of both, in B's order; rows of A, of B alone."""
    _, rows_a, rows_b = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    alone = []
    for hashes, rows in ((a, rows_a), (b, rows_b)):
        rest = np.ones(len(hashes), bool)
        rest[rows] = False
        alone.append(np.flatnonzero(rest))
    order = np.argsort(rows_b)
    return rows_a[order], rows_b[order], alone[0], alone[1]


def _renamed_ids(ids: Hashes, changes: TextChanges) -> Hashes:
    """Ids of A with those of B in place of the renamed ones."""
    old = changes.before.ids[changes.renamed[0]]
    if not len(old):
        return ids
    new = changes.after.ids[changes.renamed[1]]
    order = np.argsort(old)
    place = np.minimum(np.searchsorted(old, ids, sorter=order), len(old) - 1)
    found = order[place]
    result: Hashes = np.where(old[found] == ids, new[found], ids)
    return result


def _value_counts(labels: Any) -> list[tuple[float, int]]:
    values, numbers = np.unique(labels, return_counts=True)
    return list(zip(values.tolist(), numbers.tolist(), strict=True))


def _title(record: Document | Query) -> str:
    return record.title if isinstance(record, Document) else ""


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def _hash_metadata(metadata: Any) -> int:
    """A key without a value is none: Parquet gives every row the keys of all rows."""
    plain = without_empty_values(metadata)
    if plain is None:
        return 0
    return xxhash.xxh3_64_intdigest(
        orjson.dumps(plain, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    )


def without_empty_values(metadata: Any) -> Any:
    """Metadata without what is empty in it; None where nothing is left."""
    if not isinstance(metadata, dict):
        return metadata
    result = {
        key: value
        for key, one in metadata.items()
        if (value := without_empty_values(one)) is not None
    }
    return result or None
