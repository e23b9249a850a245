"""A chat model as a scorer of candidate sets: called through the ledger, under its cap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from retgen.agents.agent import Agent, AnswerSchema, Question, RepairsFailed, write_rejected
from retgen.agents.calls import CallReport, call_models, with_call_report
from retgen.agents.context import Context
from retgen.agents.models import ModelSettings, model_description
from retgen.evaluation.embedders.options import ModelCalls
from retgen.evaluation.search.base import Array, CandidateSet, slug
from retgen.progress import Progress
from retgen.prompts import bundled


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


def question_of(group: CandidateSet, seed: int = 0) -> Rank:
    """What a model is asked about a candidate set. `seed`: another one shows another order."""
    return Rank(query=group.query, documents=tuple(group.texts[i] for i in _shown(group, seed)))


def scores_of(group: CandidateSet, answer: Order | None, seed: int = 0) -> Array:
    """Scores (texts,) of an answer: minus the rank. All 0, so all tied, where there is none."""
    scores = np.zeros(len(group.texts))
    shown = _shown(group, seed)
    for rank, number in enumerate(answer.ranking if answer else (), start=1):
        scores[shown[number - 1]] = -rank
    return scores


def _shown(group: CandidateSet, seed: int) -> Sequence[int]:
    """Which candidate stands first, second, ..."""

    def place(i: int) -> int:
        return xxhash.xxh3_64_intdigest(f"{seed}\0{group.query}\0{group.texts[i]}".encode())

    return sorted(range(len(group.texts)), key=place)


_HOPELESS = 20  # lists that failed, more than were ordered: to go on would only cost


class ChatRanker:
    """Orders candidate sets by a model's answers. One that fails after repairs leaves them tied."""

    noise = 0.0

    def __init__(self, name: str, settings: ModelSettings, calls: ModelCalls, folder: Path) -> None:
        self._name, self._settings, self._given, self._folder = name, settings, calls, folder
        self._calls = CallReport()
        self._lists = 0

    def score(self, groups: Sequence[CandidateSet], progress: Progress) -> list[Array]:
        result: list[Array] = []
        report = self._calls

        async def work(context: Context) -> None:
            report.rejected, report.stages = context.rejected, context.stages
            stage = context.stage(f"{self._name}: lists", len(groups), RANK)

            async def order(group: CandidateSet) -> Array:
                try:
                    return scores_of(group, await context.answer(RANK, question_of(group)))
                except RepairsFailed as error:
                    context.reject(stage, error, group._asdict())
                    if stage.rejected >= _HOPELESS and stage.rejected > stage.done:
                        raise context.too_few(stage, len(groups)) from error
                    return scores_of(group, None)

            result.extend(
                [
                    s
                    async for s in context.accepted_records(
                        stage, groups, order, CandidateSet._asdict
                    )
                ]
            )

        agents = {RANK.name: self._settings}
        try:
            with with_call_report(report):
                call_models(
                    work, self._folder, self._given.folder, agents, self._given.model_options,
                    report, None, progress,
                )  # fmt: skip
        finally:
            path = self._folder / f"rejected_{slug(self._name)}.jsonl"
            write_rejected(path, report.rejected)
        self._lists += len(groups)
        return result

    def details(self) -> dict[str, Any]:
        """Who was asked what, and what it took; `usd`: of this call, None where no price is known.

        `failed_after_repairs`: lists without an answer that passed its check, kept in
        rejected_NAME.jsonl.
        """
        tally = self._calls.tally
        return {
            **model_description(self._settings),
            "prompts": {RANK.prompt.name: RANK.prompt.sha256},
            "lists": self._lists,
            "failed_after_repairs": len(self._calls.rejected),
            "calls": sum(tally.calls.values()),
            "from_ledger": sum(tally.cached.values()),
            "tokens_in": sum(tally.tokens_in.values()),
            "tokens_out": sum(tally.tokens_out.values()),
            "usd_of_run": self._calls.spent.nano_usd / 1e9
            if self._calls.spent and self._calls.priced
            else None,
        }
