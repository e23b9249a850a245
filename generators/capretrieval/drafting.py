"""All documents counted, then drafted, in several processes where that is worth their start."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from retgen.generators.capretrieval.agents import WRITE_KEYWORDS, WRITE_QUERIES, WRITE_SUMMARIES
from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.drafts import (
    Drafts,
    DraftSettings,
    DraftTask,
    draft,
    incoming_links,
    survey,
)
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import Codes, Passage
from retgen.generators.capretrieval.queries import FOUND, PassageQuery
from retgen.processes import map_in_order
from retgen.sources import SourceDocument

if TYPE_CHECKING:
    from retgen.agents.context import Context, Stage

T = TypeVar("T")
_BATCH = 300_000  # characters of documents that a process works on at a time
_EACH = 500  # what a document takes besides its text, in characters
_PARALLEL_FROM = 4  # batches; below, starting a process costs more than it saves


class Drafted(NamedTuple):
    """Of all documents: what is found and what rules write; words and stems of each passage."""

    queries: list[PassageQuery]
    counts: CorpusCounts
    words: list[Codes]
    stems: list[Codes]


async def draft_in_processes(
    documents: Sequence[SourceDocument],
    passages: Sequence[Passage],
    document_of: Sequence[int],
    params: CapRetrievalParams,
    agents: frozenset[str],
    context: Context,
) -> Drafted:
    """Count, find and write by rules, in several processes where that is worth their start."""
    together = WRITE_QUERIES.name in agents
    batches = list(_batches([len(one.text) for one in documents]))
    workers = context.workers if len(batches) >= _PARALLEL_FROM else 1
    stage = context.stage("documents", 2 * len(documents))
    counts = CorpusCounts()
    surveyed = map_in_order(survey, None, [documents[part] for part in batches], workers)
    async for part in _steps(surveyed, stage, batches, context):
        counts.merge(part)
    counts = counts.without_rare_words()
    settings = DraftSettings(
        counts,
        *(
            wanted if context.offline(WRITE_QUERIES if together else writer) else 0
            for wanted, writer in (
                (params.queries.keywords, WRITE_KEYWORDS),
                (params.queries.summaries, WRITE_SUMMARIES),
            )
        ),
    )
    first = [bisect_left(document_of, number) for number in range(len(documents) + 1)]
    incoming = incoming_links(documents)
    tasks = [
        [
            DraftTask(documents[i], tuple(passages[first[i] : first[i + 1]]),
                      incoming.get(documents[i].id, ()))
            for i in range(part.start, part.stop)
        ]
        for part in batches
    ]  # fmt: skip
    result = Drafted([], counts, [], [])
    number = 0
    drafted = map_in_order(draft, settings, tasks, workers)
    async for drafts in _steps(drafted, stage, batches, context):
        for one in drafts:
            own = range(first[number], first[number + 1])
            result.queries.extend(_queries_of(one, own))
            result.words.extend(one.words)
            result.stems.extend(one.stems)
            number += 1
    return result


async def _steps(
    made: Iterator[T], stage: Stage, batches: Sequence[slice], context: Context
) -> AsyncIterator[T]:
    """What is made, while others may stop this work and progress is shown."""
    with closing(cast("Generator[T]", made)):
        for part, batch in zip(made, batches, strict=True):
            yield part
            stage.done += batch.stop - batch.start
            context.show(stage)
            context.check_stopped()
            await asyncio.sleep(0)


def _batches(lengths: Sequence[int]) -> Iterator[slice]:
    """Documents side by side, each batch of about as many characters."""
    begin, held = 0, 0
    for number, length in enumerate(lengths, 1):
        held += length + _EACH
        if held >= _BATCH or number == len(lengths):
            yield slice(begin, number)
            begin, held = number, 0


def _queries_of(drafts: Drafts, own: range) -> Iterator[PassageQuery]:
    """The queries of a document. `own`: the numbers of its passages."""
    for one in drafts.found:
        yield PassageQuery(
            one.text, one.kind, own[0], (one.start, one.stop), FOUND, one.score,
            one.found_in, list(one.found_at),
        )  # fmt: skip
    for place, rule in drafts.rules:
        span = rule.start, rule.stop
        yield PassageQuery(rule.text, rule.kind, own[place], span, "rules", rule.score)
