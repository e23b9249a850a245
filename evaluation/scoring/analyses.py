"""What `gen eval` looks at beside means over all queries, where it is asked to.

Scores by the values of a column (`by_column`), and the worst queries of each system, with what was
ranked first in place of what is relevant. A query is a failure where something else stands among
its first documents while relevant ones are left. The worst have the lowest score by the primary
measure; of equal ones the first of the data set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset
from retgen.evaluation.scoring.by_column import break_down, values_of
from retgen.evaluation.scoring.result import Part, Score, primary_of
from retgen.results.page import Fold, Section
from retgen.results.tables import TableView
from retgen.search.collection import Collection
from retgen.statistics.clustered import Units

_SETS = {"KW", "SM"}  # CapRetrieval's two sets of queries, which are shown apart


@dataclass(frozen=True)
class Analyses:
    """`by`: columns of the queries to break scores down by. `worst`: the worst queries.

    `complete`: pairs without a qrel are known to be not relevant, whatever the data set says of
    itself.
    """

    by: tuple[str, ...] = ()
    worst: bool = False
    complete: bool = False

    def check(self, datasets: Mapping[Path, Dataset]) -> None:
        """Raises `UsageError` for a column that no query has."""
        for path, dataset in datasets.items():
            for column in self.by:
                values_of(dataset, column, path)


def analyse(
    wanted: Analyses,
    collection: Collection,
    scores: Sequence[Score],
    tops: Sequence[tuple[Score, Top]],
    units: Units,
) -> list[Part]:
    """Keys of eval.json, and sections of the page and the terminal. `tops`: as of `failures`."""
    parts: list[Part] = []
    if not scores:
        return parts
    measure = primary_of(scores[0].names, collection)
    by = {
        column: break_down(column, values, collection, scores, units, measure)
        for column, values in _columns(wanted, collection).items()
    }
    if by:
        keys = {column: of for column, (of, _) in by.items()}
        parts.append(({"by": keys}, [section for _, section in by.values()]))
    if wanted.worst:
        worst, section = failures(collection, tops, measure)
        parts.append(({"worst": worst}, [section]))
    return parts


def _columns(wanted: Analyses, collection: Collection) -> dict[str, Mapping[str, str]]:
    if columns := wanted.by or collection.breakdown:
        return {one: values_of(collection.dataset, one, collection.path) for one in columns}
    sets = {
        query.query_id: query.metadata["set"]
        for query in collection.queries
        if isinstance(query.metadata, dict) and query.metadata.get("set") in _SETS
    }
    whole = len(sets) == len(collection.queries) and set(sets.values()) == _SETS
    return {"set": sets} if whole else {}


# --- the worst queries ----------------------------------------------------------------------------


DEPTH = 10  # documents of a ranking that are looked at
WORST = 20  # queries of a system
_RELEVANT, _FIRST, _CHARACTERS = 3, 3, 160  # documents shown of a query, and of a text

Top = NDArray[np.int64]  # (queries, DEPTH) documents, -1 where fewer were ranked


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
    relevant = relevant_documents(collection)
    every: list[tuple[Score, list[int], dict[int, dict[str, Any]]]] = []
    for score, top in tops:
        values = score.values[:, score.names.index(measure)].tolist()
        found = {
            row: {"query-id": query.query_id, measure: value, **missed}
            for row, (query, value, ranked) in enumerate(
                zip(collection.queries, values, top.tolist(), strict=True)
            )
            if (missed := _missed(collection, relevant[row], ranked))
        }
        worst = sorted(found, key=lambda row: values[row])[:WORST]
        every.append((score, worst, found))
    texts = _texts(collection, [found[row] for _, worst, found in every for row in worst])
    keys, folds = [], []
    for score, worst, found in every:
        row = {"model": score.model, "dim": score.dim, "failures": len(found)}
        keys.append({**row, "worst": [found[one] for one in worst]})
        if not found:
            continue  # the relevant documents stand first for every query
        asked = len(collection.queries)
        title = f"{score.label}: {len(found):,} of {asked:,} queries, the {len(worst):,} worst"
        head = ["query", measure, "rank", "", "document"]
        lines = [
            line
            for one in worst
            for line in _lines(collection.queries[one].text, found[one], measure, texts)
        ]
        folds.append(Fold(title, [TableView(head, lines, names=5, title=title)]))
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


def _missed(collection: Collection, relevant: list[int], top: list[int]) -> dict[str, Any] | None:
    """`relevant`: ranks by id (None beyond `DEPTH`), those that are missed first; `first`: what was
    ranked first, the relevant ones left out. None where the first documents are the relevant ones,
    or the corpus holds none of these.
    """
    ranked = [doc for doc in top if doc >= 0]
    rank = {doc: at for at, doc in enumerate(ranked, start=1)}
    if set(ranked[: len(relevant)]) <= set(relevant) and (
        len(ranked) == len(top) or all(doc in rank for doc in relevant)
    ):
        return None
    last_first = sorted(relevant, key=lambda doc: -rank.get(doc, len(top) + 1))[:_RELEVANT]
    others = [doc for doc in ranked if doc not in relevant][:_FIRST]
    return {
        name: {collection.doc_ids[doc].decode(): rank.get(doc) for doc in documents}
        for name, documents in (("relevant", last_first), ("first", others))
    }


def _texts(collection: Collection, failed: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The texts of all documents of failures, by id."""
    shown = {doc_id for one in failed for doc_id in (*one["relevant"], *one["first"])}
    places = collection.places(shown)
    texts = collection.texts(np.array(sorted(places.values()), np.int64))
    return {doc_id: _cut(texts[place]) for doc_id, place in places.items()}


def _lines(
    query: str, failed: Mapping[str, Any], measure: str, texts: Mapping[str, str]
) -> list[list[str]]:
    shown = [(what, *one) for what in ("relevant", "first") for one in failed[what].items()]
    heads = [[_cut(query), f"{failed[measure]:.4f}"], *[["", ""]] * (len(shown) - 1)]
    return [
        [*head, str(rank or f"{DEPTH + 1}+"), what * (what == "relevant"), texts[doc_id]]
        for head, (what, doc_id, rank) in zip(heads, shown, strict=True)
    ]


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 1]}…"
