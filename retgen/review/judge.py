"""`gen review --model`: a chat model judges the pairs of a review, beside people.

    openai:gpt-5-mini   "wifi keeps dropping"   help/network   2

Its verdicts are kept like anybody's, under its name. Where a person has judged an item, the
person's verdict counts; on these items the report states how far the model agrees with people. It
reads up to ten documents of a query in a call, in an order that says nothing of their ranks, and
goes through the ledger: a call is paid for once, and `--max-usd` is a hard limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from retgen.agents.agent import Agent, AnswerSchema, Question
from retgen.agents.context import Context
from retgen.agents.judge import numbered_passages
from retgen.agents.models import ModelOptions, ModelSettings
from retgen.agents.prices import Prices, price_list
from retgen.agents.report import CallReport, write_rejected
from retgen.agents.session import call_models, check_model, notice
from retgen.progress import Progress
from retgen.prompts import bundled
from retgen.review.records import MODEL, Item, Verdict
from retgen.review.review import Review, grade_meanings

PAGE, CHARACTERS = 10, 12_000  # documents, and characters of them, that are judged in one call
REJECTED = "rejected_judge.jsonl"


class AskRelevance(Question):
    """A query and passages, each of which is graded 0 to `grades` - 1."""

    query: str
    passages: tuple[str, ...]
    grades: int

    def variables(self) -> dict[str, str]:
        grades = (f"- {grade}: {text}" for grade, text in enumerate(grade_meanings(self.grades)))
        return {
            "query": self.query,
            "passages": numbered_passages(self.passages),
            "grades": "\n".join(grades),
        }


class Graded(AnswerSchema):
    """The grade of the passage of a number, from 1."""

    passage: int
    relevance: int = Field(ge=0, le=2)


class Grades(AnswerSchema):
    """The answer of `judge_relevance`."""

    grades: list[Graded]

    def in_order(self) -> list[int]:
        """The grades in the order of the passages."""
        return [one.relevance for one in sorted(self.grades, key=lambda one: one.passage)]


def _check(asked: AskRelevance, answer: Grades) -> str | None:
    numbers = sorted(one.passage for one in answer.grades)
    wanted = list(range(1, len(asked.passages) + 1))
    if missing := sorted(set(wanted) - set(numbers)):
        return f"passage {missing[0]} has no grade"
    if more := sorted(set(numbers) - set(wanted)):
        return f"there is no passage {more[0]}"
    if numbers != wanted:
        return "a passage has two grades"
    if high := [one for one in answer.grades if one.relevance >= asked.grades]:
        return f"passage {high[0].passage} has grade {high[0].relevance}, which there is not"
    return None


JUDGE = Agent(
    name="judge_relevance",
    role="judge",
    prompt=bundled("review/judge_relevance"),
    question=AskRelevance,
    answer=Grades,
    check=_check,
)


def pages_of(items: Sequence[Item]) -> list[list[Item]]:
    """The items, query by query, cut into what is judged in one call."""
    by_query: defaultdict[str, list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: item.item_id):  # a hash: no order of ranks
        by_query[item.query_id].append(item)
    pages: list[list[Item]] = []
    for of_query in by_query.values():
        size = CHARACTERS
        for item in of_query:
            length = len(item.pair.title) + len(item.pair.text)
            if size + length > CHARACTERS or len(pages[-1]) == PAGE:
                pages.append([])
                size = 0
            pages[-1].append(item)
            size += length
    return pages


def _cost(
    questions: Sequence[AskRelevance], pairs: int, model: ModelSettings, options: ModelOptions
) -> str:
    """How many requests will be sent, and what they cost at most."""
    table, name = Prices(options.prices, batch=bool(options.batch)), model.full_name
    said = f"{name} judges {pairs:,} pairs in {len(questions):,} requests"
    price = table.of(model)
    if price is None:
        return f"{said}; its price is not known: add --price {name}=IN,OUT"
    requests = (JUDGE.begin(one, model) for one in questions)
    usd = sum(price.worst(one, one.max_tokens) for one in requests) / 1e9
    source = "" if table.given else f" at the list prices of {price_list()}"
    return f"{said}, which cost ${usd:.4f} at most{source}; repairs of answers cost more"


def judge(
    review: Review, model: ModelSettings, options: ModelOptions, progress: Progress
) -> CallReport:
    """Have a model judge every item that it has not judged, and keep its verdicts.

    Raises `UsageError` for a model that cannot be asked, `BudgetReached` and `EndpointFailed` where
    it stops; what was judged until then is kept.
    """
    check_model(model, options)
    name, report = model.full_name, CallReport(rejected_file=REJECTED)
    done = {one.item_id for one in review.standing() if one.annotator == name}
    pages = pages_of([item for item in review.items if item.item_id not in done])

    def question(page: list[Item]) -> AskRelevance:
        texts = tuple(f"{item.pair.title}\n{item.pair.text}".strip() for item in page)
        return AskRelevance(query=page[0].pair.query, passages=texts, grades=review.settings.grades)

    async def answer(context: Context, page: list[Item]) -> tuple[list[Item], list[int]]:
        return page, (await context.answer(JUDGE, question(page))).in_order()

    async def work(context: Context) -> None:
        stage = context.stage("pages of candidates", len(pages), JUDGE, candidates=len(pages))

        def record(page: list[Item]) -> dict[str, Any]:
            return {"query-id": page[0].query_id, "corpus-ids": [item.doc_id for item in page]}

        accepted = context.accepted_records(
            stage, pages, lambda page: answer(context, page), record, exact=False
        )
        async for page, grades in accepted:
            review.store.add(
                Verdict(0, item.item_id, name, grade, item.shown, item.label, source=MODEL)
                for item, grade in zip(page, grades, strict=True)
            )

    if pages:
        notice(_cost(list(map(question, pages)), sum(map(len, pages)), model, options))
        try:
            call_models(
                work, review.folder, {JUDGE.name: model}, options, report, progress=progress
            )
        finally:
            write_rejected(review.folder / REJECTED, report.rejected)
    return report
