"""CapRetrieval's agent (paper, section 4.1): a writer of keywords and summaries.

A keyword names the words of the passage that it rests on, which says where it stands. What is wrong
with one query of twelve (`fault`) concerns that one, so that the rest can be used; an answer of
which less than half can be used goes back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from retgen.agents.agent import Agent, AnswerSchema, Question
from retgen.agents.report import Rejection, Rejections
from retgen.generators.capretrieval.language import CHINESE, fold_text
from retgen.generators.capretrieval.passages import SETS, Kind, Passage, PassageQuery, Set
from retgen.prompts import bundled
from retgen.tokenizer import length, tokens

LONGEST: dict[Set, int] = {"KW": 200, "SM": 600}  # characters: a word may be an address


_KW_WORDS, _KW_CHARACTERS = 8, 16


_SM_WORDS = 60
_COPIED = 8  # tokens in a row that a summary may not share with its passage


# --- writers --------------------------------------------------------------------------------------


class AskQueries(Question):
    """A passage, and how many of both are wanted. `language`: ISO 639-1."""

    language: str
    title: str
    passage: str
    keywords: int
    summaries: int


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


class Queries(AnswerSchema):
    """The answer of `write_queries`."""

    keywords: list[Keyword]
    summaries: list[Summary]


def fault(kind: Kind, text: str, rests_on: str, passage: str, language: str) -> str | None:
    """Why a text is no query of its kind for a passage; None where it is one.

    `rests_on`: the words of the passage that a keyword is, or that a hypernym generalises.
    """
    if not text.strip():
        return "it is empty"
    if not any(character.isalpha() for character in text):
        return "it has no letter"
    if any(character in "\n\r\t\0" for character in text):
        return "it has a line break"
    if len(text) > LONGEST[SETS[kind]]:
        return f"it is longer than {LONGEST[SETS[kind]]} characters"
    words = length(text)
    if SETS[kind] == "KW":
        most = _KW_CHARACTERS if language == CHINESE else _KW_WORDS
        if words > most:
            return f"it is longer than {most} words"
        if len(text.strip()) < 2:
            return "it is one letter"
        return _ungrounded(kind, text, rests_on, passage, language)
    if words > _SM_WORDS:
        return f"it is longer than {_SM_WORDS} words"
    if rests_on.strip() and fold_text(rests_on, language) not in fold_text(passage, language):
        return f"the passage does not hold {rests_on[:60]!r}"
    if kind in ("summary", "question") and copies_text(text, passage):
        return f"it copies {_COPIED} words in a row from the passage"
    return None


def _ungrounded(kind: Kind, text: str, rests_on: str, passage: str, language: str) -> str | None:
    held, stated = fold_text(passage, language), fold_text(rests_on, language)
    if not stated or stated not in held:
        return f"the passage does not hold {rests_on!r}"
    if kind == "hypernym":
        if fold_text(text, language) == stated:
            return "a hypernym is another word than what it generalises"
    elif fold_text(text, language) != stated:
        return f"a {kind} stands in the passage word for word; {text!r} does not"
    return None


def placed(passage: Passage, words: str) -> tuple[int, int]:
    """Where words stand, in characters of the source document; the whole passage where they do not,
    or but for width or script.
    """
    pattern = r"\s+".join(map(re.escape, words.split()))
    match = re.search(pattern, passage.text, re.IGNORECASE) if pattern else None
    if match is None:
        return passage.start, passage.stop
    return passage.start + match.start(), passage.start + match.end()


def copies_text(text: str, passage: str) -> bool:
    """Whether a text shares too many tokens in a row with a passage."""
    own, there = tokens(text), " ".join(tokens(passage))
    padded = f" {there} "
    return any(
        f" {' '.join(own[i : i + _COPIED])} " in padded for i in range(len(own) - _COPIED + 1)
    )


def usable_queries(
    number: int, passage: Passage, answer: Queries, rejected: Rejections
) -> Iterator[PassageQuery]:
    """The queries that a model wrote for a passage and that can be used, without repetitions."""
    seen: set[str] = set()
    every: list[Keyword | Summary] = [*answer.keywords, *answer.summaries]
    for one in every:
        text = " ".join(one.text.split())
        key = fold_text(text, passage.language)
        reason = fault(one.kind, text, one.rests_on, passage.text, passage.language)
        if reason is not None:
            record = one.model_dump() | {"passage": passage.id, "set": SETS[one.kind]}
            rejected.append(Rejection("query/fault", reason, record))
        elif key not in seen:
            seen.add(key)
            yield PassageQuery(text, one.kind, number, placed(passage, one.rests_on))


def _check(asked: AskQueries, answer: Queries) -> str | None:
    """Less than half can be used: what is wrong with the first three."""
    every: list[Keyword | Summary] = [*answer.keywords, *answer.summaries]
    faults = []
    for one in every:
        reason = fault(one.kind, one.text, one.rests_on, asked.passage, asked.language)
        if reason is not None:
            faults.append(f"the {one.kind} {one.text!r}: {reason}")
    return "; ".join(faults[:3]) if every and 2 * len(faults) > len(every) else None


WRITE_QUERIES = Agent(
    name="write_queries",
    role="write",
    prompt=bundled("capretrieval/write_queries"),
    question=AskQueries,
    answer=Queries,
    # offline, rules write queries from the counts of all documents: see `drafts`
    check=_check,
    # a keyword takes some 25 tokens, a summary with its sentence some 80
    max_tokens=lambda asked: 64 + 50 * asked.keywords + 160 * asked.summaries,
)
