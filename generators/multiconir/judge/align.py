"""A condition laid against a sentence: what is met, what is contradicted, what is not said.

Each clause of the condition is laid against each clause of the sentence. A concept of it is met by
one that implies it, in the same clause, with the same negation and no opposed role. One that is
not met is contradicted where the clause has another value in its slot: another year, another word
before the same noun, another object of the same verb.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from retgen.generators.multiconir.judge.alignment import Alignment, weight
from retgen.generators.multiconir.judge.clauses import Sentence
from retgen.generators.multiconir.judge.lists import words
from retgen.generators.multiconir.judge.reader import Clause
from retgen.generators.multiconir.judge.relate import (
    apart,
    excludes,
    implies,
    opposes,
    same_slot,
)
from retgen.generators.multiconir.judge.slots import contradicted
from retgen.generators.multiconir.judge.tokens import Concept

__all__ = ["align"]


# "served as mayor" is "was mayor"
_SERVE = frozenset(["serv", "act", "work"])


def align(sentence: Sentence, condition: Clause) -> list[Alignment]:
    """The clause of a condition against each clause of a sentence."""
    return [_align(sentence, clause, condition) for clause in sentence.clauses]


def _align(sentence: Sentence, clause: Clause, condition: Clause) -> Alignment:
    found = Alignment(clause)
    pool = clause.concepts + [c for c in clause.subject if c not in clause.concepts]
    if condition.verb is None:  # no verb ties its concepts together: all that is of one owner
        for other in sentence.clauses:
            if other is not clause and other.owner == clause.owner and not other.merely:
                pool = pool + [c for c in other.concepts if c not in pool]
    shared = [c for c in clause.context if c not in pool]
    missing = _meet(found, sentence, condition, pool, shared)
    used = {id(c) for c in found.pairs.values()}
    free = [c for c in (*pool, *shared) if id(c) not in used and not c.weak]
    _subject(found, condition, pool)
    for concept in missing:
        _miss(found, concept, condition, pool, free)
    if found.denied and clause.verb is not None and clause.verb.negated:
        found.denied_all = id(clause.verb) in used and not [c for c in free if c.role != "s"]
    if condition.link and apart(found.clause.link, condition.link):
        _opposed(found)
    _bind(found, condition, sentence)
    _owner(found, condition)
    _swap(found, condition)
    found.merely = clause.merely and not condition.merely
    return found


def _meet(
    found: Alignment,
    sentence: Sentence,
    condition: Clause,
    pool: Sequence[Concept],
    shared: Sequence[Concept],
) -> list[Concept]:
    """Pairs what the condition asks for with what meets it; returns what nothing meets."""
    clause = found.clause
    used: set[int] = set()
    missing: list[Concept] = []
    telling = both_deny = False
    for concept in condition.concepts:
        best = _match(concept, pool, used)
        rivals = (excludes(c, concept) and c.role == concept.role for c in clause.concepts)
        if best is None and shared and not any(rivals):
            best = _match(concept, shared, used)
        if best is None and clause.object_pronoun and concept.role == "o" and not concept.verb:
            best = _match(concept, sentence.concepts, used)
        if best is None:
            missing.append(concept)
            continue
        found.pairs[id(concept)] = best
        used.add(id(best))
        found.met += weight(concept)
        if concept.weak:
            continue
        role = best.role
        if best in clause.subject and best not in clause.concepts:  # of the verb it is said of
            role = "o" if clause.passive else "s"
        if not same_slot(role, concept.role):
            found.in_place = False
        if best.negated != concept.negated:
            found.denied = True
            telling |= concept.role in ("s", "o") and concept.key not in words("vague")
        elif best.negated:
            both_deny = True
    if both_deny and not telling:  # "no stones were seen", "showed no stones"
        found.denied = False
    met = [c for c in condition.concepts if id(c) in found.pairs and not c.weak]
    plain = [c for c in met if c.kind == "word"]
    found.anchored = bool(plain) or sum(c.kind == "name" for c in met) > 1
    if len(found.pairs) == 1 and plain and plain[0].verb:
        found.anchored = found.pairs[id(plain[0])].key == plain[0].key
    verb = found.pairs.get(id(condition.verb))
    found.loose = clause.verb is not None and (verb is None or not verb.verb)
    return missing


def _miss(
    found: Alignment,
    concept: Concept,
    condition: Clause,
    pool: Sequence[Concept],
    free: Sequence[Concept],
) -> None:
    """Enters a concept that nothing meets: contradicted, left open, or not needed."""
    clause = found.clause
    if concept.weak:
        if any(opposes(c, concept) and c.role in ("s", "o") for c in pool):
            _opposed(found)  # a man, not a woman
        return
    if _assumed(concept, condition, pool, found):
        return
    if concept is condition.verb:
        _miss_verb(found, concept, free)
    elif any(implies(c, concept) and apart(c.role, concept.role) for c in free):
        found.contradicted += weight(concept)
    elif any(opposes(c, concept) and c.role == concept.role for c in free):
        _opposed(found)
    elif contradicted(concept, condition, clause, free, found):
        found.contradicted += weight(concept)
    else:
        found.open += weight(concept)


def _miss_verb(found: Alignment, verb: Concept, free: Sequence[Concept]) -> None:
    other = found.clause.verb
    if other is None and found.clause.finite and verb.key in _SERVE:
        return
    found.verb_missing = other is None
    if other is None or other.weak or other not in free:
        found.open += 1
    elif opposes(other, verb) and other.negated == verb.negated:
        _opposed(found)
    elif other.key in words("vague"):
        found.open += 1
    else:
        found.verb_differs = True
        found.contradicted += 1


def _opposed(found: Alignment) -> None:
    """Counts an antonym; beside any word in common it is enough."""
    found.contradicted += 1
    if found.pairs:
        found.near = found.anchored = True
        found.met = max(found.met, 0.5)


def _subject(found: Alignment, condition: Clause, pool: Sequence[Concept]) -> None:
    """A subject the condition has named before must be this clause's too, where that has one."""
    asked = [c for c in condition.subject if c not in condition.concepts and not c.weak]
    clause = found.clause
    told = [c for c in clause.subject if not c.weak]
    if asked and told:
        if any(implies(c, a) for c in (*pool, *clause.context) for a in asked):
            found.anchored = True
            found.met += 1
        elif any(excludes(c, a) or c.kind == a.kind == "word" for c in told for a in asked):
            found.contradicted += 1
        else:
            found.open += 1


def _match(concept: Concept, pool: Sequence[Concept], used: set[int]) -> Concept | None:
    """The concept of the pool that meets one asked for; the negation may differ, the role not."""
    best, best_score = None, 0.0
    for other in pool:
        if id(other) in used or not implies(other, concept):
            continue
        if other.verb and not concept.verb and other.key != concept.key:
            continue  # an author is not what is authored
        if apart(other.role, concept.role):
            continue
        score = 4.0 + (other.negated == concept.negated) * 2 + (other.role == concept.role)
        score += (other.key == concept.key) + (other.verb == concept.verb)
        if score > best_score:
            best, best_score = other, score
    return best


def _assumed(
    concept: Concept, condition: Clause, pool: Sequence[Concept], found: Alignment
) -> bool:
    """Whether the text may leave a concept out: a subject that is a pronoun, a first name."""
    clause = found.clause
    if concept in condition.subject and concept.value is None and condition.verb is not concept:
        if concept.key in words("relations") or (condition.passive != clause.passive):
            return False
        if all(c.weak for c in clause.subject) and not clause.owner:
            return True
    if concept.kind == "name":
        names = [c for c in condition.concepts if c.phrase == concept.phrase and c.kind == "name"]
        last = names[-1]
        met = found.pairs.get(id(last))
        if last is not concept and met is not None:
            before = [c for c in pool if c.position == met.position - 1]
            return not (before and before[0].kind == "name" and before[0].phrase == met.phrase)
    return False


def _bind(found: Alignment, condition: Clause, sentence: Sentence) -> None:
    """Takes back what is met far from its word: "a Portuguese poet, married to a painter"."""
    for one, two in pairwise(condition.concepts):
        if one.phrase != two.phrase or one.verb or two.verb or one.weak or two.weak:
            continue
        first, second = found.pairs.get(id(one)), found.pairs.get(id(two))
        if first is None or second is None or first.phrase == second.phrase:
            continue
        left, right = sorted((first.position, second.position))
        between = sentence.concepts[left + 1 : right]
        before = sentence.concepts[max(second.position - 1, 0)]
        if before is not first and one.place and before.place and excludes(before, one):
            found.met -= weight(one)
            found.contradicted += weight(one)
            found.near = True
        elif len(between) > 3 or any(c.verb for c in between):
            found.met -= weight(one)
            found.open += weight(one)


def _owner(found: Alignment, condition: Clause) -> None:
    """Marks a clause that is about somebody the condition does not name."""
    clause = found.clause
    named = {key for concept in condition.concepts for key in concept.ids}
    head = [c for c in clause.subject if c.role in ("s", "o") and not c.weak]
    if (
        clause.opposed
        and clause.own_subject
        and not condition.subject
        and head
        and not clause.owner
    ):
        # "..., but the editor won it": the condition has no subject, and means another
        found.stranger = (
            condition.verb is not None
            and all(c.ids.isdisjoint(named) for c in head)
            and not clause.passive
        )
        return
    if not clause.owner:
        return
    if not condition.owner and named.isdisjoint(clause.owner.split()):
        found.stranger = True


def _swap(found: Alignment, condition: Clause) -> None:
    """Marks a subject that has become an object, and the object the subject."""
    roles = [
        (concept.role, found.pairs[id(concept)].role)
        for concept in condition.concepts
        if id(concept) in found.pairs and not concept.verb
    ]
    found.swapped = ("s", "o") in roles and ("o", "s") in roles
