"""The ladders of a job, drawn or written by models, and what a plan says of the calls.

Plans go by the length of the source's first documents: conditions are as long as their sentences.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash

from retgen.agents.agent import Agent, RepairsFailed
from retgen.agents.judge import CALIBRATION, calibrate
from retgen.generators.agents import call_size, estimate_calls
from retgen.generators.family import CallEstimate
from retgen.generators.multiconir.agents import (
    CALIBRATE,
    EXTRACT,
    QUERY,
    REWRITE,
    VERIFY,
    AskVerdicts,
    Judged,
    Verdicts,
)
from retgen.generators.multiconir.calibration import sheets
from retgen.generators.multiconir.checks import CONDITIONS, split, usable
from retgen.generators.multiconir.facts import LadderSampler, is_drawn
from retgen.generators.multiconir.ladders import DOCUMENTS, LADDERS, Ladder, places
from retgen.generators.multiconir.params import MultiConIRParams, documents_of, on_the_hub
from retgen.generators.multiconir.writing import CANDIDATES, write_ladder
from retgen.generators.params import Job
from retgen.generators.tables import iterate_rows
from retgen.sources import RefusedRow, SourceDocument
from retgen.write import AtomicFile, dump_json, json_line, write_file

if TYPE_CHECKING:
    from retgen.agents.context import Context

_SAMPLE = 20  # documents that a plan looks at
_PART, _BYTES = 40, 4  # bytes of JSON around a part of an answer; of a token
_LONGER = {"modify": 1.0, "reassign": 1.8}  # a rewrite, by its sentence
# calls of a ladder, from few to many: answers that have too few good parts come again
_CALLS: dict[Agent[Any, Any], tuple[float, float]] = {
    EXTRACT: (1.0, 1.2),
    REWRITE: (1.0, 1.5),
    VERIFY: (2.0, 2.4),
    QUERY: (1.0, 1.2),
}


async def generate_ladders(job: Job[MultiConIRParams], context: Context) -> None:
    """Draw ladders; or calibrate the judge, then make them of the source's documents.

    Leaves `documents.jsonl` (the documents, as they were read or drawn), `ladders.jsonl` and, where
    a model judges, `calibration.json`.
    """
    if is_drawn(job):
        _draw(job, context)
        return
    result = await calibrate(context, CALIBRATE, sheets())
    write_file(context.folder / CALIBRATION, dump_json(result._asdict()))
    refused, read = _read(job.params, context.folder)
    most = min(filter(None, (read, job.params.ladders, job.limit)), default=0)
    wanted = job.params.ladders if job.limit is None else None
    agents = (EXTRACT, REWRITE, VERIFY, QUERY)
    stage = context.stage("ladders", wanted or most, *agents, candidates=read)
    for one in refused:
        where = {"where": one.where} | ({"id": one.id} if one.id else {})
        context.reject(stage, RepairsFailed(one.rule, f"{one.where}: {one.reason}", ()), where)
    asked = set[int]()

    def admit(made: Ladder) -> str | None:
        """Queries that begin alike would be one query, with documents of two ladders."""
        both = (made.conditions[0], *made.queries)
        texts = {xxhash.xxh3_64_intdigest(one.encode()) for one in both}
        if texts & asked:
            return "another ladder has the same first condition, or the same query"
        asked.update(texts)
        return None

    async def write(document: SourceDocument) -> Ladder:
        return await write_ladder(job, document, context)

    documents = (SourceDocument(**row) for row in iterate_rows(context.folder / DOCUMENTS))
    with AtomicFile(context.folder / LADDERS) as file:
        async for ladder in context.accepted_records(
            stage, documents, write, lambda one: one.row(), admit, exact=wanted is not None
        ):
            file.write(ladder.line())


def _draw(job: Job[MultiConIRParams], context: Context) -> None:
    """Write drawn ladders, and the positive of each as its document."""
    drawing = LadderSampler(job.params, job.seed)
    wanted = context.pilot_size(min(drawing.wanted, job.limit or drawing.wanted))
    stage = context.stage("ladders", wanted)
    with (
        AtomicFile(context.folder / LADDERS) as file,
        AtomicFile(context.folder / DOCUMENTS) as documents,
    ):
        for ladder in islice(drawing.ladders(), wanted):
            file.write(ladder.line())
            text = ladder.text(places(job.seed, ladder.id))
            documents.write(json_line({"id": ladder.id, "text": text, "title": ladder.title}))
            stage.done += 1
            context.show(stage)


def _read(params: MultiConIRParams, folder: Path) -> tuple[list[RefusedRow], int]:
    """Copy the source's documents into the run; (what is refused, how many there are)."""
    refused, count = [], 0
    with AtomicFile(folder / DOCUMENTS) as file:
        for one in documents_of(params):
            if isinstance(one, RefusedRow):
                refused.append(one)
            else:
                file.write(json_line(one.row()))
                count += 1
    return refused, count


# --- for plans ------------------------------------------------------------------------------------


def call_estimates(job: Job[MultiConIRParams], records: int) -> dict[str, CallEstimate]:
    """What a plan says of the calls for so many documents, by agent."""
    params = job.params
    if on_the_hub(params):  # of which nothing is known, so bundled documents stand in
        params = params.model_copy(update={"source": None, "domain": "people"})
    documents = (one.text for one in documents_of(params) if isinstance(one, SourceDocument))
    texts = [*islice(documents, _SAMPLE)]
    whole = sum(map(len, texts)) / len(texts)
    chosen = sum(len("".join(_candidates(text))) for text in texts) / len(texts)
    longer = _LONGER[job.params.rewriting()]
    # texts in the prompt, and in the answer, beside what is there of any document
    sizes: dict[Agent[Any, Any], tuple[float, float]] = {
        EXTRACT: (whole, 2 * chosen),
        REWRITE: (2 * chosen, longer * chosen),
        VERIFY: (2 * chosen, chosen),
        QUERY: (0.7 * chosen, 0.7 * chosen * (CONDITIONS + 1) / 2),
    }
    estimates = {
        agent.name: CallEstimate(
            records,
            _CALLS[agent],
            round(len(f"{agent.prompt.system}{agent.prompt.user}{agent.schema}") + prompt),
            round((answer + _PART * CANDIDATES) / _BYTES),
        )
        for agent, (prompt, answer) in sizes.items()
    }
    every = [call_size(CALIBRATE, one.question, _stand_in(one.question)) for one in sheets()]
    return estimates | {CALIBRATE.name: estimate_calls(len(every), (1.0, 1.0), every)}


def _candidates(text: str) -> list[str]:
    """Sentences that a model may choose of a document."""
    return [one for one in split(text) if usable(one)][:CANDIDATES]


def _stand_in(question: AskVerdicts) -> Verdicts:
    """Verdicts that quote as much as a condition says."""
    return Verdicts(
        verdicts=[
            Judged(condition=n, text=n, verdict="satisfied", quote=condition)
            for n, condition in enumerate(question.conditions, 1)
        ]
    )
