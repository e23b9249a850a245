"""Tables with some rows changed, and qrels with what people decided.

What is not changed passes through unread. In qrels, labels change, pairs are added, and queries
without a relevant document are taken out.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from retgen.errors import RecipeError
from retgen.generators.records import Rows
from retgen.reviewed.decisions import PairDecision
from retgen.write import json_line

_BLOCK = 4096


@dataclass(frozen=True)
class TableLines:
    """A table held as its lines."""

    lines: list[bytes]

    @property
    def count(self) -> int:
        return len(self.lines)

    def jsonl(self, start: int, stop: int) -> bytes:
        return b"".join(self.lines[start:stop])


@dataclass(frozen=True)
class EditedRows:
    """A table of texts, some of which people wrote anew: id -> field -> text."""

    rows: Rows
    edits: Mapping[str, Mapping[str, str]]

    @property
    def count(self) -> int:
        return self.rows.count

    def jsonl(self, start: int, stop: int) -> bytes:
        block = self.rows.jsonl(start, stop)
        if not any(orjson.dumps(name) in block for name in self.edits):
            return block
        lines = []
        for line in block.splitlines(keepends=True):
            row = orjson.loads(line)
            if change := self.edits.get(row["_id"]):
                line = json_line(row | change)
            lines.append(line)
        return b"".join(lines)


def lines_of(rows: Rows) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Each row, and the line it stands in."""
    for start in range(0, rows.count, _BLOCK):
        for line in rows.jsonl(start, min(start + _BLOCK, rows.count)).splitlines(keepends=True):
            yield orjson.loads(line), line


def without(rows: Rows, removed: Container[str], key: str = "_id") -> TableLines:
    """The rows but those of some names."""
    return TableLines([line for row, line in lines_of(rows) if row[key] not in removed])


def qrel_lines(qrels: Iterable[tuple[str, str, int]]) -> TableLines:
    """Qrels as their table has them."""
    return TableLines(
        [
            json_line({"query-id": query_id, "corpus-id": doc_id, "score": score})
            for query_id, doc_id, score in qrels
        ]
    )


def strings(value: Any) -> Iterator[str]:
    """All texts that a row holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


Pair = tuple[str, str]


@dataclass
class SplitLabels:
    """The qrels of one split by pair, in the order of the table, and the grades beside them.

    `scale`: the highest score; 1 where the labels are binary.
    """

    split: str
    scores: dict[Pair, int]
    grades: dict[Pair, int] | None = None
    added: dict[str, dict[Pair, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scale = max(self.scores.values(), default=1)
        self.queries = {query_id for query_id, _ in self.scores}
        self.documents = {doc_id for _, doc_id in self.scores}

    def judges(self, pair: Pair) -> bool:
        """Whether a decision on the pair belongs here: it is judged, or both of its sides are."""
        query_id, doc_id = pair
        return pair in self.scores or (query_id in self.queries and doc_id in self.documents)

    def decide(self, one: PairDecision, graded: bool) -> None:
        """Set the label of a pair to what was decided of it."""
        assert one.relevance is not None
        before = self.scores.get(one.pair)
        after = self.score(one, graded)
        if before is None:
            self.added.setdefault(one.query_id, {})[one.pair] = after
        self.scores[one.pair] = after
        if self.grades is not None and (before is None or (before > 0) != (after > 0)):
            # the grade of a document that is right in all is the highest of its query
            top = max((g for (q, _), g in self.grades.items() if q == one.query_id), default=1)
            self.grades[one.pair] = top if after else 0

    def score(self, one: PairDecision, graded: bool) -> int:
        """The label that a decision gives its pair."""
        before, after = self.scores.get(one.pair), int(one.relevance or 0)
        if not graded or self.scale < 2:
            after = min(after, 1)
        if before is not None and (before > 0) == (after > 0) and (one.kept or not graded):
            return before  # right as it is, grade and all
        return after

    def remove(self, queries: set[str]) -> None:
        """Take queries out."""
        for table in (self.scores, self.grades or {}):
            for pair in [pair for pair in table if pair[0] in queries]:
                del table[pair]

    def rows(self) -> Iterator[tuple[str, str, int]]:
        """The qrels; a pair that was not judged stands after the others of its query."""
        yield from self._in_place(self.scores)

    def grade_rows(self) -> Iterator[tuple[str, str, int]]:
        """The grades beside them, in the same way."""
        yield from self._in_place(self.grades or {})

    def _in_place(self, table: Mapping[Pair, int]) -> Iterator[tuple[str, str, int]]:
        new = {pair for pairs in self.added.values() for pair in pairs}
        last = {pair[0]: pair for pair in table if pair not in new}
        for pair, score in table.items():
            if pair in new and pair[0] in last:
                continue
            yield *pair, score
            if last.get(pair[0]) == pair:
                for later in self.added.get(pair[0], ()):
                    yield *later, table[later]


def queries_with_positives(tables: Sequence[SplitLabels]) -> set[str]:
    """The queries that have a relevant document in any split."""
    return {q for labels in tables for (q, _), score in labels.scores.items() if score > 0}


def check_label(one: PairDecision, labels: Mapping[str, SplitLabels], path: str) -> None:
    """A decision is about the label that stands there. Raises `RecipeError`."""
    if one.split not in labels:
        raise RecipeError(f"{path}: decides on qrels of split {one.split}, which there are not")
    stated, right = one.label, labels[one.split].scores.get(one.pair)
    if (None if stated is None else int(stated)) != right:
        raise RecipeError(
            f"{path}: people looked at the label {_named(stated)} of ({one.query_id}, "
            f"{one.doc_id}), and the recipe gives {_named(right)}: these decisions are on another "
            "data set. Apply the review again"
        )


def _named(label: float | None) -> str:
    return "none" if label is None else f"{label:g}"
