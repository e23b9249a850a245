"""What models do: the judge is calibrated, then documents become ladders one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import xxhash

from retgen.agents.agent import RepairsFailed
from retgen.generators.multiconir.agents import EXTRACT, QUERY, REWRITE, VERIFY
from retgen.generators.multiconir.calibration import calibrate
from retgen.generators.multiconir.drawn import Drawing, drawn
from retgen.generators.multiconir.ladders import DOCUMENTS, LADDERS, Ladder, places
from retgen.generators.multiconir.params import MultiConIRParams
from retgen.generators.multiconir.sourcing import documents_of
from retgen.generators.multiconir.writing import Writing
from retgen.generators.params import Job
from retgen.sources import RefusedRow, SourceDocument
from retgen.write import AtomicFile

if TYPE_CHECKING:
    from retgen.agents.context import Context


async def generate_ladders(job: Job[MultiConIRParams], context: Context) -> None:
    """Draw ladders; or calibrate the judge, then make them of the source's documents.

    Leaves `documents.jsonl` (the documents, as they were read or drawn), `ladders.jsonl` and, where
    a model judges, `calibration.json`.
    """
    if drawn(job):
        _draw(job, context)
        return
    if not context.offline(VERIFY):
        await calibrate(context)
    refused, read = _read(job.params, context.folder)
    most = min(filter(None, (read, job.params.ladders, job.limit)), default=0)
    wanted = job.params.ladders if job.limit is None else None
    agents = (EXTRACT, REWRITE, VERIFY, QUERY)
    stage = context.stage("ladders", wanted or most, *agents, candidates=read)
    for one in refused:
        where = {"where": one.where} | ({"id": one.id} if one.id else {})
        context.reject(stage, RepairsFailed(one.rule, f"{one.where}: {one.reason}", ()), where)
    work, asked = Writing(job, context), set[int]()

    def admit(made: Ladder) -> str | None:
        """Queries that begin alike would be one query, with documents of two ladders."""
        both = (made.conditions[0], *made.queries)
        texts = {xxhash.xxh3_64_intdigest(one.encode()) for one in both}
        if texts & asked:
            return "another ladder has the same first condition, or the same query"
        asked.update(texts)
        return None

    with AtomicFile(context.folder / LADDERS) as file:
        async for ladder in context.accepted(
            stage, _documents(context.folder), work.ladder, lambda one: one._asdict(),
            admit, exact=wanted is not None,
        ):  # fmt: skip
            file.write(ladder.line())


def _draw(job: Job[MultiConIRParams], context: Context) -> None:
    """Write drawn ladders, and the positive of each as its document."""
    drawing = Drawing(job.params, job.seed)
    wanted = context.pilot_size(min(drawing.wanted, job.limit or drawing.wanted))
    stage = context.stage("ladders", wanted)
    with (
        AtomicFile(context.folder / LADDERS) as file,
        AtomicFile(context.folder / DOCUMENTS) as documents,
    ):
        for ladder in islice(drawing.ladders(), wanted):
            file.write(ladder.line())
            text = ladder.text(places(job.seed, ladder.id))
            row = {"id": ladder.id, "text": text, "title": ladder.title}
            documents.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
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
                file.write(orjson.dumps(one._asdict(), option=orjson.OPT_APPEND_NEWLINE))
                count += 1
    return refused, count


def _documents(folder: Path) -> Iterator[SourceDocument]:
    with open(folder / DOCUMENTS, "rb") as file:
        for line in file:
            yield SourceDocument(**orjson.loads(line))
