"""What is wrong with a query, in words; whoever wrote it."""

from __future__ import annotations

from typing import Literal

from retgen.generators.capretrieval.language import CHINESE, folded
from retgen.tokenizer import length, tokens

Kind = Literal["keyword", "phrase", "hypernym", "title", "summary", "topics", "question"]
Set = Literal["KW", "SM"]
SETS: dict[Kind, Set] = {
    "keyword": "KW", "phrase": "KW", "hypernym": "KW",
    "title": "SM", "summary": "SM", "topics": "SM", "question": "SM",
}  # fmt: skip

_KW_WORDS, _KW_CHARACTERS = 8, 16
_SM_WORDS = 60
LONGEST: dict[Set, int] = {"KW": 200, "SM": 600}  # characters: a word may be an address
_COPIED = 8  # tokens in a row that a summary may not share with its passage


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
    if rests_on.strip() and folded(rests_on, language) not in folded(passage, language):
        return f"the passage does not hold {rests_on[:60]!r}"
    if kind in ("summary", "question") and copied(text, passage):
        return f"it copies {_COPIED} words in a row from the passage"
    return None


def _ungrounded(kind: Kind, text: str, rests_on: str, passage: str, language: str) -> str | None:
    held, stated = folded(passage, language), folded(rests_on, language)
    if not stated or stated not in held:
        return f"the passage does not hold {rests_on!r}"
    if kind == "hypernym":
        if folded(text, language) == stated:
            return "a hypernym is another word than what it generalises"
    elif folded(text, language) != stated:
        return f"a {kind} stands in the passage word for word; {text!r} does not"
    return None


def copied(text: str, passage: str) -> bool:
    """Whether a text shares too many tokens in a row with a passage."""
    own, there = tokens(text), " ".join(tokens(passage))
    padded = f" {there} "
    return any(
        f" {' '.join(own[i : i + _COPIED])} " in padded for i in range(len(own) - _COPIED + 1)
    )
