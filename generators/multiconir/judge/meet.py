"""What a condition asks for, paired with what meets it: a word, its parts, what it follows from."""

from __future__ import annotations

from collections.abc import Sequence

from retgen.generators.multiconir.judge.clause import Clause
from retgen.generators.multiconir.judge.clauses import Sentence
from retgen.generators.multiconir.judge.lists import forms, lexicon, words
from retgen.generators.multiconir.judge.outcome import Outcome, weight
from retgen.generators.multiconir.judge.relate import apart, excludes, implies, opposes, same_slot
from retgen.generators.multiconir.judge.tokens import Concept


def meet(
    found: Outcome,
    sentence: Sentence,
    condition: Clause,
    pool: Sequence[Concept],
    shared: Sequence[Concept],
    events: Sequence[Concept],
) -> list[Concept]:
    """Pairs what the condition asks for with what meets it; returns what nothing meets."""
    clause = found.clause
    used: set[int] = set()
    missing: list[Concept] = []
    telling = both_deny = turned = False
    for concept in condition.concepts:
        best = _match(concept, pool, used)
        rivals = (excludes(c, concept) and c.role == concept.role for c in clause.concepts)
        if best is None and shared and not any(rivals):
            best = _match(concept, shared, used)
        if best is None and not concept.verb and concept.role not in ("s", "o"):
            best = _match(concept, events, used)
        if best is None and (" " in concept.key or concept.key in lexicon().defined):
            best = _in_parts(concept, pool)
        if best is None and (concept.negated or concept.key in words("complements")):
            refused = [  # "denied" is "not granted", "not malignant" is "benign"
                c for c in pool if opposes(c, concept) and c.negated != concept.negated
            ]
            if refused:
                found.pairs[id(concept)] = refused[0]
                used.add(id(refused[0]))
                found.met += weight(concept)
                turned = True
                continue
        if best is None and clause.object_pronoun and concept.role == "o" and not concept.verb:
            best = _match(concept, sentence.concepts, used)
        if best is None:
            missing.append(concept)
            continue
        found.pairs[id(concept)] = best
        found.met += weight(concept)
        if concept.weak:
            continue
        if " " not in best.key and best.key not in lexicon().defined:
            used.add(id(best))  # while a "prison sentence" is a prison and a sentence
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
    if turned or (both_deny and not telling):  # "no stones were seen", "showed no stones"
        found.denied = False
    met = [c for c in condition.concepts if id(c) in found.pairs and not c.weak]
    little = words("linking") | words("vague")
    plain = [
        c
        for c in met
        if c.kind == "word"
        and (found.pairs[id(c)].key == c.key or not (c.verb and c.key.split()[0] in little))
    ]
    found.anchored = bool(plain) or sum(c.kind == "name" for c in met) > 1
    if len(found.pairs) == 1 and plain and plain[0].verb:
        found.anchored = _as_noun(found.pairs[id(plain[0])], plain[0])
    verb = found.pairs.get(id(condition.verb))
    found.loose = clause.verb is not None and (verb is None or not verb.verb)
    return missing


def _match(concept: Concept, pool: Sequence[Concept], used: set[int]) -> Concept | None:
    """The concept of the pool that meets one asked for; the negation may differ, the role not."""
    best, best_score = None, 0.0
    for other in pool:
        if id(other) in used or not implies(other, concept):
            continue
        if other.verb and not concept.verb and not _as_noun(other, concept):
            continue  # an author is not what is authored
        if apart(other.role, concept.role):
            continue
        score = 4.0 + (other.negated == concept.negated) * 2 + (other.role == concept.role)
        score += (other.key == concept.key) + (other.verb == concept.verb)
        if score > best_score:
            best, best_score = other, score
    return best


def _in_parts(concept: Concept, pool: Sequence[Concept]) -> Concept | None:
    """What meets a concept part by part: "pain in his chest", "took out her appendix"."""
    best = None
    for part in lexicon().defined.get(concept.key) or concept.key.split():
        ids = {part} | lexicon().same.get(part, frozenset())
        meeting = [c for c in pool if not c.implies.isdisjoint(ids)]
        if not meeting or part in forms("function"):
            return None
        best = meeting[0]
    return best


def _as_noun(verb: Concept, noun: Concept) -> bool:
    """Whether a verb says what the noun does: "graduated", his "graduation"."""
    return verb.key == noun.key or any(not key.startswith("~") for key in verb.ids & noun.ids)
