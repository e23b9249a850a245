"""MultiConIR's agents (paper, §3.2, Appendix B): conditions, hard negatives, queries, and a judge.

`extract_conditions` copies sentences of a document and words the conditions that they state,
`write_hard_negatives` falsifies the sentences, `write_query` words the conditions as prose. The
judge, `verify_conditions`, knows nothing of what the writers did: it sees ten texts and ten
conditions. `calibrate_judge` is the same judge, asked about cases whose answers are known.

What is wrong with a part of an answer (one sentence of fourteen, one rewrite of ten) is found in
`checks` by whoever asked, so that the rest of the answer can be used.
"""

from __future__ import annotations

from dataclasses import replace

from retgen.agents.agent import Agent
from retgen.generators.multiconir import figures, offline
from retgen.generators.multiconir.checks import check_rewrite
from retgen.generators.multiconir.questions import (
    Extract,
    Extracted,
    Falsify,
    Found,
    Judged,
    Negatives,
    Queries,
    Query,
    Rewrite,
    Rewrites,
    Verdicts,
    Verify,
    Written,
)
from retgen.prompts import bundled


def rewrite_fault(question: Negatives, one: Falsify, rewrite: str) -> str | None:
    """What is wrong with the rewrite of a sentence by itself."""
    if any((one.condition, rewrite) == (past.condition, past.rewrite) for past in question.refused):
        return "it was given before, and not taken"
    return check_rewrite(
        one.sentence, question.conditions[one.condition - 1], rewrite, fewest=one.fewest,
        most=one.most, kept=question.kept / 100, key_terms=question.key_terms,
    )  # fmt: skip


def _extract(question: Extract) -> Extracted:
    known = [*question.taken, *(one.sentence for one in question.refused)]
    result = figures.extract(question.document, question.count, known)
    return Extracted(found=[Found(sentence=text, condition=asked) for text, asked in result])


def _rewrite(question: Negatives) -> Rewrites:
    """The first alteration of each sentence that passes; an empty text where there is none."""
    made = []
    for one in question.sentences:
        options = figures.rewrites(one.sentence)
        fit = (text for text in options if rewrite_fault(question, one, text) is None)
        made.append(Rewrite(condition=one.condition, rewrite=next(fit, "")))
    return Rewrites(rewrites=made)


def _verify(question: Verify) -> Verdicts:
    made = []
    for number in question.asked:
        condition = question.conditions[number - 1]
        found = [(place, figures.verdict(text, condition)) for place, text in
                 enumerate(question.texts, 1)]  # fmt: skip
        stated = [(place, one) for place, one in found if one is not None]
        for place, (verdict, quote) in stated:
            made.append(Judged(condition=number, text=place, verdict=verdict, quote=quote))
        if not stated:
            made.append(Judged(condition=number, text=0, verdict="cannot_tell", quote=""))
    return Verdicts(verdicts=made)


def _write(question: Queries) -> Written:
    texts = offline.descriptive(question.conditions, question.opening, question.where)
    return Written(queries=[Query(number=n, text=texts[n - 1]) for n in question.counts])


EXTRACT = Agent(
    name="extract_conditions",
    role="write",
    prompt=bundled("multiconir/extract_conditions"),
    question=Extract,
    answer=Extracted,
    offline=_extract,
    max_tokens=1024,
)
REWRITE = Agent(
    name="write_hard_negatives",
    role="write",
    prompt=bundled("multiconir/write_hard_negatives"),
    question=Negatives,
    answer=Rewrites,
    offline=_rewrite,
    max_tokens=1024,
)
QUERY = Agent(
    name="write_query",
    role="write",
    prompt=bundled("multiconir/write_query"),
    question=Queries,
    answer=Written,
    offline=_write,
    max_tokens=2048,
)
VERIFY = Agent(
    name="verify_conditions",
    role="judge",
    prompt=bundled("multiconir/verify_conditions"),
    question=Verify,
    answer=Verdicts,
    offline=_verify,
    max_tokens=1024,
)
# a name of its own: what a plan and a ledger say of ladders does not depend on the calibration
CALIBRATE = replace(VERIFY, name="calibrate_judge")
AGENTS = (EXTRACT, REWRITE, QUERY, VERIFY, CALIBRATE)
