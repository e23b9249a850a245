"""Tables as hashes of their rows: all that is held of a corpus is 32 bytes a document.

Hashes have 64 bits (xxh3). Of two tables of a million rows each, a pair of different ids falls
together with a chance of one in ten million.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from retgen.data import Document, Query, Table, document_of, qrel_of, query_of, refuse
from retgen.errors import DatasetError
from retgen.progress import Progress
from retgen.rows import Problem

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]  # rows of a table, from 0
PARTS = ("title", "text", "metadata")  # of a document or query, beside its id


@dataclass(frozen=True)
class Source:
    """A table on disk, read row by row. `path`: the data set, as errors name it."""

    table: Table
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
class Texts:
    """Documents or queries. Each of the columns (rows,): ids, and `PARTS` by name."""

    source: Source
    starts: Rows
    ids: Hashes
    parts: dict[str, Hashes]

    def content(self) -> Hashes:
        """Title and text together, without id and metadata, (rows,)."""
        return together(self.parts["title"], self.parts["text"])

    def records(self, rows: Sequence[int]) -> dict[int, Any]:
        """Documents or queries by row."""
        return self.source.records(self.starts, rows)


@dataclass(frozen=True)
class Judgements:
    """Qrels, or grades. Each column (rows,): hashes of both ids, and labels."""

    source: Source | None  # None: this data set has no such split
    starts: Rows
    queries: Hashes
    documents: Hashes
    labels: NDArray[np.float64]

    def records(self, rows: Sequence[int]) -> dict[int, Any]:
        """Qrels by row."""
        return self.source.records(self.starts, rows) if self.source is not None else {}


def texts(source: Source, progress: Progress) -> Texts:
    """The hashes of a corpus or of queries."""
    ids, title, text, metadata = array("Q"), array("Q"), array("Q"), array("Q")
    starts: list[int] = []
    for records in source.chunks(progress):
        starts.append(len(ids))
        ids.extend(map(_hash, [record[0] for record in records]))
        title.extend(map(_hash, [_title(record) for record in records]))
        text.extend(map(_hash, [record.text for record in records]))
        metadata.extend([_hash_of(record.metadata) for record in records])
    columns = [np.frombuffer(column, np.uint64) for column in (title, text, metadata)]
    return Texts(
        source, np.array(starts, np.int64), np.frombuffer(ids, np.uint64),
        dict(zip(PARTS, columns, strict=True)),
    )  # fmt: skip


def judgements(source: Source | None, progress: Progress) -> Judgements:
    """The hashes of a table of qrels; no rows where there is no such table."""
    queries, documents, labels = array("Q"), array("Q"), array("d")
    starts: list[int] = []
    for records in source.chunks(progress) if source is not None else ():
        starts.append(len(labels))
        queries.extend(map(_hash, [qrel.query_id for qrel in records]))
        documents.extend(map(_hash, [qrel.doc_id for qrel in records]))
        labels.extend([float(qrel.relevance) for qrel in records])
    return Judgements(
        source, np.array(starts, np.int64), np.frombuffer(queries, np.uint64),
        np.frombuffer(documents, np.uint64), np.frombuffer(labels, np.float64),
    )  # fmt: skip


def together(first: Hashes, second: Hashes) -> Hashes:
    """A hash of pairs of hashes, in their order, (rows,)."""
    result: Hashes = first * np.uint64(0x9E3779B97F4A7C15) + second * np.uint64(0xC2B2AE3D27D4EB4F)
    return result


def once(hashes: Hashes) -> tuple[Hashes, int]:
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


def _title(record: Document | Query) -> str:
    return record.title if isinstance(record, Document) else ""


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def _hash_of(metadata: Any) -> int:
    """A key without a value is none: Parquet gives every row the keys of all rows."""
    plain = said(metadata)
    if plain is None:
        return 0
    return xxhash.xxh3_64_intdigest(
        orjson.dumps(plain, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    )


def said(metadata: Any) -> Any:
    """Metadata without what is empty in it; None where nothing is left."""
    if not isinstance(metadata, dict):
        return metadata
    result = {key: value for key, one in metadata.items() if (value := said(one)) is not None}
    return result or None
