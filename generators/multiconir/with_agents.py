"""The ladders of a job, drawn or written by models, and what a plan says of the calls.

Models write a ladder of a document (paper, §3.2) in six calls or so:

    document  ->  14 sentences and their conditions  ->  their rewrites  ->  two verdicts on each
              ->  the first ten that nothing is wrong with  ->  ten queries

More sentences are falsified and judged than a ladder needs, so that one that does not do costs no
further call. A document with fewer than ten is discarded, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from retgen.agents.agent import Agent, RepairsFailed
from retgen.agents.judge import CALIBRATION, calibrate
from retgen.generators.family import CallEstimate
from retgen.generators.multiconir.agents import (
    CALIBRATE,
    EXTRACT,
    QUERY,
    REWRITE,
    VERIFY,
    AskConditions,
    AskLadderQueries,
    AskRewrites,
    AskVerdicts,
    good_queries,
    good_rewrites,
    good_sentences,
    good_verdicts,
    sentence_to_rewrite,
    sheets,
)
from retgen.generators.multiconir.checks import CONDITIONS, split, usable
from retgen.generators.multiconir.facts import LadderSampler, is_drawn
from retgen.generators.multiconir.ladders import DOCUMENTS, LADDERS, Ladder, draw_order, places
from retgen.generators.multiconir.params import (
    MultiConIRParams,
    documents_of,
    on_the_hub,
    read_documents,
)
from retgen.generators.params import Job
from retgen.generators.tables import iterate_rows
from retgen.sources import SourceDocument
from retgen.write import AtomicFile, dump_json, json_line, write_file

if TYPE_CHECKING:
    from retgen.agents.context import Context

_CANDIDATES = CONDITIONS + 4  # sentences of a document that are falsified and judged
_IS = {"satisfied": "satisfies", "violated": "contradicts", "cannot_tell": "leaves open"}
_SAMPLE = 20  # documents that a plan looks at
_PART, _BYTES = 40, 4  # bytes of JSON around a part of an answer; of a token
_LONGER = {"modify": 1.0, "reassign": 1.8}  # a rewrite, by its sentence


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
    with AtomicFile(context.folder / DOCUMENTS) as file:
        refused, read = read_documents(job.params, lambda one: file.write(json_line(one.row())))
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
        texts = {hash(one) for one in (made.conditions[0], *made.queries)}
        if texts & asked:
            return "another ladder has the same first condition, or the same query"
        asked.update(texts)
        return None

    write = partial(write_ladder, job, context)
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


# --- a ladder that models write -------------------------------------------------------------------


class Candidate(NamedTuple):
    """A sentence of the document with its condition, and what was made of it."""

    sentence: str
    condition: str
    rewrite: str


async def write_ladder(
    job: Job[MultiConIRParams], context: Context, document: SourceDocument
) -> Ladder:
    """The ladder of a document. Raises `RepairsFailed` with the rule that the document fails."""
    domain, strategy = job.params.the_domain(), job.params.rewriting()
    wanted = AskConditions(
        noun=domain.noun,
        features=domain.features,
        examples=domain.examples.instruction,
        count=min(_CANDIDATES, len({*_usable(document.text)})),
        document=document.text,
    )
    found, faults = good_sentences(wanted, await context.answer(EXTRACT, wanted))
    refused = [{"sentence": text, "reason": why} for text, why in faults.items()]

    asked = AskRewrites(
        noun=domain.noun,
        strategy=strategy,
        examples=tuple(
            f"Condition: {one.condition} | Sentence: {one.sentence} | Rewrite: {one.rewrite}"
            for one in domain.rewrites
        ),
        conditions=tuple(one.condition for one in found),
        sentences=tuple(
            sentence_to_rewrite(number, one.sentence, strategy)
            for number, one in enumerate(found, 1)
        ),
    )
    rewrites, faults = good_rewrites(asked, await context.answer(REWRITE, asked))
    refused += [
        {"sentence": found[c - 1].sentence, "reason": f"its rewrite cannot be used: {why}"}
        for c, why in faults.items()
    ]
    candidates = [
        Candidate(one.sentence, one.condition, rewrites[c])
        for c, one in enumerate(found, start=1)
        if c in rewrites
    ]

    verdicts, faults = await _judged(job, document.id, candidates, context)
    refused += [{"sentence": candidates[c].sentence, "reason": why} for c, why in faults.items()]
    fit = [c for c in range(len(candidates)) if c not in faults]
    if len(fit) < CONDITIONS:
        last = refused[-1]
        raise RepairsFailed(
            "verify_conditions/judged",
            f"it has {len(fit)} sentences of {CONDITIONS} that the judge finds to meet their "
            f"conditions, and their rewrites not; the last of the others: {last['sentence']!r}: "
            f"{last['reason']}",
            (),
        )
    chosen = sorted(fit[:CONDITIONS], key=lambda c: document.text.find(candidates[c].sentence))
    chosen = [chosen[i] for i in draw_order(job.seed, f"multiconir/conditions/{document.id}")]
    conditions = tuple(candidates[c].condition for c in chosen)
    query = AskLadderQueries(
        noun=domain.noun, examples=domain.examples.descriptive, conditions=conditions
    )
    queries, _ = good_queries(query, await context.answer(QUERY, query))
    return Ladder(
        id=document.id,
        title=document.title,
        sentences=[candidates[c].sentence for c in chosen],
        conditions=conditions,
        queries=[queries[n] for n in range(1, CONDITIONS + 1)],
        rewrites=[candidates[c].rewrite for c in chosen],
        verdicts=[
            {"condition": n, "of": of, "verdict": verdict, "quote": verdicts[c, of]}
            for n, c in enumerate(chosen, 1)
            for of, verdict in (("sentence", "satisfied"), ("rewrite", "violated"))
        ],
        refused=refused,
    )


def _usable(text: str) -> Iterator[str]:
    """The sentences of a document that a model may choose."""
    return filter(usable, split(text))


async def _judged(
    job: Job[MultiConIRParams], ladder: str, candidates: Sequence[Candidate], context: Context
) -> tuple[dict[tuple[int, str], str], dict[int, str]]:
    """The quotes of right verdicts, by candidate and text; what is wrong with other candidates."""
    quotes: dict[tuple[int, str], str] = {}
    wrong: dict[int, str] = {}
    count = len(candidates)
    order = draw_order(job.seed, f"multiconir/judged/{ladder}", count)
    halves = draw_order(job.seed, f"multiconir/halves/{ladder}", count)
    # half of the texts of the first document are rewrites, and the second has the other of each, so
    # no judge can pass by giving one verdict to all
    for broken in (halves[: count // 2], halves[count // 2 :]):
        shown = [one.rewrite if c in broken else one.sentence for c, one in enumerate(candidates)]
        question = AskVerdicts(
            texts=tuple(shown[c] for c in order),
            conditions=tuple(one.condition for one in candidates),
        )
        verdicts, faults = good_verdicts(question, await context.answer(VERIFY, question))
        for number, why in faults.items():
            wrong.setdefault(number - 1, f"the judge gave no verdict on it: {why}")
        for c, one in ((n - 1, one) for n, given in verdicts.items() for one in given):
            of = order[one.text - 1]
            if of != c:
                other = candidates[c].condition
                wrong.setdefault(of, f"it {_IS[one.verdict]} the condition {other!r}")
        for c in (number - 1 for number in verdicts):
            own = [one for one in verdicts[c + 1] if order[one.text - 1] == c]
            verdict = own[0].verdict if own else "cannot_tell"
            what, of_what = ("rewrite", "its rewrite") if c in broken else ("sentence", "it")
            if verdict == ("violated" if c in broken else "satisfied"):
                quotes[c, what] = own[0].quote
            else:
                wrong.setdefault(c, f"the judge finds that {of_what} {_IS[verdict]} the condition")
    return quotes, wrong


# --- for plans ------------------------------------------------------------------------------------


def call_estimates(job: Job[MultiConIRParams], records: int) -> dict[str, CallEstimate]:
    """What a plan says of the calls for so many documents, by agent.

    It goes by the length of the source's first documents: conditions are as long as sentences.
    """
    params = job.params
    if on_the_hub(params):  # of which nothing is known, so bundled documents stand in
        params = params.model_copy(update={"source": None, "domain": "people"})
    documents = (one.text for one in documents_of(params) if isinstance(one, SourceDocument))
    texts = [*islice(documents, _SAMPLE)]
    whole = sum(map(len, texts)) / len(texts)
    chosen = sum(len("".join([*_usable(text)][:_CANDIDATES])) for text in texts) / len(texts)
    longer = _LONGER[job.params.rewriting()]
    known = [one.question for one in sheets()]
    cases, asked = (
        sum(len("".join(part)) for part in parts) / len(known)
        for parts in ([one.texts for one in known], [one.conditions for one in known])
    )
    # calls of a ladder, from few to many: answers that have too few good parts come again; then the
    # texts in the prompt, and in the answer, beside what is there of any document
    sizes: list[tuple[Agent[Any, Any], int, tuple[float, float], float, float]] = [
        (EXTRACT, records, (1.0, 1.2), whole, 2 * chosen),
        (REWRITE, records, (1.0, 1.5), 2 * chosen, longer * chosen),
        (VERIFY, records, (2.0, 2.4), 2 * chosen, chosen),
        (QUERY, records, (1.0, 1.2), 0.7 * chosen, 0.7 * chosen * (CONDITIONS + 1) / 2),
        (CALIBRATE, len(known), (1.0, 1.0), cases + asked, asked),
    ]
    return {
        agent.name: CallEstimate(
            count,
            calls,
            round(len(f"{agent.prompt.system}{agent.prompt.user}{agent.schema}") + prompt),
            round((answer + _PART * _CANDIDATES) / _BYTES),
        )
        for agent, count, calls, prompt, answer in sizes
    }
