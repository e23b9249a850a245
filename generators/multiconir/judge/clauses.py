"""The clauses of a sentence: one a verb, with its subject, whom it is about, and what is denied.

A shallow reading without a grammar: a verb is told by its form and the word before it, its subject
is what stands before it since the last comma, conjunction or clause.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from retgen.generators.multiconir.judge.clause import Clause
from retgen.generators.multiconir.judge.lists import words
from retgen.generators.multiconir.judge.owners import agent, stranger
from retgen.generators.multiconir.judge.reader import Reader
from retgen.generators.multiconir.judge.tokens import Concept, sentences, units_of


@dataclass(slots=True, eq=False)
class Sentence:
    """A sentence of `text[start:end]` as its clauses."""

    text: str
    start: int
    end: int
    clauses: list[Clause]
    concepts: list[Concept]
    said: frozenset[str]  # all that its words imply, and the units of its values


@lru_cache(maxsize=4096)
def read(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text."""
    return tuple(_sentence(text, start, end) for start, end in sentences(text))


def _sentence(text: str, start: int, end: int) -> Sentence:
    units = units_of(text, start, end)
    reader = Reader(units)
    for i in range(len(units)):
        reader.take(i)
    clauses = _finished(reader)
    concepts = [unit.concept for unit in units if unit.concept is not None]
    for position, concept in enumerate(concepts):
        concept.position = position
        if concept.kind == "name":
            names = [c for c in concepts if c.kind == "name" and c.phrase == concept.phrase]
            concept.share = 1 / len(names)
    said = frozenset().union(*(c.implies or (c.key,) for c in concepts))
    return Sentence(text, start, end, clauses, concepts, said)


def _finished(reader: Reader) -> list[Clause]:
    """Loose ends joined, roles of verbless clauses set, owners found."""
    reader.settle(reader.clause)
    relations = words("relations")
    clauses: list[Clause] = []
    for clause in reader.clauses:
        if not clause.finite:
            for concept in clause.concepts:
                if concept.role == "s":
                    concept.role = "o"
            other = any(c.key in relations for c in clause.concepts[:2]) or clause.contrast
            if clauses and not other:
                clauses[-1].concepts += clause.concepts
                clauses[-1].end = max(clauses[-1].end, clause.end)
                continue
            if clauses and other:  # "..., her brother in Vienna": the verb is not said again
                clause.verb, clause.subject = clauses[-1].verb, clause.concepts[:1]
                clause.own_subject = True
        if clause.concepts or clause.finite:
            clauses.append(clause)
    first = (c for c in clauses if not c.subordinate and (c.own_subject or c.by_pronoun))
    main = next(first, None)
    if main is not None and (main.by_pronoun or stranger(main, True)):
        main = None
    names = {c.key for c in main.subject if c.kind == "name"} if main else set()
    previous = ""
    for clause in clauses:
        if clause.passive:
            for concept in clause.subject:
                if concept.role == "s" and concept in clause.concepts:
                    concept.role = "o"
        if clause.owner == "inherit":
            clause.owner = previous if clause.parent is None else clause.parent.owner
        elif doer := agent(clause):
            clause.owner = doer
        elif clause.own_subject:
            clause.owner = stranger(clause, clause is main)
            own = {c.key for c in clause.subject if c.kind == "name"}
            if not clause.owner and own and names and not own & names and clause is not main:
                clause.owner = " ".join(sorted(own))
        previous = clause.owner if clause.owner != "inherit" else ""
    return clauses
