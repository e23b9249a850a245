"""One form for all inflections of a word: "studies", "studied" and "studying" are "studi".

A stem is a key, not a word: it only has to be the same for the forms of one word. Irregular forms
stand in irregular.txt, a line each: the base form, then its others, verbs first.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

_PREFIXES = ("re", "over", "under", "out", "mis", "un", "fore")
_VOWELS = frozenset("aeiouy")


@cache
def _irregular() -> tuple[dict[str, str], frozenset[str]]:
    """Form -> base, and the forms that are verbs'."""
    text = (Path(__file__).parent / "irregular.txt").read_text("utf-8")
    found: dict[str, str] = {}
    verbs: frozenset[str] = frozenset()
    for line in text.splitlines():
        if line.startswith("#"):
            verbs = frozenset(found)
            continue
        base, *others = line.split()
        for other in others:
            found.setdefault(other, base)
    return found, verbs


def _base(word: str) -> str:
    forms, verbs = _irregular()
    if word in forms:
        return forms[word]
    for prefix in _PREFIXES:  # "rebuilt"
        if word.startswith(prefix) and word[len(prefix) :] in verbs:
            return prefix + forms[word[len(prefix) :]]
    return word


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a case-folded word."""
    word = _base(word)
    if len(word) > 3 and word[-1] == "s" and word[-2] not in "sui":
        if word.endswith("ies") and len(word) > 4:
            word = word[:-3] + "y"
        elif word.endswith(("sses", "xes", "zes", "ches", "shes")):
            word = word[:-2]
        else:
            word = word[:-1]
    if word.endswith("ied") and len(word) > 4:
        word = word[:-3] + "y"
    for ending, least in (("ed", 5), ("ing", 6)):
        rest = word[: -len(ending)]
        if word.endswith(ending) and len(word) >= least and _VOWELS & set(rest):
            word = rest
            break
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in _VOWELS:
        word = word[:-1]
    if word.endswith("y"):
        word = word[:-1] + "i"
    return word


def is_irregular(word: str) -> bool:
    """Whether a case-folded word is an irregular past form: "wrote"."""
    return (
        _base(word) != word
        and not word.endswith(("s", "ing"))
        and (word in _irregular()[1] or word not in _irregular()[0])
    )
