"""The sample that people review: 100 queries and 100 labels, spread evenly (paper, Appendix C).

    {"query-id": "q0123456", "query": "Find a person ...", "style": "instruction", "conditions": 3,
     "questions": [{"id": "natural", "ask": "...", "answers": ["yes", "no"]}, ...]}
    {"query-id": "...", "corpus-id": "...", "query": "...", "document": "...", "label": 7, "of": 10,
     "questions": [...]}

Queries are spread over both styles and all lengths, labels over all rungs and both styles; which
ladder stands for which is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from retgen.generators.multiconir.exported import STYLES, Exported
from retgen.generators.multiconir.sentences import CONDITIONS
from retgen.generators.records import Rows, rows_of
from retgen.streams import Stream
from retgen.yaml_text import read_yaml

SAMPLE = 100  # of each (paper, Appendix C)


@cache
def _questions() -> dict[str, list[dict[str, Any]]]:
    result: dict[str, list[dict[str, Any]]] = read_yaml(Path(__file__).parent / "review.yaml")
    return result


def review_tables(exported: Exported) -> dict[str, Rows]:
    """The tables `review_queries` and `review_labels` of a set."""
    queries = [(style, n) for style in STYLES for n in range(1, CONDITIONS + 1)]
    labels = [(style, rung) for rung in range(CONDITIONS + 1) for style in STYLES]
    of_queries, of_labels = (
        _Sample(exported, "queries", queries),
        _Sample(exported, "labels", labels),
    )
    return {
        "review_queries": rows_of(lambda i: _query(exported, *of_queries[i]), len(of_queries)),
        "review_labels": rows_of(lambda i: _label(exported, *of_labels[i]), len(of_labels)),
    }


class _Sample:
    """(ladder, stratum) of every entry: strata in turn, no ladder twice in one before all were."""

    def __init__(self, exported: Exported, what: str, strata: Sequence[tuple[str, int]]) -> None:
        count = len(exported.ladders)
        self._strata, self._count = strata, min(SAMPLE, count * len(strata))
        stream = Stream(exported.seed, f"multiconir/review/{what}")
        self._ladders = [stream.permutation(count).tolist() for _ in strata]

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: int) -> tuple[int, tuple[str, int]]:
        round_, stratum = divmod(i, len(self._strata))
        return self._ladders[stratum][round_], self._strata[stratum]


def _query(exported: Exported, ladder: int, stratum: tuple[str, int]) -> Mapping[str, Any]:
    row = _asked(exported, ladder, *stratum)
    return {
        "query-id": row["_id"],
        "query": row["text"],
        "style": stratum[0],
        "conditions": stratum[1],
        "questions": _questions()["queries"],
    }


def _label(exported: Exported, ladder: int, stratum: tuple[str, int]) -> Mapping[str, Any]:
    style, rung = stratum
    row = _asked(exported, ladder, style, CONDITIONS)
    document = next(
        one
        for one in exported.documents_of(ladder)
        if one["metadata"]["broken"] == list(range(1, rung + 1)) and 1 in one["metadata"]["orders"]
    )
    return {
        "query-id": row["_id"],
        "corpus-id": document["_id"],
        "query": row["text"],
        "document": document["text"],
        "label": CONDITIONS - rung,
        "of": CONDITIONS,
        "questions": _questions()["labels"],
    }


def _asked(exported: Exported, ladder: int, style: str, n: int) -> Mapping[str, Any]:
    return exported.queries_of(ladder)[STYLES.index(style) * CONDITIONS + n - 1]
