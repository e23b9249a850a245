"""A ladder that models write of a document (paper, §3.2), in six calls or so.

    document  ->  14 sentences and their conditions  ->  their rewrites  ->  two verdicts on each
              ->  the first ten that nothing is wrong with  ->  ten queries

More sentences are falsified and judged than a ladder needs, so that one that does not do costs no
further call. A document with fewer than ten is discarded, as in the paper.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from retgen.agents.agent import RepairsFailed
from retgen.generators.multiconir.agents import (
    EXTRACT,
    QUERY,
    REWRITE,
    VERIFY,
    AskConditions,
    AskLadderQueries,
    AskRewrites,
    AskVerdicts,
    Found,
    good_queries,
    good_rewrites,
    good_sentences,
    good_verdicts,
    sentence_to_rewrite,
)
from retgen.generators.multiconir.checks import CONDITIONS, split, usable
from retgen.generators.multiconir.ladders import Ladder, draw_order
from retgen.generators.multiconir.params import MultiConIRParams
from retgen.generators.params import Job
from retgen.sources import SourceDocument

if TYPE_CHECKING:
    from retgen.agents.context import Context

CANDIDATES = CONDITIONS + 4  # sentences of a document that are falsified and judged
_IS = {"satisfied": "satisfies", "violated": "contradicts", "cannot_tell": "leaves open"}


class Candidate(NamedTuple):
    """A sentence of the document with its condition, and what was made of it."""

    sentence: str
    condition: str
    rewrite: str

    def text(self, rewritten: bool) -> str:
        return self.rewrite if rewritten else self.sentence


async def write_ladder(
    job: Job[MultiConIRParams], document: SourceDocument, context: Context
) -> Ladder:
    """The ladder of a document. Raises `RepairsFailed` with the rule that the document fails."""
    wanted = ask_sentences(job, document)
    found, faults = good_sentences(wanted, await context.answer(EXTRACT, wanted))
    refused = [{"sentence": text, "reason": why} for text, why in faults.items()]

    asked = ask_rewrites(job, found)
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
    conditions = [candidates[c].condition for c in chosen]
    query = ask_queries(job, conditions)
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


async def _judged(
    job: Job[MultiConIRParams], ladder: str, candidates: Sequence[Candidate], context: Context
) -> tuple[dict[tuple[int, str], str], dict[int, str]]:
    """The quotes of right verdicts, by candidate and text; what is wrong with other candidates."""
    quotes: dict[tuple[int, str], str] = {}
    wrong: dict[int, str] = {}
    for order, broken in shown_to_judge(job.seed, ladder, len(candidates)):
        question = ask_verdicts(candidates, order, broken)
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


def shown_to_judge(
    seed: int, ladder: str, count: int
) -> Iterator[tuple[list[int], Collection[int]]]:
    """The order of the texts in two documents that the judge sees, and which of them are rewrites.

    Half of the texts of the first are rewrites, and the second has the other of each, so no judge
    can pass by giving one verdict to all.
    """
    order = draw_order(seed, f"multiconir/judged/{ladder}", count)
    halves = draw_order(seed, f"multiconir/halves/{ladder}", count)
    for broken in (halves[: count // 2], halves[count // 2 :]):
        yield order, frozenset(broken)


# --- questions ------------------------------------------------------------------------------------


def ask_sentences(job: Job[MultiConIRParams], document: SourceDocument) -> AskConditions:
    """Sentences of a document with their conditions."""
    domain = job.params.the_domain()
    there = {text for text in split(document.text) if usable(text)}
    return AskConditions(
        noun=domain.noun,
        features=domain.features,
        examples=domain.examples.instruction,
        count=min(CANDIDATES, len(there)),
        document=document.text,
    )


def ask_rewrites(job: Job[MultiConIRParams], found: Sequence[Found]) -> AskRewrites:
    """Rewrites of sentences."""
    domain, strategy = job.params.the_domain(), job.params.rewriting()
    return AskRewrites(
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


def ask_verdicts(
    candidates: Sequence[Candidate], order: Sequence[int], broken: Collection[int]
) -> AskVerdicts:
    """Verdicts on all conditions, of a document with the rewrites of some."""
    return AskVerdicts(
        texts=tuple(candidates[c].text(c in broken) for c in order),
        conditions=tuple(one.condition for one in candidates),
    )


def ask_queries(job: Job[MultiConIRParams], conditions: Sequence[str]) -> AskLadderQueries:
    """Queries for the first one, two, ... of ten conditions."""
    domain = job.params.the_domain()
    return AskLadderQueries(
        noun=domain.noun, examples=domain.examples.descriptive, conditions=tuple(conditions)
    )
