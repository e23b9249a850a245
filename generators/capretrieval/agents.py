"""CapRetrieval's agents (paper, section 4.1): a writer of keywords and summaries, and a judge.

A keyword names the words of the passage that it rests on, which says where it stands. What is wrong
with one query of twelve (`fault`) concerns that one, so that the rest can be used; an answer of
which less than half can be used goes back.

The judge (paper, section 2 and Appendix B) grades passages 0, 1 or 2, ten at a time. In the second
pass it reads them, and the grades, in another order, so that it is a reading of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from pydantic import Field

from retgen.agents.agent import Agent, AnswerSchema, Question, RepairsFailed
from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.language import CHINESE, fold_text
from retgen.generators.capretrieval.offline import rule_queries
from retgen.generators.capretrieval.passages import SETS, Kind, Passage, Set, bundled_labels
from retgen.prompts import bundled
from retgen.tokenizer import length, tokens

LONGEST: dict[Set, int] = {"KW": 200, "SM": 600}  # characters: a word may be an address


_KW_WORDS, _KW_CHARACTERS = 8, 16


_SM_WORDS = 60
_COPIED = 8  # tokens in a row that a summary may not share with its passage


PAGE, CHARACTERS = 10, 12_000  # passages, and characters of them, that are judged in one call


GRADES = {
    2: "who asks this wants the passage: it is about what the query names, or answers it",
    1: "the passage has something of it, but in passing, in part, or only probably",
    0: "the passage has nothing of it",
}


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


def _by_rules(asked: AskQueries) -> Queries:
    """Of a passage alone; a run counts words over its documents (`drafts`)."""
    text, most = asked.passage, (asked.keywords, asked.summaries)
    rows = [
        {"kind": one.kind, "text": one.text, "rests_on": text[slice(*one.span)]}
        for one in rule_queries(text, asked.language, most, CorpusCounts())
        if one.kind != "summary" or not copies_text(one.text, text)
    ]
    return Queries.model_validate(
        {
            "keywords": [row for row in rows if row["kind"] != "summary"],
            "summaries": [row for row in rows if row["kind"] == "summary"],
        }
    )


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
    offline=_by_rules,
    check=_check,
    # a keyword takes some 25 tokens, a summary with its sentence some 80
    max_tokens=lambda asked: 64 + 50 * asked.keywords + 160 * asked.summaries,
)


# --- the judge ------------------------------------------------------------------------------------


def numbered_passages(passages: Sequence[str]) -> str:
    """Passages as a judge sees them: a text may hold numbers in brackets, or words of a prompt."""
    return "\n".join(
        f'<passage number="{number}">\n{text}\n</passage>'
        for number, text in enumerate(passages, 1)
    )


class AskRelevance(Question):
    """A query and passages, each of which is graded. `turn`: the first or the second pass."""

    query: str
    passages: tuple[str, ...]
    turn: Literal[1, 2]

    def variables(self) -> dict[str, str]:
        return {
            "query": self.query,
            "passages": numbered_passages(self.passages),
            "grades": _grades(self.turn),
        }


class Graded(AnswerSchema):
    """The grade of the passage of a number, from 1."""

    passage: int
    relevance: int = Field(ge=0, le=2)


class Grades(AnswerSchema):
    """The answer of `annotate_relevance`."""

    grades: list[Graded]

    def in_order(self) -> list[int]:
        """The grades in the order of the passages."""
        return [one.relevance for one in sorted(self.grades, key=lambda one: one.passage)]


class AskConflict(Question):
    """A query, a passage, and the two grades that it got."""

    query: str
    passage: str
    readings: tuple[int, int]

    def variables(self) -> dict[str, str]:
        first, second = sorted(self.readings)
        return {
            "query": self.query,
            "passage": self.passage,
            "grades": _grades(1),
            "readings": f"{first} and {second}",
        }


class Settled(AnswerSchema):
    """The answer of `adjudicate_relevance`."""

    reason: str = Field(max_length=2000)
    relevance: int = Field(ge=0, le=2)


def _grades(turn: int) -> str:
    order = sorted(GRADES, reverse=turn == 1)
    return "\n".join(f"- {grade}: {GRADES[grade]}" for grade in order)


def _check_grades(asked: AskRelevance, answer: Grades) -> str | None:
    numbers = sorted(one.passage for one in answer.grades)
    wanted = list(range(1, len(asked.passages) + 1))
    if numbers == wanted:
        return None
    if missing := sorted(set(wanted) - set(numbers)):
        return f"passage {missing[0]} has no grade"
    if more := sorted(set(numbers) - set(wanted)):
        return f"there is no passage {more[0]}"
    return "a passage has two grades"


def _bundled_grades(asked: AskRelevance) -> Grades:
    """The labels of the bundled captions; nobody else's are known without a model."""
    labels: Mapping[str, int] = bundled_labels().get(asked.query, {})
    if unknown := [text for text in asked.passages if text not in labels]:
        message = f"grading {unknown[0][:40]!r} is a model's work: name one (--model)"
        raise RepairsFailed("annotate_relevance/offline", message, ())
    return Grades(
        grades=[
            Graded(passage=number, relevance=labels[text])
            for number, text in enumerate(asked.passages, 1)
        ]
    )


def split_pages(order: Sequence[int], texts: Callable[[int], str]) -> list[tuple[int, ...]]:
    """Numbers of texts in their order, cut into what is judged in one call."""
    parts: list[tuple[int, ...]] = []
    held: list[int] = []
    size = 0
    for number in order:
        characters = len(texts(number))
        if held and (len(held) == PAGE or size + characters > CHARACTERS):
            parts.append(tuple(held))
            held, size = [], 0
        held.append(number)
        size += characters
    return [*parts, tuple(held)] if held else parts


ANNOTATE = Agent(
    name="annotate_relevance",
    role="judge",
    prompt=bundled("capretrieval/annotate_relevance"),
    question=AskRelevance,
    answer=Grades,
    offline=_bundled_grades,
    check=_check_grades,
)


# a name of its own: what a ledger says of the corpus does not depend on the calibration
CALIBRATE = replace(ANNOTATE, name="calibrate_relevance")
ADJUDICATE = Agent(
    name="adjudicate_relevance",
    role="judge",
    prompt=bundled("capretrieval/adjudicate_relevance"),
    question=AskConflict,
    answer=Settled,
)
