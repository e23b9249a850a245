"""What a validation found: findings, and what was measured on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
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


_QUERIES, _DOCUMENTS, _POSITIVES = 3, 3, 5  # that are shown; positives of a query


@dataclass
class _Picked(RuleState):
    """Texts by id, the first texts, positions of relevant documents in the corpus, its size."""

    texts: dict[str, str] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    count: int = 0

    def merge(self, later: Self, offset: int) -> None:
        later.positions = [offset + position for position in later.positions]
        super().merge(later, offset)


class Samples(CorpusRule):
    """The first queries with their documents, the first documents, where relevant ones stand.

    No rule: what a report shows of a data set, picked up while the corpus is read.
    """

    name = "samples"

    def __init__(self, judgements: Judgements) -> None:
        positives = judgements.positives
        answered = (query for query in judgements.queries if query.query_id in positives)
        self._queries = {
            query.text: positives[query.query_id][:_POSITIVES]
            for query in islice(answered, _QUERIES)
        }
        self._wanted = {doc_id for docs in self._queries.values() for doc_id in docs}
        super().__init__(judgements)

    def start(self) -> None:
        self.state: _Picked = _Picked()

    def scan(self, batch: Batch) -> None:
        state, relevant = self.state, self.judgements.relevant_documents
        state.first += batch.texts[: _DOCUMENTS - len(state.first)]
        if not relevant.isdisjoint(batch.ids):
            for index, doc_id in enumerate(batch.ids):
                if doc_id in relevant:
                    state.positions.append(batch.first + index)
                    if doc_id in self._wanted:
                        state.texts[doc_id] = batch.texts[index]
        state.count += len(batch)

    def findings(self) -> Iterator[Finding]:
        yield from ()

    def content(self) -> dict[str, Any]:
        """{"queries": [{"query", "relevant": [texts]}], "documents": [texts], "positions": [...]}.

        `positions`: relevant documents in each fiftieth of the corpus, (50,).
        """
        spread, texts = [0] * 50, self.state.texts
        for position in self.state.positions:
            spread[position * 50 // self.state.count] += 1
        queries = [
            {"query": query, "relevant": [texts[one] for one in docs if one in texts]}
            for query, docs in self._queries.items()
        ]
        documents = self.state.first[:_DOCUMENTS]
        return {"queries": queries, "documents": documents, "positions": spread}
