"""Tables as hashes of their rows, matched by id and by text; a few records are read again.

All that is held of a corpus is 24 bytes a document. Hashes have 64 bits (xxh3): of two tables of a
million rows each, a pair of different ids collides with a chance of one in ten million.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from retgen.data import Document, TableFiles
from retgen.errors import DatasetError
from retgen.progress import Progress
from retgen.rows import text_hash

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]  # rows of a table, from 0
Example = dict[str, Any]  # as `gen diff --json` prints it
NONE = "none"  # the label of a pair without a row


def _hash_metadata(metadata: Any) -> int:
    """A key without a value is none: Parquet gives every row the keys of all rows."""
    plain = _without_empty_values(metadata)
    if plain is None:
        return 0
    return xxhash.xxh3_64_intdigest(
        orjson.dumps(plain, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    )


def _without_empty_values(metadata: Any) -> Any:
    """Metadata without what is empty in it; None where nothing is left."""
    if not isinstance(metadata, dict):
        return metadata
    values = {key: _without_empty_values(one) for key, one in metadata.items()}
    return {key: value for key, value in values.items() if value is not None} or None


# columns of a table, with the type code of `array` and what stands there of a record
_Columns = dict[str, tuple[str, Callable[[Any], Any]]]
_TEXTS: _Columns = {
    "id": ("Q", lambda record: text_hash(record[0])),
    "text": ("Q", lambda record: text_hash(f"{getattr(record, 'title', '')}\0{record.text}")),
    "metadata": ("Q", lambda record: _hash_metadata(record.metadata)),
}
_QRELS: _Columns = {
    "query": ("Q", lambda qrel: text_hash(qrel.query_id)),
    "document": ("Q", lambda qrel: text_hash(qrel.doc_id)),
    "label": ("d", lambda qrel: float(qrel.relevance)),
}


class HashedTable:
    """A corpus, queries, or qrels. `files`: None where a data set has no such split.

    `columns`, (rows,) each: hashes of id, title with text, and metadata; of qrels hashes of both
    ids, and the label itself. Raises `DatasetError`, naming `path`, for a row that is none.
    """

    def __init__(self, files: TableFiles | None, path: Path, progress: Progress) -> None:
        self._files = files
        kind = files.name if files is not None else ""
        kinds = _TEXTS if kind in ("corpus", "queries") else _QRELS
        held = {name: array(code) for name, (code, _) in kinds.items()}
        self._starts: list[int] = []  # the first row of each chunk
        total = len(files.chunks()) if files is not None else 0
        chunks = files.record_chunks(path) if files is not None else ()
        for number, records in enumerate(chunks, start=1):
            self._starts.append(len(next(iter(held.values()))))
            for name, (_, value) in kinds.items():
                held[name].extend(map(value, records))
            progress(f"{kind} of {path}", number, total)
        self.columns: dict[str, NDArray[Any]] = {
            name: np.frombuffer(column, np.float64 if column.typecode == "d" else np.uint64)
            for name, column in held.items()
        }

    def records(self, wanted: Rows) -> list[Any]:
        """The records of some rows; of the others nothing is read but their chunks."""
        if self._files is None or not len(wanted):
            return []
        places = np.searchsorted(self._starts, wanted, side="right") - 1
        chunks = self._files.chunks()
        rows_of = {p: self._files.rows(chunks[p]) for p in {*places.tolist()} if p < len(chunks)}
        result = []
        for row, place in zip(wanted.tolist(), places.tolist(), strict=True):
            rows, at = rows_of.get(place, []), row - self._starts[place]
            record = self._files.parse(rows[at]) if at < len(rows) else ""
            if isinstance(record, str):
                raise DatasetError(
                    f"{self._files.files[0]} changed while it was read; run the command again"
                )
            result.append(record)
        return result


def _pair_hashes(first: Hashes, second: Hashes) -> Hashes:
    """A hash of pairs of hashes, in their order, (rows,)."""
    result: Hashes = first * np.uint64(0x9E3779B97F4A7C15) + second * np.uint64(0xC2B2AE3D27D4EB4F)
    return result


def _distinct_hashes(hashes: Hashes) -> Hashes:
    """The same with a repeated value told apart from its first one.

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
    return result


@dataclass(frozen=True)
class Changes:
    """Documents, queries, or qrels of a split, of two data sets.

    `changed` (rows of A, rows of B) in B's order, texts before metadata alone; `renamed`: the same,
    of texts; `removed` rows of A, `added` rows of B. `metadata_only`: how many of the changed.
    `reordered`: records of both stand in another order. `labels`: how many went from what to what.
    """

    before: HashedTable
    after: HashedTable
    same: int
    changed: tuple[Rows, Rows]
    removed: Rows
    added: Rows
    renamed: tuple[Rows, Rows] | None = None
    metadata_only: int = 0
    reordered: bool = False
    labels: Counter[str] = field(default_factory=Counter)

    @property
    def differ(self) -> bool:
        """Whether anything differs, the order included."""
        renamed = len(self.renamed[0]) if self.renamed else 0
        lists = (self.changed[0], self.removed, self.added)
        return self.reordered or bool(renamed) or any(map(len, lists))

    def to_json(self) -> dict[str, Any]:
        """Counts."""
        counts = {
            "same": self.same,
            "changed": len(self.changed[0]),
            "added": len(self.added),
            "removed": len(self.removed),
        }
        if self.renamed is None:
            return counts
        return {
            **counts,
            "renamed": len(self.renamed[0]),
            "metadata_only": self.metadata_only,
            "reordered": self.reordered,
        }


def match_texts(before: HashedTable, after: HashedTable) -> Changes:
    """Records by their ids; of those that one side lacks, by title and text."""
    old, new = before.columns, after.columns
    rows_a, rows_b, removed, added = _match_rows(
        _distinct_hashes(old["id"]), _distinct_hashes(new["id"])
    )
    texts, metadata = (old[part][rows_a] != new[part][rows_b] for part in ("text", "metadata"))
    changed = texts | metadata
    left = (_distinct_hashes(old["text"][removed]), _distinct_hashes(new["text"][added]))
    renamed_a, renamed_b, _, _ = _match_rows(*left)
    renamed = removed[renamed_a], added[renamed_b]
    order = np.lexsort((rows_b[changed], ~texts[changed]))
    return Changes(
        before,
        after,
        int(np.count_nonzero(~changed)),
        (rows_a[changed][order], rows_b[changed][order]),
        np.setdiff1d(removed, renamed[0]),
        np.setdiff1d(added, renamed[1]),
        renamed,
        int(np.count_nonzero(changed & ~texts)),
        bool((np.diff(rows_a) < 0).any()),
    )


def match_labels(
    before: HashedTable, after: HashedTable, queries: Changes, documents: Changes
) -> Changes:
    """Qrels by their ids; those left over by the new ids of renamed queries and documents."""
    old, new = before.columns, after.columns
    a = _distinct_hashes(_pair_hashes(old["query"], old["document"]))
    b = _distinct_hashes(_pair_hashes(new["query"], new["document"]))
    rows_a, rows_b, left, added = _match_rows(a, b)
    moved = _pair_hashes(
        _renamed_ids(old["query"][left], queries), _renamed_ids(old["document"][left], documents)
    )
    moved_a, moved_b, _, _ = _match_rows(_distinct_hashes(moved), b[added])
    rows_a, rows_b = np.append(rows_a, left[moved_a]), np.append(rows_b, added[moved_b])
    removed, added = np.delete(left, moved_a), np.delete(added, moved_b)
    was, now = old["label"], new["label"]
    changed = was[rows_a] != now[rows_b]
    pairs = rows_a[changed], rows_b[changed]
    labels = Counter(
        f"{one:g}->{other:g}"
        for one, other in zip(was[pairs[0]].tolist(), now[pairs[1]].tolist(), strict=True)
    )
    labels.update(f"{value:g}->{NONE}" for value in was[removed].tolist())
    labels.update(f"{NONE}->{value:g}" for value in now[added].tolist())
    same = int(np.count_nonzero(~changed))
    return Changes(before, after, same, pairs, removed, added, labels=labels)


def _match_rows(a: Hashes, b: Hashes) -> tuple[Rows, Rows, Rows, Rows]:
    """(rows of A, rows of B) of the values of both, in B's order; rows of A, of B alone."""
    _, rows_a, rows_b = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    order = np.argsort(rows_b)
    alone_a, alone_b = (
        np.delete(np.arange(len(hashes)), rows) for hashes, rows in ((a, rows_a), (b, rows_b))
    )
    return rows_a[order], rows_b[order], alone_a, alone_b


def _renamed_ids(ids: Hashes, changes: Changes) -> Hashes:
    """Ids of A with those of B in place of the renamed ones."""
    assert changes.renamed is not None  # they are texts
    old = changes.before.columns["id"][changes.renamed[0]].tolist()
    new = changes.after.columns["id"][changes.renamed[1]].tolist()
    known = dict(zip(old, new, strict=True))
    return np.array([known.get(one, one) for one in ids.tolist()], np.uint64)


# --- examples -------------------------------------------------------------------------------------


def text_examples(table: str, changes: Changes) -> Iterator[Example]:
    """Changed records with the parts that differ, then renamed, added and removed ones."""
    assert changes.renamed is not None  # they are texts
    old, new = changes.before, changes.after
    for a, b in _pairs(changes, changes.changed):
        sides = [_parts(a), _parts(b)]
        keys = [key for key in sides[0] if sides[0][key] != sides[1][key]]
        before, after = ({key: side[key] for key in keys} for side in sides)
        if isinstance(before.get("metadata"), dict) and isinstance(after.get("metadata"), dict):
            both = before["metadata"], after["metadata"]
            differ = {key for key in both[0] | both[1] if both[0].get(key) != both[1].get(key)}
            before["metadata"], after["metadata"] = (
                {key: one for key, one in side.items() if key in differ} for side in both
            )
        yield {"table": table, "what": "changed", "id": b[0], "before": before, "after": after}
    for a, b in _pairs(changes, changes.renamed):
        text = _title_and_text(b)
        yield {"table": table, "what": "renamed", "id": b[0], "was": a[0], "after": text}
    for what, key, side, rows in (
        ("added", "after", new, changes.added),
        ("removed", "before", old, changes.removed),
    ):
        for row in rows:
            (one,) = side.records(np.array([row]))
            yield {"table": table, "what": what, "id": one[0], key: _title_and_text(one)}


def _pairs(changes: Changes, rows: tuple[Rows, Rows]) -> Iterator[tuple[Any, Any]]:
    """Records of both sides, read one by one."""
    for a, b in zip(*rows, strict=True):
        yield changes.before.records(np.array([a]))[0], changes.after.records(np.array([b]))[0]


def label_examples(
    table: str, split: str, changes: Changes, queries: Changes, documents: Changes
) -> Iterator[Example]:
    """Labels that changed, then those added and removed where both data sets have the query and
    the document, since those of added and removed records are no news.
    """
    was = changes.before.columns["label"]
    old, new = (queries.before, documents.before), (queries.after, documents.after)
    for what, rows, side, texts, others in (
        ("changed", changes.changed[1], changes.after, new, new),
        ("added", changes.added, changes.after, new, old),
        ("removed", changes.removed, changes.before, old, new),
    ):
        names = ("query", "document")
        if what != "changed":
            known = [
                np.isin(side.columns[name][rows], other.columns["id"])
                for name, other in zip(names, others, strict=True)
            ]
            rows = rows[known[0] & known[1]]
        for place, row in enumerate(rows):
            (qrel,) = side.records(np.array([row]))
            shown = {
                name: text
                for name, of in zip(names, texts, strict=True)
                if (text := _text(of, side.columns[name][row])) is not None
            }
            label = float(qrel.relevance)
            labels = {"before": label} if what == "removed" else {"after": label}
            if what == "changed":
                labels["before"] = float(was[changes.changed[0][place]])
            yield {
                "table": table,
                "what": what,
                "split": split,
                "query-id": qrel.query_id,
                "corpus-id": qrel.doc_id,
                **labels,
                **shown,
            }


def _text(table: HashedTable, wanted: np.uint64) -> str | None:
    """Title and text of the first record with an id; None where there is none."""
    found = table.records(np.flatnonzero(table.columns["id"] == wanted)[:1])
    return " ".join(_title_and_text(found[0]).values()) if found else None


def _title_and_text(record: Any) -> dict[str, str]:
    title = {"title": record.title} if isinstance(record, Document) and record.title else {}
    return {**title, "text": record.text}


def _parts(record: Any) -> dict[str, Any]:
    title = {"title": record.title} if isinstance(record, Document) else {}
    return {**title, "text": record.text, "metadata": _without_empty_values(record.metadata)}
