"""The worst queries of each system, with what was ranked first in place of what is relevant.

A query is a failure where something else stands among its first documents while relevant ones are
left. The worst have the lowest score by the primary measure; of equal ones the first of the data
set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.scoring.result import Score
from retgen.results.page import Fold, Section
from retgen.results.tables import TableView
from retgen.search.collection import Collection

DEPTH = 10  # documents of a ranking that are looked at
WORST = 20  # queries of a system
_RELEVANT, _FIRST, _CHARACTERS = 3, 3, 160  # documents shown of a query, and of a text

Top = NDArray[np.int64]  # (queries, DEPTH) documents, -1 where fewer were ranked


class _Failure(NamedTuple):
    """A query. `relevant`: (document, rank; None beyond `DEPTH`), those that are missed first.

    `first`: what was ranked first, at most three documents, the relevant ones left out.
    """

    row: int
    value: float
    relevant: list[tuple[int, int | None]]
    first: list[tuple[int, int | None]]


def relevant_documents(collection: Collection) -> list[list[int]]:
    """Of each query, its relevant documents that the corpus holds."""
    place = collection.places(doc for docs in collection.qrels.values() for doc in docs)
    return [
        [
            place[doc]
            for doc, r in collection.qrels[query.query_id].items()
            if r > 0 and doc in place
        ]
        for query in collection.queries
    ]


def failures(
    collection: Collection, tops: Sequence[tuple[Score, Top]], measure: str
) -> tuple[list[dict[str, Any]], Section]:
    """Of all systems: the key `worst` of eval.json (ids, without texts), and a folded table each.

    `tops`: the first `DEPTH` documents of each system.
    """
    relevant, ids = relevant_documents(collection), collection.doc_ids
    every: list[tuple[Score, list[_Failure], int]] = []
    for score, top in tops:
        values = score.values[:, score.names.index(measure)]
        found = [
            _failure(row, float(values[row]), relevant[row], ranked)
            for row, ranked in enumerate(top.tolist())
        ]
        wrong = sorted((one for one in found if one is not None), key=lambda one: one.value)
        every.append((score, wrong[:WORST], len(wrong)))
    shown = {doc for _, worst, _ in every for one in worst for doc, _ in one.relevant + one.first}
    texts = collection.texts(np.array(sorted(shown), np.int64))
    asked = f"{len(collection.queries):,}"
    keys, folds = [], []
    for score, worst, count in every:
        listed = [
            {
                "query-id": collection.queries[one.row].query_id,
                measure: one.value,
                "relevant": {ids[doc].decode(): rank for doc, rank in one.relevant},
                "first": {ids[doc].decode(): rank for doc, rank in one.first},
            }
            for one in worst
        ]
        keys.append({"model": score.model, "dim": score.dim, "failures": count, "worst": listed})
        title = f"{score.label}: {count:,} of {asked} queries, the {len(worst):,} worst"
        head = ["query", measure, "rank", "", "document"]
        rows = [row for one in worst for row in _rows(collection, one, texts)]
        folds.append(Fold(title, [TableView(head, rows, names=5, title=title)]))
    section = Section(
        "Worst queries",
        [
            "Queries that have something else among their first documents while relevant ones "
            f"are left, the lowest {measure} first: what is relevant, with its rank, then "
            "what was ranked first instead."
        ],
        folded=folds,
        printed=False,
    )
    return keys, section


def _rows(collection: Collection, one: _Failure, texts: Mapping[int, str]) -> list[list[str]]:
    shown = [(doc, rank, "relevant") for doc, rank in one.relevant]
    shown += [(doc, rank, "") for doc, rank in one.first]
    heads = [[_cut(collection.queries[one.row].text), f"{one.value:.4f}"]]
    heads += [["", ""]] * (len(shown) - 1)
    return [
        [*head, f"{DEPTH + 1}+" if rank is None else str(rank), what, _cut(texts[doc])]
        for head, (doc, rank, what) in zip(heads, shown, strict=True)
    ]


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 1]}…"


def _failure(row: int, value: float, relevant: list[int], top: list[int]) -> _Failure | None:
    """None where the first documents are the relevant ones, or the corpus holds none of these."""
    ranked = [doc for doc in top if doc >= 0]
    rank = {doc: at for at, doc in enumerate(ranked, start=1)}
    if set(ranked[: len(relevant)]) <= set(relevant) and (
        len(ranked) == len(top) or all(doc in rank for doc in relevant)
    ):
        return None
    of = [(doc, rank.get(doc)) for doc in relevant]
    of.sort(key=lambda pair: -(pair[1] or len(top) + 1))
    first = [(doc, rank.get(doc)) for doc in ranked if doc not in relevant]
    return _Failure(row, value, of[:_RELEVANT], first[:_FIRST])
