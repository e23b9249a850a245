"""What LanguageTool's rules for English, as LingoTweaker runs them, report on a text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import lt_py

# Reports that are no faults here, by the beginning of the rule's name, with the reason.
ACCEPTED = {
    "MORFOLOGIK_RULE_": "spelling: persons and titles are invented",
    "EN_MULTITOKEN_SPELLING_": "the same",
    "EN_DIACRITICS_": "cities are spelled without diacritics, so that a reader needs none",
    "ENGLISH_WORD_REPEAT_BEGINNING_RULE": "style: three sentences that begin with the same word",
    "MISSING_COMMA_AFTER_INTRODUCTORY_PHRASE": "style: 'In 1974 it appeared' needs no comma",
    "EN_COMPOUNDS_": "hyphens are a matter of taste: bottle green, pole vaulting",
    "MAKER_COMPOUNDS": "the same: a car maker",
    "MARK_COMPOUNDS": "British English: a trade mark",
    "EN_US_SIMPLE_REPLACE_": "British English: a lorry driver",
    "AFTERWARDS_US": "British English",
    "COMMA_COMPOUND_SENTENCE": "style: no comma before the last of several clauses",
}
ACCEPTED_WORDS = {
    ("A_NNS", "a customs"): "a customs officer",
    ("TO_TOO", "to"): "an allergy is to something",
    ("BE_TO_VBG", "to washing"): "an allergy is to washing powder",
    ("POSSESSIVE_APOSTROPHE", "games"): "a games studio makes games",
    ("IN_A_ISLAND", "in The Distant Island"): "a book's title",
    ("IN_A_ISLAND", "in The Flawed Island"): "a film's title",
    ("ADJECTIVE_IN_ATTRIBUTE", "degree in number"): "a degree in number theory",
}


@cache
def engine() -> lt_py.Engine:
    """Its rules take a second to load, so once."""
    return lt_py.Engine("en-GB")


def faults(text: str) -> Iterator[str]:
    """Each as "RULE: 'words' in 'sentence'". Offsets are those of bytes."""
    raw = text.encode()
    for match in engine().check(text):
        rule, start = match["rule_id"], match["offset"]
        end = start + match["length"]
        said = raw[start:end].decode()
        if rule.startswith(tuple(ACCEPTED)) or (rule, said) in ACCEPTED_WORDS:
            continue
        around = raw[max(start - 40, 0) : end + 40].decode(errors="ignore")
        yield f"{rule}: {said!r} in {around!r}"
