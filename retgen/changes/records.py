"""Tables as hashes of their rows, matched by id; a few records are read again.

All that is held of a corpus is 16 bytes a document. Hashes have 64 bits (xxh3): of two tables of a
million rows each, a pair of different ids collides with a chance of one in ten million.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from retgen.data import Document, Qrel, TableFiles
from retgen.errors import DatasetError
from retgen.progress import Progress
from retgen.rows import text_hash

Rows = NDArray[np.int64]  # rows of a table, from 0
Example = dict[str, Any]  # as `gen diff --json` prints it
NONE = "none"  # the label of a pair without a row


def _key(record: Any) -> int:
    if isinstance(record, Qrel):
        return text_hash(f"{record.query_id}\0{record.doc_id}")
    return text_hash(record[0])


def _value(record: Any) -> float:
    """The label of a qrel; of texts a hash of all that is in them."""
    if isinstance(record, Qrel):
        return float(record.relevance)
    parts = orjson.dumps(
        _parts(record), default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    )
    return xxhash.xxh3_64_intdigest(parts)


def _parts(record: Any) -> dict[str, Any]:
    """Title, text and metadata; a key without a value is none, since Parquet gives every row the
    keys of all rows.
    """
    parts = {"title": record.title} if isinstance(record, Document) else {}
    return {**parts, "text": record.text, "metadata": _without_empty_values(record.metadata)}


def _without_empty_values(metadata: Any) -> Any:
    if not isinstance(metadata, dict):
        return metadata
    values = {key: _without_empty_values(one) for key, one in metadata.items()}
    return {key: value for key, value in values.items() if value is not None} or None


class HashedTable:
    """A corpus, queries, or qrels. `files`: None where a data set has no such split.

    `keys`, `values` (rows,): a hash of the id, or of both ids, and one of the record, or the label.
    Raises `DatasetError`, naming `path`, for a row that is none, and for an id that stands twice.
    """

    def __init__(self, files: TableFiles | None, path: Path, progress: Progress) -> None:
        self._files = files
        name = files.name if files is not None else ""
        keys, values = array("Q"), array("Q" if name in ("corpus", "queries") else "d")
        self._starts: list[int] = []  # the first row of each chunk
        total = len(files.chunks()) if files is not None else 0
        chunks = files.record_chunks(path) if files is not None else ()
        for number, records in enumerate(chunks, start=1):
            self._starts.append(len(keys))
            keys.extend(map(_key, records))
            values.extend(map(_value, records))  # type: ignore[arg-type]
            progress(f"{name} of {path}", number, total)
        self.keys = np.frombuffer(keys, np.uint64)
        self.values: NDArray[Any] = np.frombuffer(
            values, np.float64 if values.typecode == "d" else np.uint64
        )
        order = np.argsort(self.keys, kind="stable")
        repeated = order[1:][np.diff(self.keys[order]) == 0]
        if len(repeated):
            record = self.record(int(repeated[0]))
            what = f"{record[0]}, {record[1]}" if isinstance(record, Qrel) else record[0]
            raise DatasetError(
                f"{path}: {what} stands twice in {name}; `gen validate` lists such rows"
            )

    def record(self, row: int) -> Any:
        """The record of a row; of the others nothing is read but their chunk."""
        assert self._files is not None  # it has rows
        chunk = int(np.searchsorted(self._starts, row, side="right")) - 1
        chunks, at = self._files.chunks(), row - self._starts[chunk]
        rows = self._files.rows(chunks[chunk]) if chunk < len(chunks) else []
        record = self._files.parse(rows[at]) if at < len(rows) else ""
        if isinstance(record, str):
            raise DatasetError(
                f"{self._files.files[0]} changed while it was read; run the command again"
            )
        return record

    def text(self, record_id: str) -> str | None:
        """Title and text of the record with an id; None where there is none."""
        rows = np.flatnonzero(self.keys == np.uint64(text_hash(record_id)))
        return " ".join(_title_and_text(self.record(int(rows[0]))).values()) if len(rows) else None


@dataclass(frozen=True)
class Changes:
    """Documents, queries, or qrels of a split, of two data sets.

    `changed` (rows of A, rows of B) in B's order; `removed` rows of A, `added` rows of B.
    `reordered`: records of both stand in another order. `labels`: of qrels, how many went from
    what to what.
    """

    before: HashedTable
    after: HashedTable
    same: int
    changed: tuple[Rows, Rows]
    removed: Rows
    added: Rows
    reordered: bool
    labels: Counter[str]

    @property
    def differ(self) -> bool:
        """Whether anything differs, the order of texts included."""
        return self.reordered or any(map(len, (self.changed[0], self.removed, self.added)))

    def to_json(self) -> dict[str, Any]:
        """Counts."""
        return {
            "same": self.same,
            "changed": len(self.changed[0]),
            "added": len(self.added),
            "removed": len(self.removed),
            "reordered": self.reordered,
        }


def match(before: HashedTable, after: HashedTable) -> Changes:
    """Records by their ids."""
    _, rows_a, rows_b = np.intersect1d(
        before.keys, after.keys, assume_unique=True, return_indices=True
    )
    order = np.argsort(rows_b)
    rows_a, rows_b = rows_a[order], rows_b[order]
    removed = np.delete(np.arange(len(before.keys)), rows_a)
    added = np.delete(np.arange(len(after.keys)), rows_b)
    was, now = before.values[rows_a], after.values[rows_b]
    changed = was != now
    labels = Counter[str]()
    if is_qrels := after.values.dtype == np.float64:
        pairs = zip(was[changed].tolist(), now[changed].tolist(), strict=True)
        labels.update(f"{one:g}->{other:g}" for one, other in pairs)
        labels.update(f"{value:g}->{NONE}" for value in before.values[removed].tolist())
        labels.update(f"{NONE}->{value:g}" for value in after.values[added].tolist())
    return Changes(
        before,
        after,
        int(np.count_nonzero(~changed)),
        (rows_a[changed], rows_b[changed]),
        removed,
        added,
        not is_qrels and bool((np.diff(rows_a) < 0).any()),
        labels,
    )


def text_examples(table: str, changes: Changes) -> Iterator[Example]:
    """Changed records with the parts that differ, then added and removed ones."""
    for row_a, row_b in zip(*changes.changed, strict=True):
        record = changes.after.record(row_b)
        before, after = _parts(changes.before.record(row_a)), _parts(record)
        parts = [key for key in after if before.get(key) != after[key]]
        sides = [{key: one.get(key) for key in parts} for one in (before, after)]
        own, other = (one.get("metadata") for one in sides)
        if isinstance(own, dict) and isinstance(other, dict):
            sides[0]["metadata"] = {k: v for k, v in own.items() if other.get(k) != v}
            sides[1]["metadata"] = {k: v for k, v in other.items() if own.get(k) != v}
        example = {"table": table, "what": "changed", "id": record[0]}
        yield {**example, "before": sides[0], "after": sides[1]}
    for what, key, of, rows in (
        ("added", "after", changes.after, changes.added),
        ("removed", "before", changes.before, changes.removed),
    ):
        for row in rows:
            record = of.record(row)
            yield {"table": table, "what": what, "id": record[0], key: _title_and_text(record)}


def label_examples(
    table: str, split: str, changes: Changes, queries: Changes, documents: Changes
) -> Iterator[Example]:
    """Labels that changed, were added and were removed, with their texts."""
    was = changes.before.values[changes.changed[0]].tolist()
    for what, rows, new in (
        ("changed", changes.changed[1], True),
        ("added", changes.added, True),
        ("removed", changes.removed, False),
    ):
        side, *texts = (one.after if new else one.before for one in (changes, queries, documents))
        for at, row in enumerate(rows):
            qrel = side.record(row)
            labels = {"before": was[at]} if what == "changed" else {}
            labels["after" if new else "before"] = float(qrel.relevance)
            shown = zip(("query", "document"), texts, qrel[:2], strict=True)
            yield {
                "table": table,
                "what": what,
                "split": split,
                "query-id": qrel.query_id,
                "corpus-id": qrel.doc_id,
                **labels,
                **{name: text for name, of, one in shown if (text := of.text(one)) is not None},
            }


def _title_and_text(record: Any) -> dict[str, str]:
    title = {"title": record.title} if isinstance(record, Document) and record.title else {}
    return {**title, "text": record.text}
