"""Documents are read and cut, agents write queries for every passage, negatives are mined.

Leaves in the run's sources/: `documents.jsonl` (as they were read), `passages.jsonl` (places, and
the split), `queries.jsonl` (with positives and negatives, by the passages' numbers) and
`mined.json` (what the negatives were chosen from, in what share of their words documents of two
splits do not agree, what of the source is not used, and, where test queries or those of a set are
few, by which rules others were dropped).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from retgen.agents.report import Rejections
from retgen.errors import ChecksFailed, SourceRefused
from retgen.generators.capretrieval.agents import (
    WRITE_QUERIES,
    AskQueries,
    Queries,
)
from retgen.generators.capretrieval.ambiguity import ambiguous_queries
from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.drafts import draft_in_processes
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
    Holders,
    Passage,
    PassageLabels,
    cut_passages,
    document_splits,
    lasting_name,
    numbered_sources,
    parts_together,
)
from retgen.generators.capretrieval.queries import (
    FEW,
    PassageQuery,
    chosen,
    drop_near_duplicates,
    mark_sides,
    select_queries,
    spread_queries,
    usable_queries,
    without_poor,
)
from retgen.generators.capretrieval.reading import (
    PASSAGES,
    QUERIES,
    held_out_sets,
    nothing_held_out,
    passage_row,
    read_documents,
    reject_rows,
    text_of,
    wholes_of,
    without_test_queries,
)
from retgen.generators.capretrieval.two_documents import (
    TWO_DOCUMENT_AGENTS,
    TWO_DOCUMENTS,
    PassagesOfRun,
    write_two_document_questions,
)
from retgen.generators.params import Job
from retgen.on_disk import DiskList, MappedList
from retgen.sources import refusals
from retgen.validators.capretrieval.wording import ALIKE, apart
from retgen.work.local import return_freed_memory
from retgen.write import dump_json, write_file, write_rows

if TYPE_CHECKING:
    from retgen.agents.context import Context

MINED = "mined.json"
FEW_TESTED = 100  # test queries, below which a run says where the others went


async def write_queries(job: Job[CapRetrievalParams], context: Context) -> None:
    """Read, cut, find, ask, check, split and mine; see the module."""
    params = job.params
    tests = held_out_sets(params)
    documents, refused, clean = read_documents(
        job, context.folder, tests, context.engine, context.progress
    )
    texts = MappedList(text_of, documents)
    languages = language_of(texts, params.language)
    shares = params.splits.test, params.splits.dev
    wording = apart(texts, sum(round(share * len(texts)) for share in shares))
    repeats = parts_together((one.id for one in documents), wording.groups)
    names = MappedList(lasting_name, documents)
    side = document_splits(job.seed, names, repeats, params.splits)
    if "test" not in side:  # before any model is asked
        context.report.rejected.extend(clean)
        raise SourceRefused(nothing_held_out(documents, refused, clean), ())
    passages = DiskList(cut_passages(wholes_of(documents, languages), params.passages))
    document_of = numbered_sources(passages)
    reject_rows(refused, context)
    rejected = clean
    drafted = await draft_in_processes(documents, passages, document_of, params, context)
    drafts, counts, words, stems, lists = drafted
    drafts.extend(await _written(passages, counts, job, context, rejected))
    every = without_test_queries(drafts, passages, tests, params, context.engine, rejected)
    splits = [side[i] for i in document_of]
    every = _chosen(
        QueriesOfRun(every, passages, document_of, stems, lists, splits),
        params.queries,
        context,
        rejected,
    )
    return_freed_memory()  # drafts, and an index of all passages
    phrases = (phrase for phrase in (one.phrase() for one in every) if phrase is not None)
    labels = PassageLabels(passages, Holders(words, phrases))
    kept = select_queries(every, passages, splits, params.queries, labels, rejected)
    if params.queries.two_documents:
        run = PassagesOfRun(passages, document_of, splits, wording, labels)
        taken = {fold_text(one.text, passages[one.passage].language) for one in kept}
        more, judged = await write_two_document_questions(
            params.queries.two_documents, run, taken, counts, job.seed, context
        )
        kept.extend(without_test_queries(more, passages, tests, params, context.engine, rejected))
        write_file(context.folder / TWO_DOCUMENTS, dump_json(judged))
    del labels
    left = drop_near_duplicates(kept, passages, rejected)
    kept = DiskList(spread_queries(left, passages, params.queries.per_document, rejected))
    if context.pilot is None and all(one.split != "test" for one in kept):
        context.report.rejected.extend(rejected)
        why = _nothing_asked(kept, side, languages, wording.share, rejected)
        raise SourceRefused(why, ())
    mark_sides(kept, passages, stems)
    mined = mine_negatives(kept, passages, document_of, wording, splits, stems, job, context)
    context.report.rejected.extend(rejected)
    write_rows(context.folder / PASSAGES, map(passage_row, passages, splits))
    write_rows(context.folder / QUERIES, (one.to_json() for one in kept))
    mined |= {"alike": wording.share}
    if refused:
        mined["refused"] = refusals(refused)
    wanted = {"KW": params.queries.keywords, "SM": params.queries.summaries}
    held, least = Counter(one.set for one in kept), max(1, len(documents) // FEW)
    if lacking := [name for name, most in wanted.items() if most and held[name] < least]:
        mined["lacking"] = _dropped(lacking, drafts, held, rejected)
    if sum(one.split == "test" for one in kept) < FEW_TESTED:
        tested = {one.id for one, split in zip(passages, splits, strict=True) if split == "test"}
        dropped = Counter(one.rule for one in rejected if one.record.get("passage") in tested)
        mined["dropped"] = dict(dropped.most_common())
    write_file(context.folder / MINED, dump_json(mined))


def _dropped(
    sets: Sequence[str], drafts: Sequence[PassageQuery], held: Counter[str], rejected: Rejections
) -> dict[str, dict[str, int]]:
    """For each of some sets, how many of its queries each rule dropped. `held`: how many are left.

    What was dropped by no rule had the text of another one, or a passage that was full.
    """
    counts = {name: Counter[str]() for name in sets}
    for row in rejected:
        if row.record.get("set") in counts:
            counts[row.record["set"]][row.rule] += 1
    written = Counter(one.set for one in drafts)
    for name, rules in counts.items():
        drafted = rules.total() - rules["query/fault"] + held[name]
        rules["query/passage"] = written[name] - drafted
    return {name: dict(+rules) for name, rules in counts.items()}


async def _written(
    passages: Sequence[Passage],
    counts: CorpusCounts,
    job: Job[CapRetrievalParams],
    context: Context,
    rejected: Rejections,
) -> list[PassageQuery]:
    """What a model writes for every passage; rules have written what no model does."""
    stage = context.stage("passages", len(passages), WRITE_QUERIES, candidates=len(passages))
    if context.offline(WRITE_QUERIES):
        stage.done = len(passages)
        context.show(stage)
        return []

    wanted = job.params.queries

    async def work(number: int) -> tuple[int, Queries]:
        one = passages[number]
        asked = AskQueries(
            language=one.language,
            title=one.title,
            passage=one.text,
            keywords=wanted.keywords,
            summaries=wanted.summaries,
        )
        return number, await context.answer(WRITE_QUERIES, asked)

    every: list[PassageQuery] = []
    try:
        async for number, answer in context.accepted_records(
            stage,
            range(len(passages)),
            work,
            lambda number: {"id": passages[number].id},
            exact=False,
        ):
            for one in usable_queries(number, passages[number], answer, rejected):
                one.score = round(counts.salience(words_of(one.text)), 4)
                every.append(one)
    except ChecksFailed as error:  # what people wrote is there all the same
        context.notice(f"{error} The run goes on with what people wrote.")
    return every


class QueriesOfRun(NamedTuple):
    """All queries; of each passage its document, what `ambiguous_queries` takes, its split."""

    queries: Sequence[PassageQuery]
    passages: Sequence[Passage]
    document_of: Sequence[int]
    stems: Sequence[Codes]
    lists: Sequence[bool]
    splits: Sequence[str]


def _chosen(
    run: QueriesOfRun, wanted: QueryCounts, context: Context, rejected: Rejections
) -> Sequence[PassageQuery]:
    """Return the queries that are trained on, and those good enough to be scored, in order."""
    split_of = np.array([run.splits[one.passage] for one in run.queries], np.str_)
    kept = split_of == "train"
    scored = np.flatnonzero(~kept).tolist()
    ambiguous: dict[int, str] = {}  # by the query's place
    if wanted.quality:
        found = ambiguous_queries(
            chosen(run.queries, scored),
            run.passages,
            run.document_of,
            run.stems,
            run.lists,
            wanted.relevant,
            context.progress,
        )
        ambiguous = {scored[number]: reason for number, reason in found.items()}
    firsts = np.flatnonzero(np.diff(run.document_of, prepend=-1))
    documents = Counter(run.splits[i] for i in firsts.tolist())
    for split in ("test", "dev"):
        places = np.flatnonzero(split_of == split).tolist()
        own = {number: ambiguous[i] for number, i in enumerate(places) if i in ambiguous}
        some, are_few = without_poor(
            chosen(run.queries, places),
            run.passages,
            own,
            wanted.quality,
            documents[split],
            rejected,
        )
        kept[[places[number] for number in some]] = True
        if are_few:
            context.notice(
                f"Few queries by rules have one answer and score {wanted.quality:g} "
                "(params.queries.quality): the best of the others are kept. Read some first; a "
                "model (--model) writes better ones."
            )
    return chosen(run.queries, np.flatnonzero(kept).tolist())


def _nothing_asked(
    kept: Sequence[PassageQuery],
    side: Sequence[str],
    languages: Sequence[str],
    share: float,
    rejected: Rejections,
) -> str:
    """Why there are no test queries."""
    tested = [number for number, name in enumerate(side) if name == "test"]
    counts = Counter(languages[number] for number in tested)
    named = ", ".join(f"{language_name(code)} {n:,}" for code, n in counts.most_common(3))
    reasons = Counter(one.rule for one in rejected)
    why = ", ".join(f"{n:,} by {rule}" for rule, n in reasons.most_common())
    silent = sorted(language_name(code) for code in counts if not has_baseline(code))
    return (
        f"params.source: none of the {len(tested):,} of {len(side):,} documents that are held "
        f"out for the test split ({named}) has a query that can be used, so nothing could be "
        f"scored ({len(kept):,} queries of other splits; rejected: {why or 'none'}). "
        + (
            "The documents share their wording (near-duplicates, or filled-in templates): give "
            "some that differ. "
            if share > ALIKE
            else ""
        )
        + (
            f"{', '.join(silent)} has no rules: name a model that writes (--model), "
            if silent
            else "Give a model that writes (--model), or a stronger one, "
        )
        + "more documents, or a larger share (params.splits.test)."
    )


def agents_of(params: CapRetrievalParams) -> frozenset[str]:
    """The agents that a recipe needs."""
    if params.asked is not None:
        return frozenset()
    needed = {WRITE_QUERIES.name}
    if params.queries.two_documents:
        needed.update(one.name for one in TWO_DOCUMENT_AGENTS)
    return frozenset(needed)
