"""Groups that a model writes and another judges, and terms that expand questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from retgen.agents.agent import Rejection
from retgen.errors import ChecksFailed
from retgen.generators.niah.agents import (
    EXPAND_QUERY,
    JUDGE_NEEDLE,
    TERMS,
    WRITE_NEEDLES,
    AskJudge,
    AskNeedles,
    AskTerms,
    Verdicts,
    WrittenGroups,
    distinct,
    group_of,
)
from retgen.generators.niah.groups import Group, people, with_name
from retgen.generators.niah.params import Written
from retgen.streams import Stream

if TYPE_CHECKING:
    from retgen.agents.context import Context


async def written_groups(written: Written, seed: int, context: Context) -> list[Group]:
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

    groups: list[Group] = []
    seen: set[str] = set()
    async for place, answer in context.accepted_records(
        stage, categories, write, lambda place: {"id": place[1]}, exact=False
    ):
        for number, one in enumerate(answer.groups[: written.each], 1):
            group = group_of(one, f"written-{place + 1}-{number:02}", written.categories[place])
            fault = group if isinstance(group, str) else None
            if isinstance(group, Group) and group.question.casefold() in seen:
                fault = "its question stands in another group"
            if fault is not None or isinstance(group, str):
                row = one.model_dump()
                context.rejected.append(Rejection("write_needles/group", str(fault), row))
                continue
            seen.add(group.question.casefold())
            groups.append(group)
    accepted = await _judged(groups, seed, context)
    if not accepted and context.pilot is None:
        raise ChecksFailed(
            f"of {len(groups):,} written groups the judge accepted none; see rejected.jsonl, or "
            "try another model"
        )
    return accepted


async def _judged(groups: Sequence[Group], seed: int, context: Context) -> list[Group]:
    stage = context.stage("groups", len(groups), JUDGE_NEEDLE, candidates=len(groups))
    names = people().names

    async def judge(group: Group) -> tuple[Group, str | None]:
        sentences = [group.one_hop, group.one_hop_inverted, *group.near]
        stream = Stream(seed, f"niah/judge/{group.id}")
        order = stream.permutation(len(sentences)).tolist()
        chosen = stream.permutation(len(names)).tolist()
        shown = tuple(with_name(sentences[i], names[chosen[n]]) for n, i in enumerate(order))
        asked = AskJudge(question=group.question, fact=group.fact, sentences=shown)
        answer = await context.answer(JUDGE_NEEDLE, asked)
        return group, _fault(answer, order)

    result = []
    async for group, fault in context.accepted_records(
        stage, groups, judge, lambda group: group.model_dump(), exact=False
    ):
        if fault is None:
            result.append(group)
        else:
            context.rejected.append(Rejection("judge_needle/group", fault, group.model_dump()))
    return result


def _fault(answer: Verdicts, order: Sequence[int]) -> str | None:
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


async def expanded(groups: Sequence[Group], context: Context) -> dict[str, list[str]]:
    """Terms for the questions of groups, by their ids; a question that failed has none."""
    stage = context.stage("expansions", len(groups), EXPAND_QUERY, candidates=len(groups))

    async def expand(group: Group) -> tuple[str, list[str]]:
        answer = await context.answer(EXPAND_QUERY, AskTerms(question=group.question, count=TERMS))
        return group.id, distinct(answer.terms)[:TERMS]

    return {
        group_id: terms
        async for group_id, terms in context.accepted_records(
            stage, groups, expand, lambda group: {"id": group.id}, exact=False
        )
    }
