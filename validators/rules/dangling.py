"""Qrels that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from retgen.validators.rule import Batch, Finding, JudgedRule, RuleState


@dataclass
class _Seen(RuleState):
    seen: set[str] = field(default_factory=set)


class DanglingDocuments(JudgedRule):
    """Qrels whose document or query does not exist."""

    name = "dangling-qrel"
    severity = "error"
    finds = "qrels of any split whose query or document does not exist"
    order = 90

    def start(self) -> None:
        self.state: _Seen = _Seen()

    def scan(self, batch: Batch) -> None:
        self.state.seen |= self.judgements.judged_documents.intersection(batch.ids)

    def findings(self) -> Iterator[Finding]:
        queries = {query.query_id for query in self.judgements.queries}
        for where, qrels in self.judgements.splits():
            for query_id, doc_id, _ in qrels:
                missing = []
                if query_id not in queries:
                    missing.append(f"query {query_id}")
                if doc_id not in self.state.seen:
                    missing.append(f"document {doc_id}")
                if missing:
                    yield self.finding(
                        [query_id, doc_id],
                        f"the qrel ({query_id}, {doc_id}){where} names {' and '.join(missing)}, "
                        f"which {'do' if len(missing) > 1 else 'does'} not exist",
                    )
