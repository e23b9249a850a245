"""NIAH's agents: needles in groups, a judge of them, and terms that expand a question.

Without a model the groups are the bundled ones, so offline answers there are none.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationError

from retgen.agents.agent import Agent, AnswerSchema, Question, models_work
from retgen.generators.niah.firewall import fault_of
from retgen.generators.niah.groups import Group
from retgen.prompts import bundled

TERMS = 250  # of an expanded question: the post's most
_FEWEST = 0.8  # share of the terms that will do
_WORDS = 4  # of a term
_NEAR = 4  # near-answers of a group


class AskNeedles(Question):
    """So many groups of a category."""

    category: str
    count: int


class WrittenGroup(AnswerSchema):
    """A group as a model writes it; see `Group`."""

    question: str
    literal: str
    literal_inverted: str
    one_hop: str
    one_hop_inverted: str
    fact: str
    source: str
    near: list[str]


class WrittenGroups(AnswerSchema):
    """The answer of `write_needles`."""

    groups: list[WrittenGroup]


class AskJudge(Question):
    """Sentences, each about another person."""

    question: str
    fact: str
    sentences: tuple[str, ...]

    def variables(self) -> dict[str, str]:
        listed = (f"{number}. {text}" for number, text in enumerate(self.sentences, 1))
        return {"question": self.question, "fact": self.fact, "sentences": "\n".join(listed)}


class Verdict(AnswerSchema):
    """What is said of the sentence of a number, from 1."""

    sentence: int
    answers: Literal["yes", "no"]
    needs_fact: Literal["yes", "no"]


class Verdicts(AnswerSchema):
    """The answer of `judge_needle`."""

    fact_is_true: Literal["yes", "no"]
    verdicts: list[Verdict]


class AskTerms(Question):
    """So many terms for a question."""

    question: str
    count: int


class Terms(AnswerSchema):
    """The answer of `expand_query`, best first."""

    terms: list[str] = Field(max_length=2 * TERMS)


def group_of(written: WrittenGroup, group_id: str, category: str) -> Group | str:
    """A written group, or what is wrong with it."""
    row = {"id": group_id, "category": category, **written.model_dump()}
    try:
        group = Group.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}"
    if not group.question.startswith("Which character ") or not group.question.endswith("?"):
        return 'question: it must begin with "Which character" and end with a question mark'
    if len(group.near) < _NEAR:
        return f"near: there are {len(group.near)}, {_NEAR} are wanted"
    return fault_of(group) or group


def _check_groups(asked: AskNeedles, answer: WrittenGroups) -> str | None:
    """Less than half can be used: what is wrong with the first three."""
    faults = [
        f"group {number}, {fault}"
        for number, one in enumerate(answer.groups, 1)
        if isinstance(fault := group_of(one, "x", asked.category), str)
    ]
    if 2 * (len(answer.groups) - len(faults)) >= asked.count:
        return None
    few = f"there are {len(answer.groups)} groups, {asked.count} are wanted"
    return "; ".join(faults[:3]) or few


def _check_verdicts(asked: AskJudge, answer: Verdicts) -> str | None:
    numbers = sorted(one.sentence for one in answer.verdicts)
    wanted = list(range(1, len(asked.sentences) + 1))
    return (
        None if numbers == wanted else f"give one verdict for each of the {len(wanted)} sentences"
    )


def _check_terms(asked: AskTerms, answer: Terms) -> str | None:
    found = len(distinct(answer.terms))
    if found < _FEWEST * asked.count:
        return f"{found} of the terms differ and have one to four words; {asked.count} are wanted"
    return None


def distinct(terms: list[str]) -> list[str]:
    """The terms that can be used, each once."""
    result: dict[str, str] = {}
    for one in (" ".join(term.split()) for term in terms):
        if 1 <= len(one.split()) <= _WORDS:
            result.setdefault(one.casefold(), one)
    return list(result.values())


WRITE_NEEDLES = Agent(
    name="write_needles",
    role="write",
    prompt=bundled("niah/write_needles"),
    question=AskNeedles,
    answer=WrittenGroups,
    offline=models_work("write_needles"),
    check=_check_groups,
    max_tokens=2048,
)
JUDGE_NEEDLE = Agent(
    name="judge_needle",
    role="judge",
    prompt=bundled("niah/judge_needle"),
    question=AskJudge,
    answer=Verdicts,
    offline=models_work("judge_needle"),
    check=_check_verdicts,
)
EXPAND_QUERY = Agent(
    name="expand_query",
    role="write",
    prompt=bundled("niah/expand_query"),
    question=AskTerms,
    answer=Terms,
    offline=models_work("expand_query"),
    check=_check_terms,
    max_tokens=2048,
)
AGENTS = (WRITE_NEEDLES, JUDGE_NEEDLE, EXPAND_QUERY)
