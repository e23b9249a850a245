"""A condition laid against a sentence: what is met, what is contradicted, what is not said.

Each clause of the condition is laid against each clause of the sentence. A concept of it is met by
one that implies it, in the same clause, with the same negation and no opposed role. One that is
not met is contradicted where the clause has another value in its slot: another year, another word
before the same noun, another object of the same verb.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from retgen.generators.multiconir.judge.clauses import Clause, Sentence
from retgen.generators.multiconir.judge.lists import words
from retgen.generators.multiconir.judge.relate import (
    apart,
    excludes,
    implies,
    opposes,
    same_slot,
)
from retgen.generators.multiconir.judge.tokens import Concept

__all__ = ["Alignment", "align"]


@dataclass(slots=True)
class Alignment:
    """One clause of a condition against one clause of a text. Weights are sums over concepts."""

    clause: Clause
    met: float = 0.0
    contradicted: float = 0.0
    open: float = 0.0  # neither
    denied: bool = False  # met, but for a "not" in one of the two
    denied_all: bool = False  # and the clause denies more than the condition says
    swapped: bool = False  # met, but subject and object have changed places
    anchored: bool = False  # a word that says what the fact is about is met
    verb_differs: bool = False
    near: bool = False  # what contradicts stands beside what is met
    loose: bool = False  # no verb ties the condition to the clause
    in_place: bool = True  # all that is met is met in the same role
    stranger: bool = False  # the clause is about somebody else
    merely: bool = False
    pairs: dict[int, Concept] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return self.met + self.contradicted + self.open

    @property
    def satisfied(self) -> bool:
        clean = not (self.denied or self.swapped or self.stranger or self.merely)
        return clean and self.met > 0 and self.contradicted == self.open == 0

    @property
    def violated(self) -> bool:
        if self.merely or not self.total:
            return False
        share = self.met / self.total
        if self.denied and self.verb_differs:
            return False
        if self.denied or self.swapped:
            return (share >= 0.6 or self.denied_all) and self.anchored
        if self.stranger:
            return share >= 0.75 and self.anchored
        if not self.contradicted or not self.anchored:
            return False
        if self.verb_differs:
            return share >= 0.6 and self.open == 0 and self.contradicted == 1 and self.in_place
        least = 0.5 if self.loose and not self.near else 0.33 if self.near else 0.4
        return share >= least and self.open <= 0.34 * self.total


def weight(concept: Concept) -> float:
    """How much of the fact a concept is."""
    if concept.weak:
        return 0.0
    return 1.0


def align(sentence: Sentence, condition: Clause) -> list[Alignment]:
    """The clause of a condition against each clause of a sentence."""
    return [_align(sentence, clause, condition) for clause in sentence.clauses]


def _align(sentence: Sentence, clause: Clause, condition: Clause) -> Alignment:
    found = Alignment(clause)
    inherited = [c for c in clause.subject if c not in clause.concepts]
    pool = clause.concepts + inherited
    if condition.verb is None:  # no verb ties its concepts together: all that is of one owner
        for other in sentence.clauses:
            if other is not clause and other.owner == clause.owner and not other.merely:
                pool = pool + [c for c in other.concepts if c not in pool]
    asked = condition.concepts
    shared = [c for c in clause.context if c not in pool]
    used: set[int] = set()
    missing: list[Concept] = []
    for concept in asked:
        best = _match(concept, pool, used, condition, found)
        if best is None and not any(excludes(c, concept) for c in clause.concepts):
            best = _match(concept, shared, used, condition, found)
        if best is None and clause.object_pronoun and concept.role == "o" and not concept.verb:
            best = _match(concept, sentence.concepts, used, condition, found)
        if best is None:
            missing.append(concept)
            continue
        found.pairs[id(concept)] = best
        used.add(id(best))
        found.met += weight(concept)
        if concept.weak:
            continue
        if not same_slot(best.role, concept.role):
            found.in_place = False
        if best.negated != concept.negated:
            found.denied = True
    words_met = [c for c in asked if id(c) in found.pairs and c.kind == "word" and not c.weak]
    names_met = [c for c in asked if id(c) in found.pairs and c.kind == "name"]
    found.anchored = bool(words_met) or len(names_met) > 1
    if len(found.pairs) == 1 and words_met and words_met[0].verb:
        found.anchored = found.pairs[id(words_met[0])].key == words_met[0].key
    found.loose = condition.verb is None and clause.verb is not None
    free = [c for c in (*pool, *shared) if id(c) not in used and not c.weak]
    _subject(found, clause, condition, pool)
    for concept in missing:
        if concept.weak or _assumed(concept, condition, clause, found):
            continue
        if concept.verb and condition.verb is concept:
            other = clause.verb
            if other is not None and not other.weak and id(other) not in used:
                if opposes(other, concept) and other.negated == concept.negated:
                    found.contradicted += 1
                    found.near = True
                    found.anchored = found.anchored or len(found.pairs) > 0
                    continue
                if other.key not in words("vague"):
                    found.verb_differs = True
                    found.contradicted += 1
                    continue
            found.open += 1
        elif any(implies(c, concept) and apart(c.role, concept.role) for c in free):
            found.contradicted += weight(concept)
        elif _contradicted(concept, condition, clause, free, found):
            found.contradicted += weight(concept)
        else:
            found.open += weight(concept)
    if found.denied and clause.verb is not None and clause.verb.negated:
        found.denied_all = id(clause.verb) in used and not [c for c in free if c.role != "s"]
    _owner(found, clause, condition)
    _swap(found, clause, condition)
    found.merely = clause.merely and not condition.merely
    return found


def _subject(
    found: Alignment, clause: Clause, condition: Clause, pool: Sequence[Concept]
) -> None:
    """A subject the condition has named before must be this clause's too, where that has one."""
    asked = [c for c in condition.subject if c not in condition.concepts and not c.weak]
    told = [c for c in clause.subject if not c.weak]
    if asked and told:
        if any(implies(c, a) for c in (*pool, *clause.context) for a in asked):
            found.anchored = True
        else:
            found.open += 1


def _match(
    concept: Concept,
    pool: Sequence[Concept],
    used: set[int],
    condition: Clause,
    found: Alignment,
) -> Concept | None:
    """The concept of the pool that meets one asked for; the negation may differ, the role not."""
    best, best_score = None, 0.0
    for other in pool:
        if id(other) in used or not implies(other, concept):
            continue
        if apart(other.role, concept.role):
            continue
        score = 4.0 + (other.negated == concept.negated) * 2 + (other.role == concept.role)
        score += (other.key == concept.key) + (other.verb == concept.verb)
        if score > best_score:
            best, best_score = other, score
    return best


def _assumed(concept: Concept, condition: Clause, clause: Clause, found: Alignment) -> bool:
    """Whether the text may leave a concept out: a subject that is a pronoun, a first name."""
    if concept in condition.subject and concept.value is None and not condition.verb is concept:
        if concept.key in words("relations") or condition.passive and not clause.passive:
            return False
        if all(c.weak for c in clause.subject) and not clause.owner:
            return True
    if concept.kind == "name":
        names = [c for c in condition.concepts if c.phrase == concept.phrase and c.kind == "name"]
        last = names[-1]
        met = found.pairs.get(id(last))
        if last is not concept and met is not None:
            before = [c for c in clause.concepts if c.position == met.position - 1]
            return not (before and before[0].kind == "name" and before[0].phrase == met.phrase)
    return False


def _contradicted(
    concept: Concept, condition: Clause, clause: Clause, free: Sequence[Concept], found: Alignment
) -> bool:
    rival = _replaced(concept, condition, clause, free, found)
    for other in free:
        if other.verb or other.negated != concept.negated:
            continue
        if excludes(other, concept) and _comparable(other, concept, condition, found):
            rival = other
            break
    if rival is None:
        return False
    beside = (abs(c.position - rival.position) for c in found.pairs.values() if not c.weak)
    found.near = found.near or min(beside, default=9) <= 2
    return True


def _comparable(other: Concept, concept: Concept, condition: Clause, found: Alignment) -> bool:
    """Whether two concepts that exclude one another fill the same slot."""
    if concept.value is not None and concept.value.unit in ("count", "ordinal"):
        return _beside(other, concept, condition, found)
    if same_slot(other.role, concept.role):
        return True
    if concept.value is not None and not apart(other.role, concept.role):
        return True
    return _beside(other, concept, condition, found)


def _beside(other: Concept, concept: Concept, condition: Clause, found: Alignment) -> bool:
    """Whether the two stand beside words that match."""
    for step in (1, -1, 2, -2):
        for neighbour in condition.concepts:
            if neighbour.position == concept.position + step:
                met = found.pairs.get(id(neighbour))
                if met is not None and 0 < (met.position - other.position) * step <= 3:
                    return True
    return False


def _replaced(concept: Concept, condition: Clause, clause: Clause, free: Sequence[Concept], found: Alignment) -> Concept | None:
    """Whether another word stands where the condition has this one."""
    if concept.value is not None:
        return None
    neutral = words("neutral")
    rivals = [
        c for c in free
        if c.value is None and not c.verb and c.key not in neutral and c.negated == concept.negated
        and (c.kind == concept.kind) and not implies(concept, c)
    ]  # fmt: skip
    if not rivals:
        return None
    mine = [c for c in condition.concepts if c.phrase == concept.phrase and not c.verb]
    for neighbour in mine:  # beside the same word
        step = neighbour.position - concept.position
        met = found.pairs.get(id(neighbour))
        if abs(step) == 1 and met is not None and not met.verb:
            for rival in rivals:
                if rival.position == met.position - step and rival.phrase == met.phrase:
                    return rival
    if any(id(c) in found.pairs for c in mine if c is not concept):
        return None
    verb_met = condition.verb is not None and id(condition.verb) in found.pairs
    for rival in rivals:  # the whole phrase is another, in the same role
        whole = [c for c in clause.concepts if c.phrase == rival.phrase and not c.verb]
        if any(c not in free for c in whole if not c.weak):
            continue
        if rival.role == concept.role and (verb_met or concept.role not in ("s", "o")):
            return rival
        if rival.role == concept.role == "o" and condition.verb is None and clause.verb is None:
            return rival
        if rival.role == concept.role == "s" and found.met >= 1:
            return rival
    return None


def _owner(found: Alignment, clause: Clause, condition: Clause) -> None:
    """Marks a clause that is about somebody the condition does not name."""
    if not clause.owner:
        return
    named = {key for concept in condition.concepts for key in concept.ids}
    if condition.owner != clause.owner and named.isdisjoint(clause.owner.split()):
        found.stranger = True


def _swap(found: Alignment, clause: Clause, condition: Clause) -> None:
    """Marks a subject that has become an object, and the object the subject."""
    roles = [(concept.role, found.pairs[id(concept)].role) for concept in condition.concepts if id(concept) in found.pairs and not concept.verb]
    found.swapped = ("s", "o") in roles and ("o", "s") in roles
