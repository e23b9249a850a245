"""Noun phrases of a text: what people type, none of them a cut-out of a longer one.

English is tagged by textblob (Brill's lexicon and context rules). A phrase is a whole run of
adjectives and nouns between words of other classes; what may be a verb after all, or goes on behind
the run, is none. In other languages it is what stands between function words and marks; in Chinese
a word, or a compound of neighbouring nouns, by jieba.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from retgen.generators.capretrieval.language import CHINESE, simplify_chinese, stopwords
from retgen.generators.capretrieval.tagging import (
    NOUNS,
    PLURALS,
    Word,
    in_lexicon,
    runs,
    tags_in_context,
    word_classes,
)

MASK = "\0"  # stands for characters that are no prose
LONGEST = 4  # words of a phrase; in languages without a tagger one less
# a participle behind these belongs to the noun that follows
_BEFORE_PARTICIPLES = {
    "VBN": frozenset({"DT", "JJ", "PRP$", "IN", "CC", "CD", "VB", "VBP", "VBZ"}),
    "VBG": frozenset({"DT", "JJ", "PRP$"}),
}
_PERFECT = ("is", "are", "was", "were", "be", "been", "has", "have", "had")
_AFTER = frozenset({"DT", "PRP$", "PRP", "JJ", "RB", "RP", "TO", "IN", *NOUNS})  # a verb
_DENIALS = frozenset("cannot instead neither never nor not than".split())
_SENTENCE = 8  # words of which some are function words
_SHORT = 3  # letters
_PLAIN, _FUNCTION = 0.7, 0.2  # shares of a text's words
_JIEBA_NOUNS = ("n", "nr", "ns", "nt", "nz", "vn", "an", "eng", "i", "l", "j")


class Phrase(NamedTuple):
    """Characters [start, stop) of a text, and its words; `adjectives` are those that are no nouns.
    `is_name`: one word that no lexicon has.
    """

    start: int
    stop: int
    words: tuple[str, ...]
    adjectives: frozenset[str] = frozenset()
    is_name: bool = False


def noun_phrases(text: str, language: str) -> Iterator[Phrase]:
    """The noun phrases of a text in their order, single nouns among them."""
    for run in runs(text):
        if not (language == "en" and _denies(run)):
            yield from _tagged(run) if language == "en" else _between_stopwords(run, language)


def _denies(run: Sequence[Word]) -> bool:
    """Whether English words may say that a thing is not so: no tool bars, more than requests."""
    words = (one.text.casefold() for one in run)
    return any(word in _DENIALS or word.endswith("n't") for word in words)


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


def is_short(word: str) -> bool:
    """Whether a word by itself says too little to be a query: three letters, as of abbreviations,
    mean another thing in each document. Scripts other than ASCII say more with a sign.
    """
    return word.isascii() and len(word) <= _SHORT


def _tagged(run: Sequence[Word]) -> Iterator[Phrase]:
    """The noun phrases of a run of English words."""
    tags, stops = tags_in_context(run), stopwords("en")
    held: list[int] = []
    clean = True  # the words held begin where a phrase may begin

    def whole(goes_on: bool = False) -> Iterator[Phrase]:
        words = held
        while words and tags[words[-1]] not in NOUNS:
            words = words[:-1]
        while words and run[words[0]].text.casefold() in stops:
            words = words[1:]
        if not words or not clean or goes_on:
            return
        if len(words) > LONGEST:  # a list without commas, a title: its names
            for one in (run[i] for i in words):
                if not in_lexicon(one.text):
                    yield Phrase(one.start, one.stop, (one.text,), is_name=True)
            return
        first, last = run[words[0]], run[words[-1]]
        if last.text.casefold() in stops or (first.opens and _may_be_verb(tags, run, words)):
            return
        if len(words) > 1 and _may_have_object(tags, run, words[-1]):
            return
        if len(words) == 1 and len(first.text) == 1:
            return
        ordinary = in_lexicon(first.text) or (first.text.islower() and word_classes(first.text))
        name = len(words) == 1 and not ordinary
        texts = [run[i].text for i in words]
        others = frozenset(run[i].text for i in words if tags[i] not in NOUNS)
        yield Phrase(first.start, last.stop, tuple(texts), others, name)

    before = ""  # the tag of the word before
    for i, (word, tag) in enumerate(zip(run, tags, strict=True)):
        following = tags[i + 1] if i + 1 < len(run) else ""
        begins = tag in ("JJ", "JJS", "VBN", "VBG")
        if begins and held and before in NOUNS:
            yield from whole()
            held, clean = [], tag == "JJ"
        elif tag in NOUNS and held and before in PLURALS:
            yield from whole()
            # the plural may have had a verb: users run programs
            held, clean = [], tag in PLURALS
        part = before in _BEFORE_PARTICIPLES.get(tag, ()) and run[i - 1].text not in _PERFECT
        if tag in NOUNS or tag == "JJ" or part:
            held.append(i)
        else:
            # the number of, version 2, text based output: more belongs to it than these words
            half = tag == "VBN" and following in NOUNS
            yield from whole(half or tag == "X" or word.text == "of")
            held, clean = [], tag != "X"
        before = tag
    yield from whole()


def _may_be_verb(tags: Sequence[str], run: Sequence[Word], words: Sequence[int]) -> bool:
    """Whether the words that begin a sentence may hold its verb: check files, the-tool exports."""
    first, last = run[words[0]].text, run[words[-1]].text
    if len(words) == 1:
        return "VERB" in word_classes(first)
    return (tags[words[0]] == "NN" and "VERB" in word_classes(first)) or (
        tags[words[-1]] == "NNS" and "VERB" in word_classes(last) and len(words) == 2
    )


def _may_have_object(tags: Sequence[str], run: Sequence[Word], last: int) -> bool:
    """Whether the last word of a phrase may be the verb of what follows it: exception bubbles up,
    interfaces Python, package conflicting with itself.
    """
    following = tags[last + 1] if last + 1 < len(run) else ""
    word = run[last].text
    if "VERB" not in word_classes(word):
        return False
    return (tags[last] == "NNS" and following in _AFTER) or (
        word.endswith("ing") and bool(following)
    )


def _between_stopwords(run: Sequence[Word], language: str) -> Iterator[Phrase]:
    """What stands between function words of a run."""
    stops = stopwords(language)
    held: list[Word] = []
    for word in [*run, None]:
        if word is not None and word.plain and word.text.casefold() not in stops:
            held.append(word)
            continue
        if 0 < len(held) < LONGEST:
            words = tuple(one.text for one in held)
            yield Phrase(held[0].start, held[-1].stop, words, is_name=len(held) == 1)
        held = []


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
