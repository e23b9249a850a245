"""What two tables share and what not, by the hashes of their rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from retgen.changes.hashes import PARTS, Hashes, Judgements, Rows, Texts, once, together

NONE = "none"  # the label of a pair without a row


@dataclass(frozen=True)
class TextChanges:
    """Documents or queries of two data sets.

    `pairs` (rows of A, rows of B) of the changed in B's order, texts before metadata alone, and of
    the `renamed`; `removed` rows of A, `added` rows of B. `parts`: how many of the changed differ
    in their title, text and metadata. `reordered`: records of both stand in another order.
    `repeated`: rows of A and of B whose id stood before.
    """

    before: Texts
    after: Texts
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

    before: Judgements
    after: Judgements
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


def match_texts(before: Texts, after: Texts) -> TextChanges:
    """Records by their ids; of those that one side lacks, by title and text."""
    (a, again_a), (b, again_b) = once(before.ids), once(after.ids)
    rows_a, rows_b, removed, added = _shared(a, b)
    differ = {part: before.parts[part][rows_a] != after.parts[part][rows_b] for part in PARTS}
    texts = differ["title"] | differ["text"]
    changed = texts | differ["metadata"]
    renamed_a, renamed_b, _, _ = _shared(
        once(before.content()[removed])[0], once(after.content()[added])[0]
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
    before: Judgements, after: Judgements, queries: TextChanges, documents: TextChanges
) -> LabelChanges:
    """Qrels by their ids; those left over by the new ids of renamed queries and documents."""
    a, _ = once(together(before.queries, before.documents))
    b, _ = once(together(after.queries, after.documents))
    rows_a, rows_b, left, added = _shared(a, b)
    there = _new(before.queries[left], queries), _new(before.documents[left], documents)
    moved_a, moved_b, _, _ = _shared(once(together(*there))[0], b[added])
    rows_a, rows_b = np.append(rows_a, left[moved_a]), np.append(rows_b, added[moved_b])
    removed, added = np.delete(left, moved_a), np.delete(added, moved_b)
    changed = before.labels[rows_a] != after.labels[rows_b]
    pairs = rows_a[changed], rows_b[changed]
    labels: Counter[str] = Counter()
    for old, new in zip(
        before.labels[pairs[0]].tolist(), after.labels[pairs[1]].tolist(), strict=True
    ):
        labels[f"{old:g}->{new:g}"] += 1
    for value, number in _counted(before.labels[removed]):
        labels[f"{value:g}->{NONE}"] += number
    for value, number in _counted(after.labels[added]):
        labels[f"{NONE}->{value:g}"] += number
    return LabelChanges(
        before, after, int(np.count_nonzero(~changed)), pairs, removed, added, labels
    )


def _shared(a: Hashes, b: Hashes) -> tuple[Rows, Rows, Rows, Rows]:
    """(rows of A, rows of B) of the values of both, in B's order; rows of A, of B alone."""
    _, rows_a, rows_b = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    alone = []
    for hashes, rows in ((a, rows_a), (b, rows_b)):
        rest = np.ones(len(hashes), bool)
        rest[rows] = False
        alone.append(np.flatnonzero(rest))
    order = np.argsort(rows_b)
    return rows_a[order], rows_b[order], alone[0], alone[1]


def _new(ids: Hashes, changes: TextChanges) -> Hashes:
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


def _counted(labels: Any) -> list[tuple[float, int]]:
    values, numbers = np.unique(labels, return_counts=True)
    return list(zip(values.tolist(), numbers.tolist(), strict=True))
