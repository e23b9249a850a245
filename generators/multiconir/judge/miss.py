"""What a condition asks for and nothing meets: contradicted, left open, or not needed."""

from __future__ import annotations

from collections.abc import Sequence

from retgen.generators.multiconir.judge.clause import Clause
from retgen.generators.multiconir.judge.lists import words
from retgen.generators.multiconir.judge.outcome import Outcome, weight
from retgen.generators.multiconir.judge.relate import apart, implies, opposes
from retgen.generators.multiconir.judge.slots import contradicted
from retgen.generators.multiconir.judge.tokens import Concept

# who did it to a work is whose work it is
_MAKING = frozenset(["direct", "writ", "compos", "author", "pen"])
# "was given 40 mg daily", "took eleven weeks": all else tells as much
_GIVING = frozenset(["tak", "be giv"])
_WORKS = frozenset(["film", "novel", "book", "opera", "memoir", "thriller", "symphoni", "drama"])


def miss(
    found: Outcome,
    concept: Concept,
    condition: Clause,
    pool: Sequence[Concept],
    free: Sequence[Concept],
) -> None:
    """Enters a concept that nothing meets: contradicted, left open, or not needed."""
    clause = found.clause
    if concept.weak:
        if any(opposes(c, concept) and c.role in ("s", "o") for c in pool):
            found.oppose()  # a man, not a woman
        elif found.pairs and any(
            c.sets & concept.sets and not implies(c, concept) and c.role == concept.role
            for c in free
            if concept.role != "s"
        ):
            found.oppose()  # based on a play, not on a novel
        return
    if _assumed(concept, condition, pool, found):
        return
    if concept is condition.verb:
        _miss_verb(found, concept, free)
    elif any(implies(c, concept) and apart(c.role, concept.role) for c in free):
        found.contradicted += weight(concept)
    elif any(
        opposes(c, concept) and c.role == concept.role
        for c in (*free, *(c for c in pool if " " in c.key))
    ):
        found.oppose()
        if len(condition.concepts) == 1 and clause.finite and not clause.owner:
            found.near = found.anchored = True  # all that is asked
            found.met = max(found.met, 0.5)
    elif contradicted(concept, condition, clause, free, found):
        found.contradicted += weight(concept)
    else:
        found.open += weight(concept)


def _miss_verb(found: Outcome, verb: Concept, free: Sequence[Concept]) -> None:
    other = found.clause.verb
    linking = words("linking")
    used = other is not None and any(other is met for met in found.pairs.values())
    if used and verb.key in linking | words("vague"):  # "made a complaint" is "complained"
        return
    if _is_work_of(found, verb):
        return
    if verb.key.split()[0] in linking and not verb.negated:
        if other is None and found.clause.finite:
            return
        if other is not None and other.key.split()[0] in linking and not opposes(other, verb):
            return
    little = (verb.key.split()[0] in linking or verb.key in _GIVING) and not verb.negated
    told = found.met >= 2 and not found.denied  # all else is
    if little and told and other is not None and not opposes(other, verb):
        return
    found.verb_missing = other is None
    if other is None or other.weak or other not in free:
        found.open += 1
    elif opposes(other, verb) and other.negated == verb.negated:
        found.oppose()
    elif other.key in words("vague"):
        found.open += 1
    else:
        found.verb_differs = True
        found.contradicted += 1


def _is_work_of(found: Outcome, verb: Concept) -> bool:
    """Whether the text has "Ann Lee's film" where "directed by Ann Lee" is asked."""
    if verb.key not in _MAKING:
        return False
    owners = [c for c in found.pairs.values() if c.kind == "name" and c.role == "of"]
    works = (c for c in found.clause.concepts if not c.ids.isdisjoint(_WORKS))
    return bool(owners) and any(w.position == owners[-1].position + 1 for w in works)


def _assumed(concept: Concept, condition: Clause, pool: Sequence[Concept], found: Outcome) -> bool:
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
