"""The errors of a ranking's first documents, as far as labels and words tell them apart.

CapRetrieval (arXiv 2506.08592, §3) calls a relevant document that is not found a literal error
where it holds terms of the query, and a semantic one where it holds none. Words are compared as
stems without function words (`retgen.tokenizer`). What a document that is not relevant shares with
the query is counted too; whether a system generalised too far there takes a reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.scoring.scores import Score
from retgen.results.page import Section
from retgen.results.tables import TableView
from retgen.search.base import slug
from retgen.search.collection import Collection
from retgen.tokenizer import content_stems, stems, tokens
from retgen.write import make_folder, write_rows

DEPTH = 10
_BLOCK = 4096

Top = NDArray[np.int64]  # (queries, DEPTH) documents, -1 where fewer were ranked
Pair = tuple[int, int]  # row of a query, document


class Errors(NamedTuple):
    """One system. `missed`, `wrong`: pairs, those of a query together and by falling rank.

    `wrong` None: labels are incomplete, so nothing is known to be not relevant.
    """

    score: Score
    missed: list[Pair]
    wrong: list[Pair] | None


class Misses(NamedTuple):
    """All systems. `positives`: pairs to be found; `beyond`: those that `DEPTH` has no room for.

    `words`: how many of the query's words stand in the document: "all", "some" or "none".
    """

    systems: list[Errors]
    words: Mapping[Pair, str]
    positives: int
    beyond: int

    def to_json(self) -> dict[str, Any]:
        """The key `misses` of eval.json."""
        return {
            "depth": DEPTH,
            "positives": self.positives,
            "beyond_depth": self.beyond,
            "results": [
                {"model": one.score.model, "dim": one.score.dim, "missed": self._counts(one.missed)}
                | ({} if one.wrong is None else {"not_relevant": self._counts(one.wrong)})
                for one in self.systems
            ],
        }

    def _counts(self, pairs: Sequence[Pair]) -> dict[str, int]:
        counts = Counter(self.words[pair] for pair in pairs)
        return {"pairs": len(pairs)} | {how: counts[how] for how in ("all", "some", "none")}

    def section(self) -> Section:
        """The tables, with what they mean."""
        text = [
            f"Relevant documents that are not among a query's first {DEPTH}, by how many of the "
            "query's words stand in them: literal errors hold all or some, semantic ones none."
        ]
        notes = []
        if self.beyond:
            notes.append(
                f"{self.positives:,} documents are to be found; {self.beyond:,} of them are missed "
                f"by any ranking, for their queries have more than {DEPTH}"
            )
        rows, wrong = [], []
        for one in self.systems:
            of = self._counts(one.missed)
            rows.append([one.score.label, *(f"{count:,}" for count in of.values())])
            if one.wrong is not None:
                of = self._counts(one.wrong)
                counts = of["pairs"], of["all"] + of["some"], of["none"]
                wrong.append([one.score.label, *(f"{count:,}" for count in counts)])
        tables = [TableView(["system", "missed", "all words", "some words", "no word"], rows)]
        if wrong:
            head = ["system", f"not relevant in the first {DEPTH}", "share a word", "share none"]
            tables.append(TableView(head, wrong))
            notes.append(
                "whether a document that is not relevant is too general for its query takes a "
                "reader: misses/ lists the pairs"
            )
        else:
            notes.append(
                "labels are incomplete, so nothing is known to be not relevant; if all pairs were "
                "judged, say --complete"
            )
        title = "What is missed, and what stands in its place"
        return Section(title, text, tables, notes=notes)


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


def misses(collection: Collection, tops: Sequence[tuple[Score, Top]]) -> Misses:
    """The errors of all systems, whose first documents are given."""
    relevant = relevant_documents(collection)
    systems = []
    for score, top in tops:
        missed, wrong = [], []
        for row, positives in enumerate(relevant):
            ranked = [doc for doc in top[row].tolist() if doc >= 0]
            missed += [(row, doc) for doc in positives if doc not in ranked]
            wrong += [(row, doc) for doc in ranked if doc not in positives]
        systems.append(Errors(score, missed, wrong if collection.complete else None))
    pairs = {pair for one in systems for pair in (*one.missed, *(one.wrong or ()))}
    return Misses(
        systems,
        _words(collection, pairs),
        sum(map(len, relevant)),
        sum(max(0, len(positives) - DEPTH) for positives in relevant),
    )


def _words(collection: Collection, pairs: set[Pair]) -> dict[Pair, str]:
    rows: dict[int, list[int]] = {}
    for row, document in sorted(pairs):
        rows.setdefault(document, []).append(row)
    asked = [
        content_stems(query.text) or frozenset(stems(tokens(query.text)))
        for query in collection.queries
    ]
    result = {}
    for first, texts in collection.blocks(_BLOCK):
        for document, text in enumerate(texts, first):
            if document in rows:
                held = frozenset(stems(tokens(text)))
                for row in rows[document]:
                    shared = len(asked[row] & held)
                    whole = shared == len(asked[row])
                    result[row, document] = "none" if not shared else "all" if whole else "some"
    return result


def write_misses(folder: Path, collection: Collection, errors: Misses) -> None:
    """misses/NAME.jsonl: every pair that was counted."""
    make_folder(folder / "misses")
    for one in errors.systems:
        path = folder / "misses" / f"{slug(one.score.model, one.score.dim)}.jsonl"
        lines = (
            {
                "query-id": collection.queries[row].query_id,
                "corpus-id": collection.doc_ids[document].decode(),
                "error": error,
                "words": errors.words[row, document],
            }
            for error, pairs in (("missed", one.missed), ("not relevant", one.wrong or ()))
            for row, document in pairs
        )
        write_rows(path, lines)
