"""Rules over qrels: a pair is judged once, by a whole number, and leads somewhere."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from retgen.data import GRADED, Dataset, Qrel, TextScore
from retgen.validators.rule import (
    Batch,
    Finding,
    JudgedRule,
    Judgements,
    QueryRule,
    RuleContext,
    RuleListing,
    RuleState,
)


class Qrels(QueryRule):
    """Pairs that are judged twice, and scores that are none, in every split."""

    name = "duplicate-qrel"
    severity = "error"
    finds = "a pair judged more than once in a split"
    also = (
        RuleListing(
            "score-range",
            "error",
            "a score that is not a whole number from 0; scores that are strings where the file's "
            "format has numbers",
        ),
    )
    order = 120

    def findings(self) -> Iterator[Finding]:
        for where, qrels in self.judgements.splits():
            yield from self._of(qrels, where)

    def _of(self, qrels: Sequence[Qrel], where: str) -> Iterator[Finding]:
        """`where`: what a message says of the split."""
        seen: set[tuple[str, str]] = set()
        texts: list[Qrel] = []
        for qrel in qrels:
            query_id, doc_id, relevance = qrel
            if (query_id, doc_id) in seen:
                yield Finding(
                    "duplicate-qrel",
                    "error",
                    [query_id, doc_id],
                    f"the pair ({query_id}, {doc_id}){where} is judged more than once",
                )
            seen.add((query_id, doc_id))
            if not math.isfinite(relevance) or relevance < 0 or relevance != int(relevance):
                yield Finding(
                    "score-range",
                    "error",
                    [query_id, doc_id],
                    f"the score of ({query_id}, {doc_id}){where} is {relevance:g}; "
                    "relevance is a whole number from 0",
                )
            if type(relevance) is TextScore:
                texts.append(qrel)
        if texts:
            query_id, doc_id, relevance = texts[0]
            yield Finding(
                "score-range",
                "error",
                list(dict.fromkeys(name for qrel in texts for name in qrel[:2])),
                f"{len(texts):,} of {len(qrels):,} scores{where} are strings, not numbers (that of "
                f'({query_id}, {doc_id}) is "{relevance:g}", for one)',
            )


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


class GradedQrels(QueryRule):
    """Tables of grades; nothing is said where there are none.

    `compares`: the split's grades with its qrels, for which both are held in memory; a family's own
    proof may read them row by row instead.
    """

    name = "graded-qrels"
    severity = "error"
    finds = (
        "grades beside binary qrels (`qrels_graded`) of other pairs, twice, no whole numbers from "
        "0, or 0 of a relevant pair; of a split without qrels"
    )
    order = 140

    def __init__(self, judgements: Judgements, compares: bool = True) -> None:
        super().__init__(judgements)
        self.compares = compares
        self._findings: list[Finding] = []

    @classmethod
    def from_context(cls, context: RuleContext) -> Self:
        return cls(context.judgements, cls.name not in context.covered)

    @classmethod
    def is_replaced(cls, covered: Container[str]) -> bool:
        """Never: no proof reads tables of other splits, nor rows that are none."""
        return False

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        self._findings = list(self._of(dataset, split))

    def findings(self) -> Iterator[Finding]:
        yield from self._findings

    def _of(self, dataset: Dataset, split: str) -> Iterator[Finding]:
        for name in dataset.graded:
            if name not in dataset.qrels:
                message = f"{GRADED} has a split {name}, of which there are no qrels"
                yield self.finding([name], message)
            kept = None if self.compares and name == split else 0
            grades, problems = dataset.read_graded(name, kept)
            table = dataset.graded[name]
            for place, problem in zip(
                table.places([problem.line for problem in problems]), problems, strict=True
            ):
                where = place.below(dataset.root)
                yield Finding("schema", "error", [where.name()], f"{where}: {problem.reason}")
            if kept is not None:
                continue
            given: dict[tuple[str, str], float] = {}
            for query_id, doc_id, grade in grades:
                pair = f"({query_id}, {doc_id})"
                if (query_id, doc_id) in given:
                    yield self.finding(
                        [query_id, doc_id], f"the pair {pair} is graded more than once"
                    )
                if not math.isfinite(grade) or grade < 0 or grade != int(grade):
                    message = f"the grade of {pair} is {grade:g}; grades are whole numbers from 0"
                    yield self.finding([query_id, doc_id], message)
                given[query_id, doc_id] = grade
            for query_id, doc_id, relevance in self.judgements.qrels:
                pair = f"({query_id}, {doc_id})"
                result = given.pop((query_id, doc_id), None)
                if result is None:
                    yield self.finding(
                        [query_id, doc_id], f"the pair {pair} is judged but not graded"
                    )
                elif relevance > 0 and not result > 0:
                    yield self.finding(
                        [query_id, doc_id], f"the pair {pair} is relevant, and its grade is 0"
                    )
            for query_id, doc_id in given:
                message = f"the pair ({query_id}, {doc_id}) is graded but not judged"
                yield self.finding([query_id, doc_id], message)
