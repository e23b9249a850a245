"""MultiConIR's agents (paper, §3.2, Appendix B): conditions, queries, hard negatives, and a judge.

`extract_conditions` copies ten sentences of a document, `write_query` words their conditions in two
styles, `write_hard_negative` falsifies a sentence. Two judges know nothing of what the writers did:
`verify_condition` sees one sentence and one condition, `verify_document` the sentences of a
document and its conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from retgen.agents.agent import Agent, Question, Shape
from retgen.generators.multiconir import checks, offline
from retgen.generators.multiconir.domains import Strategy
from retgen.generators.multiconir.judge import Verdict, judge, survey
from retgen.prompts import bundled

__all__ = [
    "AGENTS", "EXTRACT", "QUERY", "REWRITE", "SURVEY", "VERIFY", "Extract", "Noticed", "Pair",
    "Queries", "Survey", "Tried", "Write",
]  # fmt: skip

Text = Annotated[str, Field(min_length=1, max_length=4000)]


class Extract(Question):
    """A document, how many of its sentences are wanted, and which do not do."""

    noun: str
    features: tuple[str, ...]
    count: int
    document: str
    without: tuple[str, ...] = ()


class Extracted(Shape):
    """Sentences of the document, verbatim."""

    sentences: list[str]


class Queries(Question):
    """What is to be asked for: sentences in style `instruction`, conditions in `descriptive`.

    `opening`, `who`, `where`, `subject`: as the domain has them; a model follows `examples`.
    """

    noun: str
    style: Literal["instruction", "descriptive"]
    examples: tuple[str, ...]
    sentences: tuple[str, ...]
    faults: tuple[str, ...] = ()
    opening: str = ""
    who: str = ""
    where: str = ""
    subject: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        return {
            "noun": self.noun,
            "style": self.style,
            "count": str(len(self.sentences)),
            "examples": _listed(self.examples),
            "sentences": _numbered(self.sentences),
            "faults": _listed(self.faults),
        }


class Written(Shape):
    """The texts, one for every number."""

    texts: list[str]


class Tried(Question):
    """A rewrite that was not taken, and why."""

    rewrite: str
    fault: str


class Write(Question):
    """A sentence that must no longer meet a condition.

    `fewest`, `most`: words of the rewrite; `kept`: percent of the sentence's words that stay in
    order; `key_terms`: the share of the condition's content words that stay.
    """

    noun: str
    strategy: Strategy
    examples: tuple[str, ...]
    condition: str
    sentence: str
    fewest: int
    most: int
    kept: int
    key_terms: float
    avoid: tuple[Tried, ...] = ()

    def variables(self) -> dict[str, str]:
        return {
            "noun": self.noun,
            "strategy": self.strategy,
            "examples": _listed(self.examples),
            "condition": self.condition,
            "sentence": self.sentence,
            "fewest": str(self.fewest),
            "most": str(self.most),
            "kept": str(self.kept),
            "avoid": _listed([f"{one.rewrite} ({one.fault})" for one in self.avoid]),
        }


class Rewritten(Shape):
    """The sentence, falsified."""

    rewrite: Text


class Pair(Question):
    """One text and one condition: all that the judge sees."""

    text: str
    condition: str


class Verified(Shape):
    """A verdict with its evidence, quoted from the text."""

    verdict: Verdict
    evidence: Annotated[str, Field(max_length=4000)]


class Survey(Question):
    """The sentences of a document in their order, and conditions."""

    sentences: tuple[str, ...]
    conditions: tuple[str, ...]

    def variables(self) -> dict[str, str]:
        return {
            "sentences": _numbered(self.sentences),
            "conditions": _numbered(self.conditions),
        }


class Noticed(Shape):
    """That a sentence satisfies or contradicts a condition; both by their numbers, from 1."""

    condition: int
    sentence: int
    verdict: Literal["satisfied", "violated"]


class Surveyed(Shape):
    """All pairs in which a sentence says something about a condition."""

    found: list[Noticed]


def _listed(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "(none)"


def _numbered(items: Sequence[str]) -> str:
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))


# --- checks and baselines -----------------------------------------------------------------------


def _queries_fault(question: Queries, answer: Written) -> str | None:
    if question.style == "instruction":
        return checks.check_conditions(question.sentences, answer.texts)
    return checks.check_descriptive(question.sentences, answer.texts)


def _rewrite_fault(question: Write, answer: Rewritten) -> str | None:
    if any(answer.rewrite == one.rewrite for one in question.avoid):
        return "it is one of the rewrites that were not taken"
    return checks.check_rewrite(
        question.sentence, question.condition, answer.rewrite, fewest=question.fewest,
        most=question.most, kept=question.kept / 100, key_terms=question.key_terms,
    )  # fmt: skip


def _evidence_fault(question: Pair, answer: Verified) -> str | None:
    """A verdict has to show where the text says so."""
    if answer.verdict == "cannot_tell":
        return None
    said, text = (" ".join(one.split()).strip(" \"'“”") for one in (answer.evidence, question.text))
    if not said or said.casefold() not in text.casefold():
        return f"the evidence {answer.evidence[:80]!r} is not a part of the text"
    return None


def _survey_fault(question: Survey, answer: Surveyed) -> str | None:
    for one in answer.found:
        if not 1 <= one.condition <= len(question.conditions):
            return f"there is no condition {one.condition}"
        if not 1 <= one.sentence <= len(question.sentences):
            return f"there is no sentence {one.sentence}"
    if len({(one.condition, one.sentence) for one in answer.found}) < len(answer.found):
        return "a pair stands in it twice"
    return None


def _write_offline(question: Queries) -> Written:
    if question.style == "instruction":
        texts = [offline.condition(one, question.subject) for one in question.sentences]
        return Written(texts=texts)
    made = offline.descriptive(
        question.sentences, question.opening, question.who, question.where, question.subject
    )
    return Written(texts=made)


def _rewrite_offline(question: Write) -> Rewritten:
    for text in offline.rewrites(question.sentence, question.condition, question.strategy):
        if _rewrite_fault(question, made := Rewritten(rewrite=text)) is None:
            return made
    raise offline.nothing_left(question.sentence, len(question.avoid))


def _survey_offline(question: Survey) -> Surveyed:
    return Surveyed(
        found=[
            Noticed(condition=one.condition + 1, sentence=one.sentence + 1, verdict=one.verdict)
            for one in survey(question.sentences, question.conditions)
            if one.verdict != "cannot_tell"
        ]
    )


EXTRACT = Agent(
    name="extract_conditions",
    role="write",
    prompt=bundled("multiconir/extract_conditions"),
    question=Extract,
    answer=Extracted,
    offline=lambda q: Extracted(sentences=offline.extract(q.document, q.count, q.without)),
    check=lambda q, a: checks.check_extracted(q.document, q.count, a.sentences, q.without),
    max_tokens=2048,
)
QUERY = Agent(
    name="write_query",
    role="write",
    prompt=bundled("multiconir/write_query"),
    question=Queries,
    answer=Written,
    offline=_write_offline,
    check=_queries_fault,
    max_tokens=2048,
)
REWRITE = Agent(
    name="write_hard_negative",
    role="write",
    prompt=bundled("multiconir/write_hard_negative"),
    question=Write,
    answer=Rewritten,
    offline=_rewrite_offline,
    check=_rewrite_fault,
    max_tokens=512,
)
VERIFY = Agent(
    name="verify_condition",
    role="judge",
    prompt=bundled("multiconir/verify_condition"),
    question=Pair,
    answer=Verified,
    offline=lambda q: Verified(**judge(q.text, q.condition)._asdict()),
    check=_evidence_fault,
    max_tokens=512,
)
SURVEY = Agent(
    name="verify_document",
    role="judge",
    prompt=bundled("multiconir/verify_document"),
    question=Survey,
    answer=Surveyed,
    offline=_survey_offline,
    check=_survey_fault,
    max_tokens=2048,
)
AGENTS = (EXTRACT, QUERY, REWRITE, VERIFY, SURVEY)
