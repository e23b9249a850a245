"""What a ladder becomes: documents, queries and qrels, the paper's flat tables, training data.

A row of each depends on its ladder alone, so tables of any length are made ladder by ladder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from retgen.generators.multiconir.checks import CONDITIONS
from retgen.generators.multiconir.ladders import (
    LADDER_DOCUMENTS,
    RUNGS,
    Ladder,
    draw_order,
    padded_text,
    places,
)
from retgen.generators.records import BatchedRows, Row, Rows
from retgen.generators.tables import Ids
from retgen.streams import Permutation

STYLES = ("instruction", "descriptive")
QUERIES = len(STYLES) * CONDITIONS  # of a ladder
# the paper's tables: how many documents of the ladder, and padded to how many words (Appendix F.2)
_TASKS: dict[str, tuple[int, int]] = {
    "task1": (2, 0),
    "task2_3": (len(RUNGS), 0),
    "task4_512": (len(RUNGS), 512),
    "task4_1024": (len(RUNGS), 1024),
}


class LadderTables:
    """All tables of a set of ladders.

    `opening`: of instruction-style queries. Documents of a ladder stand together in the corpus, in
    an order of their own, so that neither place nor id tells a rung. `judge`: agent and model,
    where one judged.
    """

    def __init__(
        self,
        ladders: Sequence[Ladder],
        seed: int,
        opening: str,
        domain: str,
        judge: Mapping[str, str],
    ) -> None:
        self.ladders, self.seed, self.opening, self.domain = ladders, seed, opening, domain
        self.judge = judge
        purpose = f"multiconir/ids/{domain}"  # sets of several domains can be joined
        self._doc_ids = Ids(seed, purpose, "d", len(ladders) * len(LADDER_DOCUMENTS))
        self._query_ids = Ids(seed, purpose, "q", len(ladders) * QUERIES)
        # queries in another order than documents: a place in one tells nothing of the other
        self._order = Permutation(seed, f"multiconir/queries/{domain}", max(1, len(ladders)))

    def _table(self, each: int, make: Callable[[int], Sequence[Row]]) -> Rows:
        """A table with `each` rows for every ladder, which `make` gives."""

        def rows(start: int, stop: int) -> Iterator[Row]:
            for ladder in range(start // each, -(-stop // each)):
                before = ladder * each
                yield from make(ladder)[max(0, start - before) : stop - before]

        return BatchedRows(len(self.ladders) * each, rows)

    # --- the benchmark ----------------------------------------------------------------------

    def corpus(self) -> Rows:
        """Every document of every ladder."""
        return self._table(len(LADDER_DOCUMENTS), self.documents_of)

    def queries(self) -> Rows:
        """Both styles of every number of conditions."""
        return self._table(QUERIES, lambda i: self.queries_of(self.turn(i)))

    def qrels(self) -> Rows:
        """Every query with every document of its ladder: 1 where all its conditions are met."""
        return self._labels(lambda asked, met: int(met == asked))

    def grades(self) -> Rows:
        """The same pairs: how many of the query's conditions are met."""
        return self._labels(lambda asked, met: met)

    def _labels(self, score: Callable[[int, int], int]) -> Rows:
        """`score`: of the conditions asked for and those met."""

        def rows(place: int) -> list[Row]:
            index = self.turn(place)
            asked = [*range(1, CONDITIONS + 1)] * len(STYLES)
            return [
                {
                    "query-id": query,
                    "corpus-id": name,
                    "score": score(n, n - sum(c < n for c in broken)),
                }
                for query, n in zip(self._ids_of_queries(index), asked, strict=True)
                for name, broken in self._corpus_order(index)
            ]

        return self._table(QUERIES * len(LADDER_DOCUMENTS), rows)

    def turn(self, place: int) -> int:
        """The ladder whose queries stand at a place."""
        return int(self._order(np.array([place], np.int64))[0])

    def _corpus_order(self, index: int) -> list[tuple[str, frozenset[int]]]:
        """(id, broken conditions) of a ladder's documents as they stand in the corpus."""
        count = len(LADDER_DOCUMENTS)
        order = draw_order(self.seed, f"multiconir/corpus/{self.ladders[index].id}", count)
        ids = self._doc_ids.texts(np.arange(index * count, (index + 1) * count))
        return [(name, LADDER_DOCUMENTS[i]) for name, i in zip(ids, order, strict=True)]

    def documents_of(self, index: int) -> list[dict[str, Any]]:
        """A ladder's documents as they stand in the corpus."""
        ladder = self.ladders[index]
        order = places(self.seed, ladder.id)
        return [
            {
                "_id": name,
                "title": "",
                "text": ladder.text(order, broken),
                "metadata": {
                    "ladder": ladder.id,
                    "broken": sorted(c + 1 for c in broken),
                    "orders": [1] if broken in RUNGS else [],  # breaking orders; the paper has one
                },
            }
            for name, broken in self._corpus_order(index)
        ]

    def texts(self, ladder: Ladder, style: str) -> list[str]:
        """The queries of a style, the first for one condition, the last for ten."""
        if style == "descriptive":
            return list(ladder.queries)
        listed = [f"{number}. {text}" for number, text in enumerate(ladder.conditions, 1)]
        return ["\n".join([self.opening, *listed[:n]]) for n in range(1, CONDITIONS + 1)]

    def queries_of(self, index: int) -> list[dict[str, Any]]:
        """A ladder's queries: ten in the first style, ten in the second."""
        ladder = self.ladders[index]
        ids = iter(self._ids_of_queries(index))
        return [
            {
                "_id": next(ids),
                "text": text,
                "metadata": {
                    "ladder": ladder.id,
                    "domain": self.domain,
                    "style": style,
                    "conditions": n,
                    **ladder.first(n),
                },
            }
            for style in STYLES
            for n, text in enumerate(self.texts(ladder, style), 1)
        ]

    def _ids_of_queries(self, index: int) -> list[str]:
        return self._query_ids.texts(np.arange(index * QUERIES, (index + 1) * QUERIES))

    # --- the paper's flat tables, and evidence ----------------------------------------------

    def tables(self) -> dict[str, Rows]:
        """Task 1, tasks 2 and 3, task 4 at two lengths; the verdicts of a judge."""
        made = {
            name: self._table(len(STYLES), partial(self._flat, *shape))
            for name, shape in _TASKS.items()
        }
        if self.judge:
            made["verdicts"] = self._table(2 * CONDITIONS, self._verdicts)
        return made

    def _flat(self, count: int, words: int, index: int) -> list[dict[str, Any]]:
        """Queries and the first documents of a ladder in a row, for each style."""
        ladder = self.ladders[index]
        order = places(self.seed, ladder.id)
        documents = {
            f"HN{i}" if i else "Positive": padded_text(ladder.pieces(order, broken), words)
            for i, broken in enumerate(RUNGS[:count])
        }
        return [
            {"id": ladder.id, "style": style}
            | {f"Query{n}": text for n, text in enumerate(self.texts(ladder, style), 1)}
            | documents
            for style in STYLES
        ]

    def _verdicts(self, index: int) -> list[dict[str, Any]]:
        """Why each condition is met by its sentence, and not by its rewrite."""
        ladder = self.ladders[index]
        texts = {"sentence": ladder.sentences, "rewrite": ladder.rewrites}
        return [
            {
                "ladder": ladder.id,
                "condition": one["condition"],
                "of": one["of"],
                "asked": ladder.conditions[one["condition"] - 1],
                "text": texts[one["of"]][one["condition"] - 1],
                "verdict": one["verdict"],
                "quote": one["quote"],
                **self.judge,
            }
            for one in ladder.verdicts
        ]

    # --- training ---------------------------------------------------------------------------

    def training(self) -> dict[str, Rows]:
        """Triplets for embedders, listwise ladders and pairs for rankers.

        Triplets have HN1, which breaks the first condition of every query. In `singles` a query of
        n conditions has the document that breaks the n-th alone: every place is broken once.
        """
        return {
            "triplets": self._table(QUERIES, partial(self._triplets, lambda n: 0)),
            "ladders": self._table(len(STYLES), self._listwise),
            "pairs": self._table(len(STYLES) * CONDITIONS, self._pairs),
            "singles": self._table(QUERIES, partial(self._triplets, lambda n: n - 1)),
        }

    def _triplets(self, broken: Callable[[int], int], index: int) -> list[dict[str, Any]]:
        """`broken`: the condition that the negative of a query with n conditions breaks."""
        ladder = self.ladders[index]
        order = places(self.seed, ladder.id)
        return [
            {
                "anchor": row["text"],
                "positive": ladder.text(order),
                "negative": ladder.text(order, frozenset([broken(row["metadata"]["conditions"])])),
                "query-id": row["_id"],
            }
            for row in self.queries_of(index)
        ]

    def _listwise(self, index: int) -> list[dict[str, Any]]:
        ladder = self.ladders[index]
        order = places(self.seed, ladder.id)
        documents = [ladder.text(order, broken) for broken in RUNGS]
        labels = list(range(CONDITIONS, -1, -1))
        return [
            {"query": row["text"], "docs": documents, "labels": labels, "query-id": row["_id"]}
            for row in self.queries_of(index)[CONDITIONS - 1 :: CONDITIONS]
        ]

    def _pairs(self, index: int) -> list[dict[str, Any]]:
        return [
            {
                "query": row["query"],
                "better": row["docs"][i],
                "worse": row["docs"][i + 1],
                "query-id": row["query-id"],
            }
            for row in self._listwise(index)
            for i in range(CONDITIONS)
        ]
