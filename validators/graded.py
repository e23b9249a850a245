"""Grades beside binary qrels: the same pairs, and a grade above 0 wherever a pair is relevant."""

from __future__ import annotations

import math
from collections.abc import Iterator

from retgen.data import GRADED, Dataset
from retgen.validators.rule import Finding, Judgements

GRADED_QRELS = "graded-qrels"


def check_graded(
    dataset: Dataset, split: str, judgements: Judgements, *, pairs: bool
) -> Iterator[Finding]:
    """Findings about the tables of grades; nothing where there are none.

    `pairs`: compare the split's grades with its qrels, for which both are held in memory; a
    family's own proof may read them row by row instead.
    """
    for name in dataset.graded:
        if name not in dataset.qrels:
            told = f"{GRADED} has a split {name}, of which there are no qrels"
            yield Finding(GRADED_QRELS, "error", [name], told)
        kept = None if pairs and name == split else 0
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
                yield _error(query_id, doc_id, f"the pair {pair} is graded more than once")
            if not math.isfinite(grade) or grade < 0 or grade != int(grade):
                told = f"the grade of {pair} is {grade:g}; grades are whole numbers from 0"
                yield _error(query_id, doc_id, told)
            given[query_id, doc_id] = grade
        for query_id, doc_id, relevance in judgements.qrels:
            pair = f"({query_id}, {doc_id})"
            found = given.pop((query_id, doc_id), None)
            if found is None:
                yield _error(query_id, doc_id, f"the pair {pair} is judged but not graded")
            elif relevance > 0 and not found > 0:
                yield _error(query_id, doc_id, f"the pair {pair} is relevant, and its grade is 0")
        for query_id, doc_id in given:
            told = f"the pair ({query_id}, {doc_id}) is graded but not judged"
            yield _error(query_id, doc_id, told)


def _error(query_id: str, doc_id: str, message: str) -> Finding:
    return Finding(GRADED_QRELS, "error", [query_id, doc_id], message)
