"""What a ladder becomes: documents, queries and qrels, the paper's flat tables, training data.

A row of each depends on its ladder alone, so tables of any length are made ladder by ladder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.generators.multiconir.checks import CONDITIONS
from retgen.generators.multiconir.ladders import (
    Ladder,
    LadderDocument,
    ladder_documents,
    padded_text,
    places,
)
from retgen.generators.records import BatchedRows, Row, Rows
from retgen.generators.tables import Ids
from retgen.streams import Permutation, Stream

STYLES = ("instruction", "descriptive")
PADDED = (512, 1024)  # words (paper, Appendix F.2)


def _per_ladder(ladders: int, each: int, make: Callable[[int], Sequence[Row]]) -> Rows:
    """A table with `each` rows for every ladder, which `make` gives."""

    def rows(start: int, stop: int) -> Iterator[Row]:
        for ladder in range(start // each, -(-stop // each)):
            before = ladder * each
            yield from make(ladder)[max(0, start - before) : stop - before]

    return BatchedRows(ladders * each, rows)


def instruction(opening: str, conditions: Sequence[str]) -> str:
    """An instruction-style query: exactly the conditions, numbered."""
    listed = [f"{number}. {text}" for number, text in enumerate(conditions, 1)]
    return "\n".join([opening, *listed])


def _of_drawn(ladder: Ladder, n: int) -> dict[str, Any]:
    """What is known of the first conditions of a drawn ladder."""
    if not ladder.expressions:
        return {}
    parts = ladder.expressions[:n]
    return {
        "wordings": ladder.wordings[:n],
        "strategies": ladder.strategies[:n],
        "expression": f'["and",{",".join(parts)}]' if n > 1 else parts[0],
    }


def _block(index: int, size: int) -> NDArray[np.int64]:
    """The numbers of a ladder's rows, of which every ladder has `size`."""
    return np.arange(index * size, (index + 1) * size)


class LadderTables:
    """All tables of a set of ladders.

    `opening`: of instruction-style queries. Documents of a ladder stand together in the corpus, in
    an order of their own, so that neither place nor id tells a rung. `judge`: agent and model.
    """

    def __init__(
        self,
        ladders: Sequence[Ladder],
        seed: int,
        singles: bool,
        opening: str,
        domain: str,
        judge: tuple[str, str],
    ) -> None:
        self.ladders, self.seed, self.opening, self.domain = ladders, seed, opening, domain
        self.judge = judge
        self.rungs = ladder_documents(singles)
        self.chain = [rung for rung in self.rungs if rung.is_rung]
        self.singles = singles
        purpose = f"multiconir/ids/{domain}"  # sets of several domains can be joined
        self._doc_ids = Ids(seed, purpose, "d", len(ladders) * len(self.rungs))
        self._query_ids = Ids(seed, purpose, "q", len(ladders) * self.queries_per_ladder)
        self._known: tuple[int, Any] = -1, None
        # queries in another order than documents: a place in one tells nothing of the other
        self._order = Permutation(seed, f"multiconir/queries/{domain}", max(1, len(ladders)))

    @property
    def queries_per_ladder(self) -> int:
        """Queries of a ladder."""
        return len(STYLES) * CONDITIONS

    # --- the benchmark ----------------------------------------------------------------------

    def corpus(self) -> Rows:
        """Every document of every ladder."""
        return _per_ladder(len(self.ladders), len(self.rungs), self.documents_of)

    def queries(self) -> Rows:
        """Both styles of every number of conditions."""
        return _per_ladder(
            len(self.ladders), self.queries_per_ladder, lambda i: self.queries_of(self.turn(i))
        )

    def qrels(self) -> Rows:
        """Every query with every document of its ladder: 1 where all its conditions are met."""
        return self._labels(lambda asked, met: int(met == asked))

    def grades(self) -> Rows:
        """The same pairs: how many of the query's conditions are met."""
        return self._labels(lambda asked, met: met)

    def _labels(self, score: Callable[[int, int], int]) -> Rows:
        each = self.queries_per_ladder * len(self.rungs)
        return _per_ladder(len(self.ladders), each, lambda i: self._label_rows(self.turn(i), score))

    def turn(self, place: int) -> int:
        """The ladder whose queries stand at a place."""
        return int(self._order(np.array([place], np.int64))[0])

    def _corpus_order(self, index: int) -> list[tuple[str, LadderDocument]]:
        """(id, rung) of a ladder's documents as they stand in the corpus."""
        if self._known[0] != index:
            stream = Stream(self.seed, f"multiconir/corpus/{self.ladders[index].id}")
            order = stream.permutation(len(self.rungs)).tolist()
            ids = self._doc_ids.texts(_block(index, len(order)))
            result = [(name, self.rungs[i]) for name, i in zip(ids, order, strict=True)]
            self._known = index, result
        listed: list[tuple[str, LadderDocument]] = self._known[1]
        return listed

    def documents_of(self, index: int) -> list[dict[str, Any]]:
        """A ladder's documents as they stand in the corpus."""
        ladder = self.ladders[index]
        order = places(self.seed, ladder.id)
        return [
            {
                "_id": name,
                "title": "",
                "text": ladder.text(order, rung.broken),
                "metadata": {
                    "ladder": ladder.id,
                    "broken": sorted(c + 1 for c in rung.broken),
                    "orders": [1] if rung.is_rung else [],  # breaking orders; the paper has one
                },
            }
            for name, rung in self._corpus_order(index)
        ]

    def texts(self, ladder: Ladder, style: str) -> list[str]:
        """The queries of a style, the first for one condition, the last for ten."""
        if style == "descriptive":
            return list(ladder.queries)
        return [instruction(self.opening, ladder.conditions[:n]) for n in range(1, CONDITIONS + 1)]

    def queries_of(self, index: int) -> list[dict[str, Any]]:
        """A ladder's queries: ten in the first style, ten in the second."""
        ladder = self.ladders[index]
        ids = iter(self._query_ids.texts(_block(index, self.queries_per_ladder)))
        return [
            {
                "_id": next(ids),
                "text": text,
                "metadata": {
                    "ladder": ladder.id,
                    "domain": self.domain,
                    "style": style,
                    "conditions": n,
                    **_of_drawn(ladder, n),
                },
            }
            for style in STYLES
            for n, text in enumerate(self.texts(ladder, style), 1)
        ]

    def _label_rows(self, index: int, score: Callable[[int, int], int]) -> list[dict[str, Any]]:
        """`score`: of the conditions asked for and those met."""
        ids = self._query_ids.texts(_block(index, self.queries_per_ladder))
        documents = self._corpus_order(index)
        return [
            {
                "query-id": query,
                "corpus-id": name,
                "score": score(n, n - sum(c < n for c in rung.broken)),
            }
            for query, n in zip(ids, [*range(1, CONDITIONS + 1)] * len(STYLES), strict=True)
            for name, rung in documents
        ]

    # --- the paper's flat tables ------------------------------------------------------------

    def tables(self) -> dict[str, Rows]:
        """Task 1, tasks 2 and 3, task 4 at two lengths; verdicts."""
        made = {
            "task1": (len(STYLES), self._task1),
            "task2_3": (len(STYLES), self._task2_3),
            **{f"task4_{words}": (len(STYLES), self._task4(words)) for words in PADDED},
            "verdicts": (2 * CONDITIONS, self._verdicts),
        }
        return {
            name: _per_ladder(len(self.ladders), each, make) for name, (each, make) in made.items()
        }

    def _flat(self, ladder: Ladder, style: str, documents: Sequence[str]) -> dict[str, Any]:
        row: dict[str, Any] = {"id": ladder.id, "style": style}
        row |= {f"Query{n}": text for n, text in enumerate(self.texts(ladder, style), 1)}
        return row | {f"HN{i}" if i else "Positive": text for i, text in enumerate(documents)}

    def _plain(self, ladder: Ladder) -> list[str]:
        order = places(self.seed, ladder.id)
        return [ladder.text(order, rung.broken) for rung in self.chain]

    def _task1(self, index: int) -> list[dict[str, Any]]:
        ladder = self.ladders[index]
        documents = self._plain(ladder)[:2]
        return [self._flat(ladder, style, documents) for style in STYLES]

    def _task2_3(self, index: int) -> list[dict[str, Any]]:
        ladder = self.ladders[index]
        documents = self._plain(ladder)
        return [self._flat(ladder, style, documents) for style in STYLES]

    def _task4(self, words: int) -> Callable[[int], list[dict[str, Any]]]:
        def make(index: int) -> list[dict[str, Any]]:
            ladder = self.ladders[index]
            order = places(self.seed, ladder.id)
            documents = [
                padded_text(
                    [(ladder.rewrites if c in rung.broken else ladder.sentences)[c] for c in order],
                    words,
                )
                for rung in self.chain
            ]
            return [self._flat(ladder, style, documents) for style in STYLES]

        return make

    # --- evidence ---------------------------------------------------------------------------

    def _verdicts(self, index: int) -> list[dict[str, Any]]:
        """Why each condition is met or not, and which labels count it.

        The grade of a query and a document is the number of its rows with verdict "satisfied" that
        name both; the document is relevant where all conditions of the query are satisfied.
        """
        ladder, (agent, model) = self.ladders[index], self.judge
        queries, documents = self.queries_of(index), self._corpus_order(index)
        rows = []
        for one in ladder.verdicts:
            c, rewritten = one["condition"] - 1, one["of"] == "rewrite"
            rows.append(
                {
                    "ladder": ladder.id,
                    "condition": c + 1,
                    "of": one["of"],
                    "asked": ladder.conditions[c],
                    "text": (ladder.rewrites if rewritten else ladder.sentences)[c],
                    "verdict": one["verdict"],
                    "quote": one["quote"],
                    "agent": agent,
                    "model": model,
                    "query-ids": [q["_id"] for q in queries if q["metadata"]["conditions"] > c],
                    "corpus-ids": [
                        name for name, rung in documents if (c in rung.broken) == rewritten
                    ],
                }
            )
        return rows

    # --- training ---------------------------------------------------------------------------

    def training(self) -> dict[str, Rows]:
        """Triplets for embedders, listwise ladders and pairs for rankers.

        Triplets have HN1, which breaks the first condition of every query. In `singles` a query of
        n conditions has the document that breaks the n-th alone: every place is broken once.
        """
        made = {
            "triplets": (self.queries_per_ladder, self._triplets),
            "ladders": (len(STYLES), self._listwise),
            "pairs": (len(STYLES) * CONDITIONS, self._pairs),
        }
        if self.singles:
            made["singles"] = (self.queries_per_ladder, self._singles)
        return {
            name: _per_ladder(len(self.ladders), each, make) for name, (each, make) in made.items()
        }

    def _triplets(self, index: int) -> list[dict[str, Any]]:
        ladder = self.ladders[index]
        positive, negative = self._plain(ladder)[:2]
        return [
            {
                "anchor": row["text"],
                "positive": positive,
                "negative": negative,
                "query-id": row["_id"],
            }
            for row in self.queries_of(index)
        ]

    def _singles(self, index: int) -> list[dict[str, Any]]:
        ladder = self.ladders[index]
        order = places(self.seed, ladder.id)
        positive = ladder.text(order, frozenset())
        return [
            {
                "anchor": row["text"],
                "positive": positive,
                "negative": ladder.text(order, frozenset([row["metadata"]["conditions"] - 1])),
                "query-id": row["_id"],
            }
            for row in self.queries_of(index)
        ]

    def _listwise(self, index: int) -> list[dict[str, Any]]:
        documents = self._plain(self.ladders[index])
        labels = list(range(CONDITIONS, -1, -1))
        return [
            {"query": row["text"], "docs": documents, "labels": labels, "query-id": row["_id"]}
            for row in self.queries_of(index)
            if row["metadata"]["conditions"] == CONDITIONS
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
