"""A row of units cut into clauses, one a verb, in one pass from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from retgen.generators.multiconir.judge.grammar import (
    ASPECT,
    AUX,
    BE,
    CONTRAST,
    DETERMINERS,
    FINITE,
    HARD,
    JOIN,
    MERELY,
    NO,
    NOT,
    OBJECTS,
    POSSESSIVE,
    PRONOUNS,
    REFUSING,
    RELATIVE,
    ROLES,
    SUBORDINATE,
    is_verb,
)
from retgen.generators.multiconir.judge.lists import forms, words
from retgen.generators.multiconir.judge.tokens import Concept, Unit

__all__ = ["Clause", "Reader"]


@dataclass(slots=True, eq=False)
class Clause:
    """A verb with what belongs to it. `owner`: "" where it is about the subject of the text."""

    concepts: list[Concept] = field(default_factory=list)
    verb: Concept | None = None  # none of "be" and "have"
    finite: bool = False  # it has a verb group, "be" and "have" counted
    subject: list[Concept] = field(default_factory=list)
    owner: str = ""
    contrast: bool = False  # opened by "another", "a different", ...
    merely: bool = False  # hoped for, planned, reported: not said to be so
    passive: bool = False  # "was ordered"
    object_pronoun: bool = False  # "hides him"
    opposed: bool = False  # opened by "but", "while", ...
    context: list[Concept] = field(default_factory=list)  # said before, holds here too
    parent: Clause | None = None  # that a relative clause stands in
    own_subject: bool = False  # words before its verb, not taken over from another clause
    link: str = ""  # "before", "after": how it hangs on the clause before it
    by_pronoun: bool = False  # "she", where it is not
    subordinate: bool = False  # opened by "because", "after", ...
    start: int = -1
    end: int = -1


class Reader:
    """Cuts a row of units into clauses, left to right."""

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
        self.deny_next = False  # "denied that"

    def take(self, i: int) -> None:
        """Reads unit `i`; to be called for each in its turn."""
        unit = self.units[i]
        low = unit.low
        if unit.start >= 0 and self.clause.start < 0 and low not in JOIN:
            self.clause.start = unit.start
        if self._deny(i):
            return
        if low in MERELY:
            self.merely = True
        if low in REFUSING:
            self.refusing = True
        if low in OBJECTS and self.clause.finite and i:
            before_ = self.units[i - 1].concept
            nothing = i + 1 == len(self.units) or self.units[i + 1].concept is None
            self.clause.object_pronoun |= before_ is not None and before_.verb and nothing
        if low in HARD or low in CONTRAST:
            self._open(unit, fresh=True)
        elif low in RELATIVE:
            self._mark(i, relative=True)
        elif low in JOIN:
            if self.denied == "phrase" and low not in ("or", "nor", "and"):
                self.denied = ""
            parent = self.clause.parent
            if low == "," and parent and self.clause.finite and not parent.finite:
                self._resume(unit)
            self._mark(i)
            self.phrase += 1
            if low == "," and not self.clause.finite:
                self.role = "s"
        elif low in AUX and unit.concept is None:
            if not self.group:
                self._verb(i, None)
            self.group = True
        elif unit.concept is not None and self._is_verb(i):
            if self.group:
                self.clause.verb = unit.concept
                before = [u.low for u in self.units[max(0, i - 4) : i] if u.low in AUX]
                self.clause.passive = (
                    before[-1:] != [] and before[-1] in BE and (not low.endswith("ing"))
                )
            elif self._goes_on(i):
                unit.concept.verb = True
                self._add(unit)
                self.clause.end = max(self.clause.end, unit.end)
                return
            else:
                self._verb(i, unit.concept)
            unit.concept.verb = True
            following = self.units[i + 1].low if i + 1 < len(self.units) else ""
            unit.concept.weak = unit.concept.key in words("light") or (
                low in REFUSING and following == "to"
            )
            self.group = False
            self._add(unit)
            self.role = "o"
            self.phrase += 1
            if low in REFUSING and following != "to" and not self.clause.passive:
                self.denied = "phrase"
        elif low in ROLES and unit.concept is None:
            self.group = False
            if low in SUBORDINATE:
                self._mark(i, subordinate=True)
            if self.denied == "phrase" and low not in ("of", "in", "to", "by", "without"):
                self.denied = ""
            self.role = ROLES[low]
            if low in SUBORDINATE:
                self.mark_role = self.role
            self.phrase += 1
        elif low in SUBORDINATE:
            relative = low == "that" and i + 1 < len(self.units) and self._is_verb(i + 1)
            self._mark(i, relative=relative, subordinate=not relative)
        elif low in POSSESSIVE and unit.concept is None:
            self._determiner()
            self.possessor = self.phrase
        elif low == "'s" and unit.concept is None:
            for concept in self.clause.concepts:
                if concept.phrase == self.phrase:
                    concept.role = "of"  # "the baker's death" is "the death of the baker"
            self.phrase += 1
            self.possessor = self.phrase
        elif unit.concept is not None:
            self.group = False
            self._add(unit)
        else:
            if low in DETERMINERS and low != "'s":
                self._determiner()
        if low in forms("contrast"):
            self.contrast = i
        self.clause.end = max(self.clause.end, unit.end)

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
        self.group = False
        self.mark_role = self.role

    def _deny(self, i: int) -> bool:
        """Negation words; true where the unit needs no further look."""
        low = self.units[i].low
        following = self.units[i + 1].low if i + 1 < len(self.units) else ""
        if low in NOT or low.endswith("n't"):
            if following in ("only", "until", "just", "merely"):
                return True
            near = self.group or low != "not" or low.endswith("n't")
            near = near or (i + 1 < len(self.units) and self._is_verb(i + 1))
            if low.endswith("n't"):
                if not self.group:
                    self._verb(i, None)
                self.group = True
            self.denied = "clause" if near else "phrase"
            self.clause.end = max(self.clause.end, self.units[i].end)
            return True
        if low == "no" and following == "longer":
            self.denied = "clause"
            return True
        if low in NO and (low not in ("rather", "instead") or following in ("than", "of")):
            if low.startswith("den"):
                if not self._is_verb(i):
                    return False
                self._verb(i, None)
                self.group = False
                self.role = "o"
            self.denied = "phrase"
            self.nobody = i
            if low.startswith("den") and following == "that":
                self.deny_next = True
            return low != "unlike" and low != "without"
        if low in ("nothing", "nobody", "no-one"):
            if self.clause.verb is not None and self.clause.finite:
                self.clause.verb.negated = True
            else:
                self.denied, self.nobody = "phrase", i
            return True
        return False

    def _add(self, unit: Unit) -> None:
        concept = unit.concept
        assert concept is not None
        concept.role, concept.phrase = self.role, self.phrase
        concept.negated = bool(self.denied)
        concept.possessed = self.possessor == self.phrase
        self.clause.concepts.append(concept)

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

    def _verb(self, i: int, verb: Concept | None) -> None:
        """A verb group begins at unit `i`."""
        low = self.units[i].low
        clause = self.clause
        if clause.finite or self.relative:
            if clause.parent and not clause.parent.finite and not self.marked:
                self._resume(self.units[i])
                clause = self.clause
            else:
                clause = self._next(i)
        elif (
            low.endswith("ing") and verb is not None and any(c.role == "s" for c in clause.concepts)
        ):
            self.relative, self.mark_concepts = True, len(clause.concepts)
            clause = self._next(i)  # "a boy weighing 3 kg was born"
        infinitive = i > 0 and self.units[i - 1].low == "to"
        if not infinitive:
            self.merely = (self.merely and low in MERELY) or low in MERELY
        clause.merely = clause.merely or (self.merely and low not in MERELY)
        if self.refusing and infinitive:
            self.denied = "clause"
        elif self.deny_next and self.begun < i:
            self.denied, self.deny_next = "clause", False
        elif self.denied == "phrase":
            # "no dispute was settled", "neither side appealed"
            self.denied = "clause" if self.nobody >= self.begun else ""
        clause.finite = True
        clause.verb = verb
        first = next((n for n, c in enumerate(clause.concepts) if c.role == "s"), None)
        if first is not None:
            clause.subject = clause.concepts[first:]
            clause.own_subject = True
        elif any(unit.low in PRONOUNS for unit in self.units[self.begun : i]):
            clause.by_pronoun = True
        clause.subordinate = self.subordinate
        clause.contrast = self.contrast >= self.begun
        self.role, self.phrase, self.marked = "o", self.phrase + 1, False
        self.strong = False
        self.relative = self.subordinate = False

    def _next(self, i: int) -> Clause:
        """A clause of its own for the verb at `i`, with the subject that stands before it."""
        clause = self.clause
        moved: list[Concept] = []
        pronoun = False
        joined = self.units[self.mark].low if self.marked else ""
        if self.marked and not self.relative:
            between = self.units[self.mark + 1 : i]
            pronoun = any(unit.low in PRONOUNS for unit in between)
            moved = clause.concepts[self.mark_concepts :]
            before_preposition = [c for c in moved if c.role in ("s", self.mark_role)]
            if moved and not before_preposition and not pronoun:
                moved = []
            if self.near_mark == i - 1 and self.units[i - 1].low in ("and", "or", ","):
                moved = []
            if not moved and not pronoun and self.joint > 0:  # "and his neighbour, a baker, falls"
                since = clause.concepts[self.joint_concepts :]
                if since and since[0].key in words("relations"):
                    moved, self.mark = since, self.joint
        low = self.units[i].low
        if not self.marked and not self.relative and clause.concepts and low in FINITE:
            last_ = clause.concepts[-1]  # "claimed the fall was caused"
            if last_.role == "o" and not last_.verb and clause.verb is not None:
                moved = [c for c in clause.concepts if c.phrase == last_.phrase]
                self.mark_role = "o"
        antecedent: list[Concept] = []
        if self.relative and clause.concepts:
            last = clause.concepts[-1].phrase
            antecedent = [c for c in clause.concepts if c.phrase == last]
            if not clause.finite:
                antecedent = [c for c in clause.concepts if c.role == "s"]
        del clause.concepts[len(clause.concepts) - len(moved) :]
        self.settle(clause)
        start = self.units[self.mark if (self.marked and moved) or pronoun else i].start
        if moved and self.marked:
            start = min(moved[0].start, start) if joined not in JOIN else moved[0].start
            clause.end = self.units[self.mark].start
        new = Clause(start=start, end=start, concepts=moved)
        for concept in moved:
            concept.negated = self.nobody > self.mark
            if concept.role == self.mark_role:
                concept.role = "s"
        noun = clause.concepts[-1:]
        if noun and (
            joined == "where" or (joined in ("that", "which", "whom") and not noun[0].verb)
        ):
            last = noun[0].phrase
            new.context = [c for c in clause.concepts if c.phrase == last]
        if joined in ("before", "after", "until", "since"):
            new.link = joined
        if self.relative:
            new.parent, new.subject, new.own_subject = clause, antecedent, bool(antecedent)
        elif not moved and not pronoun:
            new.parent = clause.parent
            new.subject, new.owner = clause.subject, "inherit"
            self._share(i, clause, new)
            if self.units[i - 1].low == "to":  # "ordered the tenant to pay"
                objects = [c for c in clause.concepts if c.role == "o" and not c.verb]
                new.subject = [*clause.subject, *objects]
            if self.units[i - 1].low == "to" and (clause.verb is None or clause.verb.weak):
                # "the first woman to climb", "became the first woman to climb"
                new.subject = [c for c in clause.concepts if c.role in ("s", "o") and not c.verb]
        self.joint = -1
        self.clause, self.begun = new, self.mark if moved or pronoun or self.relative else i
        self.clauses.append(new)
        if joined not in ("or", "nor") and self.denied and self.nobody < self.begun:
            before = self.units[i - 1].low if i else ""
            if before not in ("not", "never", "to") and not before.endswith("n't"):
                self.denied = ""
        return new

    def _goes_on(self, i: int) -> bool:
        """Whether the verb at `i` belongs to "stopped", "began to" before it."""
        k = i - 2 if self.units[i - 1].low == "to" else i - 1
        verb = self.clause.verb
        return k >= 0 and verb is not None and self.units[k].concept is verb and verb.key in ASPECT

    def _share(self, i: int, clause: Clause, new: Clause) -> None:
        """What is said of one verb holds of the next: a fronted date; all, of a participle."""
        low = self.units[i].low
        if self.marked and self.units[self.mark].low in ("and", ",", "then"):
            first = clause.verb.start if clause.verb is not None else clause.start
            new.context = clause.context + [
                c for c in clause.concepts if c.role not in ("s", "o") and c.start < first
            ]
            if low.endswith("ing"):
                new.context = clause.context + [c for c in clause.concepts if not c.verb]
        elif not self.marked and self.units[i - 1].low != "to" and clause.concepts:
            last = clause.concepts[-1]  # "a drama directed by"
            if not last.verb and last.value is None:
                new.context = [c for c in clause.concepts if c.phrase == last.phrase]
                new.subject = [*(clause.subject if clause.verb is None else []), *new.context]

    def _is_verb(self, i: int) -> bool:
        return is_verb(self.units, i, self.group)
