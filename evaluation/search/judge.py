"""A chat model that says of pairs whether the document is relevant to the query."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retgen.agents.agent import Agent, AnswerSchema, Question
from retgen.agents.context import Context
from retgen.agents.models import ModelOptions, ModelSettings, chat_model_of
from retgen.agents.report import CallReport, write_rejected
from retgen.agents.session import call_models, check_model
from retgen.progress import Progress
from retgen.prompts import bundled


class AskPair(Question):
    """A query and a document. One pair a call, so that no label depends on other pairs."""

    query: str
    document: str


class RelevanceLabel(AnswerSchema):
    """Whether the document is relevant to the query."""

    relevant: bool


JUDGE = Agent(
    name="judge_relevance",
    role="judge",
    prompt=bundled("evaluation/judge_relevance"),
    question=AskPair,
    answer=RelevanceLabel,
    max_tokens=64,
)


def judge_model(option: str, name: str, model_options: ModelOptions) -> ModelSettings:
    """The model that an option names. Raises `UsageError` where it cannot be asked."""
    settings = chat_model_of(option, name, "judges pairs")
    check_model(settings, model_options)
    return settings


def judged_labels(
    settings: ModelSettings,
    pairs: Mapping[int, tuple[str, str]],
    size: int,
    folder: Path,
    model_options: ModelOptions,
    report: CallReport,
    progress: Progress,
) -> NDArray[np.float64]:
    """A model's labels (size,) of some pairs of a query and a document, by number: 0 or 1, NaN of
    the others and where it gave none.

    Those in the ledger cost nothing; `folder` names the run there. What failed stands in
    rejected.jsonl beside it. Raises `BudgetReached`, `EndpointFailed`, or `ChecksFailed` where
    hardly any answer can be taken.
    """
    options = model_options
    labels = np.full(size, np.nan)
    questions = {i: AskPair(query=query, document=text) for i, (query, text) in pairs.items()}

    async def work(context: Context) -> None:
        stage = context.stage("judge", len(pairs), JUDGE)

        async def label(item: int) -> tuple[int, bool]:
            return item, (await context.answer(JUDGE, questions[item])).relevant

        async for item, relevant in context.accepted_records(
            stage, questions, label, lambda item: questions[item].model_dump(), exact=False
        ):
            labels[item] = float(relevant)

    agents = {JUDGE.name: settings}
    try:
        call_models(work, folder, agents, options, report, progress=progress)
    finally:
        write_rejected(folder.parent / "rejected.jsonl", report.rejected)
    return labels
