"""What speaks against words that agree: said apart, of somebody else, the wrong way round."""

from __future__ import annotations

from itertools import pairwise

from retgen.generators.multiconir.judge.clause import Clause
from retgen.generators.multiconir.judge.clauses import Sentence
from retgen.generators.multiconir.judge.outcome import Outcome, weight
from retgen.generators.multiconir.judge.relate import excludes


def bind(found: Outcome, condition: Clause, sentence: Sentence) -> None:
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


def owner(found: Outcome, condition: Clause) -> None:
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


def swap(found: Outcome, condition: Clause) -> None:
    """Marks a subject that has become an object, and the object the subject."""
    roles = [
        (concept.role, found.pairs[id(concept)].role)
        for concept in condition.concepts
        if id(concept) in found.pairs and not (concept.verb or found.pairs[id(concept)].verb)
    ]
    verb = found.pairs.get(id(condition.verb))
    if verb is not None and " " in verb.key:  # "finds a home with" is "is adopted by"
        return
    found.swapped = ("s", "o") in roles and ("o", "s") in roles
