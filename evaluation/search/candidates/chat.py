"""A chat model as a scorer of candidate sets: called through the ledger, under its cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.agents.agent import RepairsFailed
from retgen.agents.calls import CallReport, ModelOptions, call_models, with_call_report
from retgen.agents.context import Context
from retgen.agents.models import ModelSettings, model_description
from retgen.evaluation.search.candidates.prompt import RANK, question_of, scores_of
from retgen.evaluation.search.candidates.sets import CandidateSet
from retgen.evaluation.search.names import slug
from retgen.progress import Progress
from retgen.write import AtomicFile

_HOPELESS = 20  # lists that failed, more than were ordered: to go on would only cost


@dataclass(frozen=True)
class Chats:
    """How chat models are asked in one call. `folder` names it in the ledger: a cap is its own.

    `limit`: items of a domain whose candidate sets it orders.
    """

    model_options: ModelOptions
    folder: Path
    limit: int | None = None


class ChatRanker:
    """Orders candidate sets by a model's answers. One that fails after repairs leaves them tied."""

    noise = 0.0

    def __init__(self, name: str, settings: ModelSettings, chats: Chats, folder: Path) -> None:
        self._name, self._settings, self._chats, self._folder = name, settings, chats, folder
        self._calls = CallReport()
        self._lists = 0

    def score(
        self, groups: Sequence[CandidateSet], progress: Progress
    ) -> list[NDArray[np.float64]]:
        result: list[NDArray[np.float64]] = []
        report = self._calls

        async def work(context: Context) -> None:
            report.rejected, report.stages = context.rejected, context.stages
            stage = context.stage(f"{self._name}: lists", len(groups), RANK)

            async def order(group: CandidateSet) -> NDArray[np.float64]:
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
                    work, self._folder, self._chats.folder, agents, self._chats.model_options,
                    report, None, progress,
                )  # fmt: skip
        finally:
            self._write()
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

    def _write(self) -> None:
        path = self._folder / f"rejected_{slug(self._name)}.jsonl"
        if not self._calls.rejected:
            path.unlink(missing_ok=True)  # of an earlier call
            return
        with AtomicFile(path) as file:
            for one in self._calls.rejected:
                file.write(orjson.dumps(one._asdict(), option=orjson.OPT_APPEND_NEWLINE))
