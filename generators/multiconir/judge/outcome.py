"""What comes of laying one clause of a condition against one clause of a text."""

from __future__ import annotations

from dataclasses import dataclass, field

from retgen.generators.multiconir.judge.clause import Clause
from retgen.generators.multiconir.judge.tokens import Concept


@dataclass(slots=True)
class Outcome:
    """One clause of a condition against one clause of a text. Weights are sums over concepts."""

    clause: Clause
    met: float = 0.0
    contradicted: float = 0.0
    open: float = 0.0  # neither
    denied: bool = False  # met, but for a "not" in one of the two
    denied_all: bool = False  # and the clause denies more than the condition says
    swapped: bool = False  # met, but subject and object have changed places
    anchored: bool = False  # a word that says what the fact is about is met
    verb_differs: bool = False  # another verb stands in the clause
    verb_missing: bool = False  # no verb does
    typed: bool = False  # another value or another of a known set
    near: bool = False  # what contradicts stands beside what is met
    loose: bool = False  # no verb ties the condition to the clause
    in_place: bool = True  # all that is met is met in the same role
    stranger: bool = False  # the clause is about somebody else
    alone: bool = False  # and nothing is said of the one who is asked about
    merely: bool = False  # the clause only hopes, plans or reports it
    pairs: dict[int, Concept] = field(default_factory=dict)  # id of what is asked -> what meets it

    def oppose(self) -> None:
        """Counts an antonym; beside any word in common it is enough."""
        self.contradicted += 1
        if self.pairs:
            self.near = self.anchored = True
            self.met = max(self.met, 0.5)

    @property
    def total(self) -> float:
        """The weight of the condition's clause."""
        return self.met + self.contradicted + self.open

    @property
    def satisfied(self) -> bool:
        """Whether all of it is met, of the same person, and said to be so."""
        clean = not (self.denied or self.swapped or self.stranger or self.merely)
        return clean and self.met > 0 and self.contradicted == self.open == 0

    @property
    def violated(self) -> bool:
        """Whether enough is met to be the same fact, and the rest is contradicted.

        The shares were set on the development cases of tests/generators/multiconir/judge.
        """
        if self.merely or not self.total:
            return False
        share = self.met / self.total
        if self.denied and self.verb_differs:
            return False
        if self.denied or self.swapped:
            return (share >= 0.6 or self.denied_all) and self.anchored
        if self.stranger:
            enough = share >= 0.6 or (self.typed and share >= 0.5)
            return enough and self.anchored and not self.alone
        if not self.contradicted or not self.anchored:
            return False
        if self.typed and self.near and self.met >= 2 and self.open <= 1 and self.in_place:
            return True
        if self.verb_differs:
            return share >= 0.6 and self.open == 0 and self.contradicted == 1 and self.in_place
        if self.verb_missing:
            return share >= 0.6 and self.open <= 1
        near = self.near or (self.typed and self.contradicted <= self.met)
        least = 0.5 if self.loose and not self.near else 0.33 if near else 0.4
        return share >= least and self.open <= 0.34 * self.total


def weight(concept: Concept) -> float:
    """How much of the fact a concept is."""
    return 0.0 if concept.weak else concept.share
