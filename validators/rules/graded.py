"""Grades beside binary qrels: the same pairs, and a grade above 0 wherever a pair is relevant."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from typing import Self

from retgen.data import GRADED, Dataset
from retgen.validators.rule import Finding, Judgements, QueryRule, RuleContext


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
