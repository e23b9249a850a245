"""Rules over qrels: a pair is judged once, by a whole number, and leads somewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from retgen.data import GRADED, HIGHEST_GRADE, Dataset, Qrel
from retgen.validators.rule import Batch, CorpusRule, Finding, QueryRule, RuleState
from retgen.validators.similar import hashes_of, repeated


class DuplicateQrels(QueryRule):
    """Pairs that are judged twice, in every split."""

    name = "duplicate-qrel"
    severity = "error"
    finds = "a pair judged more than once in a split"
    order = 120

    def findings(self) -> Iterator[Finding]:
        for where, qrels in self.judgements.splits():
            seen: set[tuple[str, str]] = set()
            maybe = repeated(f"{query_id}\0{doc_id}" for query_id, doc_id, _ in qrels)
            for query_id, doc_id, _ in compress(qrels, maybe):
                if (query_id, doc_id) in seen:
                    message = f"the pair ({query_id}, {doc_id}){where} is judged more than once"
                    yield self.finding([query_id, doc_id], message)
                seen.add((query_id, doc_id))


class ScoreRange(QueryRule):
    """Scores that are none, in every split."""

    name = "score-range"
    severity = "error"
    finds = (
        "a score that is not a whole number from 0 to 1,000; scores that are strings where the "
        "file's format has numbers"
    )
    order = 125

    def findings(self) -> Iterator[Finding]:
        for where, qrels in self.judgements.splits():
            for query_id, doc_id, relevance in qrels:
                if not 0 <= relevance <= HIGHEST_GRADE or relevance != int(relevance):
                    yield self.finding(
                        [query_id, doc_id],
                        f"the score of ({query_id}, {doc_id}){where} is {relevance:g}; "
                        f"relevance is a whole number from 0 to {HIGHEST_GRADE:,}",
                    )


@dataclass
class _Seen(RuleState):
    """Which documents that are judged exist."""

    seen: NDArray[np.bool_]


class DanglingDocuments(CorpusRule):
    """Qrels whose document or query does not exist."""

    name = "dangling-qrel"
    severity = "error"
    finds = "qrels of any split whose query or document does not exist"
    order = 90

    @cached_property
    def judged(self) -> NDArray[np.uint64]:
        """The hashes of all documents that are judged, ascending."""
        ids = (qrel.doc_id for _, qrels in self.judgements.splits() for qrel in qrels)
        return np.unique(hashes_of(ids))

    def start(self) -> None:
        self.state: _Seen = _Seen(np.zeros(len(self.judged), bool))

    def scan(self, batch: Batch) -> None:
        hashes = hashes_of(batch.ids)
        if len(self.judged):
            places = np.searchsorted(self.judged, hashes)
            self.state.seen[places[self.judged.take(places, mode="clip") == hashes]] = True

    def findings(self) -> Iterator[Finding]:
        queries = hashes_of(query.query_id for query in self.judgements.queries)
        documents = self.judged[self.state.seen]
        for where, qrels in self.judgements.splits():
            asked = np.isin(hashes_of(qrel.query_id for qrel in qrels), queries)
            there = np.isin(hashes_of(qrel.doc_id for qrel in qrels), documents)
            for place in np.flatnonzero(~(asked & there)).tolist():
                query_id, doc_id, _ = qrels[place]
                missing = [f"query {query_id}"] * (not asked[place])
                missing += [f"document {doc_id}"] * (not there[place])
                yield self.finding(
                    [query_id, doc_id],
                    f"the qrel ({query_id}, {doc_id}){where} names {' and '.join(missing)}, "
                    f"which {'do' if len(missing) > 1 else 'does'} not exist",
                )


class GradedQrels(QueryRule):
    """Tables of grades; nothing is said where there are none.

    The split's grades are compared with its qrels, for which both are held in memory. Where these
    are partial, a family's own proof reads them row by row instead.
    """

    name = "graded-qrels"
    severity = "error"
    finds = (
        "grades beside binary qrels (`qrels_graded`) of other pairs, twice, no whole numbers from "
        "0, or 0 of a relevant pair; of a split without qrels"
    )
    order = 140

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        self._dataset = dataset

    def findings(self) -> Iterator[Finding]:
        dataset = self._dataset
        for name, table in dataset.graded.items():
            if name not in dataset.qrels:
                message = f"{GRADED} has a split {name}, of which there are no qrels"
                yield self.finding([name], message)
            compares = name == self.judgements.split and not self.judgements.partial
            grades, problems = table.read(None if compares else 0)
            places = table.places([problem.line for problem in problems])
            for place, problem in zip(places, problems, strict=True):
                where = place.below(dataset.root)
                yield Finding("schema", "error", [where.name()], f"{where}: {problem.reason}")
            for query_id, doc_id, fault in self._compare(grades) if compares else ():
                yield self.finding([query_id, doc_id], f"the pair ({query_id}, {doc_id}) {fault}")

    def _compare(self, grades: Iterable[Qrel]) -> Iterator[tuple[str, str, str]]:
        given: dict[tuple[str, str], float] = {}
        for query_id, doc_id, grade in grades:
            if (query_id, doc_id) in given:
                yield query_id, doc_id, "is graded more than once"
            if not math.isfinite(grade) or grade < 0 or grade != int(grade):
                fault = f"has the grade {grade:g}; grades are whole numbers from 0"
                yield query_id, doc_id, fault
            given[query_id, doc_id] = grade
        for query_id, doc_id, relevance in self.judgements.qrels:
            result = given.pop((query_id, doc_id), None)
            if result is None:
                yield query_id, doc_id, "is judged but not graded"
            elif relevance > 0 and not result > 0:
                yield query_id, doc_id, "is relevant, and its grade is 0"
        for query_id, doc_id in given:
            yield query_id, doc_id, "is graded but not judged"
