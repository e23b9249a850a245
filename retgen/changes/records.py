"""Tables as hashes of their rows, matched by id and by text; a few records are read again.

All that is held of a corpus is 32 bytes a document. Hashes have 64 bits (xxh3): of two tables of a
million rows each, a pair of different ids collides with a chance of one in ten million.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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
NONE = "none"  # the label of a pair without a row
PARTS = ("title", "text", "metadata")  # of a document or query, beside its id


def _hash_metadata(metadata: Any) -> int:
    """A key without a value is none: Parquet gives every row the keys of all rows."""
    plain = _without_empty_values(metadata)
    if plain is None:
        return 0
    return xxhash.xxh3_64_intdigest(
        orjson.dumps(plain, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    )


# columns of a table, with the type code of `array` and what stands there of a record
_Columns = dict[str, tuple[str, Callable[[Any], Any]]]
_TEXTS: _Columns = {
    "id": ("Q", lambda record: text_hash(record[0])),
    "title": ("Q", lambda record: text_hash(getattr(record, "title", ""))),
    "text": ("Q", lambda record: text_hash(record.text)),
    "metadata": ("Q", lambda record: _hash_metadata(record.metadata)),
}
_QRELS: _Columns = {
    "query": ("Q", lambda qrel: text_hash(qrel.query_id)),
    "document": ("Q", lambda qrel: text_hash(qrel.doc_id)),
    "label": ("d", lambda qrel: float(qrel.relevance)),
}


class HashedTable:
    """A corpus, queries, or qrels. `files`: None where a data set has no such split.

    `columns`, (rows,) each: hashes of id, title, text and metadata; of qrels hashes of both ids,
    and the label itself. Raises `DatasetError`, naming `path`, for a row that is none.
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

    before: HashedTable
    after: HashedTable
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

    before: HashedTable
    after: HashedTable
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


def match_texts(before: HashedTable, after: HashedTable) -> TextChanges:
    """Records by their ids; of those that one side lacks, by title and text."""
    old, new = before.columns, after.columns
    (a, again_a), (b, again_b) = distinct_hashes(old["id"]), distinct_hashes(new["id"])
    rows_a, rows_b, removed, added = _match_rows(a, b)
    differ = {part: old[part][rows_a] != new[part][rows_b] for part in PARTS}
    texts = differ["title"] | differ["text"]
    changed = texts | differ["metadata"]
    left = (
        distinct_hashes(pair_hashes(side["title"][rows], side["text"][rows]))[0]
        for side, rows in ((old, removed), (new, added))
    )
    renamed_a, renamed_b, _, _ = _match_rows(*left)
    renamed = removed[renamed_a], added[renamed_b]
    order = np.lexsort((rows_b[changed], ~texts[changed]))
    return TextChanges(
        before,
        after,
        int(np.count_nonzero(~changed)),
        (rows_a[changed][order], rows_b[changed][order]),
        renamed,
        np.setdiff1d(removed, renamed[0]),
        np.setdiff1d(added, renamed[1]),
        {part: int(np.count_nonzero(differ[part])) for part in PARTS},
        int(np.count_nonzero(changed & ~texts)),
        bool((np.diff(rows_a) < 0).any()),
        (again_a, again_b),
    )


def match_labels(
    before: HashedTable, after: HashedTable, queries: TextChanges, documents: TextChanges
) -> LabelChanges:
    """Qrels by their ids; those left over by the new ids of renamed queries and documents."""
    old, new = before.columns, after.columns
    a, _ = distinct_hashes(pair_hashes(old["query"], old["document"]))
    b, _ = distinct_hashes(pair_hashes(new["query"], new["document"]))
    rows_a, rows_b, left, added = _match_rows(a, b)
    moved = pair_hashes(
        _renamed_ids(old["query"][left], queries), _renamed_ids(old["document"][left], documents)
    )
    moved_a, moved_b, _, _ = _match_rows(distinct_hashes(moved)[0], b[added])
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
    return LabelChanges(before, after, same, pairs, removed, added, labels)


def _match_rows(a: Hashes, b: Hashes) -> tuple[Rows, Rows, Rows, Rows]:
    """(rows of A, rows of B) of the values of both, in B's order; rows of A, of B alone."""
    _, rows_a, rows_b = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    order = np.argsort(rows_b)
    alone_a, alone_b = (
        np.delete(np.arange(len(hashes)), rows) for hashes, rows in ((a, rows_a), (b, rows_b))
    )
    return rows_a[order], rows_b[order], alone_a, alone_b


def _renamed_ids(ids: Hashes, changes: TextChanges) -> Hashes:
    """Ids of A with those of B in place of the renamed ones."""
    old = changes.before.columns["id"][changes.renamed[0]].tolist()
    new = changes.after.columns["id"][changes.renamed[1]].tolist()
    known = dict(zip(old, new, strict=True))
    return np.array([known.get(one, one) for one in ids.tolist()], np.uint64)


# --- examples, each as `gen diff --json` prints it ------------------------------------------------

Example = dict[str, Any]


def text_examples(table: str, changes: TextChanges, number: int) -> Iterator[Example]:
    """Up to `number` of each kind. A changed record shows the parts that differ; others all."""
    old, new = changes.before, changes.after

    def records(side: HashedTable, rows: Rows) -> list[Any]:
        return side.records(rows[:number])

    pairs = zip(records(old, changes.pairs[0]), records(new, changes.pairs[1]), strict=True)
    for a, b in pairs:
        before, after = _differing(_parts(a), _parts(b))
        if isinstance(before.get("metadata"), dict) and isinstance(after.get("metadata"), dict):
            both = _differing(before["metadata"], after["metadata"])
            before["metadata"], after["metadata"] = both
        yield {"table": table, "what": "changed", "id": b[0], "before": before, "after": after}
    renamed = zip(records(old, changes.renamed[0]), records(new, changes.renamed[1]), strict=True)
    for a, b in renamed:
        yield {
            "table": table,
            "what": "renamed",
            "id": b[0],
            "was": a[0],
            "after": _title_and_text(b),
        }
    for what, key, side, rows in (
        ("added", "after", new, changes.added),
        ("removed", "before", old, changes.removed),
    ):
        for one in records(side, rows):
            yield {"table": table, "what": what, "id": one[0], key: _title_and_text(one)}


def label_examples(
    table: str,
    split: str,
    changes: LabelChanges,
    queries: TextChanges,
    documents: TextChanges,
    number: int,
) -> Iterator[Example]:
    """Up to `number` of each kind; of the added and removed ones where both data sets have the
    query and the document, since those of added and removed records are no news.
    """
    was = changes.before.columns["label"][changes.pairs[0]].tolist()
    old, new = (queries.before, documents.before), (queries.after, documents.after)
    for what, every, side, texts, others in (
        ("changed", changes.pairs[1], changes.after, new, new),
        ("added", changes.added, changes.after, new, old),
        ("removed", changes.removed, changes.before, old, new),
    ):
        if what != "changed":
            known = [
                np.isin(side.columns[column][every], other.columns["id"])
                for column, other in zip(("query", "document"), others, strict=True)
            ]
            every = every[known[0] & known[1]]
        rows = every[:number]
        shown = zip(
            side.records(rows),
            _texts(texts[0], side.columns["query"][rows]),
            _texts(texts[1], side.columns["document"][rows]),
            strict=True,
        )
        for place, (qrel, query, document) in enumerate(shown):
            label = float(qrel.relevance)
            labels = {"before": label} if what == "removed" else {"after": label}
            if what == "changed":
                labels = {"before": was[place], "after": label}
            texts_shown = {"query": query, "document": document}
            yield {
                "table": table,
                "what": what,
                "split": split,
                "query-id": qrel.query_id,
                "corpus-id": qrel.doc_id,
                **labels,
                **{key: text for key, text in texts_shown.items() if text is not None},
            }


def _texts(table: HashedTable, wanted: Hashes) -> list[str | None]:
    """Title and text of the first record with each id; None where there is none."""
    found = (table.records(np.flatnonzero(table.columns["id"] == one)[:1]) for one in wanted)
    return [
        " ".join(filter(None, _title_and_text(records[0]).values())) if records else None
        for records in found
    ]


def _title_and_text(record: Any) -> dict[str, Any]:
    title = {"title": record.title} if isinstance(record, Document) and record.title else {}
    return {**title, "text": record.text}


def _parts(record: Any) -> dict[str, Any]:
    title = {"title": record.title} if isinstance(record, Document) else {}
    return {**title, "text": record.text, "metadata": _without_empty_values(record.metadata)}


def _differing(before: dict[str, Any], after: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """Both less what they have in common."""
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return [{key: side[key] for key in keys if key in side} for side in (before, after)]


def _without_empty_values(metadata: Any) -> Any:
    """Metadata without what is empty in it; None where nothing is left."""
    if not isinstance(metadata, dict):
        return metadata
    values = {key: _without_empty_values(one) for key, one in metadata.items()}
    return {key: value for key, value in values.items() if value is not None} or None
