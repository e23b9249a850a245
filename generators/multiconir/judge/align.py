"""A condition laid against a sentence: what is met, what is contradicted, what is not said.

Each clause of the condition is laid against each clause of the sentence. A concept of it is met by
one that implies it, in the same clause, with the same negation and no opposed role. One that is
not met is contradicted where the clause has another value in its slot: another year, another word
before the same noun, another object of the same verb.
"""

from __future__ import annotations

from collections.abc import Sequence

from retgen.generators.multiconir.judge.clause import Clause
from retgen.generators.multiconir.judge.clauses import Sentence
from retgen.generators.multiconir.judge.doubts import bind, owner, swap
from retgen.generators.multiconir.judge.meet import meet
from retgen.generators.multiconir.judge.miss import miss
from retgen.generators.multiconir.judge.outcome import Outcome
from retgen.generators.multiconir.judge.relate import apart, excludes, implies
from retgen.generators.multiconir.judge.tokens import Concept

# what stands in a clause that one of these opens is said of the clause beside it too
_WHEN = frozenset(["when", "as", "because", "once", "where"])


def align(sentence: Sentence, condition: Clause) -> list[Outcome]:
    """The clause of a condition against each clause of a sentence."""
    found = [_align(sentence, clause, condition) for clause in sentence.clauses]
    if len(found) == 1 and "," not in sentence.text[sentence.start : sentence.end]:
        clause = sentence.clauses[0]
        about = (c.possessed and c.role == "s" for c in clause.subject if c.key == clause.owner)
        found[0].alone = any(about) and not found[0].contradicted  # "Her sister is a dentist."
    return found


def _align(sentence: Sentence, clause: Clause, condition: Clause) -> Outcome:
    found = Outcome(clause)
    pool = clause.concepts + [c for c in clause.subject if c not in clause.concepts]
    if condition.verb is None:  # no verb ties its concepts together: all that is of one owner
        for other in sentence.clauses:
            if other is not clause and other.owner == clause.owner and not other.merely:
                pool = pool + [c for c in other.concepts if c not in pool]
    shared = [c for c in clause.context if c not in pool]
    beside = _beside(sentence, clause)
    shared += [c for c in beside if c not in pool and c not in shared]
    events = [c for c in _before(sentence, clause) if c not in pool]
    missing = meet(found, sentence, condition, pool, shared, events)
    used = {id(c) for c in found.pairs.values()}
    free = [c for c in (*pool, *shared) if id(c) not in used and not c.weak]
    _subject(found, condition, pool)
    for concept in missing:
        miss(found, concept, condition, pool, free)
    if found.denied and clause.verb is not None and clause.verb.negated:
        more = [c for c in free if c.role != "s" and c not in clause.subject]
        found.denied_all = id(clause.verb) in used and not more
    elif found.denied and clause.verb is None and len(clause.concepts) == 1:
        found.denied_all = True  # "there was no fever"
    if condition.link and apart(found.clause.link, condition.link):
        found.oppose()
    bind(found, condition, sentence)
    owner(found, condition)
    swap(found, condition)
    found.merely = clause.merely and not condition.merely
    return found


def _beside(sentence: Sentence, clause: Clause) -> list[Concept]:
    """What the clauses around say of the same, where "when" ties them to this one."""
    at = sentence.clauses.index(clause)
    found: list[Concept] = []
    for k in (at - 1, at + 1):
        if not 0 <= k < len(sentence.clauses):
            continue
        other = sentence.clauses[k]
        if other.owner != clause.owner or other.merely or other.opposed or clause.opposed:
            continue
        later = sentence.clauses[max(k, at)]
        first = sentence.clauses[min(k, at)]
        if later.opener in _WHEN or (first.opener in _WHEN and min(k, at) == 0):
            found += [c for c in other.concepts if not c.negated]
    return found


def _before(sentence: Sentence, clause: Clause) -> list[Concept]:
    """The verbs of the clauses beside it, of the same owner: "fell and broke it" is "in a fall"."""
    at = sentence.clauses.index(clause)
    return [
        other.verb
        for other in sentence.clauses[max(at - 1, 0) : at + 2]
        if other.verb is not None and other is not clause and other.owner == clause.owner
        if not (other.merely or other.opposed or other.verb.negated)
    ]


def _subject(found: Outcome, condition: Clause, pool: Sequence[Concept]) -> None:
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
