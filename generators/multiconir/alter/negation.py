"""The last resort: "not" put in or taken out."""

from __future__ import annotations

from typing import NamedTuple

from retgen.generators.multiconir.alter.clauses import HELPERS
from retgen.generators.multiconir.alter.lexicon import verbs
from retgen.generators.multiconir.alter.words import DENIALS, DETERMINERS, NUMBERS, Words

UNDONE = {"no": "one", "none": "some", "nobody": "somebody", "nothing": "something"}


class Negation(NamedTuple):
    """Characters start to end, which become `new`."""

    start: int
    end: int
    new: str


def negations(words: Words, at: int | None) -> list[Negation]:
    """The ways to negate the main clause, whose verb is word `at`, or to undo a negation."""
    if at is None:
        return []
    for i in range(at - 1):
        if words.lower[i] in UNDONE:
            some = UNDONE[words.lower[i]] if words.after(i)[-1:] != "s" else "several"
            some = some.capitalize() if words.capital(i) else some
            return [Negation(words.starts[i], words.ends[i], some)]
    if DENIALS & set(words.lower[: at - 1]) or "only" in words.lower[at + 1 : at + 5]:
        return []
    verb, after = words.lower[at], words.after(at)
    start, end = words.starts[at], words.ends[at]
    if after in ("not", "never") and verb in HELPERS:
        if after == "not" and verb in ("did", "does", "do") and at + 2 < len(words):
            tag = {"did": "past", "does": "s", "do": "base"}[verb]
            return [Negation(start, words.ends[at + 2], verbs().inflect(words.lower[at + 2], tag))]
        return [Negation(start, words.ends[at + 1], verb)]
    if words.before(at) == "never":
        return [Negation(words.starts[at - 1], end, words.words[at])]
    if verb in ("did", "does", "do", "have", "had", "has") and not _helps(words, at):
        base = "do" if verb in ("did", "does", "do") else "have"
        helper = {"had": "did", "did": "did", "has": "does", "does": "does"}.get(verb, "do")
        return [Negation(start, end, f"{helper} not {base}")]
    if verb in HELPERS:
        return [Negation(start, end, f"{verb} not")]
    if verb not in verbs().forms and len(verb) <= len("ed") + 1:  # ed, a program; red
        return []
    base, tag = verbs().forms.get(verb) or (_base(verb), "ed")
    helper = {"s": "does", "base": "do"}.get(tag, "did")
    return [Negation(start, end, f"{helper} not {base}"), Negation(start, end, f"never {verb}")]


def _base(past: str) -> str:
    """The base form of an unknown regular past: sauntered, glazed, wried."""
    stem = past[:-2]
    if stem.endswith("i"):
        return stem[:-1] + "y"
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "sl":
        return stem[:-1]
    return stem + "e" if stem[-1] in "szcvgu" or stem.endswith(("at", "ir", "in")) else stem


def _helps(words: Words, at: int) -> bool:
    """Whether the have or do at `at` helps another verb."""
    for word in words.lower[at + 1 : at + 4]:
        if word in DETERMINERS or word in NUMBERS or word == "to":
            return False
        entry = verbs().forms.get(word)
        if word == "been" or (entry and entry[1] in ("participle", "ed", "base")):
            return True
    return False
