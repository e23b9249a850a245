"""The qrel matrix, rebuilt from what the documents hold, and compared with what the recipe says.

All functions are given `questions`, what each query asks for, and `holders`, the documents of each
attribute that is asked for, both read from the words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from retgen.data import Query
from retgen.validators.limit.texts import LimitSpec, Question, error, query_error
from retgen.validators.rule import Finding, Judgements

Questions = Mapping[str, Question]
Holders = Mapping[int, set[str]]
Groups = Mapping[frozenset[int], set[str]]


def hadamard_common(order: int) -> int:
    """Documents that any two queries of the Hadamard pattern share: (n - 2 sqrt n) / 4."""
    return (order - 2 * math.isqrt(order)) // 4


def documents_by_combination(question: Question, holders: Holders) -> Groups:
    """By combination of its attributes: the documents that hold these and none of the others."""
    every = question.attributes
    result = {}
    for count in range(1, len(every) + 1):
        for held in combinations(every, count):
            docs = set.intersection(*(holders.get(one, set()) for one in held))
            others = (holders.get(one, set()) for one in every if one not in held)
            result[frozenset(held)] = docs.difference(*others)
    return result


def rebuild(questions: Questions, holders: Holders) -> dict[str, set[str]]:
    """The relevant documents of each query."""
    return {
        query_id: set().union(
            *(
                docs
                for held, docs in documents_by_combination(question, holders).items()
                if question.answered_by(held)
            )
        )
        for query_id, question in questions.items()
    }


def check_qrels(
    spec: LimitSpec, judgements: Judgements, rebuilt: Mapping[str, set[str]]
) -> Iterator[Finding]:
    """The heart: documents that hold all a query asks for are exactly its relevant ones."""
    least, most = spec.row_sums
    for query_id, docs in rebuilt.items():
        stated = judgements.positives.get(query_id, [])
        for doc_id in sorted(docs.difference(stated)):
            yield error(
                "qrels",
                [query_id, doc_id],
                f"document {doc_id} holds what query {query_id} asks for, but qrels does not say "
                "that it is relevant",
            )
        for doc_id in sorted(set(stated) - docs):
            yield error(
                "qrels",
                [query_id, doc_id],
                f"qrels says that document {doc_id} is relevant to query {query_id}, but its text "
                "does not hold what the query asks for",
            )
        if not least <= len(stated) <= most:
            bound = str(least) if least == most else f"{least} to {most}"
            message = f"query {query_id} has {len(stated)} relevant documents, not {bound}"
            yield error("row-sum", [query_id, *stated], message)
    for qrel in judgements.qrels:
        if qrel.relevance not in (0, 1):
            yield error(
                "relevance",
                [qrel.query_id, qrel.doc_id],
                f"the relevance of ({qrel.query_id}, {qrel.doc_id}) is {qrel.relevance:g}; in this "
                "family it is 0 or 1",
            )


def check_hard_negatives(
    spec: LimitSpec, judgements: Judgements, questions: Questions, holders: Holders
) -> Iterator[Finding]:
    """Of conditions each is met alone in so many documents, which the metadata lists."""
    listed = {one.query_id: one.facts.get("hard_negatives") for one in judgements.queries}
    for query_id, question in questions.items():
        union: set[str] = set()
        for held, alone in documents_by_combination(question, holders).items():
            if len(held) < len(question.attributes):
                union |= alone
                if len(alone) < spec.hard_negatives:
                    yield error(
                        "hard-negatives",
                        [query_id, *sorted(alone)],
                        f"query {query_id} has {len(alone)} documents with only attribute "
                        f"{min(held)}, not {spec.hard_negatives}",
                    )
        if listed[query_id] != sorted(union):
            yield error(
                "hard-negatives",
                [query_id, *(listed[query_id] or [])],
                f"the hard negatives in the metadata of query {query_id} are not the documents "
                "that hold exactly one of its attributes",
            )


# --- the matrix as a whole ------------------------------------------------------------------------


def check_matrix(
    spec: LimitSpec,
    judgements: Judgements,
    rebuilt: Mapping[str, set[str]],
) -> Iterator[Finding]:
    """Sums, distinct rows and shared documents."""
    yield from _check_sums(spec, judgements)
    if spec.factorial is None:
        twins: dict[frozenset[str], str] = {}
        for query_id, docs in rebuilt.items():
            if docs and (other := twins.setdefault(frozenset(docs), query_id)) != query_id:
                message = f"queries {other} and {query_id} have the same relevant documents"
                yield error("twin-queries", [other, query_id], message)
    if spec.common_documents is not None:
        yield from _check_shared_documents(rebuilt, spec.common_documents)


def _check_sums(spec: LimitSpec, judgements: Judgements) -> Iterator[Finding]:
    """As many relevant documents, and as many queries to each, as the pattern has."""
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


def _check_shared_documents(rebuilt: Mapping[str, set[str]], common: int) -> Iterator[Finding]:
    """Any two queries share exactly `common` documents, counted through an incidence matrix."""
    ids = list(rebuilt)
    columns = {d: j for j, d in enumerate(sorted(set().union(*rebuilt.values())))}
    incidence = np.zeros((len(ids), len(columns)), np.float32)
    for i, query_id in enumerate(ids):
        incidence[i, [columns[d] for d in rebuilt[query_id]]] = 1
    shared = incidence @ incidence.T
    np.fill_diagonal(shared, common)
    for i, j in np.argwhere(np.triu(shared != common)).tolist():
        yield error(
            "common-documents",
            [ids[i], ids[j]],
            f"queries {ids[i]} and {ids[j]} share {int(shared[i, j])} documents, not {common}",
        )


# --- operators ------------------------------------------------------------------------------------


def check_factorial(
    spec: LimitSpec, judgements: Judgements, questions: Questions, holders: Holders
) -> Iterator[Finding]:
    """Every operator has every number of answers, with as much in its way."""
    if spec.factorial is None:
        return
    refused: dict[str, set[str]] = {}
    for qrel in judgements.qrels:
        if qrel.relevance == 0:
            refused.setdefault(qrel.query_id, set()).add(qrel.doc_id)
    cells: Counter[tuple[str, Any]] = Counter()
    for query in judgements.queries:
        question = questions.get(query.query_id)
        if question is None:
            continue
        groups = documents_by_combination(question, holders)
        answers = sum(len(docs) for held, docs in groups.items() if question.answered_by(held))
        cells[question.operator, answers] += 1
        if query.facts.get("answers") != answers:
            message = f"{answers} documents answer it, its metadata says "
            yield query_error(query.query_id, f"{message}{query.facts.get('answers')}")
        hard = [docs for held, docs in groups.items() if question.nearly_answered_by(held)]
        yield from _check_zeros(query, set().union(*hard), refused.get(query.query_id, set()))
        for message, ids in _check_combinations(question, groups, answers):
            where = f"query {query.query_id}: {message}"
            yield error("factorial", [query.query_id, *sorted(ids)], where)
    operators, sizes, per_cell = spec.factorial
    wanted = {(operator, size): per_cell for operator in operators for size in sizes}
    for cell in sorted(wanted.keys() | cells.keys(), key=str):
        if cells[cell] != wanted.get(cell, 0):
            yield error(
                "factorial",
                [],
                f"queries of '{cell[0]}' with {cell[1]} answers: {cells[cell]}, the recipe says "
                f"{wanted.get(cell, 0)}",
            )


def _check_zeros(query: Query, hard: set[str], refused: set[str]) -> Iterator[Finding]:
    """Judged 0 are all hard negatives and no other documents, and the metadata count them."""
    for doc_id in sorted(hard ^ refused):
        why = "is a hard negative of query {} but is not judged 0"
        if doc_id in refused:
            why = "is judged 0 for query {}, but its text makes it no hard negative"
        message = f"document {doc_id} {why.format(query.query_id)}"
        yield error("hard-negatives", [query.query_id, doc_id], message)
    if (stated := query.facts.get("hard_negatives")) != len(hard):
        message = f"{len(hard)} documents are its hard negatives, its metadata says {stated}"
        yield error("hard-negatives", [query.query_id], f"query {query.query_id}: {message}")


def _check_combinations(
    question: Question, groups: Groups, answers: int
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
