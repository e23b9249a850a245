"""Queries with operators are read as English, and what they ask for is looked up in the documents.

What a query means follows from its words alone: which attributes stand there, whether "or" or
"at least one of" joins them, and which of them "not" or "without" rules out. Neither the recipe's
list of phrasings nor the metadata is asked; the metadata has to say the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from retgen.data import Query
from retgen.validators.limit.spec import LimitSpec, error
from retgen.validators.rule import Finding, Judgements

_PHRASES = {  # of several words, and what they come to
    "not only": "both",
    "but also": "and",
    "and also": "and",
    "as well as": "and",
    "at least one of": "any",
    "which people": "who",
    "or both": "either",
}
_NOT = {"not", "without"}
_JOIN = {"and", "but", "or", "without"}
_VERBS = {"like", "likes", "liking"}
_KNOWN = _NOT | _JOIN | _VERBS | {"who", "do", "does", "both", "any", "either"}
_SLOT = "\0"


class OperatorQuestion(NamedTuple):
    """What a query asks for: all of `wanted` (one of them where `any_of`), none of `ruled_out`."""

    wanted: tuple[int, ...]
    ruled_out: tuple[int, ...]
    any_of: bool

    @property
    def attributes(self) -> tuple[int, ...]:
        """All, what is ruled out last."""
        return self.wanted + self.ruled_out

    @property
    def operator(self) -> str:
        """As metadata names it."""
        if self.any_of:
            return "or"
        return "-".join(["and"] * (len(self.wanted) - 1) + ["and-not"] * len(self.ruled_out))

    def answered_by(self, held: frozenset[int]) -> bool:
        """Whether a document that holds these of its attributes is relevant."""
        wanted = held.intersection(self.wanted)
        enough = bool(wanted) if self.any_of else len(wanted) == len(self.wanted)
        return enough and held.isdisjoint(self.ruled_out)

    def nearly_answered_by(self, held: frozenset[int]) -> bool:
        """Whether it is a hard negative: only what is ruled out, or one thing, is in its way."""
        wanted = held.intersection(self.wanted)
        if self.any_of:
            return False
        if self.ruled_out:
            return len(wanted) == len(self.wanted) and not held.isdisjoint(self.ruled_out)
        return len(wanted) == len(self.wanted) - 1


class QuestionReader:
    """Reads queries over a catalogue. `attributes`: text -> id."""

    def __init__(self, attributes: Mapping[str, int]) -> None:
        self.attributes = attributes
        longest = sorted(attributes, key=len, reverse=True)
        self._any = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")

    def read(self, text: str) -> OperatorQuestion | str:
        """What a query asks for, or why that cannot be told."""
        found = [self.attributes[name] for name in self._any.findall(text)]
        rest = self._any.sub(f" {_SLOT} ", text)
        if not rest.endswith("?"):
            return "its text is no question"
        words = rest[:-1].lower().replace(",", " ").split()
        plain = " ".join(words)
        for phrase, short in _PHRASES.items():
            plain = re.sub(rf"\b{phrase}\b", short, plain)
        words = plain.split()
        for word in words:
            if word != _SLOT and word not in _KNOWN:
                return f"{word!r} is neither an attribute that the recipe uses nor a word of asking"
        if words[:1] != ["who"]:
            return "its text does not ask who likes something"
        if len(set(found)) < len(found):
            return "it names an attribute twice"
        return _structure(found, words)


def _structure(found: list[int], words: list[str]) -> OperatorQuestion | str:
    """From the words between the attributes: those before each, and those after the last."""
    gaps: list[list[str]] = [[]]
    for word in words:
        if word == _SLOT:
            gaps.append([])
        else:
            gaps[-1].append(word)
    tail = gaps.pop()
    if not found or _VERBS.isdisjoint(gaps[0]):
        return "its text does not ask who likes something"
    if tail and tail != ["either"]:
        return f"nothing may stand behind its last attribute, {' '.join(tail)!r} does"
    wanted: list[int] = []
    ruled_out: list[int] = []
    negative = False
    for place, (attribute, before) in enumerate(zip(found, gaps, strict=True)):
        if place and _JOIN.isdisjoint(before) and not tail:
            return "no word joins its attributes"
        if negative and _NOT.isdisjoint(before) and _VERBS.isdisjoint(before):
            return "it does not say how far 'not' reaches"
        if sum(word in _NOT for word in before) > 1:
            return "it denies one thing twice"
        negative = not _NOT.isdisjoint(before)
        (ruled_out if negative else wanted).append(attribute)
    any_of = bool(tail) or any("or" in gap or "any" in gap for gap in gaps)
    result = OperatorQuestion(tuple(wanted), tuple(ruled_out), any_of)
    shapes = [(2, 0)] if any_of else [(2, 0), (1, 1), (2, 1)]
    if (len(wanted), len(ruled_out)) not in shapes:
        how = "one of" if any_of else "all of"
        return f"no operator asks for {how} {len(wanted)} attributes and rules out {len(ruled_out)}"
    if "and" in gaps[1] and (tail or "or" in gaps[1]):
        return "it says both 'and' and 'or'"
    return result


def read_questions(
    spec: LimitSpec, judgements: Judgements
) -> tuple[dict[str, OperatorQuestion], list[Finding]]:
    """What each query asks for, and the queries that cannot be read or say something else."""
    reader = QuestionReader(spec.attributes)
    result: dict[str, OperatorQuestion] = {}
    errors: list[Finding] = []
    asked: dict[int, str] = {}
    for query in judgements.queries:
        question = reader.read(query.text)
        if isinstance(question, str):
            errors.append(_of(query.query_id, question))
            continue
        result[query.query_id] = question
        facts = query.facts
        if facts.get("attributes") != list(question.attributes):
            errors.append(
                _of(query.query_id, "the attribute ids in its metadata are not those of its words")
            )
        if facts.get("operator") != question.operator:
            errors.append(
                _of(
                    query.query_id,
                    f"its metadata gives the operator {facts.get('operator')!r}, its words say "
                    f"{question.operator!r}",
                )
            )
        for attribute in question.attributes:
            if attribute in asked:
                message = f"queries {asked[attribute]} and {query.query_id} ask for the same thing"
                ids = [asked[attribute], query.query_id]
                errors.append(error("query", ids, f"{message}, attribute {attribute}"))
            asked.setdefault(attribute, query.query_id)
    return result, errors


def check_factorial(
    spec: LimitSpec,
    judgements: Judgements,
    questions: Mapping[str, OperatorQuestion],
    holders: Mapping[int, set[str]],
) -> Iterator[Finding]:
    """Every operator has every number of answers, with as much in its way.

    `holders`: documents of each attribute.
    """
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
        facts = query.facts
        cells[question.operator, answers] += 1
        if facts.get("answers") != answers:
            yield _of(
                query.query_id,
                f"{answers} documents answer it, its metadata says {facts.get('answers')}",
            )
        hard = [docs for held, docs in groups.items() if question.nearly_answered_by(held)]
        yield from _judged_zero(query, set().union(*hard), refused.get(query.query_id, set()))
        yield from _in_the_way(query.query_id, question, groups, answers)
    factorial = spec.factorial
    wanted = {(o, n): factorial.per_cell for o in factorial.operators for n in factorial.sizes}
    for cell in sorted(wanted.keys() | cells.keys(), key=str):
        if cells[cell] != wanted.get(cell, 0):
            yield error(
                "factorial",
                [],
                f"queries of '{cell[0]}' with {cell[1]} answers: {cells[cell]}, the recipe says "
                f"{wanted.get(cell, 0)}",
            )


def documents_by_combination(
    question: OperatorQuestion, holders: Mapping[int, set[str]]
) -> dict[frozenset[int], frozenset[str]]:
    """By combination of its attributes: the documents that hold these and none of the others."""
    every = question.attributes
    result = {}
    for count in range(1, len(every) + 1):
        for held in combinations(every, count):
            docs = set.intersection(*(holders.get(one, set()) for one in held))
            others = (holders.get(one, set()) for one in every if one not in held)
            result[frozenset(held)] = frozenset(docs.difference(*others))
    return result


def answers_of(question: OperatorQuestion, holders: Mapping[int, set[str]]) -> set[str]:
    """The documents that are relevant."""
    groups = documents_by_combination(question, holders)
    return set().union(*(docs for held, docs in groups.items() if question.answered_by(held)))


def _judged_zero(query: Query, hard: set[str], refused: set[str]) -> Iterator[Finding]:
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


def _in_the_way(
    query_id: str,
    question: OperatorQuestion,
    groups: Mapping[frozenset[int], frozenset[str]],
    answers: int,
) -> Iterator[Finding]:
    """What is no answer stands in as many documents; ways to answer have equally many.

    A single answer holds all that is wanted: nobody is asked for what nobody likes.
    """
    ways = [len(docs) for held, docs in groups.items() if question.answered_by(held)]
    if answers > 1 and max(ways) - min(ways) > 1:
        shown = ", ".join(map(str, sorted(ways)))
        message = f"its ways to be answered have {shown} documents, not equally many"
        yield error("factorial", [query_id], f"query {query_id}: {message}")
    if answers == 1 and not groups[frozenset(question.wanted)]:
        message = "its only answer does not hold all that it asks for"
        yield error("factorial", [query_id], f"query {query_id}: {message}")
    for held, docs in groups.items():
        if not question.answered_by(held) and len(docs) != answers:
            named = ", ".join(map(str, sorted(held)))
            message = f"of its attributes {len(docs)} documents hold {named} only, not {answers}"
            yield error("factorial", [query_id, *sorted(docs)], f"query {query_id}: {message}")


def _of(query_id: str, message: str) -> Finding:
    return error("query", [query_id], f"query {query_id}: {message}")
