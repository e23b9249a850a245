"""MultiConIR's agents (paper, §3.2, Appendix B): conditions, hard negatives, queries, and a judge.

`extract_conditions` copies sentences of a document and words the conditions that they state,
`write_hard_negatives` falsifies the sentences, `write_query` words the conditions as prose. The
judge, `verify_conditions`, knows nothing of what the writers did: it sees texts and conditions.
`calibrate_judge` is the same judge, asked about cases whose answers are known.

An answer has more parts than a ladder needs. It is taken once ten parts pass the checks; before
that it goes back to the model with the fault of each part.

Lists are numbered from 1, in prompts and answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from retgen.agents.agent import A, Agent, AnswerSchema, Numbered, Q, Question
from retgen.agents.judge import CalibrationCase, CalibrationSheet
from retgen.generators.agents import bundled_agent
from retgen.generators.multiconir.checks import (
    CONDITIONS,
    KEPT,
    check_condition,
    check_query,
    check_quote,
    check_rewrite,
    check_sentence,
    negates,
    word_count,
)
from retgen.generators.multiconir.params import Strategy
from retgen.generators.tables import read_rows
from retgen.streams import Stream

Verdict = Literal["satisfied", "violated", "cannot_tell"]
Faults = dict[Any, str]  # what is wrong with each part of an answer

NEGATIONS = 2  # rewrites of a ladder that may merely negate
_KEY_TERMS = {"reassign": 0.8, "modify": 0.4}  # of the condition's content words
_LENGTH = 0.35  # how far its number of words may be from the original's, as a share
_CLAUSE = 1.5  # as much longer a reassigned sentence may be, to which a clause is added
_SHOWN = 5  # faults that a model is told of at a time


# --- questions and answers ------------------------------------------------------------------------


class AskConditions(Question):
    """A document and how many of its sentences are wanted."""

    noun: str
    features: tuple[str, ...]
    examples: tuple[str, ...]
    count: int
    document: str


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


class AskRewrites(Question):
    """The conditions of a document, and its sentences that state them.

    `kept`: percent of a sentence's words that stay in order; `negations`: how many rewrites may
    merely negate.
    """

    noun: str
    strategy: Strategy
    examples: tuple[str, ...]
    conditions: Numbered
    sentences: tuple[SentenceToRewrite, ...]
    kept: int = round(100 * KEPT)
    negations: int = NEGATIONS


class Rewrite(AnswerSchema):
    """A condition's sentence, falsified; empty where it cannot be."""

    condition: int
    rewrite: str


class Rewrites(AnswerSchema):
    """One for every sentence."""

    rewrites: list[Rewrite]


class AskVerdicts(Question):
    """Texts and conditions: all that the judge sees."""

    texts: Numbered
    conditions: Numbered


class Judged(AnswerSchema):
    """A verdict with its evidence. `text`: 0 where no text says anything."""

    condition: int
    text: int
    verdict: Verdict
    quote: str


class Verdicts(AnswerSchema):
    """A verdict on every condition, and more where several texts bear on one."""

    verdicts: list[Judged]


class AskLadderQueries(Question):
    """Ten conditions: query n is to ask for the first n."""

    noun: str
    examples: tuple[str, ...]
    conditions: Numbered


class Query(AnswerSchema):
    """A query that asks for the first `number` conditions."""

    number: int
    text: str


class Written(AnswerSchema):
    """One for every number."""

    queries: list[Query]


# --- the parts of an answer that pass, and what is wrong with the others --------------------------


def good_sentences(question: AskConditions, answer: Extracted) -> tuple[list[Found], Faults]:
    """The sentences that can be used, at most as many as were wanted; faults by sentence."""
    taken: list[Found] = []
    faults: Faults = {}
    for one in answer.found:
        fault = check_sentence(
            question.document, one.sentence, [other.sentence for other in taken]
        ) or check_condition(one.sentence, one.condition, [other.condition for other in taken])
        if fault:
            faults[one.sentence] = fault
        elif len(taken) < question.count:
            taken.append(one)
    return taken, faults


def sentence_to_rewrite(number: int, sentence: str, strategy: Strategy) -> SentenceToRewrite:
    """The sentence of a condition, with the bounds of its rewrite's length."""
    words, more = word_count(sentence), _LENGTH + (_CLAUSE if strategy == "reassign" else 0)
    return SentenceToRewrite(
        condition=number,
        sentence=sentence,
        fewest=max(1, round(words * (1 - _LENGTH))),
        most=max(words + 2, round(words * (1 + more))),
    )


def good_rewrites(question: AskRewrites, answer: Rewrites) -> tuple[dict[int, str], Faults]:
    """The rewrites that can be used, and the faults of the others, by condition."""
    given = {one.condition: one.rewrite for one in reversed(answer.rewrites)}
    taken: dict[int, str] = {}
    faults: Faults = {}
    negations = 0
    standing = {one.sentence for one in question.sentences}
    for one in question.sentences:
        rewrite = given.get(one.condition, "")
        bare = negates(one.sentence, rewrite)
        fault = check_rewrite(
            one.sentence,
            question.conditions[one.condition - 1],
            rewrite,
            fewest=one.fewest,
            most=one.most,
            key_terms=_KEY_TERMS[question.strategy],
        )
        if not rewrite.strip():
            fault = "there is no rewrite of it"
        elif rewrite in standing:
            fault = "it stands in the document already, for another condition"
        elif not fault and bare and negations == NEGATIONS:
            fault = "it merely negates the sentence, as too many others do"
        if fault:
            faults[one.condition] = fault
        else:
            taken[one.condition] = rewrite
            standing.add(rewrite)
            negations += bare
    return taken, faults


def good_verdicts(
    question: AskVerdicts, answer: Verdicts
) -> tuple[dict[int, list[Judged]], Faults]:
    """The verdicts that can be taken, satisfied or violated, and what is wrong, by condition.

    A condition's verdicts are taken where there are any (none, if it is left open), each with a
    quote of the text that it names, and no two that contradict each other.
    """
    taken: dict[int, dict[int, Judged]] = {}
    faults: Faults = {}
    numbers = range(1, len(question.conditions) + 1)
    for one in answer.verdicts:
        of = taken.setdefault(one.condition, {})
        if one.condition not in numbers or one.verdict == "cannot_tell":
            continue
        if not 1 <= one.text <= len(question.texts):
            faults.setdefault(one.condition, f"there is no text {one.text}")
        elif fault := check_quote(one.quote, question.texts[one.text - 1]):
            faults.setdefault(one.condition, f"{fault} {one.text}")
        elif of.setdefault(one.text, one).verdict != one.verdict:
            faults.setdefault(one.condition, f"there are two verdicts on text {one.text}")
    for number in numbers:
        if number not in taken:
            faults[number] = "there is no verdict"
    return {n: [*taken[n].values()] for n in numbers if n not in faults}, faults


def good_queries(question: AskLadderQueries, answer: Written) -> tuple[dict[int, str], Faults]:
    """The queries that ask for exactly their conditions, and what is wrong, by number."""
    given = {one.number: one.text for one in reversed(answer.queries)}
    taken: dict[int, str] = {}
    faults: Faults = {}
    for number in range(1, len(question.conditions) + 1):
        text = given.get(number, "").strip()
        fault = check_query(question.conditions, number, text) if text else "there was none"
        if not fault and text.casefold() in map(str.casefold, taken.values()):
            fault = "it is the same as another"
        if fault:
            faults[number] = fault
        else:
            taken[number] = text
    return taken, faults


# --- agents ---------------------------------------------------------------------------------------


def _agent(
    name: str,
    role: Literal["write", "judge"],
    question: type[Q],
    answer: type[A],
    part: str,
    good: Callable[[Q, A], tuple[Sequence[Any] | Mapping[Any, Any], Faults]],
    max_tokens: int = 1536,
) -> Agent[Q, A]:
    """An agent whose answer is taken once ten of its parts pass; `part`: what faults call one."""

    def check(asked: Q, answered: A) -> str | None:
        taken, faults = good(asked, answered)
        if len(taken) >= CONDITIONS:
            return None
        first = [f"{part} {name!r}: {fault}" for name, fault in [*faults.items()][:_SHOWN]]
        return "; ".join([f"{len(taken)} can be used, {CONDITIONS} are needed", *first])

    prompt = f"multiconir/{name}"
    return bundled_agent(prompt, role, question, answer, check=check, max_tokens=max_tokens)


EXTRACT = _agent(
    "extract_conditions", "write", AskConditions, Extracted, "sentence", good_sentences
)
REWRITE = _agent("write_hard_negatives", "write", AskRewrites, Rewrites, "rewrite", good_rewrites)
QUERY = _agent("write_query", "write", AskLadderQueries, Written, "query", good_queries, 2048)
VERIFY = _agent("verify_conditions", "judge", AskVerdicts, Verdicts, "condition", good_verdicts)
# a name of its own: what a plan and a ledger say of ladders does not depend on the calibration
CALIBRATE = replace(VERIFY, name="calibrate_judge", check=lambda question, answer: None)
AGENTS = (EXTRACT, REWRITE, QUERY, VERIFY, CALIBRATE)


# --- the calibration set of the judge ------------------------------------------------------------


_AT_A_TIME = 10


class JudgedCondition(NamedTuple):
    """A case. `label`: satisfied, violated or cannot_tell; `kind`: what makes it hard."""

    text: str
    condition: str
    label: str
    kind: str


@cache
def cases() -> tuple[JudgedCondition, ...]:
    """Bundled cases whose labels are known, 48 for each of the paper's five domains.

        {"text": "...", "condition": "...", "label": "violated", "kind": "antonym"}

    Paraphrases and near misses are among them.
    """
    files = sorted((Path(__file__).parent / "calibration_set").glob("*.jsonl"))
    return tuple(JudgedCondition(**row) for file in files for row in read_rows(file))


@cache
def sheets() -> tuple[CalibrationSheet[AskVerdicts, Verdicts], ...]:
    """The cases, ten a sheet, in the form in which the judge sees ladders.

    Texts stand in one order, conditions in another, two cases of each domain, so that a text rarely
    bears on another case's condition. The questions are the same in every run, so each model and
    prompt pays for them once: the ledger answers later runs.
    """
    count = len(cases()) // _AT_A_TIME
    result = []
    for number in range(count):
        shown = cases()[number::count]
        stream = Stream(0, f"multiconir/calibration/{number}")  # not the recipe's seed
        texts, conditions = (stream.permutation(_AT_A_TIME).tolist() for _ in range(2))
        question = AskVerdicts(
            texts=tuple(shown[i].text for i in texts),
            conditions=tuple(shown[i].condition for i in conditions),
        )
        known = [CalibrationCase(one.label, f"{one.label}/{one.kind}") for one in shown]
        result.append(CalibrationSheet(question, known, partial(_verdicts, question, shown)))
    return tuple(result)


def _verdicts(
    question: AskVerdicts, shown: Sequence[JudgedCondition], answer: Verdicts
) -> list[str | None]:
    """The verdict on each case; None on a condition whose verdicts have a fault."""
    verdicts, _ = good_verdicts(question, answer)
    result: list[str | None] = []
    for case in shown:
        judged = verdicts.get(question.conditions.index(case.condition) + 1)
        text = question.texts.index(case.text) + 1
        stated = [one.verdict for one in judged or () if one.text == text]
        result.append(None if judged is None else (stated or ["cannot_tell"])[0])
    return result
