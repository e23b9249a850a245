"""What is denied in a sentence: "not", "no", "denied", "refused to", and how far it reaches."""

from __future__ import annotations

from abc import abstractmethod

from retgen.generators.multiconir.judge.grammar import DETERMINERS, NO, NOT, OBJECTS
from retgen.generators.multiconir.judge.state import State
from retgen.generators.multiconir.judge.tokens import Concept


class Denying(State):
    """Reads words of negation. A phrase or the rest of a clause is denied."""

    def _deny(self, i: int) -> bool:
        """Negation words; true where the unit needs no further look."""
        low = self.units[i].low
        following = self.units[i + 1].low if i + 1 < len(self.units) else ""
        if low in NOT or low.endswith("n't"):
            if following in ("only", "until", "just", "merely"):
                return True
            if self.group and self.units[i - 1].low == "could":
                self.merely = self.clause.merely = False  # it is said that it was not so
            near = self.group or following == "to" or low != "not" or low.endswith("n't")
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
                if self.group:  # "was denied": what is denied stands before it
                    return False
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

    def _judges(self, i: int) -> bool:
        """Whether "considered" is followed by whom: "considered the witness unreliable"."""
        following = self.units[i + 1].low if i + 1 < len(self.units) else ""
        return self.units[i].low.startswith("consider") and following in DETERMINERS | OBJECTS

    @abstractmethod
    def _verb(self, i: int, verb: Concept | None) -> None:
        """Take unit `i` as a verb."""
