"""NIAH's agents: needles in groups, and a judge of them.

The judge has to accept each group that is written. Without a model the groups are the bundled ones,
so offline answers there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from retgen.agents.agent import AnswerSchema, Numbered, Question
from retgen.agents.report import Rejection
from retgen.errors import ChecksFailed
from retgen.generators.agents import bundled_agent
from retgen.generators.niah.groups import NeedleGroup, people, with_name
from retgen.generators.niah.leaks import fault_of
from retgen.generators.niah.params import WrittenNeedles
from retgen.streams import Stream

if TYPE_CHECKING:
    from retgen.agents.context import Context


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
    sentences: Numbered


class Verdict(AnswerSchema):
    """What is said of the sentence of a number, from 1."""

    sentence: int
    answers: Literal["yes", "no"]
    needs_fact: Literal["yes", "no"]


class Verdicts(AnswerSchema):
    """The answer of `judge_needle`."""

    fact_is_true: Literal["yes", "no"]
    verdicts: list[Verdict]


def group_of(written: WrittenGroup, group_id: str, category: str) -> NeedleGroup | str:
    """A written group, or what is wrong with it."""
    row = {"id": group_id, "category": category, **written.model_dump()}
    try:
        group = NeedleGroup.model_validate(row)
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


WRITE_NEEDLES = bundled_agent(
    "niah/write_needles", "write", AskNeedles, WrittenGroups, check=_check_groups, max_tokens=2048
)
JUDGE_NEEDLE = bundled_agent(
    "niah/judge_needle", "judge", AskJudge, Verdicts, check=_check_verdicts
)
AGENTS = (WRITE_NEEDLES, JUDGE_NEEDLE)


async def write_groups(written: WrittenNeedles, seed: int, context: Context) -> list[NeedleGroup]:
    """The groups that a model has written, that hold to the rules, and that the judge accepts.

    The judge sees needles and near-answers in drawn order, each about another person: a needle has
    to answer the question, only through the fact; a near-answer must not. Raises `ChecksFailed`
    where no group is left.
    """
    categories = list(enumerate(written.categories))
    stage = context.stage("categories", len(categories), WRITE_NEEDLES, candidates=len(categories))

    async def write(place: tuple[int, str]) -> tuple[int, WrittenGroups]:
        asked = AskNeedles(category=place[1], count=written.each)
        return place[0], await context.answer(WRITE_NEEDLES, asked)

    groups: list[NeedleGroup] = []
    seen: set[str] = set()
    async for place, answer in context.accepted_records(
        stage, categories, write, lambda place: {"id": place[1]}, exact=False
    ):
        for number, one in enumerate(answer.groups[: written.each], 1):
            group = group_of(one, f"written-{place + 1}-{number:02}", written.categories[place])
            fault = group if isinstance(group, str) else None
            if isinstance(group, NeedleGroup) and group.question.casefold() in seen:
                fault = "its question stands in another group"
            if fault is not None or isinstance(group, str):
                row = one.model_dump()
                context.report.rejected.append(Rejection("write_needles/group", str(fault), row))
                continue
            seen.add(group.question.casefold())
            groups.append(group)
    accepted = await _judge(groups, seed, context)
    if not accepted and context.pilot is None:
        raise ChecksFailed(
            f"of {len(groups):,} written groups the judge accepted none; see rejected.jsonl, or "
            "try another model"
        )
    return accepted


async def _judge(groups: Sequence[NeedleGroup], seed: int, context: Context) -> list[NeedleGroup]:
    stage = context.stage("groups", len(groups), JUDGE_NEEDLE, candidates=len(groups))
    names = people().names

    async def judge(group: NeedleGroup) -> tuple[NeedleGroup, str | None]:
        sentences = [group.one_hop, group.one_hop_inverted, *group.near]
        stream = Stream(seed, f"niah/judge/{group.id}")
        order = stream.permutation(len(sentences)).tolist()
        chosen = stream.permutation(len(names)).tolist()
        shown = tuple(with_name(sentences[i], names[chosen[n]]) for n, i in enumerate(order))
        asked = AskJudge(question=group.question, fact=group.fact, sentences=shown)
        answer = await context.answer(JUDGE_NEEDLE, asked)
        return group, _judge_fault(answer, order)

    result = []
    async for group, fault in context.accepted_records(
        stage, groups, judge, lambda group: group.model_dump(), exact=False
    ):
        if fault is None:
            result.append(group)
        else:
            context.report.rejected.append(
                Rejection("judge_needle/group", fault, group.model_dump())
            )
    return result


def _judge_fault(answer: Verdicts, order: Sequence[int]) -> str | None:
    """Why the judge does not accept a group. `order`: sentence n is needle or near-answer i."""
    if answer.fact_is_true == "no":
        return "the fact is not true"
    of = {order[one.sentence - 1]: one for one in answer.verdicts}
    for needle, called in enumerate(("one_hop", "one_hop_inverted")):
        if of[needle].answers == "no":
            return f"{called} does not answer the question"
        if of[needle].needs_fact == "no":
            return f"{called} answers the question without the fact"
    near = [i for i in sorted(of) if i > 1 and of[i].answers == "yes"]
    return f"near[{near[0] - 2}] answers the question" if near else None
