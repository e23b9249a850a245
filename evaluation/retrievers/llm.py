"""Chat models over candidate sets: called through the ledger, under its cap.

A model orders all documents of a query in one request.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from retgen.agents.agent import Agent, AnswerSchema, Question, RepairsFailed
from retgen.agents.models import ModelSettings, model_description, settings_of
from retgen.agents.report import CallReport, write_rejected
from retgen.errors import UsageError
from retgen.progress import Progress
from retgen.prompts import bundled
from retgen.search.base import Array, CandidateSet, RetrieverType, slug
from retgen.search.embedders.options import ModelCalls, Options

if TYPE_CHECKING:
    from retgen.agents.context import Context


class Chat(RetrieverType):
    """Listwise: one request a query."""

    prefix = "llm"
    form = "llm:PROVIDER:NAME"
    about = "a chat model orders the documents of a candidate set"
    ranks = False

    def asked(self, name: str) -> list[ModelSettings]:
        if not _is_complete(name):
            return []
        settings = settings_of(name.partition(":")[2])
        return [settings] if settings is not None else []

    def check(self, name: str) -> None:
        if not _is_complete(name):
            raise UsageError(
                f"--model {name}: name a chat model after {self.prefix}:, for example "
                f"{self.prefix}:openai:gpt-5-mini"
            )

    def load(self, name: str, options: Options) -> ChatScorer:
        if options.calls is None:
            raise UsageError(f"--model {name}: is asked through the ledger, which `gen eval` opens")
        return self.scorer(name, options.calls, options.calls.folder)

    def scorer(self, name: str, calls: ModelCalls, folder: Path) -> ChatScorer:
        """What asks the model; requests that failed after repairs are kept in `folder`."""
        (settings,) = self.asked(name)
        return ChatScorer(name, settings, calls, folder)


def _is_complete(name: str) -> bool:
    """Whether provider and model stand behind the prefix."""
    provider, _, model = name.partition(":")[2].partition(":")
    return bool(provider and model)


class Rank(Question):
    """A query, and the documents in the order in which they are shown, from 1."""

    query: str
    documents: tuple[str, ...]

    def variables(self) -> dict[str, str]:
        shown = (f"[{number}] {text}" for number, text in enumerate(self.documents, start=1))
        return {
            "query": self.query,
            "count": str(len(self.documents)),
            "documents": "\n\n".join(shown),
        }


class Order(AnswerSchema):
    """The numbers of all documents, best first."""

    ranking: list[int]


def _checked(question: Rank, answer: Order) -> str | None:
    count = len(question.documents)
    if sorted(answer.ranking) != list(range(1, count + 1)):
        text = ", ".join(map(str, answer.ranking[: count + 5]))
        return f"ranking holds {text or 'nothing'}; it names each of 1 to {count} exactly once"
    return None


def _by_words(question: Rank) -> Order:
    """Documents by how many of the query's words they hold; of equal ones the first shown."""
    asked = set(question.query.lower().split())
    shared = [len(asked & set(text.lower().split())) for text in question.documents]
    return Order(ranking=sorted(range(1, len(shared) + 1), key=lambda n: -shared[n - 1]))


RANK = Agent(
    name="rank_documents",
    role="judge",
    prompt=bundled("evaluation/rank_documents"),
    question=Rank,
    answer=Order,
    offline=_by_words,
    check=_checked,
    max_tokens=4096,  # a model that thinks has to do so in these
)


def question_of(group: CandidateSet) -> Rank:
    """What a model is asked about a candidate set, whose documents are shuffled by their text."""
    return Rank(query=group.query, documents=tuple(group.texts[i] for i in _shown(group)))


def scores_of(group: CandidateSet, answer: Order | None) -> Array:
    """Scores (texts,) of an answer: minus the rank. All 0, so all tied, where there is none."""
    scores = np.zeros(len(group.texts))
    shown = _shown(group)
    for rank, number in enumerate(answer.ranking if answer else (), start=1):
        scores[shown[number - 1]] = -rank
    return scores


def _shown(group: CandidateSet) -> Sequence[int]:
    """Which candidate stands first, second, ..."""

    def place(i: int) -> int:
        return xxhash.xxh3_64_intdigest(f"0\0{group.query}\0{group.texts[i]}".encode())

    return sorted(range(len(group.texts)), key=place)


# --- scorers --------------------------------------------------------------------------------------

_HOPELESS = 20  # requests that failed, more than were answered: to go on would only cost


class ChatScorer:
    """Scores candidate sets by the order that a model gives in one request each."""

    noise = 0.0

    def __init__(self, name: str, settings: ModelSettings, calls: ModelCalls, folder: Path) -> None:
        self._name, self._settings, self._given, self._folder = name, settings, calls, folder
        self._calls = CallReport()
        self._asked = 0

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        from retgen.agents.session import call_models  # names are listed without a client

        questions = {question_of(group): group._asdict() for group in groups}
        answers: dict[Rank, Order | None] = {}
        report = self._calls

        async def work(context: Context) -> None:
            stage = context.stage(f"{self._name}: lists", len(questions), RANK)

            async def answer(question: Rank) -> tuple[Rank, Order | None]:
                try:
                    return question, await context.answer(RANK, question)
                except RepairsFailed as error:
                    context.reject(stage, error, questions[question])
                    if stage.rejected >= _HOPELESS and stage.rejected > stage.done:
                        raise context.too_few(stage, len(questions)) from error
                    return question, None

            given = context.accepted_records(stage, questions, answer, questions.__getitem__)
            answers.update({question: one async for question, one in given})

        agents, given = {RANK.name: self._settings}, self._given
        options: dict[str, Any] = {"sources": self._folder, "progress": progress}
        try:
            call_models(work, given.folder, agents, given.model_options, report, **options)
        finally:
            path = self._folder / f"rejected_{slug(self._name)}.jsonl"
            write_rejected(path, report.rejected)
        self._asked += len(questions)
        return [scores_of(group, answers[question_of(group)]) for group in groups]

    def details(self) -> dict[str, Any]:
        """Who was asked what, and what it took; `usd`: of this call, None where no price is known.

        `failed_after_repairs`: requests without an answer that passed its check, kept in
        rejected_NAME.jsonl.
        """
        report = self._calls
        return {
            **model_description(self._settings),
            "prompts": {RANK.prompt.name: RANK.prompt.sha256},
            "lists": self._asked,
            "failed_after_repairs": len(report.rejected),
            "calls": sum(report.calls.values()),
            "from_ledger": sum(report.cached.values()),
            "tokens_in": sum(report.tokens_in.values()),
            "tokens_out": sum(report.tokens_out.values()),
            "usd_of_run": report.usd() if report.spent else None,
        }

    def summary(self, failed: str, of: str = "") -> str:
        """What it did, counted; `failed`: what became of the requests that failed after repairs."""
        count = len(self._calls.rejected)
        more = f", {count:,} failed after repairs, {failed}" if count else ""
        return f"ordered {self._asked:,} lists{of}{more}"
