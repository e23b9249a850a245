"""Training pairs: the qrels as texts, ready for sentence-transformers.

    {"anchor": "Who likes Marzipan?", "positive": "Geneva Durben likes Quokkas, ... and Sundials.",
     "query-id": "q0317465"}

A query's hard negatives stand beside them as negative_1, negative_2, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import orjson

from retgen.generators.limit.documents import Documents
from retgen.generators.records import Rows, rows_of


@dataclass(frozen=True)
class TrainingPairs:
    """A table with a row for each qrel (see `Rows`), worked out when it is asked for."""

    queries: Rows
    qrels: Rows
    corpus: Documents

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return self.qrels.count

    def jsonl(self, start: int, stop: int) -> bytes:
        """Pairs start..stop-1 as JSON Lines."""
        return self._table.jsonl(start, stop)

    @cached_property
    def _table(self) -> Rows:
        asked = {row["_id"]: row for row in _rows(self.queries, range(self.queries.count))}
        judged = list(_rows(self.qrels, range(self.qrels.count)))
        named = {row["corpus-id"] for row in judged}
        named.update(doc for row in asked.values() for doc in _negatives(row))
        ids = self.corpus.ids.texts(np.arange(self.corpus.count))
        places = [i for i, doc_id in enumerate(ids) if doc_id in named]
        texts = {row["_id"]: row["text"] for row in _rows(self.corpus, places)}

        def pair(i: int) -> Mapping[str, Any]:
            query = asked[judged[i]["query-id"]]
            result = {"anchor": query["text"], "positive": texts[judged[i]["corpus-id"]]}
            for j, doc_id in enumerate(_negatives(query), start=1):
                result[f"negative_{j}"] = texts[doc_id]
            return result | {"query-id": query["_id"]}

        return rows_of(pair, len(judged))


def _negatives(query: Mapping[str, Any]) -> list[str]:
    return list(query["metadata"].get("hard_negatives", ()))


def _rows(table: Rows, places: Iterable[int]) -> Iterator[dict[str, Any]]:
    for i in places:
        yield orjson.loads(table.jsonl(i, i + 1))
