"""Training pairs are the qrels in words: every text is read back and traced to its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import xxhash

from retgen.data import Query
from retgen.validators.limit.texts import LimitSpec
from retgen.validators.rows import RowFault, TablesProof
from retgen.validators.rule import Batch, Judgements, RuleState


@dataclass
class _Texts(RuleState):
    """Hashes of texts by the id of their document."""

    hashes: dict[str, int] = field(default_factory=dict)


class TrainingPairsProof(TablesProof):
    """The positive of a pair is relevant to its query, negatives are its hard negatives."""

    name = "limit-proof/training"
    state: _Texts

    def __init__(self, spec: LimitSpec, judgements: Judgements) -> None:
        self.spec, self.judgements = spec, judgements
        self.queries = {query.query_id: query for query in judgements.queries}
        self.wanted: set[str] = set()
        if spec.training:
            self.wanted |= judgements.relevant_documents
            self.wanted.update(one for query in judgements.queries for one in _negatives(query))
        super().__init__()

    def start(self) -> None:
        self.state = _Texts()

    def scan(self, batch: Batch) -> None:
        if not self.wanted.isdisjoint(batch.ids):
            for doc_id, text in zip(batch.ids, batch.texts, strict=True):
                if doc_id in self.wanted:
                    self.state.hashes[doc_id] = _hash(text)

    def tables(self) -> dict[str, Callable[[Any], None]]:
        return {"training/pairs.parquet": self._pair} if self.spec.training else {}

    def _pair(self, row: Mapping[str, Any]) -> None:
        query_id, hashes = row["query-id"], self.state.hashes
        query = self.queries.get(query_id)
        if query is None:
            raise RowFault("query", f"there is no query {query_id}", [str(query_id)])
        if row["anchor"] != query.text:
            raise RowFault("anchor", f"its anchor is not the text of query {query_id}", [query_id])
        texts = [text for key, text in row.items() if key.startswith("negative_")]
        for j, (text, doc_id) in enumerate(zip_longest(texts, _negatives(query)), start=1):
            if _hash(text) != hashes.get(doc_id):
                message = f"its negative_{j} is not the text of {doc_id}, a hard negative of query"
                raise RowFault("negative", f"{message} {query_id}", [query_id, str(doc_id)])
        relevant = {hashes.get(one) for one in self.judgements.positives.get(query_id, [])}
        if _hash(row["positive"]) not in relevant:
            message = f"its positive is no document that is relevant to query {query_id}"
            raise RowFault("positive", message, [query_id])


def _negatives(query: Query) -> list[str]:
    """The hard negatives in a query's metadata; what is no list of ids is another finding's."""
    listed = query.facts.get("hard_negatives")
    if isinstance(listed, list) and all(isinstance(one, str) for one in listed):
        return listed
    return []


def _hash(text: Any) -> int:
    """Of a text; a value that is none has no document's hash."""
    if not isinstance(text, str):
        return -1
    return xxhash.xxh3_128_intdigest(text.encode("utf-8", "surrogatepass"))
