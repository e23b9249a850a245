"""Labels: an expression executed on facts, and the rows of queries, qrels and grades from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.facts.expressions import Expression, execute, grades
from retgen.facts.table import EntityTable

Entities = NDArray[np.int64]


class Labels(NamedTuple):
    """The judged documents of a query (n,), whether each is relevant (n,), and how many conditions
    it meets (n,).
    """

    documents: Entities
    relevant: NDArray[np.int64]
    met: NDArray[np.int64]

    @classmethod
    def of(
        cls, expression: Expression, table: EntityTable, others: Sequence[int] | Entities
    ) -> Labels:
        """All answers of an expression, then `others`: rows of the table that are none."""
        meets = execute(expression, table)
        documents = np.concatenate([np.flatnonzero(meets), np.asarray(others, np.int64)])
        met = grades(expression, table)[documents]
        return cls(documents, meets[documents].astype(np.int64), met.astype(np.int64))


class LabelledQuery(NamedTuple):
    """A query, what stands beside its text, and its labels."""

    text: str
    metadata: Mapping[str, Any]
    labels: Labels


class QueryTables:
    """The rows of queries, qrels and grades. `query_ids`: of each query; `doc_ids`: the ids of
    entities (n,).
    """

    def __init__(
        self,
        queries: Sequence[LabelledQuery],
        query_ids: Sequence[str],
        doc_ids: Callable[[Entities], Sequence[str]],
    ) -> None:
        self.queries, self._ids, self._doc_ids = queries, query_ids, doc_ids
        labels = [one.labels for one in queries]
        self._query = np.repeat(np.arange(len(queries)), [len(one.documents) for one in labels])
        self._labels = Labels(*(np.concatenate(column) for column in zip(*labels, strict=True)))
        self.qrels = len(self._query)

    def query(self, i: int) -> Mapping[str, Any]:
        """Row i of the queries."""
        one = self.queries[i]
        return {"_id": self._ids[i], "text": one.text, "metadata": one.metadata}

    def labels(
        self, score: Literal["relevant", "met"], start: int, stop: int
    ) -> Iterator[Mapping[str, Any]]:
        """Rows start..stop-1 of the qrels (`relevant`), or of the grades (`met`)."""
        documents = self._doc_ids(self._labels.documents[start:stop])
        scores = getattr(self._labels, score)[start:stop].tolist()
        for query, document, value in zip(self._query[start:stop], documents, scores, strict=True):
            yield {"query-id": self._ids[query], "corpus-id": document, "score": value}
