"""CapRetrieval's agents (paper, section 4.1): keywords and phrases, summaries and questions.

A keyword names the words of the passage that it rests on, which says where it stands. What is wrong
with one query of twelve is found in `checks` by whoever asked, so that the rest can be used; an
answer of which less than half can be used goes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from retgen.agents.agent import Agent, AnswerSchema, Question
from retgen.generators.capretrieval import offline
from retgen.generators.capretrieval.checks import LONGEST, fault
from retgen.prompts import bundled


class AskKeywords(Question):
    """A passage, and how many keywords are wanted. `language`: ISO 639-1."""

    language: str
    count: int
    title: str
    passage: str


class AskSummaries(AskKeywords):
    """A passage, and how many summaries and questions are wanted."""


class AskQueries(Question):
    """A passage, and how many of both are wanted."""

    language: str
    keywords: int
    summaries: int
    title: str
    passage: str


class Keyword(AnswerSchema):
    """A keyword (one word) or phrase of the passage, or a hypernym of one.

    `rests_on`: words of the passage, copied.
    """

    kind: Literal["keyword", "phrase", "hypernym"]
    text: str = Field(max_length=LONGEST["KW"])
    rests_on: str = Field(max_length=LONGEST["KW"])


class Summary(AnswerSchema):
    """A short summary, the passage's topics side by side, or a question that it answers.

    `rests_on`: words of the passage, copied, that say what it says; empty: all of it does.
    """

    kind: Literal["summary", "topics", "question"]
    text: str = Field(max_length=LONGEST["SM"])
    rests_on: str = Field(max_length=20_000)


class Keywords(AnswerSchema):
    """The answer of `write_keywords`."""

    keywords: list[Keyword]


class Summaries(AnswerSchema):
    """The answer of `write_summaries`."""

    summaries: list[Summary]


class Queries(AnswerSchema):
    """Both in one answer."""

    keywords: list[Keyword]
    summaries: list[Summary]


def _keywords(passage: str, language: str, count: int) -> list[Keyword]:
    result = []
    for one in offline.keyphrases(passage, language, count):
        kind: Literal["keyword", "phrase"] = "phrase" if " " in one.text.strip() else "keyword"
        text = " ".join(one.text.split())
        if fault(kind, text, one.text, passage, language) is None:
            result.append(Keyword(kind=kind, text=text, rests_on=one.text))
    return result


def _summaries(passage: str, language: str, count: int) -> list[Summary]:
    made: list[tuple[Literal["summary", "topics"], str, str]] = [
        ("summary", one.text, passage[one.start : one.stop])
        for one in offline.abouts(passage, language, count)
    ]
    topics = offline.topics(passage, language, count - len(made))
    made += [("topics", text, "") for text in topics]
    return [
        Summary(kind=kind, text=text, rests_on=rests_on)
        for kind, text, rests_on in made
        if fault(kind, text, rests_on, passage, language) is None
    ]


def _check(
    passage: str, language: str, keywords: Sequence[Keyword], summaries: Sequence[Summary]
) -> str | None:
    """Less than half can be used: what is wrong with the first three."""
    every: list[Keyword | Summary] = [*keywords, *summaries]
    faults = []
    for one in every:
        reason = fault(one.kind, one.text, one.rests_on, passage, language)
        if reason is not None:
            faults.append(f"the {one.kind} {one.text!r}: {reason}")
    return "; ".join(faults[:3]) if every and 2 * len(faults) > len(every) else None


WRITE_KEYWORDS = Agent(
    name="write_keywords",
    role="write",
    prompt=bundled("capretrieval/write_keywords"),
    question=AskKeywords,
    answer=Keywords,
    offline=lambda asked: Keywords(keywords=_keywords(asked.passage, asked.language, asked.count)),
    check=lambda asked, answer: _check(asked.passage, asked.language, answer.keywords, ()),
    max_tokens=512,
)
WRITE_SUMMARIES = Agent(
    name="write_summaries",
    role="write",
    prompt=bundled("capretrieval/write_summaries"),
    question=AskSummaries,
    answer=Summaries,
    offline=lambda asked: Summaries(
        summaries=_summaries(asked.passage, asked.language, asked.count)
    ),
    check=lambda asked, answer: _check(asked.passage, asked.language, (), answer.summaries),
    max_tokens=512,
)
WRITE_QUERIES = Agent(
    name="write_queries",
    role="write",
    prompt=bundled("capretrieval/write_queries"),
    question=AskQueries,
    answer=Queries,
    offline=lambda asked: Queries(
        keywords=_keywords(asked.passage, asked.language, asked.keywords),
        summaries=_summaries(asked.passage, asked.language, asked.summaries),
    ),
    check=lambda asked, answer: _check(
        asked.passage, asked.language, answer.keywords, answer.summaries
    ),
    max_tokens=768,
)
AGENTS = (WRITE_QUERIES, WRITE_KEYWORDS, WRITE_SUMMARIES)
