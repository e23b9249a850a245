"""The judge (paper, section 2 and Appendix B): grades 0, 1 and 2, passages by tens.

The second pass is asked in another order, of the passages and of the grades, so that it is a
reading of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from pydantic import Field

from retgen.agents.agent import Agent, AnswerSchema, Question, RepairsFailed, models_work
from retgen.generators.capretrieval.sourcing import bundled_labels
from retgen.prompts import bundled

GRADES = {
    2: "who asks this wants the passage: it is about what the query names, or answers it",
    1: "the passage has something of it, but in passing, in part, or only probably",
    0: "the passage has nothing of it",
}


def _grades(turn: int) -> str:
    order = sorted(GRADES, reverse=turn == 1)
    return "\n".join(f"- {grade}: {GRADES[grade]}" for grade in order)


class AskRelevance(Question):
    """A query and passages, each of which is graded. `turn`: the first or the second pass."""

    query: str
    passages: tuple[str, ...]
    turn: Literal[1, 2]

    def variables(self) -> dict[str, str]:
        # a text may hold numbers in brackets, or words of a prompt
        shown = (
            f'<passage number="{number}">\n{text}\n</passage>'
            for number, text in enumerate(self.passages, 1)
        )
        return {
            "query": self.query, "passages": "\n".join(shown), "grades": _grades(self.turn),
        }  # fmt: skip


class Graded(AnswerSchema):
    """The grade of the passage of a number, from 1."""

    passage: int
    relevance: int = Field(ge=0, le=2)


class Grades(AnswerSchema):
    """The answer of `annotate_relevance`."""

    grades: list[Graded]

    def in_order(self) -> list[int]:
        """The grades in the order of the passages."""
        return [one.relevance for one in sorted(self.grades, key=lambda one: one.passage)]


class AskConflict(Question):
    """A query, a passage, and the two grades that it got."""

    query: str
    passage: str
    readings: tuple[int, int]

    def variables(self) -> dict[str, str]:
        first, second = sorted(self.readings)
        return {
            "query": self.query, "passage": self.passage, "grades": _grades(1),
            "readings": f"{first} and {second}",
        }  # fmt: skip


class Settled(AnswerSchema):
    """The answer of `adjudicate_relevance`."""

    reason: str = Field(max_length=2000)
    relevance: int = Field(ge=0, le=2)


def _check(asked: AskRelevance, answer: Grades) -> str | None:
    numbers = sorted(one.passage for one in answer.grades)
    wanted = list(range(1, len(asked.passages) + 1))
    if numbers == wanted:
        return None
    if missing := sorted(set(wanted) - set(numbers)):
        return f"passage {missing[0]} has no grade"
    if more := sorted(set(numbers) - set(wanted)):
        return f"there is no passage {more[0]}"
    return "a passage has two grades"


def _known(asked: AskRelevance) -> Grades:
    """The labels of the bundled captions; nobody else's are known without a model."""
    labels: Mapping[str, int] = bundled_labels().get(asked.query, {})
    if unknown := [text for text in asked.passages if text not in labels]:
        message = f"grading {unknown[0][:40]!r} is a model's work: name one (--model)"
        raise RepairsFailed("annotate_relevance/offline", message, ())
    return Grades(grades=[
        Graded(passage=number, relevance=labels[text])
        for number, text in enumerate(asked.passages, 1)
    ])  # fmt: skip


ANNOTATE = Agent(
    name="annotate_relevance",
    role="judge",
    prompt=bundled("capretrieval/annotate_relevance"),
    question=AskRelevance,
    answer=Grades,
    offline=_known,
    check=_check,
)
# a name of its own: what a ledger says of the corpus does not depend on the calibration
CALIBRATE = replace(ANNOTATE, name="calibrate_relevance")
ADJUDICATE = Agent(
    name="adjudicate_relevance",
    role="judge",
    prompt=bundled("capretrieval/adjudicate_relevance"),
    question=AskConflict,
    answer=Settled,
    offline=models_work("adjudicate_relevance", "settling a conflict"),
)
