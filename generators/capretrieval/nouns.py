"""Noun phrases of a text: a run of adjectives and nouns that ends in a noun.

Words are tagged by textblob in English and cut and tagged by jieba in Chinese; elsewhere every word
that is no function word counts as a noun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

from retgen.generators.capretrieval.language import CHINESE, stopwords
from retgen.tokenizer import FULL_STOPS, LETTER, MARKS

MASK = "\0"  # stands for characters that are no prose
LONGEST = 4  # words of a phrase; in languages without a tagger one less
_SENTENCE = 8  # words of which some are function words
_PLAIN, _FUNCTION = 0.7, 0.2  # shares of a text's words
_PENN = {"NN": "noun", "NNP": "noun", "NNPS": "noun", "NNS": "noun", "JJ": "adjective"}
_JIEBA_NOUNS = ("n", "vn", "an", "eng", "i", "l", "j")  # classes begin with it
_TOKEN = re.compile(r"\S+")
# a word that people type, names such as C++, node.js and X.509 among them
_INNER = rf"(?:[^\W_]|[{MARKS}])"
_NAME = re.compile(rf"[^\W\d_]{_INNER}*(?:[-'’.+/&]{_INNER}+)*[+#]{{0,2}}|\d+[^\W\d_]{LETTER}*")
_OPENS, _CLOSES = "([{\"'“‘«*_„", f".,;:!?)]}}\"'”’»*_…{FULL_STOPS}،؛՝·፣၊"


class Word(NamedTuple):
    """A word at characters [start, stop) of a text. `plain`: no code, number or address."""

    text: str
    start: int
    stop: int
    plain: bool
    kind: Literal["noun", "adjective", "other"] = "other"


def noun_phrases(text: str, language: str) -> Iterator[tuple[int, int]]:
    """The places of the noun phrases of a text, in order; single nouns are phrases."""
    longest = LONGEST - (language not in ("en", CHINESE))
    for run in _chinese_runs(text) if language == CHINESE else _tagged(text, language):
        held: list[Word] = []
        for word in [*run, None]:
            if word and word.plain and word.kind != "other":
                held.append(word)
                continue
            while held and held[-1].kind == "adjective":
                held.pop()
            if 0 < len(held) <= longest:
                yield held[0].start, held[-1].stop
            held = []


def content_words(text: str, language: str) -> list[str]:
    """The words of a text that are no function words."""
    if language == CHINESE:
        return [word.text for run in _chinese_runs(text) for word in run]
    every, stops = (match.group() for match in _CONTENT.finditer(text)), stopwords(language)
    return [word for word in every if word.strip("_") and word.casefold() not in stops]


_CONTENT = re.compile(rf"\w[\w{MARKS}]*(?:[-'’.+#/]\w[\w{MARKS}]*)*[+#]*")


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


def _tagged(text: str, language: str) -> Iterator[list[Word]]:
    stops = stopwords(language)
    for run in runs(text):
        kinds: list[Any] = ["noun"] * len(run)
        if language == "en":
            tags = _english_tagger().find_tags([one.text for one in run])
            kinds = [_PENN.get(tag, "other") for _, tag in tags]
        yield [
            word._replace(kind="other" if word.text.casefold() in stops else kind)
            for word, kind in zip(run, kinds, strict=True)
        ]


def _chinese_runs(text: str) -> Iterator[list[Word]]:
    stops, run, at = stopwords(CHINESE), list[Word](), 0
    for one in _chinese_tagger().cut(text):
        word, flag, start = one.word, one.flag, at
        at += len(word)
        if flag.startswith(_JIEBA_NOUNS) and word.casefold() not in stops:
            run.append(Word(word, start, at, True, "noun"))
        elif flag in ("a", "b"):
            run.append(Word(word, start, at, True, "adjective"))
        elif flag[0] in "vs":
            run.append(Word(word, start, at, True))
        else:
            yield run
            run = []
    yield run


@cache
def _english_tagger() -> Any:
    import warnings

    from textblob.en import parser

    with warnings.catch_warnings():  # it leaves the files of its lexicon open
        warnings.simplefilter("ignore", ResourceWarning)
        parser.find_tags(["a", "b"])
    return parser


@cache
def _chinese_tagger() -> Any:
    import logging
    import warnings

    import jieba

    with warnings.catch_warnings():  # it leaves the file of its weights open
        warnings.simplefilter("ignore", ResourceWarning)
        from jieba import posseg

    jieba.setLogLevel(logging.WARNING)
    return posseg
