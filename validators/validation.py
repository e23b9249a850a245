"""What a validation found: findings, and what was measured on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleState


@dataclass
class Validation:
    """What `validate` found.

    `statistics`: counts and histograms. `samples`: see `Samples.content`. `baselines`: see
    `query_blind_baselines`. `certificate`: of the qrel matrix, see `retgen.qrels`. `origin`: how
    well positives are told from hard negatives without the query, {} without any. `proven`: qrels
    whose labels were proven, 0 without a proof, and `proof` what was shown of each; `judged`: whose
    labels rest on a judge, all else being proven; `judges`: how good these were found to be.
    `reviewed`: people reviewed the set, and `human` labels are theirs. `splits`: that under test,
    then the others.
    """

    findings: list[Finding]
    statistics: dict[str, Any]
    baselines: dict[str, Any]
    certificate: dict[str, Any]
    origin: dict[str, Any] = field(default_factory=dict)
    proven: int = 0
    proof: str = ""
    judged: int = 0
    human: int = 0
    reviewed: bool = False
    judges: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, Any] = field(default_factory=dict)
    switched_off: dict[str, str] = field(default_factory=dict)
    splits: list[str] = field(default_factory=list)

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        return sum(finding.severity == "warning" for finding in self.findings)

    @property
    def ok(self) -> bool:
        """No error; warnings are allowed."""
        return self.errors == 0

    def to_json(self) -> dict[str, Any]:
        """The shape of `gen validate --json`."""
        return {
            "ok": self.ok,
            "errors": self.errors,
            "warnings": self.warnings,
            "findings": [finding.to_json() for finding in self.findings],
            "switched_off": self.switched_off,
            "split": self.splits[0] if self.splits else None,
            "proven_qrels": self.proven,
            "judged_qrels": self.judged,
            **({"human_qrels": self.human} if self.human or self.reviewed else {}),
            "statistics": self.statistics,
            "floors": self.baselines,
            "certificate": self.certificate,
            "origin": self.origin or None,
        }


_QUERIES = 3
_DOCUMENTS = 3


@dataclass
class _Picked(RuleState):
    texts: dict[str, str] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    count: int = 0

    def merge(self, later: Self, offset: int) -> None:
        self.texts |= later.texts
        self.first = [*self.first, *later.first][:_DOCUMENTS]
        self.positions += [offset + position for position in later.positions]
        self.count = offset + later.count


class Samples(CorpusRule):
    """The first queries with their documents, the first documents, where relevant ones stand.

    No rule: what a report shows of a data set, picked up while the corpus is read.
    """

    name = "samples"

    def __init__(self, judgements: Judgements) -> None:
        self.judgements = judgements
        answered = (q for q in judgements.queries if q.query_id in judgements.positives)
        self.queries = [query for query, _ in zip(answered, range(_QUERIES), strict=False)]
        self.wanted = frozenset(
            doc_id for query in self.queries for doc_id in judgements.positives[query.query_id][:5]
        )
        self.start()

    def start(self) -> None:
        self.state: _Picked = _Picked()

    def scan(self, batch: Batch) -> None:
        state, relevant = self.state, self.judgements.relevant_documents
        if len(state.first) < _DOCUMENTS:
            state.first = [*state.first, *batch.texts[:_DOCUMENTS]][:_DOCUMENTS]
        if not relevant.isdisjoint(batch.ids):
            for index, doc_id in enumerate(batch.ids):
                if doc_id in relevant:
                    state.positions.append(batch.first + index)
                    if doc_id in self.wanted:
                        state.texts[doc_id] = batch.texts[index]
        state.count = batch.first + len(batch)

    def findings(self) -> Iterator[Finding]:
        yield from ()

    def content(self) -> dict[str, Any]:
        """{"queries": [{"query", "relevant": [texts]}], "documents": [texts], "positions": [...]}.

        `positions`: relevant documents in each fiftieth of the corpus, (50,).
        """
        spread = [0] * 50
        for position in self.state.positions:
            spread[position * 50 // self.state.count] += 1
        return {
            "queries": [
                {"query": query.text, "relevant": self._texts(query.query_id)}
                for query in self.queries
            ],
            "documents": self.state.first,
            "positions": spread,
        }

    def _texts(self, query_id: str) -> list[str]:
        docs: Iterable[str] = self.judgements.positives[query_id][:5]
        return [self.state.texts[doc_id] for doc_id in docs if doc_id in self.state.texts]
