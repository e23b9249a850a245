"""What the labels of drawn ladders follow from: the facts that their texts state.

The reader of `validators/facts` reads every sentence and rewrite to the fact that it states, and
every condition to its expression. Nothing of what the generator noted is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from retgen.validators.facts.queries import UnreadableQuery, domain_readers
from retgen.validators.facts.reader import Fact
from retgen.validators.multiconir.ladders import TEN, LadderRow


class LadderReader:
    """Reads the ladders of a domain of facts."""

    def __init__(self, path: Path, opening: str) -> None:
        # "Find a film that meets the following conditions:"
        self._relative = opening.partition(" meets ")[0].rpartition(" ")[2]
        self.domain, self._reader, self._queries = domain_readers(path)

    def faults(self, ladder: LadderRow) -> Iterator[str]:
        """What is wrong with a ladder."""
        begin = re.split(rf" (?:{self._relative}|whose) ", ladder.queries[0])[0]
        clauses = [_clause(one, self._relative) for one in ladder.conditions]
        for n, query in enumerate(ladder.queries, 1):
            if query != f"{begin} {_join_clauses(clauses[:n])}.":
                yield f"its descriptive query {n} does not ask for its first {n} conditions"
                return
        try:
            met = self._facts(ladder, ladder.sentences)
            broken = self._facts(ladder, ladder.rewrites)
        except ValueError as problem:
            yield str(problem)
            return
        if len({fact.slot for fact in met}) < TEN:
            yield "two of its sentences are about the same"
        for c, clause in enumerate(clauses):
            try:
                asked = self._queries.query(f"{begin} {clause}.")
            except UnreadableQuery as error:
                yield f"condition {c + 1} cannot be read: {error}"
                continue
            if met[c].slot != broken[c].slot or not self._meets(met[c], asked):
                yield f"condition {c + 1} asks {asked}, its sentence says {met[c]}"
            elif self._meets(broken[c], asked):
                yield f"condition {c + 1} asks {asked}, its rewrite says {broken[c]}"

    def _facts(self, ladder: LadderRow, texts: Sequence[str]) -> list[Fact]:
        """What each text says of the entity. Raises `ValueError`."""
        facts, problems = self._reader.document(ladder.title, " ".join(texts))
        own = [fact for fact in facts if fact.holder == "self"]
        if not problems and (len(own) != TEN or len(facts) > 2 * TEN):
            problems = [f"its sentences state {len(own)} facts of {ladder.title}, not ten"]
        if problems:
            raise ValueError(problems[0])
        return own

    def _meets(self, fact: Fact, asked: Any) -> bool:
        kind, slot, *values = asked
        if slot != fact.slot:
            return False
        of = self.domain.slots[slot]
        if kind == "within":
            return values[0] in of.values[fact.value].parents
        if kind == "between":
            value = fact.value if of.type == "date" else int(fact.value)
            low, high = values
            return (low is None or low <= value) and (high is None or value <= high)
        return kind == "is" and str(values[0]) == fact.value


def _clause(condition: str, relative: str) -> str:
    """A condition of a list as a relative clause."""
    lower = condition[:1].lower() + condition[1:]
    return lower if lower.startswith((f"{relative} ", "whose ")) else f"{relative} {lower}"


def _join_clauses(clauses: Sequence[str]) -> str:
    *first, last = clauses
    return f"{', '.join(first)} and {last}" if first else last
