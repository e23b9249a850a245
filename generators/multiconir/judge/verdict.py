"""The verdict of a text on a condition, and of a document's sentences on a list of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from retgen.generators.multiconir.judge.align import align
from retgen.generators.multiconir.judge.clauses import Sentence, read
from retgen.generators.multiconir.judge.outcome import Outcome

Verdict = Literal["satisfied", "violated", "cannot_tell"]
_OPEN: Verdict = "cannot_tell"


class Judged(NamedTuple):
    """`evidence`: the part of the text it rests on, verbatim; "" where it cannot tell."""

    verdict: Verdict
    evidence: str


class Noticed(NamedTuple):
    """`condition`, `sentence`: indices from 0. `verdict`: satisfied or violated."""

    condition: int
    sentence: int
    verdict: Verdict


@lru_cache(maxsize=65536)
def judge(text: str, condition: str) -> Judged:
    """Whether a text (a sentence or two) satisfies a condition of about ten words.

    What one sentence satisfies is not undone by another: it may be about somebody else.
    """
    asked = read(condition)
    violated = Judged(_OPEN, "")
    for sentence in read(text):
        verdict, evidence = _judge(sentence, asked)
        if verdict == "satisfied":
            return Judged(verdict, evidence)
        if verdict == "violated" and not violated.evidence:
            violated = Judged(verdict, evidence)
    return violated


def survey(sentences: Sequence[str], conditions: Sequence[str]) -> list[Noticed]:
    """Which sentence satisfies or contradicts which condition, in order of condition, sentence."""
    return [
        Noticed(c, s, verdict)
        for c, condition in enumerate(conditions)
        for s, sentence in enumerate(sentences)
        if (verdict := judge(sentence, condition).verdict) != _OPEN
    ]


def _judge(sentence: Sentence, condition: Sequence[Sentence]) -> Judged:
    """Each clause of the condition by the clause of the sentence that fits it best."""
    chosen: list[Outcome] = []
    if all(sentence.said.isdisjoint(part.said) for part in condition):
        return Judged(_OPEN, "")  # no word in common: most pairs of a survey
    for part in condition:
        for clause in part.clauses:
            if not any(not concept.weak for concept in clause.concepts):
                continue
            found = align(sentence, clause)
            if not found:
                return Judged(_OPEN, "")
            chosen.append(max(found, key=_fitness))
    if not chosen:
        return Judged(_OPEN, "")
    if all(outcome.satisfied for outcome in chosen):
        return Judged("satisfied", _evidence(sentence, chosen))
    wrong = [outcome for outcome in chosen if outcome.violated]
    total = sum(outcome.total for outcome in chosen)
    left = sum(a.total for a in chosen if not a.violated and not a.satisfied)
    if wrong and left <= 0.4 * total:
        return Judged("violated", _evidence(sentence, wrong))
    return Judged(_OPEN, "")


def _fitness(outcome: Outcome) -> tuple[bool, bool, float, float]:
    own = not (outcome.stranger or outcome.denied)
    return outcome.satisfied, outcome.violated, outcome.met, own - outcome.open


def _evidence(sentence: Sentence, outcomes: Sequence[Outcome]) -> str:
    start = min(a.clause.start for a in outcomes)
    end = max(a.clause.end for a in outcomes)
    return sentence.text[max(start, sentence.start) : min(end, sentence.end)].strip(" ,;")
