"""Documents are read and cut, agents write queries for every passage, negatives are mined.

Leaves in the run's sources/: `documents.jsonl` (as they were read), `passages.jsonl` (places, and
the split), `queries.jsonl` (with positives and negatives, by the passages' numbers) and
`mined.json` (what the negatives were chosen from, in what share of their words documents of two
splits do not agree, and what of the source is not used).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retgen.agents.report import Rejections
from retgen.errors import ChecksFailed, SourceRefused
from retgen.generators.capretrieval.agents import WRITE_QUERIES, AskQueries, Queries, usable_queries
from retgen.generators.capretrieval.drafts import draft_in_processes
from retgen.generators.capretrieval.language import (
    fold_text,
    has_baseline,
    language_name,
    language_of,
    words_of,
)
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import (
    Corpus,
    PassageLabels,
    PassageQuery,
    cut_passages,
    document_splits,
    lasting_name,
    numbered_sources,
)
from retgen.generators.capretrieval.queries import (
    crowded,
    mark_sides,
    mine_negatives,
    near_duplicates,
    poor_queries,
    select_queries,
    without,
)
from retgen.generators.capretrieval.reading import (
    PASSAGES,
    QUERIES,
    held_out_sets,
    passage_row,
    read_documents,
    reject_rows,
    text_of,
)
from retgen.generators.capretrieval.two_documents import TWO_DOCUMENTS, write_two_document_questions
from retgen.generators.params import Job
from retgen.on_disk import DiskList, MappedList
from retgen.sources import RefusedRow, refusals
from retgen.validators.capretrieval.wording import ALIKE, STEPS, wording
from retgen.validators.decontamination import drop_overlapping
from retgen.work.local import return_freed_memory
from retgen.write import dump_json, write_file, write_rows

if TYPE_CHECKING:
    from retgen.agents.context import Context

MINED = "mined.json"


async def write_queries(job: Job[CapRetrievalParams], context: Context) -> None:
    """Read, cut, find, ask, check, split and mine; see the module."""
    params = job.params
    tests = held_out_sets(params)
    documents, refused = read_documents(job, context, tests)
    texts = MappedList(text_of, documents)
    languages = language_of(texts, params.language)
    shares = params.splits.test, params.splits.dev
    shared = wording(texts, STEPS, sum(round(share * len(texts)) for share in shares))
    names = MappedList(lasting_name, documents)
    side = document_splits(job.seed, names, shared.groups, params.splits)
    if "test" not in side:  # before any model is asked
        raise SourceRefused(_nothing_held_out(len(documents), refused), ())
    passages = DiskList(cut_passages(documents, languages, params.passages))
    document_of = numbered_sources(passages)
    splits = [side[i] for i in document_of]
    reject_rows(refused, context)
    rejected = Rejections()
    drafts, corpus = await draft_in_processes(
        documents, passages, document_of, splits, shared, params, context
    )
    drafts.extend(await _written(corpus, job, context, rejected))

    def untested(queries: Sequence[PassageQuery]) -> Sequence[PassageQuery]:
        """The queries that no test set holds."""
        if not tests:
            return queries
        asked = {str(number): one.text for number, one in enumerate(queries)}
        drops = drop_overlapping(asked, tests, params.decontaminate.rouge_l, context.engine)
        faults = {int(i): ("decontaminated/query", one.reason) for i, one in drops.items()}
        return without(queries, faults, corpus, rejected)

    every = untested(drafts)
    if params.queries.quality:
        faults, is_scarce = poor_queries(every, corpus, params.queries)
        every = without(every, faults, corpus, rejected)
        if is_scarce:
            context.notice(
                "Few queries by rules have one answer and score "
                f"{params.queries.quality:g} (params.queries.quality): the best of the others are "
                "kept. Read some first; a model (--model) writes better ones."
            )
    return_freed_memory()  # drafts, and an index of all passages
    phrases = filter(None, (one.phrase() for one in every))
    labels = PassageLabels(passages, corpus.words, phrases)
    kept = select_queries(every, corpus, params.queries, labels, rejected)
    if params.queries.two_documents:
        taken = {fold_text(one.text, passages[one.passage].language) for one in kept}
        more, judged = await write_two_document_questions(
            params.queries.two_documents, corpus, labels, taken, job.seed, context
        )
        kept.extend(untested(more))
        write_file(context.folder / TWO_DOCUMENTS, dump_json(judged))
    del labels
    left = without(kept, near_duplicates(kept), corpus, rejected)
    kept = DiskList(without(left, crowded(left, corpus), corpus, rejected))
    if context.pilot is None and all(one.split != "test" for one in kept):
        context.report.rejected.extend(rejected)
        why = _nothing_asked(kept, side, languages, shared.share, rejected)
        raise SourceRefused(why, ())
    mark_sides(kept, corpus)
    mined = mine_negatives(kept, corpus, job, context)
    context.report.rejected.extend(rejected)
    write_rows(context.folder / PASSAGES, map(passage_row, passages, splits))
    write_rows(context.folder / QUERIES, (one.to_json() for one in kept))
    mined |= {"alike": shared.share}
    if refused:
        mined["refused"] = refusals(refused)
    write_file(context.folder / MINED, dump_json(mined))


async def _written(
    corpus: Corpus, job: Job[CapRetrievalParams], context: Context, rejected: Rejections
) -> list[PassageQuery]:
    """What a model writes for every passage; rules have written what no model does."""
    passages = corpus.passages
    stage = context.stage("passages", len(passages), WRITE_QUERIES, candidates=len(passages))
    if context.offline(WRITE_QUERIES):
        stage.done = len(passages)
        context.show(stage)
        return []

    most = job.params.queries.keywords, job.params.queries.summaries

    async def work(number: int) -> tuple[int, Queries]:
        one = passages[number]
        about = {"language": one.language, "title": one.title, "passage": one.text}
        asked = AskQueries(**about, keywords=most[0], summaries=most[1])
        return number, await context.answer(WRITE_QUERIES, asked)

    def record(number: int) -> dict[str, str]:
        return {"id": passages[number].id}

    every: list[PassageQuery] = []
    try:
        every_passage = range(len(passages))
        accepted = context.accepted_records(stage, every_passage, work, record, exact=False)
        async for number, answer in accepted:
            for one in usable_queries(number, passages[number], answer, rejected):
                one.score = round(corpus.counts.salience(words_of(one.text)), 4)
                every.append(one)
    except ChecksFailed as error:  # what people wrote is there all the same
        context.notice(f"{error} The run goes on with what people wrote.")
    return every


def _nothing_held_out(documents: int, refused: Sequence[RefusedRow]) -> str:
    """Why there is no test split."""
    same = (
        "is one document"
        if documents == 1
        else f"are {documents:,} documents that share their wording (near-duplicates, or filled-in "
        "templates), which have to stay on one side"
    )
    message = (
        f"params.source: there {same}: none can be held out for a test split. Give 2 documents or "
        "more that differ, or one file with headings, whose chapters are documents then."
    )
    return f"{message} {refusals(refused)}".rstrip()


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
    advice = "Give a model that writes (--model), or a stronger one, "
    if silent:
        advice = f"{', '.join(silent)} has no rules: name a model that writes (--model), "
    if share > ALIKE:
        advice = (
            "The documents share their wording (near-duplicates, or filled-in templates): give "
            f"some that differ. {advice}"
        )
    return (
        f"params.source: none of the {len(tested):,} of {len(side):,} documents that are held "
        f"out for the test split ({named}) has a query that can be used, so nothing could be "
        f"scored ({len(kept):,} queries of other splits; rejected: {why or 'none'}). {advice}"
        "more documents, or a larger share (params.splits.test)."
    )
