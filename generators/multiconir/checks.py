"""Sentences of a document, and what each part of an agent's answer has to keep to.

A text is cut into sentences so that joining them with spaces gives it back. Each `check_` function
returns, in words that a model can act on, what is wrong with one sentence, condition, rewrite,
query or quote, or None. Tokens are lower-case words and numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

from retgen.tokenizer import LETTER, content_stems

CONDITIONS = 10  # of every ladder (paper, §3.2)
_SHORTEST, _LONGEST = 5, 60  # words of a sentence that can state a condition

# a full stop after one of these does not end a sentence
_ABBREVIATIONS = frozenset(
    """
    dr mr mrs ms prof st sr jr rev hon gen col capt lt sgt gov sen rep pres messrs mt ft no nos vol
    vols pp p ed eds fig figs art arts sec ch para cl v vs cf al etc e.g i.e inc ltd co corp
    jan feb mar apr jun jul aug sep sept oct nov dec approx dept univ cir supp u.s u.k d.c a.m p.m
    """.split()
)

_END = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s)")
_OPENS = re.compile(r"[\"'“‘(\[]*[A-Z0-9À-ÖØ-Þ]")
_SAME = 85  # of 100: above, two sentences say the same in nearly the same words
_FEWEST, _MOST = 3, 26  # words of a condition; about ten (paper, Appendix B)
_SLACK = 14  # words of a query beside its conditions

_NEGATIONS = frozenset("no not never without neither nor none cannot nothing nobody".split())
_AUXILIARIES = frozenset(
    "did does do was were is had has have be been could would refused failed to ever any".split()
)
KEPT = 0.6  # of a sentence's words stay in order (paper, Appendix G.1: no generic rewriting)
_STEM = 3  # letters in which forms of a verb agree

_TOKEN = re.compile(rf"\d+(?:[.,]\d+)*|{LETTER}+(?:['’]{LETTER}+)?")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # Unicode categories


# --- sentences ------------------------------------------------------------------------------------


def split(text: str) -> list[str]:
    """The sentences of a text whose white space is single spaces."""
    result, start = [], 0
    for end in _END.finditer(text):
        rest = text[end.end() :].lstrip()
        if not _OPENS.match(rest) or _is_abbreviation(text[start : end.start()], end[0]):
            continue
        result.append(text[start : end.end()].strip())
        start = end.end()
    if last := text[start:].strip():
        result.append(last)
    return result


def _is_abbreviation(before: str, mark: str) -> bool:
    """Whether a full stop belongs to a short form: Dr., J., No., U.S."""
    if mark != ".":
        return False
    words = before.split()
    last = words[-1].lstrip("\"'“‘([") if words else ""
    return last.casefold() in _ABBREVIATIONS or bool(re.fullmatch(r"[A-Z](\.[A-Z])*", last))


def word_count(text: str) -> int:
    """Words, as separated by white space."""
    return len(text.split())


def usable(text: str) -> bool:
    """Whether a sentence is one, complete, and of a length that can state a condition."""
    return (
        all(_is_abbreviation(text[: end.start()], end[0]) for end in _END.finditer(text))
        and text.count("(") == text.count(")")
        and text.count('"') % 2 == 0
        and _SHORTEST <= word_count(text) <= _LONGEST
        and bool(_OPENS.match(text))
        and bool(re.search(r"[.!?][\"'”’)\]]*$", text))
    )


# --- checks ---------------------------------------------------------------------------------------


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


def check_sentence(document: str, sentence: str, taken: Sequence[str]) -> str | None:
    """A whole sentence of the document, copied, that neither overlaps nor repeats a taken one."""
    from rapidfuzz import fuzz

    at = document.find(sentence) if sentence.strip() else -1
    if at < 0:
        return "it does not stand in the document; copy it letter by letter"
    if sentence not in split(document):
        return "it is not a whole sentence of the document"
    if not usable(sentence):
        return "it is not a complete sentence of 5 to 60 words"
    for other in taken:
        start = document.find(other)
        if start < at + len(sentence) and at < start + len(other):
            return f"it overlaps {other[:60]!r}"
        if fuzz.token_sort_ratio(sentence, other) >= _SAME:
            return f"it says nearly the same as {other[:60]!r}"
    return None


def check_condition(sentence: str, condition: str, taken: Collection[str]) -> str | None:
    """A short condition that its sentence states, and none of the taken ones."""
    if fault := _plain(condition):
        return f"the condition is bad: {fault}"
    if re.match(r"\(?\d{1,2}[.)]\s", condition) or condition.endswith((".", ";", ",")):
        return "the condition is to have no number before it and no full stop after it"
    if not _FEWEST <= word_count(condition) <= _MOST:
        return f"the condition has {word_count(condition)} words; about ten are wanted"
    if not content_stems(condition) & content_stems(sentence):
        return "the condition shares no word with its sentence"
    if condition.casefold() in {one.casefold() for one in taken}:
        return "the condition is that of another sentence"
    return None


def check_query(conditions: Sequence[str], count: int, query: str) -> str | None:
    """A query that asks for the first `count` conditions, and for no other."""
    if fault := _plain(query):
        return fault
    if re.search(r"(?:^|\s)\(?\d{1,2}[.)]\s", query):
        return "it is a list; write prose"
    asked = sum(map(word_count, conditions[:count]))
    if not asked / 3 <= word_count(query) <= 2 * asked + _SLACK:
        return f"it has {word_count(query)} words for conditions of {asked}"
    named = [terms(condition) for condition in conditions]
    # 38.6 is one token, and no 6
    there = set(_tokens(query)) | {one for one in content_stems(query) if not one.isdigit()}
    for number, wanted in enumerate(named[:count], 1):
        if 3 * len(wanted & there) < len(wanted):
            return f"it does not ask for condition {number}"
    known = set().union(*named[:count])
    for number, later in enumerate(named[count:], count + 1):
        fresh = {one for one in later - known if one[:1].isdigit()}
        if fresh & there:
            return f"it asks for condition {number} already"
    return None


def check_quote(quote: str, text: str) -> str | None:
    """A verdict has to show where its text says so."""
    stated, whole = (" ".join(one.split()).strip(" \"'“”").casefold() for one in (quote, text))
    if stated and stated in whole:
        return None
    return f"the quote {quote[:80]!r} is not a part of the text"


def check_rewrite(
    sentence: str,
    condition: str,
    rewrite: str,
    *,
    fewest: int,
    most: int,
    key_terms: float,
) -> str | None:
    """Another sentence of about the length, most of which is as it was (Appendix G.1)."""
    if fault := _plain(rewrite):
        return fault
    if _tokens(rewrite) == _tokens(sentence):
        return "it is the sentence itself"
    if split(rewrite) != [rewrite] or not usable(rewrite):
        return "it is not one complete sentence"
    if not fewest <= word_count(rewrite) <= most:
        return f"it has {word_count(rewrite)} words, not {fewest} to {most}"
    if (share := kept_share(sentence, rewrite)) < KEPT:
        return f"only {share:.0%} of the sentence's words stand in it as they did; {KEPT:.0%} must"
    key = content_stems(condition) & content_stems(sentence)
    share = len(key & content_stems(rewrite)) / len(key) if key else 1.0
    if share < key_terms:
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


def negates(sentence: str, rewrite: str) -> bool:
    """Whether a rewrite differs by a negation alone: was -> was not, won -> never won."""
    before, after = set(_tokens(sentence)), set(_tokens(rewrite))
    changed = before ^ after
    negations = {one for one in changed if one in _NEGATIONS or one.endswith("n't")}
    others = changed - negations - _AUXILIARIES
    return bool(negations) and all(
        one[:_STEM] in {other[:_STEM] for other in (after if one in before else before)}
        for one in others
    )
