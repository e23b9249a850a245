"""MultiConIR's agents (paper, §3.2, Appendix B): conditions, hard negatives, queries, and a judge.

`extract_conditions` copies sentences of a document and words the conditions that they state,
`write_hard_negatives` falsifies the sentences, `write_query` words the conditions as prose. The
judge, `verify_conditions`, knows nothing of what the writers did: it sees ten texts and ten
conditions. `calibrate_judge` is the same judge, asked about cases whose answers are known.

What is wrong with a part of an answer (one sentence of fourteen, one rewrite of ten) is found by
`checks`, so that the rest of the answer can be used.

Lists are numbered from 1, in prompts and answers. Fields that a prompt does not show (`opening`,
`where`) are what the offline baselines go by where a model follows the examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import Field

from retgen.agents.agent import AnswerSchema, Numbered, Question
from retgen.generators.agents import bundled_agent
from retgen.generators.multiconir import figures
from retgen.generators.multiconir.checks import check_quote, check_rewrite
from retgen.generators.multiconir.params import Strategy

Verdict = Literal["satisfied", "violated", "cannot_tell"]

# first words that lose their capital inside a sentence; any other may be a name
_LOWER = frozenset(
    """the a an in on at after before during her his its their she he they it when while from for
    with by under every each both only one two three four five six seven eight nine ten some many
    most several over about nearly until since as no another throughout between among against along
    near although because to of today early late half all none two twice shortly within without
    under above below behind beside beyond despite instead together first""".split()
)


# --- questions and answers ------------------------------------------------------------------------


class RefusedSentence(Question):
    """A sentence that was not taken, with its condition, and why."""

    sentence: str
    condition: str
    reason: str


class AskConditions(Question):
    """A document and how many of its sentences are wanted beside those that are `taken`."""

    noun: str
    features: tuple[str, ...]
    examples: tuple[str, ...]
    count: int
    document: str
    taken: tuple[str, ...] = ()
    refused: tuple[RefusedSentence, ...] = ()


class Found(AnswerSchema):
    """A sentence of the document, verbatim, and the condition that it states."""

    sentence: str
    condition: str


class Extracted(AnswerSchema):
    """The best first."""

    found: list[Found]


class SentenceToRewrite(Question):
    """The sentence of a condition that its rewrite must not meet; `fewest`, `most`: its words."""

    condition: int
    sentence: str
    fewest: int
    most: int

    def __str__(self) -> str:
        return f"{self.condition} | {self.fewest} to {self.most} | {self.sentence}"


class RefusedRewrite(Question):
    """A rewrite that was not taken, and why."""

    condition: int
    rewrite: str
    reason: str


class AskRewrites(Question):
    """The conditions of a document, and those of its sentences that are to be falsified.

    `kept`: percent of a sentence's words that stay in order; `key_terms`: the share of a
    condition's content words that stay; `negations`: how many rewrites may merely negate.
    """

    noun: str
    strategy: Strategy
    examples: tuple[str, ...]
    conditions: Numbered
    sentences: tuple[SentenceToRewrite, ...]
    kept: int
    key_terms: float = Field(exclude=True)
    negations: int
    refused: tuple[RefusedRewrite, ...] = ()


class Rewrite(AnswerSchema):
    """A condition's sentence, falsified; empty where it cannot be."""

    condition: int
    rewrite: str


class Rewrites(AnswerSchema):
    """One for every sentence."""

    rewrites: list[Rewrite]


class AskVerdicts(Question):
    """Texts and conditions: all that the judge sees. `asked`: numbers of conditions."""

    texts: Numbered
    conditions: Numbered
    asked: tuple[int, ...]
    refused: tuple[str, ...] = ()


class Judged(AnswerSchema):
    """A verdict with its evidence. `text`: 0 where no text says anything."""

    condition: int
    text: int
    verdict: Verdict
    quote: str


class Verdicts(AnswerSchema):
    """A verdict on every condition asked for, and more where several texts bear on one."""

    verdicts: list[Judged]


class AskLadderQueries(Question):
    """Conditions, and how many of them the queries are to ask for: the first n for each n."""

    noun: str
    examples: tuple[str, ...]
    conditions: Numbered
    counts: tuple[int, ...]
    refused: tuple[str, ...] = ()
    opening: str = Field("", exclude=True)
    where: str = Field("", exclude=True)


class Query(AnswerSchema):
    """A query that asks for the first `number` conditions."""

    number: int
    text: str


class Written(AnswerSchema):
    """One for every number."""

    queries: list[Query]


# --- what is wrong with them ----------------------------------------------------------------------


def rewrite_fault(question: AskRewrites, one: SentenceToRewrite, rewrite: str) -> str | None:
    """What is wrong with the rewrite of a sentence by itself."""
    if any((one.condition, rewrite) == (past.condition, past.rewrite) for past in question.refused):
        return "it was given before, and not taken"
    return check_rewrite(
        one.sentence,
        question.conditions[one.condition - 1],
        rewrite,
        fewest=one.fewest,
        most=one.most,
        kept=question.kept / 100,
        key_terms=question.key_terms,
    )


def read_verdicts(question: AskVerdicts, answer: Verdicts) -> tuple[list[Judged], dict[int, str]]:
    """The entries that can be taken, satisfied or violated; what is wrong, by condition (from 1).

    Wrong is a condition that was asked for and has no verdict, two for the same text, or one
    without a quote of the text that it names. An entry for a condition that is not there is left
    out.
    """
    taken: dict[tuple[int, int], Judged] = {}
    faults: dict[int, str] = {}
    open_ = set()
    for one in answer.verdicts:
        if not 1 <= one.condition <= len(question.conditions):
            continue
        where = one.condition, one.text
        if one.verdict == "cannot_tell":
            open_.add(one.condition)
        elif not 1 <= one.text <= len(question.texts):
            faults.setdefault(one.condition, f"there is no text {one.text}")
        elif fault := check_quote(one.quote, question.texts[one.text - 1]):
            faults.setdefault(one.condition, f"{fault} {one.text}")
        elif where in taken and taken[where].verdict != one.verdict:
            faults.setdefault(one.condition, f"there are two verdicts on text {one.text}")
        else:
            taken.setdefault(where, one)
    for number in question.asked:
        if number not in open_ and all(number != c for c, _ in taken):
            faults.setdefault(number, "there is no verdict")
    asked = set(question.asked)
    return (
        [one for (number, _), one in taken.items() if number not in faults],
        {n: f"condition {n}: {why}" for n, why in sorted(faults.items()) if n in asked},
    )


# --- without a model ------------------------------------------------------------------------------


def _extract(question: AskConditions) -> Extracted:
    known = [*question.taken, *(one.sentence for one in question.refused)]
    result = figures.extract(question.document, question.count, known)
    return Extracted(found=[Found(sentence=text, condition=asked) for text, asked in result])


def _rewrite(question: AskRewrites) -> Rewrites:
    """The first alteration of each sentence that passes; an empty text where there is none."""
    made = []
    for one in question.sentences:
        options = figures.rewrites(one.sentence)
        fit = (text for text in options if rewrite_fault(question, one, text) is None)
        made.append(Rewrite(condition=one.condition, rewrite=next(fit, "")))
    return Rewrites(rewrites=made)


def _verify(question: AskVerdicts) -> Verdicts:
    made = []
    for number in question.asked:
        condition = question.conditions[number - 1]
        found = [
            (place, figures.verdict(text, condition))
            for place, text in enumerate(question.texts, 1)
        ]
        stated = [(place, one) for place, one in found if one is not None]
        for place, (verdict, quote) in stated:
            made.append(Judged(condition=number, text=place, verdict=verdict, quote=quote))
        if not stated:
            made.append(Judged(condition=number, text=0, verdict="cannot_tell", quote=""))
    return Verdicts(verdicts=made)


def write_by_rules(question: AskLadderQueries) -> Written:
    texts = descriptive(question.conditions, question.opening, question.where)
    return Written(queries=[Query(number=n, text=texts[n - 1]) for n in question.counts])


def descriptive(conditions: Sequence[str], opening: str, where: str) -> list[str]:
    """Queries in prose: the first for condition 1, the last for all of them.

    `where` begins a clause with a subject of its own.
    """
    clauses = [f"{where} {_lower_first(text)}" for text in conditions]
    return [f"{opening} {_join_clauses(clauses[:count])}." for count in range(1, len(clauses) + 1)]


def _lower_first(text: str) -> str:
    first = text.partition(" ")[0].casefold().rstrip(",")
    return text[:1].lower() + text[1:] if first in _LOWER else text


def _join_clauses(clauses: Sequence[str]) -> str:
    if len(clauses) < 3:
        return " and ".join(clauses)
    return ", ".join(clauses[:-1]) + ", and " + clauses[-1]


# --- agents ---------------------------------------------------------------------------------------


EXTRACT = bundled_agent(
    "multiconir/extract_conditions", "write", AskConditions, Extracted, _extract, max_tokens=1024
)
REWRITE = bundled_agent(
    "multiconir/write_hard_negatives", "write", AskRewrites, Rewrites, _rewrite, max_tokens=1024
)
QUERY = bundled_agent(
    "multiconir/write_query", "write", AskLadderQueries, Written, write_by_rules, max_tokens=2048
)
VERIFY = bundled_agent(
    "multiconir/verify_conditions", "judge", AskVerdicts, Verdicts, _verify, max_tokens=1024
)
# a name of its own: what a plan and a ledger say of ladders does not depend on the calibration
CALIBRATE = replace(VERIFY, name="calibrate_judge")
AGENTS = (EXTRACT, REWRITE, QUERY, VERIFY, CALIBRATE)
