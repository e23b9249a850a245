"""The qrels of one split with what people decided: labels change, and pairs are added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from retgen.errors import RecipeError
from retgen.generators.records import Row, Rows, rows_of
from retgen.reviewed.decisions import PairDecision

Pair = tuple[str, str]
_BLOCK = 4096


def read_rows(rows: Rows) -> Iterator[dict[str, Any]]:
    """The rows of a table, parsed block by block."""
    for start in range(0, rows.count, _BLOCK):
        yield from map(
            orjson.loads, rows.jsonl(start, min(start + _BLOCK, rows.count)).splitlines()
        )


def table_of(rows: Sequence[Row]) -> Rows:
    """A table of rows that are held in memory."""
    return rows_of(rows.__getitem__, len(rows))


@dataclass
class SplitLabels:
    """The qrels of one split by pair, in the order of the table, and the grades beside them.

    Without grades `grades` is empty. `scale`: the highest score; 1 where the labels are binary, 2
    where there are none yet.
    """

    scores: dict[Pair, int]
    grades: dict[Pair, int]

    def __post_init__(self) -> None:
        self.scale = max(self.scores.values(), default=2)
        self.queries = {query_id for query_id, _ in self.scores}
        self.documents = {doc_id for _, doc_id in self.scores}

    def judges(self, pair: Pair) -> bool:
        """Whether a decision on the pair belongs here: it is judged, or both of its sides are."""
        query_id, doc_id = pair
        return pair in self.scores or (query_id in self.queries and doc_id in self.documents)

    def decide(self, one: PairDecision, graded: bool) -> None:
        """Set the label of a pair to what was decided of it."""
        before, after = self.scores.get(one.pair), self.score(one, graded)
        self.scores[one.pair] = after
        if self.grades and (before is None or (before > 0) != (after > 0)):
            # a document that is right in everything has the highest grade of its query
            top = max((g for (q, _), g in self.grades.items() if q == one.query_id), default=1)
            self.grades[one.pair] = top if after else 0

    def score(self, one: PairDecision, graded: bool) -> int:
        """The label that a decision gives its pair."""
        before, after = self.scores.get(one.pair), one.relevance
        if not graded or self.scale < 2:
            after = min(after, 1)
        if not graded and before is not None and (before > 0) == (after > 0):
            return before  # right as it is, grade and all
        return after

    def with_positives(self) -> set[str]:
        """The queries that have a relevant document."""
        return {query_id for (query_id, _), score in self.scores.items() if score > 0}

    def remove(self, queries: set[str]) -> None:
        """Take queries out."""
        self.scores = {pair: n for pair, n in self.scores.items() if pair[0] not in queries}
        self.grades = {pair: n for pair, n in self.grades.items() if pair[0] not in queries}


def labels_of(qrels: Rows, grades: Rows | None) -> SplitLabels:
    """Read the qrels of a split, and the grades beside them."""

    def by_pair(rows: Rows | None) -> dict[Pair, int]:
        parsed = read_rows(rows) if rows else ()
        return {(row["query-id"], row["corpus-id"]): row["score"] for row in parsed}

    return SplitLabels(by_pair(qrels), by_pair(grades))


def qrels_of(labels: Mapping[Pair, int]) -> Rows:
    """The table of some labels; an added pair stands after the others of its query."""
    places: dict[str, int] = {}
    for query_id, _ in labels:
        places.setdefault(query_id, len(places))
    ordered = sorted(labels.items(), key=lambda one: places[one[0][0]])
    return table_of([{"query-id": q, "corpus-id": d, "score": n} for (q, d), n in ordered])


def check_label(one: PairDecision, labels: Mapping[str, SplitLabels], path: str) -> None:
    """Raise `RecipeError` for a decision about another label than the table has."""
    if one.split not in labels:
        raise RecipeError(f"{path}: decides on qrels of split {one.split}, which there are not")
    stated, right = one.label, labels[one.split].scores.get(one.pair)
    if (None if stated is None else int(stated)) != right:
        raise RecipeError(
            f"{path}: people judged the label {_named(stated)} of ({one.query_id}, {one.doc_id}), "
            f"and the recipe gives {_named(right)}: these decisions are on another data set. Apply "
            "the review again"
        )


def _named(label: float | None) -> str:
    return "none" if label is None else f"{label:g}"
