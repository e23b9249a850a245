"""What an agent's answer has to keep to, in words that a model can act on.

Each function returns what is wrong, or None. Tokens are lower-case words and numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

from retgen.generators.multiconir.sentences import split, usable, word_count
from retgen.validators.words import content_stems

__all__ = [
    "check_conditions", "check_descriptive", "check_extracted", "check_rewrite", "kept_share",
    "key_terms_share", "negates", "terms",
]  # fmt: skip

_SAME = 85  # of 100: above, two sentences say the same in nearly the same words
_FEWEST, _MOST, _MEAN = 3, 26, 17.0  # words of a condition; about ten (paper, Appendix B)
_SLACK = 14  # words of a query beside its conditions
_NEGATORS = frozenset(
    """no not never n't nor neither none nothing nobody without cannot did does do don didn doesn
    was wasn were weren is isn had hadn has hasn have be been could couldn would wouldn t refused
    failed to ever any""".split()
)
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")


_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # Unicode categories


def _tokens(text: str) -> list[str]:
    return [token.casefold().replace("’", "'") for token in _TOKEN.findall(text)]


def terms(text: str) -> set[str]:
    """What a text is recognised by: numbers, names, and else the stems of its content words."""
    words = _TOKEN.findall(text)
    named = {w.casefold() for w in words[1:] if w[:1].isupper() or w[:1].isdigit()}
    named |= {w for w in words[:1] if w[:1].isdigit()}
    return named or set(content_stems(text))


def _plain(text: str) -> str | None:
    if any(unicodedata.category(c) in _UNSEEN or "\ufe00" <= c <= "\ufe0f" for c in text):
        return "it holds a line break or a character that cannot be seen"
    if text != text.strip() or "  " in text:
        return "it begins or ends with a space, or has two in a row"
    return None


def check_extracted(
    document: str, wanted: int, sentences: Sequence[str], without: Sequence[str] = ()
) -> str | None:
    """So many whole sentences of the document, copied, none of them twice, none like another."""
    from rapidfuzz import fuzz

    if len(sentences) != wanted:
        return f"there are {len(sentences)} sentences, not {wanted}"
    taken: list[tuple[int, int, str]] = []
    whole = frozenset(split(document))
    for sentence in sentences:
        if sentence in without:
            return f"{sentence[:80]!r} is one of those not to be taken"
        at = document.find(sentence) if sentence.strip() else -1
        if at < 0:
            return f"{sentence[:80]!r} does not stand in the document; copy it letter by letter"
        if sentence not in whole or not usable(sentence):
            return f"{sentence[:80]!r} is not a complete sentence of 5 to 60 words"
        for start, stop, other in taken:
            if start < at + len(sentence) and at < stop:
                return f"{sentence[:60]!r} and {other[:60]!r} overlap"
            if fuzz.token_sort_ratio(sentence, other) >= _SAME:
                return f"{sentence[:60]!r} and {other[:60]!r} say nearly the same"
        taken.append((at, at + len(sentence), sentence))
    return None


def check_conditions(sentences: Sequence[str], conditions: Sequence[str]) -> str | None:
    """A short condition for every sentence, in its order."""
    if len(conditions) != len(sentences):
        return f"there are {len(conditions)} conditions for {len(sentences)} sentences"
    for number, (sentence, condition) in enumerate(zip(sentences, conditions, strict=True), 1):
        if fault := _plain(condition):
            return f"condition {number}: {fault}"
        if re.match(r"\(?\d{1,2}[.)]\s", condition) or condition.endswith((".", ";", ",")):
            return f"condition {number} is to have no number before it and no full stop after it"
        if not _FEWEST <= word_count(condition) <= _MOST:
            return f"condition {number} has {word_count(condition)} words; about ten are wanted"
        if not content_stems(condition) & content_stems(sentence):
            return f"condition {number} shares no word with sentence {number}"
    if len({condition.casefold() for condition in conditions}) < len(conditions):
        return "two conditions are the same"
    mean = sum(map(word_count, conditions)) / max(1, len(conditions))
    if mean > _MEAN:
        return f"the conditions have {mean:.0f} words on average; about ten are wanted"
    return None


def check_descriptive(conditions: Sequence[str], queries: Sequence[str]) -> str | None:
    """A query for every number of conditions, each holding what the one before it asks for."""
    if len(queries) != len(conditions):
        return f"there are {len(queries)} queries; {len(conditions)} are wanted"
    if len({" ".join(query.casefold().split()) for query in queries}) < len(queries):
        return "two queries are the same"
    named = [terms(condition) for condition in conditions]
    for count, query in enumerate(queries, 1):
        if fault := _plain(query):
            return f"query {count}: {fault}"
        if re.search(r"(?:^|\s)\(?\d{1,2}[.)]\s", query):
            return f"query {count} is a list; write prose"
        asked = sum(map(word_count, conditions[:count]))
        if not asked / 3 <= word_count(query) <= 2 * asked + _SLACK:
            return f"query {count} has {word_count(query)} words for conditions of {asked}"
        # 38.6 is one token, and no 6
        there = set(_tokens(query)) | {one for one in content_stems(query) if not one.isdigit()}
        for number, wanted in enumerate(named[:count], 1):
            if 3 * len(wanted & there) < len(wanted):
                return f"query {count} does not ask for condition {number}"
        known = set().union(*named[:count])
        for number, later in enumerate(named[count:], count + 1):
            fresh = {one for one in later - known if one[:1].isdigit()}
            if fresh & there:
                return f"query {count} asks for condition {number} already"
    return None


def check_rewrite(
    sentence: str, condition: str, rewrite: str, *,
    fewest: int, most: int, kept: float, key_terms: float,
) -> str | None:  # fmt: skip
    """Another sentence of about the length, most of which is as it was (Appendix G.1)."""
    if fault := _plain(rewrite):
        return fault
    if _tokens(rewrite) == _tokens(sentence):
        return "it is the sentence itself"
    if split(rewrite) != [rewrite] or not usable(rewrite):
        return "it is not one complete sentence"
    if not fewest <= word_count(rewrite) <= most:
        return f"it has {word_count(rewrite)} words, not {fewest} to {most}"
    if (share := kept_share(sentence, rewrite)) < kept:
        return f"only {share:.0%} of the sentence's words stand in it as they did; {kept:.0%} must"
    if (share := key_terms_share(condition, sentence, rewrite)) < key_terms:
        return f"only {share:.0%} of the condition's key terms are left; {key_terms:.0%} must be"
    return None


def kept_share(sentence: str, rewrite: str) -> float:
    """The share of a sentence's words that stand in the rewrite in their order.

    The length of the longest common subsequence over that of the sentence: 1 minus the word edit
    distance without insertions.
    """
    from rapidfuzz.distance import LCSseq

    before = _tokens(sentence)
    return LCSseq.similarity(before, _tokens(rewrite)) / max(1, len(before))


def key_terms_share(condition: str, sentence: str, rewrite: str) -> float:
    """The share of the condition's content words in the sentence that the rewrite has."""
    key = content_stems(condition) & content_stems(sentence)
    return len(key & content_stems(rewrite)) / len(key) if key else 1.0


def negates(sentence: str, rewrite: str) -> bool:
    """Whether a rewrite differs by a negation alone: was -> was not, won -> never won."""
    before, after = _tokens(sentence), _tokens(rewrite)
    changed: list[str] = []
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            changed += after[k:m]
            if kind == "replace" and not _inflected(before[i:j], after[k:m]):
                return False
            if kind == "delete" and not set(before[i:j]) <= _NEGATORS:
                return False
    negations = {"no", "not", "never", "without", "neither", "nor", "none", "cannot"}
    added = negations & set(changed) or any(token.endswith("n't") for token in changed)
    removed = negations & (set(before) - set(after))
    return bool(added or removed) and set(changed) - _NEGATORS <= _forms(before)


def _inflected(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether every word but a negator is a form of one that stood there."""
    rest = [word for word in after if word not in _NEGATORS and not word.endswith("n't")]
    return all(any(_akin(word, other) for other in before) for word in rest)


def _forms(words: Sequence[str]) -> set[str]:
    return {form for word in words for form in (word, *(word[:-n] for n in (1, 2, 3)))}


def _akin(word: str, other: str) -> bool:
    from rapidfuzz import fuzz

    return word[:2] == other[:2] and fuzz.ratio(word, other) >= 50
