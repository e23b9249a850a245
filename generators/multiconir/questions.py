"""What MultiConIR's agents are asked, and the shapes of their answers.

Lists are numbered from 1, in prompts and answers. Fields that a prompt does not show (`opening`,
`where`) are what the offline baselines go by where a model follows the examples.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from retgen.agents.agent import AnswerSchema, Question
from retgen.generators.multiconir.domains import Strategy

Verdict = Literal["satisfied", "violated", "cannot_tell"]


class Refused(Question):
    """A sentence that was not taken, with its condition, and why."""

    sentence: str
    condition: str
    reason: str


class Extract(Question):
    """A document and how many of its sentences are wanted beside those that are `taken`."""

    noun: str
    features: tuple[str, ...]
    examples: tuple[str, ...]
    count: int
    document: str
    taken: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()

    def variables(self) -> dict[str, str]:
        return {
            "noun": self.noun,
            "features": _listed(self.features),
            "count": str(self.count),
            "examples": _listed(self.examples),
            "taken": _listed(self.taken),
            "refused": _listed(
                f"{one.sentence} | {one.condition} | {one.reason}" for one in self.refused
            ),
            "document": self.document,
        }


class Found(AnswerSchema):
    """A sentence of the document, verbatim, and the condition that it states."""

    sentence: str
    condition: str


class Extracted(AnswerSchema):
    """The best first."""

    found: list[Found]


class Falsify(Question):
    """The sentence of a condition that its rewrite must not meet; `fewest`, `most`: its words."""

    condition: int
    sentence: str
    fewest: int
    most: int


class Tried(Question):
    """A rewrite that was not taken, and why."""

    condition: int
    rewrite: str
    reason: str


class Negatives(Question):
    """The conditions of a document, and those of its sentences that are to be falsified.

    `kept`: percent of a sentence's words that stay in order; `key_terms`: the share of a
    condition's content words that stay; `negations`: how many rewrites may merely negate.
    """

    noun: str
    strategy: Strategy
    examples: tuple[str, ...]
    conditions: tuple[str, ...]
    sentences: tuple[Falsify, ...]
    kept: int
    key_terms: float
    negations: int
    refused: tuple[Tried, ...] = ()

    def variables(self) -> dict[str, str]:
        return {
            "noun": self.noun,
            "strategy": self.strategy,
            "examples": _listed(self.examples),
            "conditions": _numbered(self.conditions),
            "sentences": _listed(
                f"{one.condition} | {one.fewest} to {one.most} | {one.sentence}"
                for one in self.sentences
            ),
            "kept": str(self.kept),
            "negations": str(self.negations),
            "refused": _listed(
                f"{one.condition} | {one.rewrite} | {one.reason}" for one in self.refused
            ),
        }


class Rewrite(AnswerSchema):
    """A condition's sentence, falsified; empty where it cannot be."""

    condition: int
    rewrite: str


class Rewrites(AnswerSchema):
    """One for every sentence."""

    rewrites: list[Rewrite]


class Verify(Question):
    """Texts and conditions: all that the judge sees. `asked`: numbers of conditions."""

    texts: tuple[str, ...]
    conditions: tuple[str, ...]
    asked: tuple[int, ...]
    refused: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        return {
            "texts": _numbered(self.texts),
            "conditions": _numbered(self.conditions),
            "asked": _counted(self.asked),
            "refused": _listed(self.refused),
        }


class Judged(AnswerSchema):
    """A verdict with its evidence. `text`: 0 where no text says anything."""

    condition: int
    text: int
    verdict: Verdict
    quote: str


class Verdicts(AnswerSchema):
    """A verdict on every condition asked for, and more where several texts bear on one."""

    verdicts: list[Judged]


class Queries(Question):
    """Conditions, and how many of them the queries are to ask for: the first n for each n."""

    noun: str
    examples: tuple[str, ...]
    conditions: tuple[str, ...]
    counts: tuple[int, ...]
    refused: tuple[str, ...] = ()
    opening: str = ""
    where: str = ""

    def variables(self) -> dict[str, str]:
        return {
            "noun": self.noun,
            "counts": _counted(self.counts),
            "examples": _listed(self.examples),
            "conditions": _numbered(self.conditions),
            "refused": _listed(self.refused),
        }


class Query(AnswerSchema):
    """A query that asks for the first `number` conditions."""

    number: int
    text: str


class Written(AnswerSchema):
    """One for every number."""

    queries: list[Query]


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "(none)"


def _numbered(items: Iterable[str]) -> str:
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))


def _counted(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
