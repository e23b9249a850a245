"""What a review is to show: `wrong <= 2% at 95%`, `missed <= 10% at 95%`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from retgen.errors import UsageError
from retgen.messages import did_you_mean
from retgen.review.records import Population

Question = Literal["wrong", "missed"]

# by question: the populations whose verdicts answer it
POPULATIONS: dict[Question, tuple[Population, ...]] = {
    "wrong": ("positives",),
    "missed": ("positives", "others"),
}
DEFAULT = ("wrong <= 2% at 95%", "missed <= 10% at 95%")
_FORM = re.compile(
    r"\s*(?P<question>[a-z]+)\s*(?:<=?|≤)\s*(?P<rate>[0-9.]+)\s*(?P<percent>%?)"
    r"(?:\s+at\s+(?P<level>[0-9.]+)\s*%)?\s*",
    re.IGNORECASE,
)
_EXAMPLE = "write it as 'wrong <= 2% at 95%' or 'missed <= 10% at 95%'"


class Goal(NamedTuple):
    """At most `rate` of the pairs that a question is about, shown at confidence `level`."""

    question: Question
    rate: float
    level: float

    def __str__(self) -> str:
        return f"{self.question} <= {100 * self.rate:g}% at {100 * self.level:g}%"


def parse_goal(text: str) -> Goal:
    """A goal as the user wrote it. Raises `UsageError` saying what cannot be read."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise UsageError(f"--goal {text!r} cannot be read: {_EXAMPLE}")
    name = found["question"].lower()
    questions: dict[str, Question] = {"wrong": "wrong", "missed": "missed"}
    if name not in questions:
        raise UsageError(
            f"--goal {text!r}: {name!r} is no question{did_you_mean(name, questions) or '.'} "
            "wrong: positives that are not relevant; missed: relevant pairs without positive label"
        )
    rate, level = _number(found["rate"], text), _number(found["level"] or "95", text) / 100
    if not found["percent"] and rate >= 1:
        raise UsageError(f"--goal {text!r}: a rate is in percent (2%) or below 1 (0.02)")
    rate = rate / 100 if found["percent"] else rate
    if not 0 < rate < 1:
        raise UsageError(
            f"--goal {text!r}: the rate must be above 0% and below 100%. That no pair at all is "
            "wrong is shown only by looking at all of them"
        )
    if not 0.5 <= level < 1:
        raise UsageError(
            f"--goal {text!r}: the confidence must be from 50% to below 100% (95% is usual)"
        )
    return Goal(questions[name], rate, level)


def parse_goals(texts: Iterable[str]) -> tuple[Goal, ...]:
    """Several goals, in order; of one question only one."""
    goals = tuple(map(parse_goal, texts))
    for question in POPULATIONS:
        mine = [goal for goal in goals if goal.question == question]
        if len(set(mine)) > 1:
            raise UsageError(
                f"--goal: {mine[0]} and {mine[1]} both are goals for {question!r}; keep one"
            )
    return tuple(dict.fromkeys(goals))


def goal_populations(goals: Sequence[Goal]) -> tuple[Population, ...]:
    """The populations that some goals are about; both where there is none."""
    wanted = {population for goal in goals for population in POPULATIONS[goal.question]}
    everything: tuple[Population, ...] = ("positives", "others")
    return tuple(p for p in everything if p in wanted) or everything


def _number(text: str, goal: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--goal {goal!r}: {text!r} is no number; {_EXAMPLE}") from None
