"""Training pairs are the qrels in words: every text is read back and traced to its record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import xxhash

from retgen.data import Dataset, Query
from retgen.validators.limit.spec import LimitSpec
from retgen.validators.rows import RowFaults, columns_of, read_rows
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleState

_FILE = "training/pairs.parquet"


@dataclass
class _Texts(RuleState):
    """Hashes of texts by the id of their document."""

    hashes: dict[str, int] = field(default_factory=dict)


class TrainingPairsProof(CorpusRule):
    """A row for each qrel, in their order: query, relevant document, hard negatives."""

    name = "limit-proof/training"
    state: _Texts

    def __init__(self, spec: LimitSpec, judgements: Judgements) -> None:
        self.spec = spec
        self.judgements = judgements
        self.queries = {query.query_id: query for query in judgements.queries}
        self.wanted: set[str] = set()
        if spec.training:
            self.wanted |= judgements.relevant_documents
            for query in judgements.queries:
                self.wanted.update(_negatives(query))
        self._findings: list[Finding] = []
        self.start()

    def start(self) -> None:
        self.state = _Texts()

    def scan(self, batch: Batch) -> None:
        if not self.wanted.isdisjoint(batch.ids):
            for doc_id, text in zip(batch.ids, batch.texts, strict=True):
                if doc_id in self.wanted:
                    self.state.hashes[doc_id] = _hash(text)

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        if dataset.run is None or not self.spec.training:
            return
        path = dataset.run / _FILE
        faults = RowFaults(self.name, _FILE)
        try:
            self._findings = [*self._columns(columns_of(path), faults), *self._rows(path, faults)]
        except (OSError, ValueError) as error:
            self._findings = [faults.of_file(f"it cannot be read: {error}")]

    def findings(self) -> Iterator[Finding]:
        yield from self._findings

    def _columns(self, stated: dict[str, str], faults: RowFaults) -> Iterator[Finding]:
        most = max((len(_negatives(query)) for query in self.judgements.queries), default=0)
        negatives = [f"negative_{j}" for j in range(1, most + 1)]
        right = dict.fromkeys(["anchor", "positive", *negatives, "query-id"], "string")
        if stated != right or list(stated) != list(right):
            message = ", ".join(f"{name} ({kind})" for name, kind in stated.items())
            yield faults.of_file(f"its columns are {message}, must be strings: {', '.join(right)}")

    def _rows(self, path: Any, faults: RowFaults) -> Iterator[Finding]:
        hashes = self.state.hashes
        right = [(q, d) for q, docs in self.judgements.positives.items() for d in docs]
        texts = {
            q: {hashes.get(d): d for d in docs} for q, docs in self.judgements.positives.items()
        }
        there: dict[tuple[str, str], int] = {}
        for number, row in enumerate(read_rows(path), start=1):
            query_id = row.get("query-id")
            query = self.queries.get(query_id)
            if query is None:
                faults.add("query", number, f"there is no query {query_id}", [str(query_id)])
                continue
            if row.get("anchor") != query.text:
                message = f"its anchor is not the text of query {query_id}"
                faults.add("anchor", number, message, [query_id])
            for j, doc_id in enumerate(_negatives(query), start=1):
                if _hash(row.get(f"negative_{j}")) != hashes.get(doc_id):
                    message = (
                        f"its negative_{j} is not the text of {doc_id}, a hard negative of query"
                    )
                    faults.add("negative", number, f"{message} {query_id}", [query_id, doc_id])
            result = texts.get(query_id, {}).get(_hash(row.get("positive")))
            if result is None:
                message = f"its positive is no document that is relevant to query {query_id}"
                faults.add("positive", number, message, [query_id])
            elif (query_id, result) in there:
                message = f"query {query_id} and document {result} stand in row"
                first = there[query_id, result]
                faults.add("twice", number, f"{message} {first:,} already", [query_id, result])
            else:
                there[query_id, result] = number
        yield from faults.findings()
        missing = [pair for pair in right if pair not in there]
        if missing:
            query_id, doc_id = missing[0]
            many = f" ({len(missing) - 1:,} more such pairs)" if len(missing) > 1 else ""
            message = f"no row for query {query_id} and its relevant document {doc_id}{many}"
            yield faults.of_file(message, [one for pair in missing for one in pair])
        elif not faults and list(there) != right:
            at = next(
                i for i, both in enumerate(zip(there, right, strict=True)) if len({*both}) > 1
            )
            yield faults.of_file(f"row {at + 1:,} is out of order: rows stand as in the qrels")


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
