"""LIMIT's agents (paper, §5.2): things that a person could like, and queries that do not name them.

The paper had a model propose attributes and then remove duplicates and hypernyms, again and again.
Descriptions in place of names are ours.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from retgen.agents.agent import AnswerSchema, Question, RepairsFailed
from retgen.generators.agents import bundled_agent
from retgen.generators.limit.words import CatalogueParams, load_attributes
from retgen.tokenizer import STOPWORDS, content_stems, tokens

NONE = "none of these"

Text = Annotated[str, Field(min_length=1, max_length=200)]


class AskAttributes(Question):
    """So many attributes of a category, none of those that are `known`."""

    category: str
    count: int
    known: tuple[str, ...]


class Proposed(AnswerSchema):
    """Attributes, as they came: each is looked at by itself."""

    attributes: list[str]


class AskOverlaps(Question):
    """A part of the list."""

    attributes: tuple[str, ...]


class Removed(AnswerSchema):
    """Which of them have to go."""

    remove: list[str]


class AskDescription(Question):
    """The attribute that a query asks for."""

    attribute: str
    category: str


class Description(AnswerSchema):
    """A noun phrase that means it."""

    description: Text


class AskChoice(Question):
    """A description, and the attributes that it could mean."""

    description: str
    options: tuple[str, ...]


class Choice(AnswerSchema):
    """One of the options, or `NONE`."""

    choice: Text


@cache
def glossary() -> dict[str, str]:
    """Descriptions that stand in for a model's, by attribute: `attribute = description` lines."""
    path = Path(__file__).parent / "glossary.txt"
    lines = path.read_text("utf-8").splitlines()
    pairs = [line.split(" = ", 1) for line in lines if line.strip() and not line.startswith("#")]
    return dict(pairs)


def naming_fault(attribute: str, description: str) -> str | None:
    """What gives an attribute away in its description; None for nothing."""
    shared = content_stems(attribute) & content_stems(description)
    given = [word for word in tokens(description) if content_stems(word) & shared]
    given += [
        word
        for word in tokens(description)
        if len(word) > 3 and word not in STOPWORDS and _akin(word, attribute)
    ]
    if given:
        return f"it uses {given[0]!r}, a word of the name or akin to one"
    return None


def _akin(word: str, attribute: str) -> bool:
    """Whether a word is a form of one of the attribute's, or holds one."""
    from rapidfuzz import fuzz

    return any(
        fuzz.ratio(word, other) >= 80 or (len(other) > 4 and other.rstrip("s") in word)
        for other in tokens(attribute)
        if other not in STOPWORDS and len(other) > 3
    )


def _description_fault(question: AskDescription, answer: Description) -> str | None:
    text = answer.description
    if any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in text):
        return "it holds a control character, or one that cannot be seen"
    if re.search(r'[{}"]', text) or text != text.strip() or text.endswith("."):
        return "it is one line without quotation marks, braces, and a full stop at the end"
    if not 4 <= len(text.split()) <= 20:
        return f"it has {len(text.split())} words, not 4 to 20"
    return naming_fault(question.attribute, text)


def _choice_fault(question: AskChoice, answer: Choice) -> str | None:
    if answer.choice not in (*question.options, NONE):
        return f"{answer.choice!r} is neither in the list nor {NONE!r}"
    return None


def _propose_offline(question: AskAttributes) -> Proposed:
    everything, _ = load_attributes(CatalogueParams(split="all"), 0)
    fresh = [a.text for a in everything if a.category == question.category]
    return Proposed(
        attributes=[text for text in fresh if text not in question.known][: question.count]
    )


def _describe_offline(question: AskDescription) -> Description:
    result = glossary().get(question.attribute)
    if result is None:
        raise RepairsFailed("paraphrase_query/glossary", f"no entry for {question.attribute!r}", ())
    return Description(description=result)


def _identify_offline(question: AskChoice) -> Choice:
    meant = [one for one in question.options if glossary().get(one) == question.description]
    return Choice(choice=meant[0] if meant else NONE)


PROPOSE = bundled_agent(
    "limit/propose_attributes", "write", AskAttributes, Proposed, _propose_offline
)
REMOVE = bundled_agent(
    "limit/remove_overlaps", "judge", AskOverlaps, Removed, lambda question: Removed(remove=[])
)
PARAPHRASE = bundled_agent(
    "limit/paraphrase_query",
    "write",
    AskDescription,
    Description,
    _describe_offline,
    check=_description_fault,
    max_tokens=256,
)
IDENTIFY = bundled_agent(
    "limit/identify_attribute",
    "judge",
    AskChoice,
    Choice,
    _identify_offline,
    check=_choice_fault,
    max_tokens=256,
)
AGENTS = (PROPOSE, REMOVE, PARAPHRASE, IDENTIFY)
