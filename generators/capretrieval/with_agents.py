"""Documents are read and cut, agents write queries for every passage, negatives are mined.

Leaves in the run's sources/: `documents.jsonl` (as they were read), `passages.jsonl` (places, and
the split), `queries.jsonl` (with positives and negatives, by the passages' numbers) and
`mined.json` (what the negatives were chosen from, and in what share of their words documents of two
splits do not agree).
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from retgen.agents.agent import Rejection
from retgen.data import open_dataset
from retgen.errors import ChecksFailed, SourceRefused
from retgen.generators.capretrieval.agents import (
    ADJUDICATE,
    ANNOTATE,
    CALIBRATE,
    WRITE_KEYWORDS,
    WRITE_QUERIES,
    WRITE_SUMMARIES,
    AskKeywords,
    AskQueries,
    AskSummaries,
    Keyword,
    Summary,
)
from retgen.generators.capretrieval.asked import (
    asked_queries,
    examples,
    like_asked,
    without_asked,
)
from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.drafts import (
    Drafts,
    DraftSettings,
    DraftTask,
    draft,
    incoming_links,
    survey,
)
from retgen.generators.capretrieval.language import (
    fold_text,
    has_baseline,
    language_name,
    language_of,
    words_of,
)
from retgen.generators.capretrieval.negatives import mine_negatives
from retgen.generators.capretrieval.params import CapRetrievalParams, QueryCounts
from retgen.generators.capretrieval.passages import (
    Codes,
    Passage,
    PassageLabels,
    Whole,
    cut_passages,
    document_splits,
    documents_of,
    holders,
    spans,
)
from retgen.generators.capretrieval.queries import (
    FOUND,
    PassageQuery,
    drop_near_duplicates,
    mark_sides,
    select_queries,
    spread_queries,
    usable_queries,
    without_lowest,
)
from retgen.generators.capretrieval.two_documents import (
    TWO_DOCUMENT_AGENTS,
    TWO_DOCUMENTS,
    PassagesOfRun,
    write_two_document_questions,
)
from retgen.generators.params import Job
from retgen.generators.tables import write_rows
from retgen.processes import map_in_order
from retgen.sources import DOCUMENT, RefusedRow, SourceDocument, refusals
from retgen.validators.capretrieval.wording import ALIKE, apart
from retgen.validators.decontamination import Drop, HeldOut, drop_overlapping, read_test_set
from retgen.write import dump_json, write_file

if TYPE_CHECKING:
    from retgen.agents.context import Context, Stage

DOCUMENTS, PASSAGES, QUERIES = "documents.jsonl", "passages.jsonl", "queries.jsonl"
MINED = "mined.json"
DOCUMENT_ROW = DOCUMENT | {
    "blocks": list[tuple[str, int, int, int, str]],
    "links": list[tuple[int, int, str]],
    "short_forms": list[tuple[str, str]],
    "place": str,
}
_STRUCTURE = ("blocks", "links", "short_forms")
PASSAGE = {"start": int, "stop": int, **dict.fromkeys(("id", "source", "language", "split"), str)}


T = TypeVar("T")

_BATCH = 300_000  # characters of documents that a process works on at a time
_EACH = 500  # what a document takes besides its text, in characters
_PARALLEL_FROM = 4  # batches; below, starting a process costs more than it saves


class _Answer(NamedTuple):
    keywords: Sequence[Keyword]
    summaries: Sequence[Summary]


async def write_queries(job: Job[CapRetrievalParams], context: Context) -> None:
    """Read, cut, find, ask, check, split and mine; see the module."""
    params = job.params
    tests = _test_sets(params)
    documents, refused, clean = read_documents(job, context.folder, tests)
    texts = [f"{one.title} {one.text}" for one in documents]
    languages = language_of(texts, params.language)
    shares = params.splits.test, params.splits.dev
    wording = apart(texts, sum(round(share * len(texts)) for share in shares))
    side = document_splits(job.seed, wording.groups, params.splits)
    if "test" not in side:  # before any model is asked
        context.rejected += clean
        raise SourceRefused(_nothing_held_out(documents, refused, clean), ())
    passages = list(cut_passages(wholes_of(documents, languages), params.passages))
    number_of = {one.id: number for number, one in enumerate(documents)}
    document_of = [number_of[one.source] for one in passages]
    reject_rows(refused, context)
    rejected: list[Rejection] = clean
    drafted = await _drafted(documents, passages, document_of, params, context)
    every = drafted.queries
    every += await _asked(passages, drafted.counts, params, job.seed, context, rejected)
    every = _without_test_queries(every, passages, tests, params, rejected)
    every = _chosen(every, passages, params.queries, rejected)
    splits = [side[i] for i in document_of]
    phrases = {phrase for phrase in (one.phrase() for one in every) if phrase is not None}
    labels = PassageLabels(passages, holders(drafted.words, phrases))
    kept = select_queries(every, passages, splits, params.queries, labels, rejected)
    if params.queries.two_documents:
        run = PassagesOfRun(passages, document_of, splits, wording, labels)
        taken = {fold_text(one.text, passages[one.passage].language) for one in kept}
        more, judged = await write_two_document_questions(
            params.queries.two_documents, run, taken, drafted.counts, job.seed, context
        )
        more = _without_test_queries(more, passages, tests, params, rejected)
        if params.queries.like is not None:
            more = without_asked(more, passages, asked_queries(params.queries.like), rejected)
        kept += more
        write_file(context.folder / TWO_DOCUMENTS, dump_json(judged))
    kept = drop_near_duplicates(kept, passages, rejected)
    kept = spread_queries(kept, passages, params.queries.per_document, rejected)
    if context.pilot is None and all(one.split != "test" for one in kept):
        context.rejected += rejected
        why = _nothing_asked(kept, documents, side, languages, wording.share, rejected)
        raise SourceRefused(why, ())
    mark_sides(kept, passages, drafted.stems)
    mined = await mine_negatives(
        kept, passages, document_of, wording, splits, drafted.stems, job, context
    )
    context.rejected += rejected
    write_rows(context.folder / PASSAGES, map(passage_row, passages, splits))
    write_rows(context.folder / QUERIES, (one.to_json() for one in kept))
    write_file(context.folder / MINED, dump_json(mined | {"alike": wording.share}))


class _Drafted(NamedTuple):
    """Of all documents: what is found and what rules write; words and stems of each passage."""

    queries: list[PassageQuery]
    counts: CorpusCounts
    words: list[Codes]
    stems: list[Codes]


async def _drafted(
    documents: Sequence[SourceDocument],
    passages: Sequence[Passage],
    document_of: Sequence[int],
    params: CapRetrievalParams,
    context: Context,
) -> _Drafted:
    """Count, find and write by rules, in several processes where that is worth their start."""
    together = WRITE_QUERIES.name in agents_of(params)
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
    result = _Drafted([], counts, [], [])
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


async def _asked(
    passages: Sequence[Passage],
    counts: CorpusCounts,
    params: CapRetrievalParams,
    seed: int,
    context: Context,
    rejected: list[Rejection],
) -> list[PassageQuery]:
    """What models write for every passage."""
    agents = [agent for agent in (WRITE_QUERIES, WRITE_KEYWORDS, WRITE_SUMMARIES)
              if agent.name in agents_of(params)]  # fmt: skip
    stage = context.stage("passages", len(passages), *agents, candidates=len(passages))
    live = [agent for agent in agents if not context.offline(agent)]
    if not live:
        stage.done = len(passages)
        context.show(stage, now=True)
        return []

    like = params.queries.like
    shown = () if like is None else examples(like, seed)

    async def work(number: int) -> tuple[int, _Answer]:
        return number, await _written(passages[number], shown, params, context)

    every: list[PassageQuery] = []
    try:
        async for number, answer in context.accepted_records(
            stage, range(len(passages)), work,
            lambda number: {"id": passages[number].id}, exact=False,
        ):  # fmt: skip
            for one in usable_queries(number, passages[number], *answer, rejected):
                one.score = round(counts.salience(words_of(one.text)), 4)
                every.append(one)
    except ChecksFailed as error:  # what people wrote is there all the same
        context.notice(f"{error} The run goes on with what people wrote.")
    return every


def wholes_of(documents: Sequence[SourceDocument], languages: Sequence[str]) -> list[Whole]:
    """Documents with their languages, to be cut."""
    return [
        Whole(one.id, one.title, one.text, language, one.blocks)
        for one, language in zip(documents, languages, strict=True)
    ]


def _nothing_held_out(
    documents: Sequence[SourceDocument], refused: Sequence[RefusedRow], clean: Sequence[Rejection]
) -> str:
    """Why there is no test split."""
    if not documents:
        return (
            f"params.decontaminate: of {len(clean):,} documents none is left, since the test sets "
            f"hold all of them; the first: {clean[0].reason}. They are listed in rejected.jsonl."
        )
    same = "is one document" if len(documents) == 1 else (
        f"are {len(documents):,} documents that share their wording (near-duplicates, or filled-in "
        "templates), which have to stay on one side"
    )  # fmt: skip
    message = (
        f"params.source: there {same}: none can be held out for a test split. Give 2 documents or "
        "more that differ."
    )
    return f"{message} {refusals(refused)}".rstrip()


def _nothing_asked(
    kept: Sequence[PassageQuery],
    documents: Sequence[SourceDocument],
    side: Sequence[str],
    languages: Sequence[str],
    share: float,
    rejected: Sequence[Rejection],
) -> str:
    """Why there are no test queries."""
    tested = [number for number, name in enumerate(side) if name == "test"]
    counts = Counter(languages[number] for number in tested)
    named = ", ".join(f"{language_name(code)} {n:,}" for code, n in counts.most_common(3))
    reasons = Counter(one.rule for one in rejected)
    why = ", ".join(f"{n:,} by {rule}" for rule, n in reasons.most_common())
    silent = sorted(language_name(code) for code in counts if not has_baseline(code))
    return (
        f"params.source: none of the {len(tested):,} of {len(documents):,} documents that are held "
        f"out for the test split ({named}) has a query that can be used, so nothing could be "
        f"scored ({len(kept):,} queries of other splits; rejected: {why or 'none'}). "
        + ("The documents share their wording (near-duplicates, or filled-in templates): give some "
           "that differ. " if share > ALIKE else "")
        + (f"{', '.join(silent)} has no rules: name a model that writes (--model), "
           if silent else "Give a model that writes (--model), or a stronger one, ")
        + "more documents, or a larger share (params.splits.test)."
    )  # fmt: skip


def agents_of(params: CapRetrievalParams) -> frozenset[str]:
    """The agents that a recipe needs."""
    if params.judge is not None:
        return frozenset({ANNOTATE.name, ADJUDICATE.name, CALIBRATE.name})
    counts = params.queries
    judging = {ANNOTATE.name} if params.mine.judge else set[str]()
    if counts.two_documents:
        judging |= {one.name for one in TWO_DOCUMENT_AGENTS}
    if counts.together and counts.keywords and counts.summaries:
        return frozenset({WRITE_QUERIES.name, *judging})
    names = ((counts.keywords, WRITE_KEYWORDS.name), (counts.summaries, WRITE_SUMMARIES.name))
    return frozenset({*judging, *(name for count, name in names if count)})


async def _written(
    passage: Passage, asked: tuple[str, ...], params: CapRetrievalParams, context: Context
) -> _Answer:
    """What models write for a passage; rules have written what no model does."""
    counts = params.queries
    writers = (WRITE_QUERIES, WRITE_KEYWORDS, WRITE_SUMMARIES)
    live = {one.name for one in writers if not context.offline(one)}
    needed = agents_of(params) & live
    shown: dict[str, Any] = {
        "language": passage.language, "title": passage.title, "passage": passage.text,
        "asked": asked,
    }  # fmt: skip
    if WRITE_QUERIES.name in needed:
        both = await context.answer(
            WRITE_QUERIES,
            AskQueries(keywords=counts.keywords, summaries=counts.summaries, **shown),
        )
        return _Answer(both.keywords, both.summaries)
    keywords: Sequence[Keyword] = ()
    summaries: Sequence[Summary] = ()
    if WRITE_KEYWORDS.name in needed:
        wanted = AskKeywords(count=counts.keywords, **shown)
        keywords = (await context.answer(WRITE_KEYWORDS, wanted)).keywords
    if WRITE_SUMMARIES.name in needed:
        question = AskSummaries(count=counts.summaries, **shown)
        summaries = (await context.answer(WRITE_SUMMARIES, question)).summaries
    return _Answer(keywords, summaries)


def _test_sets(params: CapRetrievalParams) -> list[HeldOut]:
    from retgen.evaluation.scoring.mteb_files import dataset_folder

    return [
        read_test_set(name, open_dataset(dataset_folder(name)))
        for name in params.decontaminate.test_sets
    ]


def read_documents(
    job: Job[CapRetrievalParams], folder: Path, tests: Sequence[HeldOut]
) -> tuple[list[SourceDocument], list[RefusedRow], list[Rejection]]:
    """Copy the source's documents into the run, without those that a test set holds."""
    read: list[SourceDocument] = []
    refused: list[RefusedRow] = []
    for one in documents_of(job.params, job.limit, structure=True):
        if isinstance(one, RefusedRow):
            refused.append(one)
        else:
            read.append(one)
    dropped: dict[str, Drop] = {}
    if tests:
        texts = {
            f"{one.id}\0{start}": one.text[start:stop]
            for one in read
            for start, stop in spans(one.text, job.params.passages, one.blocks)
        }
        decontamination = drop_overlapping(texts, {}, tests, job.params.decontaminate.rouge_l)
        dropped = {drop.id.rpartition("\0")[0]: drop for drop in reversed(decontamination.drops)}
    kept = [one for one in read if one.id not in dropped]
    write_rows(folder / DOCUMENTS, map(document_row, kept))
    rejected = [
        Rejection("decontaminated/document", dropped[one.id].reason, one.row())
        for one in read
        if one.id in dropped
    ]
    return kept, refused, rejected


def document_row(one: SourceDocument) -> dict[str, Any]:
    """A row of sources/documents.jsonl: the document with its structure."""
    lists = {name: [list(part) for part in getattr(one, name)] for name in _STRUCTURE}
    return one.row() | lists | {"place": one.place}


def reject_rows(refused: Sequence[RefusedRow], context: Context) -> None:
    """Keep what is not used of a source with its reason; no agent was asked about it."""
    for lost in refused:
        where = {"where": lost.where} | ({"id": lost.id} if lost.id else {})
        record = {"record": where, "history": []}
        context.rejected.append(Rejection(lost.rule, f"{lost.where}: {lost.reason}", record))


def _without_test_queries(
    queries: list[PassageQuery],
    passages: Sequence[Passage],
    tests: Sequence[HeldOut],
    params: CapRetrievalParams,
    rejected: list[Rejection],
) -> list[PassageQuery]:
    """The queries that no test set holds."""
    if not tests:
        return queries
    texts = {str(number): one.text for number, one in enumerate(queries)}
    dropped = {
        int(drop.id): drop
        for drop in drop_overlapping({}, texts, tests, params.decontaminate.rouge_l).drops
    }
    for number, drop in sorted(dropped.items()):
        one = queries[number]
        record = {"passage": passages[one.passage].id, "kind": one.kind, "text": one.text}
        rejected.append(Rejection("decontaminated/query", drop.reason, record))
    return [one for number, one in enumerate(queries) if number not in dropped]


def _chosen(
    queries: list[PassageQuery],
    passages: Sequence[Passage],
    counts: QueryCounts,
    rejected: list[Rejection],
) -> list[PassageQuery]:
    """What is kept of the rules' queries: the best ones, or those that are like users' queries."""
    if counts.like is None:
        return without_lowest(queries, passages, counts.quality, rejected)
    asked = asked_queries(counts.like)
    queries = without_asked(queries, passages, asked, rejected)
    return like_asked(queries, passages, asked, counts.quality, rejected)


def passage_row(one: Passage, split: str) -> dict[str, Any]:
    """A row of sources/passages.jsonl."""
    return {
        "id": one.id, "source": one.source, "start": one.start, "stop": one.stop,
        "language": one.language, "split": split,
    }  # fmt: skip
