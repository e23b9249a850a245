"""A clause: a verb with what belongs to it, and what is known of whom and how it is said."""

from __future__ import annotations

from dataclasses import dataclass, field

from retgen.generators.multiconir.judge.tokens import Concept


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
    opener: str = ""  # the word that it is subordinate by
    impersonal: bool = False  # "it was law for her brother"
    start: int = -1
    end: int = -1
