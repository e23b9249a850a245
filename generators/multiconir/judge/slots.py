"""What stands in a clause of a text where a clause of a condition has something else.

Another value of the same unit, another member of a set of which only one can be; or else just
another word beside the same word, or another phrase in the same role.
"""

from __future__ import annotations

from collections.abc import Sequence

from retgen.generators.multiconir.judge.clause import Clause
from retgen.generators.multiconir.judge.lists import words
from retgen.generators.multiconir.judge.outcome import Outcome
from retgen.generators.multiconir.judge.relate import apart, excludes, implies, same_slot
from retgen.generators.multiconir.judge.tokens import Concept

# two values of these contradict one another whatever stands beside them
_TELLING = frozenset(["pages", "copies", "words", "mass", "length", "share", "area", "volume"])


def contradicted(
    concept: Concept, condition: Clause, clause: Clause, free: Sequence[Concept], found: Outcome
) -> bool:
    """Whether a concept that is not met has another in its place, one of those `free`."""
    rival = _replaced(concept, condition, clause, free, found)
    for other in free:
        if other.verb or other.negated != concept.negated:
            continue
        if excludes(other, concept) and _comparable(other, concept, condition, found):
            rival, found.typed = other, True
            if concept.value is not None and concept.value.unit in _TELLING:
                found.anchored, found.met = True, max(found.met, 1.0)
            break
    if rival is None:
        return False
    beside = (
        abs(c.position - rival.position) for c in found.pairs.values() if not (c.weak or c.verb)
    )
    found.near = found.near or min(beside, default=9) <= 2
    return True


def _comparable(other: Concept, concept: Concept, condition: Clause, found: Outcome) -> bool:
    """Whether two concepts that exclude one another fill the same slot."""
    if concept.value is not None and concept.value.unit in ("count", "ordinal"):
        return _beside(other, concept, condition, found)
    if same_slot(other.role, concept.role):
        return True
    if concept.value is not None and not apart(other.role, concept.role):
        return True
    return _beside(other, concept, condition, found)


def _beside(other: Concept, concept: Concept, condition: Clause, found: Outcome) -> bool:
    """Whether the two stand beside words that match."""
    for step in (1, -1, 2, -2):
        for neighbour in condition.concepts:
            if neighbour.position == concept.position + step:
                met = found.pairs.get(id(neighbour))
                if met is not None and 0 < (met.position - other.position) * step <= 3:
                    return True
    return False


def _replaced(
    concept: Concept, condition: Clause, clause: Clause, free: Sequence[Concept], found: Outcome
) -> Concept | None:
    """Whether another word stands where the condition has this one."""
    if concept.role in ("since", "until"):
        return next((c for c in free if c.role == concept.role), None)
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
        told = rival in clause.concepts and not found.loose
        if rival.role == concept.role == "s" and found.met >= 1 and told:
            return rival
    return None
