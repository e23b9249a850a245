"""Where a verb is read: the clause it belongs to, or the next one with its subject."""

from __future__ import annotations

from retgen.generators.multiconir.judge.clause import Clause
from retgen.generators.multiconir.judge.denial import Denying
from retgen.generators.multiconir.judge.grammar import ASPECT, FINITE, JOIN, MERELY, PRONOUNS
from retgen.generators.multiconir.judge.lists import words
from retgen.generators.multiconir.judge.tokens import Concept


class Verbs(Denying):
    """Opens clauses, one a verb."""

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
        elif i and self.units[i - 1].low == "without":
            self.denied = "clause"
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
            said = {unit.low for unit in self.units[self.begun : i]} & PRONOUNS
            clause.impersonal = said <= {"it", "there"}
        clause.subordinate = self.subordinate
        clause.opener = self.opener if self.subordinate else ""
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
        elif not self.marked and self.units[i - 1].low == "of" and clause.verb is not None:
            new.context = clause.context + clause.concepts  # "is accused of having killed"
        elif not self.marked and self.units[i - 1].low != "to" and clause.concepts:
            last = clause.concepts[-1]  # "a drama directed by"
            if not last.verb and last.value is None:
                new.context = [c for c in clause.concepts if c.phrase == last.phrase]
                new.subject = [*(clause.subject if clause.verb is None else []), *new.context]
