"""Noun phrases of a text, by the rules of its language.

In English a run of adjectives and nouns that ends in a noun (textblob's tags); in Chinese a word or
a compound of neighbouring nouns (jieba); elsewhere what stands between function words and marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from retgen.generators.capretrieval.language import CHINESE, simplify_chinese, stopwords
from retgen.tokenizer import FULL_STOPS, LETTER, MARKS

MASK = "\0"  # stands for characters that are no prose
LONGEST = 4  # words of a phrase; in languages without a tagger one less
_SENTENCE = 8  # words of which some are function words
_PLAIN, _FUNCTION = 0.7, 0.2  # shares of a text's words
_NOUNS = ("NN", "NNP", "NNPS", "NNS")
_JIEBA_NOUNS = ("n", "nr", "ns", "nt", "nz", "vn", "an", "eng", "i", "l", "j")
_TOKEN = re.compile(r"\S+")
# a word that people type, names such as C++, node.js and X.509 among them
_INNER = rf"(?:[^\W_]|[{MARKS}])"
_NAME = re.compile(rf"[^\W\d_]{_INNER}*(?:[-'’.+/&]{_INNER}+)*[+#]{{0,2}}|\d+[^\W\d_]{LETTER}*")
_OPENS, _CLOSES = "([{\"'“‘«*_„", f".,;:!?)]}}\"'”’»*_…{FULL_STOPS}،؛՝·፣၊"


class Word(NamedTuple):
    text: str
    start: int
    stop: int
    plain: bool  # a word, no code, number or address


def noun_phrases(text: str, language: str) -> Iterator[tuple[int, int]]:
    """The places of the noun phrases of a text, in order; single nouns are phrases."""
    stops = stopwords(language)
    for run in runs(text):
        tags = _tags([one.text for one in run]) if language == "en" else [""] * len(run)
        held: list[tuple[Word, str]] = []
        for word, tag in [*zip(run, tags, strict=True), (None, "")]:
            is_part = tag in (*_NOUNS, "JJ") or language != "en"
            if word and is_part and word.plain and word.text.casefold() not in stops:
                held.append((word, tag))
                continue
            while held and held[-1][1] == "JJ":
                held.pop()
            if 0 < len(held) <= LONGEST - (language != "en"):
                yield held[0][0].start, held[-1][0].stop
            held = []


def runs(text: str) -> Iterator[list[Word]]:
    """The words between two marks (commas, brackets, ends of sentences)."""
    run: list[Word] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        core = token.lstrip(_OPENS)
        start = match.start() + len(token) - len(core)
        bare = core.rstrip(_CLOSES)
        if run and start > match.start():
            yield run
            run = []
        if bare:
            run.append(Word(bare, start, start + len(bare), bool(_NAME.fullmatch(bare))))
        if run and len(bare) < len(core):
            yield run
            run = []
    if run:
        yield run


def is_prose(text: str, language: str, sentences: bool = True) -> bool:
    """Whether a text is written in words, in sentences with function words among them.

    Code, tables and synopses are not; of a few words nobody can tell. What is masked counts not.
    `sentences`: off for documents without any, such as titles of products.
    """
    words = [one for run in runs(text) for one in run if MASK not in one.text]
    plain = sum(one.plain for one in words)
    stops = stopwords(language)
    function_words = sum(one.text.casefold() in stops for one in words)
    few = len(words) < _SENTENCE or not stops or not sentences
    return plain >= _PLAIN * len(words) and (few or function_words >= _FUNCTION * len(words))


def _tags(words: list[str]) -> list[str]:
    """Penn Treebank tags of English words."""
    return [tag for _, tag in _parser().find_tags(words)]


@cache
def _parser() -> Any:
    import warnings

    from textblob.en import parser

    with warnings.catch_warnings():  # it leaves the files of its lexicon open
        warnings.simplefilter("ignore", ResourceWarning)
        parser.find_tags(["a", "b"])
    return parser


# --- Chinese --------------------------------------------------------------------------------------


def chinese_phrases(text: str) -> list[tuple[str, float]]:
    """Words by TF-IDF, and compounds of neighbouring nouns as heavy as their words; best first."""
    weights, cut = weighed_words(text)
    scores: dict[str, float] = {}
    run: list[str] = []
    for word, flag in [*cut, ("", "x")]:
        if flag.startswith(_JIEBA_NOUNS) or flag in ("a", "b"):
            run.append(word)
            continue
        if 1 < len(run) < LONGEST and not flag.startswith("m"):
            scores["".join(run)] = sum(weights.get(one, 0.0) for one in run)
        run = []
    for word, weight in weights.items():
        if len(word) > 1:
            scores[word] = max(weight, scores.get(word, 0.0))
    return sorted(scores.items(), key=lambda one: (-one[1], text.find(one[0])))


def weighed_words(text: str) -> tuple[dict[str, float], list[tuple[str, str]]]:
    """The TF-IDF of the nouns of a Chinese text; its words, each with its class."""
    posseg, analyse = _jieba()
    cut = [(pair.word, pair.flag) for pair in posseg.cut(text)]
    table, median = analyse.default_tfidf.idf_freq, analyse.default_tfidf.median_idf
    stops = stopwords(CHINESE)
    weights: dict[str, float] = {}
    for word, flag in cut:
        if flag.startswith(_JIEBA_NOUNS) and word.casefold() not in stops:
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
