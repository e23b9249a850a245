"""Examples of what changed: a few records of each kind, read again from disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from retgen.changes.records import (
    Hashes,
    LabelChanges,
    QrelHashes,
    TextChanges,
    TextHashes,
    without_empty_values,
)
from retgen.data import Document, Qrel

What = Literal["changed", "added", "removed", "renamed"]


@dataclass(frozen=True)
class TextExample:
    """A document or query. `before`, `after`: the parts that differ, by name; of an added, removed
    or renamed record its title and text. `was`: the id before it was renamed.
    """

    table: str
    what: What
    id: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    was: str | None = None

    def to_json(self) -> dict[str, Any]:
        """One entry of `examples`."""
        result: dict[str, Any] = {"table": self.table, "what": self.what, "id": self.id}
        if self.was is not None:
            result["was"] = self.was
        sides = {"before": self.before, "after": self.after}
        return result | {side: record for side, record in sides.items() if record is not None}


@dataclass(frozen=True)
class LabelExample:
    """A qrel, or grade. `before`, `after`: its labels; `query`, `document`: texts, None where the
    data set does not hold them.
    """

    table: str
    what: What
    split: str
    query_id: str
    doc_id: str
    before: float | None
    after: float | None
    query: str | None
    document: str | None

    def to_json(self) -> dict[str, Any]:
        """One entry of `examples`."""
        result: dict[str, Any] = {
            "table": self.table, "what": self.what, "split": self.split,
            "query-id": self.query_id, "corpus-id": self.doc_id,
        }  # fmt: skip
        values = {"before": self.before, "after": self.after, "query": self.query,
                  "document": self.document}  # fmt: skip
        return result | {key: value for key, value in values.items() if value is not None}


Example = TextExample | LabelExample
TextSide = tuple[TextHashes, TextHashes]  # queries and documents of one data set


def text_examples(table: str, changes: TextChanges, number: int) -> list[TextExample]:
    """Up to `number` of each kind."""
    result = []
    for a, b in _record_pairs(changes.before, changes.after, changes.pairs, number):
        before, after = _parts(a), _parts(b)
        differ = {key for key in {**before, **after} if before.get(key) != after.get(key)}
        old, new = ({k: v for k, v in side.items() if k in differ} for side in (before, after))
        if "metadata" in differ:
            old["metadata"], new["metadata"] = _without_common_keys(
                old.get("metadata"), new.get("metadata")
            )
        result.append(TextExample(table, "changed", b[0], old, new))
    result += [
        TextExample(table, "renamed", b[0], None, _title_and_text(b), a[0])
        for a, b in _record_pairs(changes.before, changes.after, changes.renamed, number)
    ]
    for what, rows, side in (
        ("added", changes.added, changes.after), ("removed", changes.removed, changes.before),
    ):  # fmt: skip
        records = side.records(rows[:number].tolist())
        for row in rows[:number].tolist():
            whole = _title_and_text(records[row])
            texts = (None, whole) if what == "added" else (whole, None)
            kind: What = "added" if what == "added" else "removed"
            result.append(TextExample(table, kind, records[row][0], *texts))
    return result


def label_examples(
    table: str,
    split: str,
    changes: LabelChanges,
    queries: TextChanges,
    documents: TextChanges,
    number: int,
) -> list[LabelExample]:
    """Up to `number` of each kind; of the added and removed ones where both data sets have the
    query and the document, since those of added and removed records are no news.
    """
    old: TextSide = queries.before, documents.before
    new: TextSide = queries.after, documents.after
    kinds: list[tuple[What, Any, QrelHashes, TextSide, TextSide]] = [
        ("changed", changes.pairs[1], changes.after, new, new),
        ("added", changes.added, changes.after, new, old),
        ("removed", changes.removed, changes.before, old, new),
    ]
    old_labels = changes.before.labels[changes.pairs[0]].tolist()
    result = []
    for what, every, side, (asked, corpus), (other_queries, other_documents) in kinds:
        if what != "changed":
            known = np.isin(side.queries[every], other_queries.ids)
            every = every[known & np.isin(side.documents[every], other_documents.ids)]
        rows = every[:number]
        records = side.records(rows.tolist())
        query_texts = _texts(asked, side.queries[rows])
        doc_texts = _texts(corpus, side.documents[rows])
        for place, row in enumerate(rows.tolist()):
            qrel: Qrel = records[row]
            label = float(qrel.relevance)
            before = old_labels[place] if what == "changed" else label
            result.append(
                LabelExample(
                    table, what, split, qrel.query_id, qrel.doc_id,
                    None if what == "added" else before,
                    None if what == "removed" else label, query_texts[place], doc_texts[place],
                )
            )  # fmt: skip
    return result


def _record_pairs(
    before: TextHashes, after: TextHashes, pairs: tuple[Any, Any], number: int
) -> list[tuple[Any, Any]]:
    old, new = (rows[:number].tolist() for rows in pairs)
    was, now = before.records(old), after.records(new)
    return [(was[a], now[b]) for a, b in zip(old, new, strict=True)]


def _texts(texts: TextHashes, wanted: Hashes) -> list[str | None]:
    """Title and text of the first record with each id; None where there is none."""
    if not len(wanted):
        return []
    places = [np.flatnonzero(texts.ids == one)[:1].tolist() for one in wanted]
    records = texts.records(sorted({row for rows in places for row in rows}))
    return [
        " ".join(filter(None, _title_and_text(records[rows[0]]).values())) if rows else None
        for rows in places
    ]


def _title_and_text(record: Any) -> dict[str, Any]:
    title = {"title": record.title} if isinstance(record, Document) and record.title else {}
    return {**title, "text": record.text}


def _parts(record: Any) -> dict[str, Any]:
    title = {"title": record.title} if isinstance(record, Document) else {}
    return {**title, "text": record.text, "metadata": without_empty_values(record.metadata)}


def _without_common_keys(before: Any, after: Any) -> tuple[Any, Any]:
    """Metadata less the keys on which both agree."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return before, after
    keys: Sequence[str] = [k for k in {**before, **after} if before.get(k) != after.get(k)]
    old, new = ({key: side[key] for key in keys if key in side} for side in (before, after))
    return old, new
