"""A row of units cut into clauses, one a verb, in one pass from left to right."""

from __future__ import annotations

from retgen.generators.multiconir.judge.grammar import (
    AUX,
    BE,
    CONTRAST,
    DETERMINERS,
    HARD,
    JOIN,
    MERELY,
    OBJECTS,
    POSSESSIVE,
    REFUSING,
    RELATIVE,
    ROLES,
    SUBORDINATE,
)
from retgen.generators.multiconir.judge.lists import forms, words
from retgen.generators.multiconir.judge.verbs import Verbs


class Reader(Verbs):
    """Cuts a row of units into clauses, left to right."""

    def take(self, i: int) -> None:
        """Reads unit `i`; to be called for each in its turn."""
        unit = self.units[i]
        low = unit.low
        if unit.start >= 0 and self.clause.start < 0 and low not in JOIN:
            self.clause.start = unit.start
        if self._deny(i):
            return
        if low in MERELY and not self._judges(i):
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
