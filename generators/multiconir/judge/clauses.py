"""The clauses of a sentence: one a verb, with its subject, whom it is about, and what is denied.

A shallow reading without a grammar: a verb is told by its form and the word before it, its subject
is what stands before it since the last comma, conjunction or clause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from retgen.generators.multiconir.judge.lists import forms, lexicon, words
from retgen.generators.multiconir.judge.stems import is_irregular
from retgen.generators.multiconir.judge.tokens import Concept, Unit, sentences, units_of

__all__ = ["Clause", "Sentence", "read"]

_HARD = frozenset([";", "—", "–", "--", "(", ")"])
_CONTRAST = frozenset("but while whereas although though however yet unlike albeit".split())
_SUBORDINATE = frozenset("because after before when until since as if that where once which".split())
_RELATIVE = frozenset(["who", "which", "whose", "whom"])
_JOIN = frozenset([",", "and", "or", "nor", "then", "&", ":"])
_PRONOUNS = frozenset("he she it they i we you this these who which there".split())
_AUX = frozenset(
    """am is are was were be been being have has had having do does did will would can could may
    might must shall should""".split()
)
_DETERMINERS = frozenset(
    """a an the his her its their my our your this that these those some any no each every another
    both 's such #""".split()
)
_ROLES = {
    **{p: p for p in "of from with without for since until before after against between under over "
       "about as than despite beyond".split()},
    **{p: "in" for p in "in at on within inside near during throughout around across".split()},
    **{p: "to" for p in "to into onto toward towards".split()},
    **{"by": "s", "through": "by", "via": "by", "upon": "in", "among": "in", "above": "over",
       "below": "under", "behind": "in", "along": "in", "outside": "beyond"},
}  # fmt: skip
_NOT = frozenset(["not", "never", "cannot", "nor", "hardly"])
_NO = frozenset(
    """no without none neither except excluding lacking lack absence instead rather unlike denied denies
    deny denying""".split()
)
_REFUSING = frozenset(
    """failed fails refused refuses declined declines neglected avoided avoids forbidden prohibited
    unable failing refusing declining""".split()
)
_MERELY = frozenset(
    """hoped hopes planned plans wanted wants intended intends considered considers might could
    would may rumoured rumored allegedly supposedly reportedly almost nearly attempted tried
    dreamed longed expected threatened offered proposed""".split()
)
_ASPECT = frozenset("stop start begin continu ceas keep quit".split())
_OBJECTS = frozenset(["him", "her", "it", "them"])
_BE = frozenset("am is are was were be been being".split())
_ADVERBS = frozenset("also then later first still already soon once ever again".split())
_PAST_AS_BASE = frozenset("set cut put hit let shut read misread left cost hurt cast spread quit".split())


@dataclass(slots=True, eq=False)
class Clause:
    """A verb with what belongs to it. `owner`: "" where it is about the subject of the text."""

    concepts: list[Concept] = field(default_factory=list)
    verb: Concept | None = None  # none of "be" and "have"
    finite: bool = False
    pronoun: bool = False  # its subject is one, or it takes over that of another clause
    subject: list[Concept] = field(default_factory=list)
    owner: str = ""
    contrast: bool = False  # opened by "another", "a different", ...
    merely: bool = False  # hoped for, planned, reported: not said to be so
    passive: bool = False
    object_pronoun: bool = False  # "hides him"
    context: list[Concept] = field(default_factory=list)  # said before, holds here too
    parent: Clause | None = None
    own_subject: bool = False
    subordinate: bool = False
    start: int = -1
    end: int = -1


@dataclass(slots=True, eq=False)
class Sentence:
    """A sentence of `text[start:end]` as its clauses."""

    text: str
    start: int
    end: int
    clauses: list[Clause]
    concepts: list[Concept]


@lru_cache(maxsize=4096)
def read(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text."""
    return tuple(_sentence(text, start, end) for start, end in sentences(text))


def _sentence(text: str, start: int, end: int) -> Sentence:
    units = units_of(text, start, end)
    reader = _Reader(units)
    for i in range(len(units)):
        reader.take(i)
    clauses = _finished(reader)
    concepts = [unit.concept for unit in units if unit.concept is not None]
    for position, concept in enumerate(concepts):
        concept.position = position
    return Sentence(text, start, end, clauses, concepts)


class _Reader:
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

    def take(self, i: int) -> None:
        unit = self.units[i]
        low = unit.low
        if unit.start >= 0 and self.clause.start < 0 and low not in _JOIN:
            self.clause.start = unit.start
        if self._deny(i):
            return
        if low in _MERELY:
            self.merely = True
        if low in _REFUSING:
            self.refusing = True
        if low in _OBJECTS and self.clause.finite and i:
            before_ = self.units[i - 1].concept
            nothing = i + 1 == len(self.units) or self.units[i + 1].concept is None
            self.clause.object_pronoun |= before_ is not None and before_.verb and nothing
        if low in _HARD or low in _CONTRAST:
            self._open(unit, fresh=True)
        elif low in _RELATIVE:
            self._mark(i, relative=True)
        elif low in _JOIN:
            if self.denied == "phrase" and low not in ("or", "nor", "and"):
                self.denied = ""
            if low == "," and self.clause.parent and self.clause.finite:
                if not self.clause.parent.finite:
                    self._resume(unit)
            self._mark(i)
            self.phrase += 1
            if low == "," and not self.clause.finite:
                self.role = "s"
        elif low in _AUX and unit.concept is None:
            if not self.group:
                self._verb(i, None)
            self.group = True
        elif unit.concept is not None and self._is_verb(i):
            if self.group:
                self.clause.verb = unit.concept
                before = [u.low for u in self.units[max(0, i - 4) : i] if u.low in _AUX]
                self.clause.passive = before[-1:] != [] and before[-1] in _BE and (
                    not low.endswith("ing")
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
                low in _REFUSING and following == "to"
            )
            self.group = False
            self._add(unit)
            self.role = "o"
            self.phrase += 1
            if low in _REFUSING and following != "to" and not self.clause.passive:
                self.denied = "phrase"
        elif low in _ROLES and unit.concept is None:
            self.group = False
            if low in _SUBORDINATE:
                self._mark(i, subordinate=True)
            if self.denied == "phrase" and low not in ("of", "in", "to", "by", "without"):
                self.denied = ""
            self.role = _ROLES[low]
            if low in _SUBORDINATE:
                self.mark_role = self.role
            self.phrase += 1
        elif low in _SUBORDINATE:
            self._mark(i, subordinate=True)
        elif unit.concept is not None:
            self.group = False
            self._add(unit)
        else:
            if low in _DETERMINERS and low != "'s":
                self.group = False
                last = self.clause.concepts[-1:]
                if not self.clause.finite and last and last[0].phrase == self.phrase:
                    self.role, self.phrase = "s", self.phrase + 1  # "In 2009 the accused was"
        if low in forms("contrast"):
            self.contrast = i
        self.clause.end = max(self.clause.end, unit.end)

    def _mark(self, i: int, relative: bool = False, subordinate: bool = False) -> None:
        if self.units[i].low in ("and", ","):
            if self.units[i].low == "and" or not self.clause.finite or self.joint < 0:
                self.joint, self.joint_concepts = i, len(self.clause.concepts)
        low = self.units[i].low
        before = self.units[i - 1].low if i else ""
        self.near_mark = i
        if self.strong and self.marked and low in ("and", "or", ","):
            return
        self.strong = low in ("and", "or") and before == "," or subordinate
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
        if low in _NOT or low.endswith("n't"):
            if following in ("only", "until", "just", "merely"):
                return True
            near = self.group or low != "not" or low.endswith("n't")
            near = near or (i + 1 < len(self.units) and self._is_verb(i + 1, True))
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
        if low in _NO and (low not in ("rather", "instead") or following in ("than", "of")):
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
        self.clause.concepts.append(concept)

    def _open(self, unit: Unit, fresh: bool = False) -> None:
        old = self.clause
        self._settle(old)
        self.clause = Clause(start=unit.start, end=unit.end, parent=None)
        self.clauses.append(self.clause)
        self.role, self.phrase, self.mark_concepts = "s", self.phrase + 1, 0
        self.marked = self.relative = self.subordinate = self.group = False
        self.begun = self.units.index(unit)
        if fresh:
            self.denied, self.refusing = "", False

    def _settle(self, clause: Clause) -> None:
        clause.merely = clause.merely or self.merely
        if not clause.finite:
            clause.contrast = self.contrast >= self.begun

    def _resume(self, unit: Unit) -> None:
        """Back from a relative clause to the one it stands in."""
        self._settle(self.clause)
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
        infinitive = i > 0 and self.units[i - 1].low == "to"
        if not infinitive:
            self.merely = self.merely and low in _MERELY or low in _MERELY
        clause.merely = clause.merely or (self.merely and low not in _MERELY)
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
            pronoun = any(unit.low in _PRONOUNS for unit in between)
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
        antecedent: list[Concept] = []
        if self.relative and clause.concepts:
            last = clause.concepts[-1].phrase
            antecedent = [c for c in clause.concepts if c.phrase == last]
            if not clause.finite:
                antecedent = [c for c in clause.concepts if c.role == "s"]
        del clause.concepts[len(clause.concepts) - len(moved) :]
        self._settle(clause)
        start = self.units[self.mark if self.marked and moved or pronoun else i].start
        if moved:
            start = min(moved[0].start, start) if joined not in _JOIN else moved[0].start
            clause.end = self.units[self.mark].start
        new = Clause(start=start, end=start, concepts=moved, pronoun=pronoun or not moved)
        for concept in moved:
            concept.negated = False
            if concept.role == self.mark_role:
                concept.role = "s"
        if joined == "where" and clause.concepts:
            last = clause.concepts[-1].phrase
            new.context = [c for c in clause.concepts if c.phrase == last]
        if self.relative:
            new.parent, new.subject, new.own_subject = clause, antecedent, bool(antecedent)
            new.pronoun = not clause.finite
        elif not moved and not pronoun:
            new.parent = clause.parent
            new.subject, new.owner = clause.subject, "inherit"
            self._share(i, clause, new)
            if self.units[i - 1].low == "to" and (clause.verb is None or clause.verb.weak):
                # "the first woman to climb", "became the first woman to climb"
                new.subject = [c for c in clause.concepts if c.role in ("s", "o") and not c.verb]
        self.joint = -1
        self.clause, self.begun = new, self.mark if moved or pronoun or self.relative else i
        self.clauses.append(new)
        if joined not in ("or", "nor") and self.denied:
            before = self.units[i - 1].low if i else ""
            if before not in ("not", "never", "to") and not before.endswith("n't"):
                self.denied = ""
        return new

    mark_role = "s"
    joint, joint_concepts = -1, 0
    nobody = -1  # the last "no", "none", ...
    deny_next = False
    strong = False  # the mark is one of a clause for sure
    near_mark = -1  # the last comma or conjunction

    def _goes_on(self, i: int) -> bool:
        """Whether the verb at `i` belongs to "stopped", "began to" before it."""
        k = i - 2 if self.units[i - 1].low == "to" else i - 1
        verb = self.clause.verb
        return k >= 0 and verb is not None and self.units[k].concept is verb and verb.key in _ASPECT

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

    def _is_verb(self, i: int, after_not: bool = False) -> bool:
        unit = self.units[i]
        concept = unit.concept
        low = unit.low
        if low.startswith("den") and low in _NO:
            return i > 0
        if concept is None or concept.kind == "value":
            return False
        if concept.kind == "name":
            return False
        stem_ = concept.key
        known = stem_ in lexicon().verbs
        ed = low.endswith("ed") and len(low) > 4
        past = ed or low in _PAST_AS_BASE or (known and is_irregular(low))
        if not known and not past:
            return False
        k = i - 1
        while k >= 0 and (self.units[k].low in _ADVERBS or self.units[k].low in _NOT or self.units[k].low.endswith(("ly", "n't"))):
            k -= 1
        before = self.units[k] if k >= 0 else None
        following = self.units[i + 1] if i + 1 < len(self.units) else None
        if self.group or stem_.startswith("be "):
            return True
        if low == "left" and following is not None and following.concept is not None:
            body = lexicon().sets["heart"] | lexicon().sets["arm"]
            if not following.concept.sets.isdisjoint(body):
                return False
        if before is None or before.low in _JOIN or before.low in _HARD or before.low in _CONTRAST:
            if past or low.endswith("ing"):
                return True
            return known and low.endswith("s") and following is not None
        if before.low == "to":
            return known and not past or low in _PAST_AS_BASE
        if before.low in _PRONOUNS or before.low in _RELATIVE:
            return True
        if before.concept is not None and before.concept.verb:
            return low.endswith("ing") and known
        if before.concept is not None and before.concept.value is not None:
            return past and before.concept.value.unit == "date"
        if before.low in _DETERMINERS:
            return False
        if before.low in _SUBORDINATE and (past or low.endswith("ing")):
            return True
        if before.low in _ROLES:
            return low.endswith("ing") and known
        if past:
            return True
        loose = following is not None and (following.low in _DETERMINERS or following.low in _ROLES or following.low in _PRONOUNS or following.concept is not None)
        if low.endswith("ing"):
            return known and loose
        if low.endswith("s") and not low.endswith("ss"):
            return known and loose and before.concept is not None
        return False


def _finished(reader: _Reader) -> list[Clause]:
    """Loose ends joined, roles of verbless clauses set, owners found."""
    reader._settle(reader.clause)
    relations = words("relations")
    clauses: list[Clause] = []
    for clause in reader.clauses:
        if not clause.finite:
            for concept in clause.concepts:
                if concept.role == "s":
                    concept.role = "o"
            stranger = any(c.key in relations for c in clause.concepts[:2]) or clause.contrast
            if clauses and not stranger:
                clauses[-1].concepts += clause.concepts
                clauses[-1].end = max(clauses[-1].end, clause.end)
                continue
            if clauses and stranger:  # "..., her brother in Vienna": the verb is not said again
                clause.verb, clause.subject = clauses[-1].verb, clause.concepts[:1]
                clause.own_subject = True
        if clause.concepts or clause.finite:
            clauses.append(clause)
    main = next((c for c in clauses if c.own_subject and not c.subordinate and not _stranger(c)), None)
    names = {c.key for c in main.subject if c.kind == "name"} if main else set()
    previous = ""
    for clause in clauses:
        if clause.passive:
            for concept in clause.subject:
                if concept.role == "s" and concept in clause.concepts:
                    concept.role = "o"
        if clause.owner == "inherit":
            clause.owner = previous if clause.parent is None else clause.parent.owner
        elif clause.own_subject:
            clause.owner = _stranger(clause)
            own = {c.key for c in clause.subject if c.kind == "name"}
            if not clause.owner and own and names and not own & names and clause is not main:
                clause.owner = " ".join(sorted(own))
        previous = clause.owner if clause.owner != "inherit" else ""
    return clauses


def _stranger(clause: Clause) -> str:
    """Who else the subject of a clause is: a relative, a rival, another of the kind; "" if none."""
    relations = words("relations")
    for concept in clause.subject:
        if concept.key in relations:
            return concept.key
    return "another" if clause.contrast and clause.own_subject else ""
