"""Queries without a model: keyphrases, and what a passage is about in a few words.

Keyphrases are yake's (Campos et al., 2020), in Chinese words and compounds weighed by jieba. All
stand word for word in the passage. What a passage is about is said in telegram style: the content
words of its first sentences, or several keyphrases side by side. Hypernyms and questions are a
model's work: no lexical resource that installs by itself gives them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from retgen.generators.capretrieval.language import (
    CHINESE,
    has_baseline,
    names_something,
    simplify_chinese,
    stopwords,
    yake_name,
)

_LONGEST = 6000  # characters of a passage that are read
_WORDS = 3  # of a keyphrase
_ALIKE = 0.85  # two keyphrases that are so similar are one
_SPARE = 3  # times as many are asked for as are wanted: some do not pass
_SENTENCES = 3  # of a passage that are put into few words
_TOPICS = 8  # keyphrases that are put side by side
_FEWEST, _MOST = 3, 12  # content words of such a query
_BREAK = re.compile(r"(?<=[.!?:])\s+|(?<=[。！？；])|\n\s*\n\s*|\n\s*(?:[-*+•]|\d+[.)])\s+|\n(?=#)")
_WORD = re.compile(r"\w+(?:[-'’.+#/]\w+)*[+#]*")
_MARKS = re.compile(r"^[^\w+#.]+|[^\w+#]+$")  # around a phrase, not part of it
# of Markdown, HTML and reStructuredText: what nobody reads, such as badges and addresses
_MARKUP = re.compile(
    r"^(?P<fence>```|~~~).*?^(?P=fence)|<!--.*?-->|</?[A-Za-z][^<>]{0,500}>"
    r"|!\[[^\]\n]*\](?:\([^)\n]*\)|\[[^\]\n]*\])|(?<=\])\([^)\s]+\)|^[ ]*\[[^\]\n]+\]:[^\n]*"
    r"|https?://\S+|^[ ]*\.\.[ ][^\n]*|^[ ]+:[a-z]+:[^\n]*|(?<!\w)\|[^|\n]{1,80}\|(?!\w)"
    r"|[=~^*#-]{4,}",
    re.DOTALL | re.MULTILINE,
)
_NOUNS = ("n", "nr", "ns", "nt", "nz", "vn", "an", "eng", "i", "l", "j")


class Keyphrase(NamedTuple):
    """A keyphrase and where it stands in the passage."""

    text: str
    start: int
    stop: int


def without_markup(text: str) -> str:
    """A text of the same length with blanks where markup stands."""
    return _MARKUP.sub(lambda match: re.sub(r"\S", " ", match.group()), text)


def keyphrases(text: str, language: str, count: int) -> list[Keyphrase]:
    """The most salient phrases of a passage, best first; none where no rules know the language."""
    original, text = text, without_markup(text)[:_LONGEST]
    if not count or not has_baseline(language):
        return []
    named = _chinese(text, count) if language == CHINESE else _yake(text, language, count)
    result: list[Keyphrase] = []
    for name in named:
        place = _place(text, name)
        if place is not None and original[slice(*place)] == text[slice(*place)]:
            result.append(Keyphrase(original[slice(*place)], *place))
    return result


def _place(text: str, phrase: str) -> tuple[int, int] | None:
    """Where a phrase stands in a text, its words apart by any white space."""
    pattern = r"\s+".join(map(re.escape, phrase.split()))
    bounds = (r"(?<!\w)", r"(?!\w)") if phrase.isascii() else ("", "")
    match = re.search(bounds[0] + pattern + bounds[1], text, re.IGNORECASE)
    return match.span() if match else None


@cache
def _extractor(language: str, top: int) -> Any:
    import yake

    return yake.KeywordExtractor(lan=yake_name(language), n=_WORDS, top=top, dedupLim=_ALIKE)


def _yake(text: str, language: str, count: int) -> list[str]:
    """Noun phrases, none a part of a better one; single words may be."""
    result: list[str] = []
    for named, _ in _extractor(language, _SPARE * count).extract_keywords(text):
        phrase = _MARKS.sub("", named)
        words = phrase.split()
        within = f" {phrase.casefold()} "
        if len(words) > 1 and any(within in f" {other.casefold()} " for other in result):
            continue
        if names_something(words, language):
            result.append(phrase)
    return result


def _chinese(text: str, count: int) -> list[str]:
    """Words by TF-IDF, and compounds of neighbouring nouns as heavy as their words."""
    weights, cut = _weights(text)
    scores: dict[str, float] = {}
    run: list[str] = []
    for word, flag in [*cut, ("", "x")]:
        if flag.startswith(_NOUNS) or flag in ("a", "b"):
            run.append(word)
            continue
        if 1 < len(run) <= _WORDS and not flag.startswith("m"):
            scores["".join(run)] = sum(weights.get(one, 0.0) for one in run)
        run = []
    for word, weight in weights.items():
        if len(word) > 1:
            scores[word] = max(weight, scores.get(word, 0.0))
    ranked = sorted(scores, key=lambda one: (-scores[one], text.find(one)))
    return ranked[: _SPARE * count]


def _weights(text: str) -> tuple[dict[str, float], list[tuple[str, str]]]:
    posseg, analyse = _jieba()
    cut = [(pair.word, pair.flag) for pair in posseg.cut(text)]
    table, median = analyse.default_tfidf.idf_freq, analyse.default_tfidf.median_idf
    stops = stopwords(CHINESE)
    weights: dict[str, float] = {}
    for word, flag in cut:
        if flag.startswith(_NOUNS) and word.casefold() not in stops:
            weights[word] = weights.get(word, 0.0) + table.get(simplify_chinese(word), median)
    return weights, cut


@cache
def _jieba() -> tuple[Any, Any]:
    import logging
    import warnings

    import jieba

    with warnings.catch_warnings():  # it leaves the file of its weights open
        warnings.simplefilter("ignore", ResourceWarning)
        from jieba import analyse, posseg

    jieba.setLogLevel(logging.WARNING)
    return posseg, analyse


def sentences(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text stand, list items and headings among them."""
    result, begin = [], 0
    for gap in [*_BREAK.finditer(text), None]:
        end = gap.start() if gap else len(text)
        part = text[begin:end]
        left = len(part) - len(part.lstrip())
        if part.strip():
            result.append((begin + left, begin + len(part.rstrip())))
        begin = gap.end() if gap else end
    return result


def in_few_words(text: str, language: str) -> str:
    """The content words of a sentence in their order; "" where there are too few or too many."""
    stops = stopwords(language)
    if language == CHINESE:
        words = [word for word, flag in _weights(text)[1] if flag[0] in "navbijls" or flag == "eng"]
    else:
        words = _WORD.findall(text)
    kept = [word for word in words if word.strip("_") and word.casefold() not in stops]
    distinct = list(dict.fromkeys(kept))
    return " ".join(distinct[:_MOST]) if len(distinct) >= _FEWEST else ""


def abouts(text: str, language: str, count: int) -> list[Keyphrase]:
    """What a passage is about in few words, each with its sentence: the first ones."""
    if not has_baseline(language):
        return []
    result: list[Keyphrase] = []
    text = without_markup(text)[:_LONGEST]
    for start, stop in sentences(text):
        if len(result) == min(count, _SENTENCES):
            break
        short = in_few_words(text[start:stop], language)
        if short:
            result.append(Keyphrase(short, start, stop))
    return result


def topics(text: str, language: str, count: int) -> list[str]:
    """Several keyphrases side by side: the best two, the best three, then later ones together."""
    phrases: list[str] = []
    for one in keyphrases(text, language, _TOPICS):
        words = set(one.text.casefold().split())
        if not any(words & set(other.casefold().split()) for other in phrases):
            phrases.append(" ".join(one.text.split()))
    groups = [phrases[:2], phrases[:3], phrases[1:4], phrases[3:6]]
    joined = [" ".join(group) for group in groups if len(group) > 1]
    return list(dict.fromkeys(joined))[: max(0, count)]
