"""Step 2, rebuild the matrix: which documents answer which query, by what their texts hold.

It is compared with the qrels in `proof`; here, with the pattern that the recipe names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from retgen.validators.limit.texts import LimitSpec, Question, error, query_error
from retgen.validators.rule import Finding, Judgements


class RebuiltMatrix:
    """The qrel matrix as the words of queries and documents have it.

    `questions`: query -> what it asks for. `held`: document -> the attributes in it that some query
    asks for. `combinations`: query -> combination of its attributes -> the documents that hold
    these and none of its others. `relevant`: query -> the documents that answer it.
    """

    def __init__(
        self, questions: Mapping[str, Question], held: Mapping[str, Sequence[int]]
    ) -> None:
        self.questions = questions
        holders: dict[int, set[str]] = defaultdict(set)
        for doc_id, attributes in held.items():
            for attribute in attributes:
                holders[attribute].add(doc_id)
        self.combinations = {
            query_id: _by_combination(question.attributes, holders)
            for query_id, question in questions.items()
        }
        self.relevant = {
            query_id: self.documents(query_id, question.answered_by)
            for query_id, question in questions.items()
        }

    def documents(self, query_id: str, wanted: Any) -> set[str]:
        """The documents of those combinations of a query's attributes that are wanted."""
        groups = self.combinations[query_id].items()
        return set().union(*(docs for combination, docs in groups if wanted(combination)))


def _by_combination(
    attributes: Sequence[int], holders: Mapping[int, set[str]]
) -> dict[frozenset[int], set[str]]:
    """By combination of some attributes: the documents that hold these and none of the others."""
    result = {}
    for count in range(1, len(attributes) + 1):
        for combination in combinations(attributes, count):
            docs = set.intersection(*(holders.get(one, set()) for one in combination))
            others = (holders.get(one, set()) for one in attributes if one not in combination)
            result[frozenset(combination)] = docs.difference(*others)
    return result


def check_pattern(
    spec: LimitSpec, judgements: Judgements, matrix: RebuiltMatrix
) -> Iterator[Finding]:
    """The matrix has the sums, the distinct rows and the shared documents of its pattern."""
    if spec.cells is not None:
        yield from _check_cells(spec.cells, judgements, matrix)
    relevant = judgements.relevant_documents
    if spec.relevant_documents not in (None, len(relevant)):
        yield error(
            "structure",
            [],
            f"{len(relevant)} documents are relevant to some query, the pattern has "
            f"{spec.relevant_documents}",
        )
    counts = Counter(d for docs in judgements.positives.values() for d in docs)
    for doc_id, count in sorted(counts.items()):
        if spec.column_sum not in (None, count):
            yield error(
                "structure",
                [doc_id],
                f"document {doc_id} is relevant to {count} queries, in the pattern each is to "
                f"{spec.column_sum}",
            )
    twins: dict[frozenset[str], str] = {}
    for query_id, docs in matrix.relevant.items() if spec.cells is None else ():
        if docs and (other := twins.setdefault(frozenset(docs), query_id)) != query_id:
            message = f"queries {other} and {query_id} have the same relevant documents"
            yield error("twin-queries", [other, query_id], message)
    if spec.common_documents is not None:
        yield from _check_shared_documents(matrix.relevant, spec.common_documents)


def _check_shared_documents(relevant: Mapping[str, set[str]], common: int) -> Iterator[Finding]:
    """Any two queries share exactly `common` documents, counted through an incidence matrix."""
    ids = list(relevant)
    columns = {d: j for j, d in enumerate(sorted(set().union(*relevant.values())))}
    incidence = np.zeros((len(ids), len(columns)), np.float32)
    for i, query_id in enumerate(ids):
        incidence[i, [columns[d] for d in relevant[query_id]]] = 1
    shared = incidence @ incidence.T
    np.fill_diagonal(shared, common)
    for i, j in np.argwhere(np.triu(shared != common)).tolist():
        yield error(
            "common-documents",
            [ids[i], ids[j]],
            f"queries {ids[i]} and {ids[j]} share {int(shared[i, j])} documents, not {common}",
        )


# --- operators ------------------------------------------------------------------------------------


def _check_cells(
    wanted: Mapping[tuple[str, int], int], judgements: Judgements, matrix: RebuiltMatrix
) -> Iterator[Finding]:
    """Every operator has every number of answers, with as much in its way."""
    cells: Counter[tuple[str, int]] = Counter()
    facts = {query.query_id: query.facts for query in judgements.queries}
    for query_id, question in matrix.questions.items():
        answers = len(matrix.relevant[query_id])
        cells[question.operator, answers] += 1
        if (stated := facts[query_id].get("answers")) != answers:
            yield query_error(
                query_id, f"{answers} documents answer it, its metadata says {stated}"
            )
        groups = matrix.combinations[query_id]
        for message, ids in _check_combinations(question, groups, answers):
            yield error("factorial", [query_id, *sorted(ids)], f"query {query_id}: {message}")
    for cell in sorted(wanted.keys() | cells.keys(), key=str):
        if cells[cell] != wanted.get(cell, 0):
            yield error(
                "factorial",
                [],
                f"queries of '{cell[0]}' with {cell[1]} answers: {cells[cell]}, the recipe says "
                f"{wanted.get(cell, 0)}",
            )


def _check_combinations(
    question: Question, groups: Mapping[frozenset[int], set[str]], answers: int
) -> Iterator[tuple[str, set[str]]]:
    """What is no answer stands in as many documents; ways to answer have equally many.

    A single answer holds all that is wanted: nobody is asked for what nobody likes.
    """
    ways = [len(docs) for held, docs in groups.items() if question.answered_by(held)]
    if answers > 1 and max(ways) - min(ways) > 1:
        shown = ", ".join(map(str, sorted(ways)))
        yield f"its ways to be answered have {shown} documents, not equally many", set()
    if answers == 1 and not groups[frozenset(question.wanted)]:
        yield "its only answer does not hold all that it asks for", set()
    for held, docs in groups.items():
        if not question.answered_by(held) and len(docs) != answers:
            named = ", ".join(map(str, sorted(held)))
            yield f"of its attributes {len(docs)} documents hold {named} only, not {answers}", docs
