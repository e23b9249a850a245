"""What a reader knows midway through a sentence: its clause, role and phrase, marks and denials."""

from __future__ import annotations

from collections.abc import Sequence

from retgen.generators.multiconir.judge.clause import Clause
from retgen.generators.multiconir.judge.grammar import CONTRAST, is_verb
from retgen.generators.multiconir.judge.tokens import Unit


class State:
    """A sentence read up to some unit."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.clause = Clause()
        self.clauses = [self.clause]
        self.role, self.phrase = "s", 0
        self.mark = 0  # where a subject of a next clause may begin
        self.mark_concepts = 0  # concepts of the clause before the mark
        self.marked = False
        self.relative = False
        self.subordinate = False
        self.group = False  # within "has been", before its participle
        self.denied = ""  # "", "clause" or "phrase"
        self.refusing = self.merely = False
        self.contrast = -1  # the last unit that told another of a kind apart
        self.begun = 0  # the unit that the clause begins with
        self.mark_role = "s"
        self.near_mark = -1  # the last comma or conjunction
        self.strong = False  # the mark is one of a clause for sure
        self.joint, self.joint_concepts = -1, 0  # the last "and" since a verb
        self.possessor = -1  # the phrase that opens with "her"
        self.nobody = -1  # the last "no", "none", ...
        self.opener = ""  # the last "when", "because", ...
        self.deny_next = False  # "denied that"

    def _add(self, unit: Unit) -> None:
        concept = unit.concept
        assert concept is not None
        concept.role, concept.phrase = self.role, self.phrase
        concept.negated = bool(self.denied)
        concept.possessed = self.possessor == self.phrase
        self.clause.concepts.append(concept)

    def _determiner(self) -> None:
        """A noun phrase begins: "In 2009 the accused was"."""
        self.group = False
        last = self.clause.concepts[-1:]
        if not self.clause.finite and last and last[0].phrase == self.phrase:
            self.role, self.phrase = "s", self.phrase + 1

    def _mark(self, i: int, relative: bool = False, subordinate: bool = False) -> None:
        low = self.units[i].low
        if low == "and" or (low == "," and (not self.clause.finite or self.joint < 0)):
            self.joint, self.joint_concepts = i, len(self.clause.concepts)
        before = self.units[i - 1].low if i else ""
        self.near_mark = i
        if self.strong and self.marked and low in ("and", "or", ","):
            return
        self.strong = (low in ("and", "or") and before == ",") or subordinate
        self.mark, self.marked = i, True
        self.mark_concepts = len(self.clause.concepts)
        if subordinate or relative:
            self.denied = ""
        self.relative, self.subordinate = relative, subordinate
        if subordinate:
            self.opener = low
        self.group = False
        self.mark_role = self.role

    def _open(self, unit: Unit, fresh: bool = False) -> None:
        old = self.clause
        self.settle(old)
        self.clause = Clause(start=unit.start, end=unit.end, parent=None)
        self.clauses.append(self.clause)
        self.role, self.phrase, self.mark_concepts = "s", self.phrase + 1, 0
        self.marked = self.relative = self.subordinate = self.group = False
        self.begun = self.units.index(unit)
        self.clause.opposed = unit.low in CONTRAST
        if fresh:
            self.denied, self.refusing = "", False

    def settle(self, clause: Clause) -> None:
        """Closes a clause."""
        clause.merely = clause.merely or self.merely
        if not clause.finite:
            clause.contrast = self.contrast >= self.begun

    def _resume(self, unit: Unit) -> None:
        """Back from a relative clause to the one it stands in."""
        self.settle(self.clause)
        parent = self.clause.parent
        assert parent is not None
        self.clause = parent
        self.role, self.denied, self.merely = "s", "", False
        self.mark_concepts = len(parent.concepts)

    def _is_verb(self, i: int) -> bool:
        return is_verb(self.units, i, self.group)
