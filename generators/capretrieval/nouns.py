"""Noun phrases of a text: what people type, none of them a cut-out of a longer one.

English is tagged by textblob (Brill's lexicon and context rules). A phrase is a whole run of
adjectives and nouns between words of other classes; what may be a verb after all, or goes on behind
the run, is none. In other languages it is what stands between function words and marks; in Chinese
a word, or a compound of neighbouring nouns, by jieba.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from retgen.generators.capretrieval.language import CHINESE, simplify_chinese, stopwords

MASK = "\0"  # stands for characters that are no prose
LONGEST = 4  # words of a phrase; in languages without a tagger one less
_TOKEN = re.compile(r"\S+")
# a word that people type, names such as C++, node.js and X.509 among them
_NAME = re.compile(r"[^\W\d_][^\W_]*(?:[-'’.+/&][^\W_]+)*[+#]{0,2}|\d+[^\W\d_]+")
_OPENS, _CLOSES = "([{\"'“‘«*_„", ".,;:!?)]}\"'”’»*_…"
_POSSESSIVE = "'s"
_NOUNS = frozenset({"NN", "NNP", "NNPS", "NNS"})
_PLURALS = frozenset({"NNS", "NNPS"})
_BEFORE_VERBS = frozenset({"TO", "MD", "PRP", "WP", "WDT", "EX"})
_AFTER_VERBS = frozenset({"DT", "PRP$"})
# a participle behind these belongs to the noun that follows
_BEFORE_PARTICIPLES = {
    "VBN": frozenset({"DT", "JJ", "PRP$", "IN", "CC", "CD", "VB", "VBP", "VBZ"}),
    "VBG": frozenset({"DT", "JJ", "PRP$"}),
}
_PERFECT = ("is", "are", "was", "were", "be", "been", "has", "have", "had")
_HEADLINE = 9  # words of a headline
_LINKS = frozenset({"IN", "TO", "CC", "VBG", "VBN"})  # between the noun phrases of a headline
_DENIALS = frozenset("cannot instead neither never nor not than".split())
_NAMING = ("named", "called")  # a name follows, without which they say nothing
# words that begin another clause, though tagged as prepositions
_CLAUSES = frozenset(
    "after although as because before but if once since than that though unless until when where "
    "whereas whether while".split()
)
# nouns that say nothing without what follows: a number of, in order to
_LIGHT = frozenset(
    "amount behalf bit bunch care case collection couple instance interest kind lot means need "
    "number order part piece place point result results series set sort subject terms thing things "
    "tuple type use variety way".split()
)
_OTHERS = frozenset(
    "above any certain following many multiple next other same several single such various".split()
)
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
    for run in _runs(text):
        if not (language == "en" and _denies(run)):
            yield from _tagged(run) if language == "en" else _between_stopwords(run, language)


def _denies(run: Sequence[_Word]) -> bool:
    """Whether English words may say that a thing is not so: no tool bars, more than requests."""
    words = (one.text.casefold() for one in run)
    return any(word in _DENIALS or word.endswith("n't") for word in words)


def is_prose(text: str, language: str, sentences: bool = True) -> bool:
    """Whether a text is written in words, in sentences with function words among them.

    Code, tables and synopses are not; of a few words nobody can tell. What is masked counts not.
    `sentences`: off for documents without any, such as titles of products.
    """
    words = [one for run in _runs(text) for one in run if MASK not in one.text]
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


class _Word(NamedTuple):
    text: str
    start: int
    stop: int
    plain: bool  # a word, no code, number or address
    opens: bool  # a sentence


def _runs(text: str) -> Iterator[list[_Word]]:
    """The words between two marks (commas, brackets, ends of sentences)."""
    run: list[_Word] = []
    opens = True
    for match in _TOKEN.finditer(text):
        token = match.group()
        core = token.lstrip(_OPENS)
        start = match.start() + len(token) - len(core)
        bare = core.rstrip(_CLOSES)
        if run and start > match.start():
            yield run
            run = []
        if bare:
            plain = bool(_NAME.fullmatch(bare))
            run.append(_Word(bare.replace("’", "'"), start, start + len(bare), plain, opens))
            opens = False
        if run and len(bare) < len(core):
            opens = any(mark in ".!?:" for mark in core[len(bare) :])
            yield run
            run = []
    if run:
        yield run


def _tagged(run: Sequence[_Word]) -> Iterator[Phrase]:
    """The noun phrases of a run of English words."""
    tags, stops = _in_context(run), stopwords("en")
    held: list[int] = []
    clean = True  # the words held begin where a phrase may begin

    def whole(goes_on: bool = False) -> Iterator[Phrase]:
        words = held
        while words and tags[words[-1]] not in _NOUNS:
            words = words[:-1]
        while words and run[words[0]].text.casefold() in stops:
            words = words[1:]
        if not words or not clean or goes_on:
            return
        if len(words) > LONGEST:  # a list without commas, a title: its names
            for one in (run[i] for i in words):
                if not _knows(one.text):
                    yield Phrase(one.start, one.stop, (one.text,), is_name=True)
            return
        first, last = run[words[0]], run[words[-1]]
        if last.text.casefold() in stops or (first.opens and _may_be_verb(tags, run, words)):
            return
        if len(words) == 1 and len(first.text) == 1:
            return
        name = len(words) == 1 and not _knows(first.text)
        texts = [run[i].text for i in words]
        others = frozenset(run[i].text for i in words if tags[i] not in _NOUNS)
        yield Phrase(first.start, last.stop, tuple(texts), others, name)

    before = ""  # the tag of the word before
    for i, (word, tag) in enumerate(zip(run, tags, strict=True)):
        following = tags[i + 1] if i + 1 < len(run) else ""
        begins = tag in ("JJ", "JJS", "VBN", "VBG")
        if begins and held and before in _NOUNS:
            yield from whole()
            held, clean = [], tag == "JJ"
        elif tag in _NOUNS and held and before in _PLURALS:
            yield from whole()
            # the plural may have had a verb: users run programs
            held, clean = [], tag in _PLURALS
        part = before in _BEFORE_PARTICIPLES.get(tag, ()) and run[i - 1].text not in _PERFECT
        if tag in _NOUNS or tag == "JJ" or part:
            held.append(i)
        else:
            # the number of, version 2, text based output: more belongs to it than these words
            half = tag == "VBN" and following in _NOUNS
            yield from whole(half or tag == "X" or word.text == "of")
            held, clean = [], tag != "X"
        before = tag
    yield from whole()


def _in_context(run: Sequence[_Word]) -> list[str]:
    """Penn Treebank tags of a run of English words, "X" for what is no word; nouns that stand where
    verbs do are verbs.
    """
    tags = _tags([one.text for one in run])
    by = False
    for i, word in enumerate(run):
        tag, before = tags[i], tags[i - 1] if i else ""
        following = tags[i + 1] if i + 1 < len(run) else ""
        by = word.text == "by" or (by and (word.text[0].isupper() or tag == "CC"))
        if word.text.endswith(_POSSESSIVE):
            tags[i] = "PRP$"
        elif not word.plain or word.text in _NAMING or (by and word.text[0].isupper()):  # by whom
            tags[i] = "X"
        elif (tag in _NOUNS and following in _AFTER_VERBS) or (
            before in _BEFORE_VERBS and tag in ("NN", "JJ", "VBN")
            and "-" not in word.text and word.text.islower()
        ):  # fmt: skip
            tags[i] = "VB"
        elif tag == "VBG" and before == "NN" and not following:
            tags[i] = "NN"  # image processing
    return tags


def headlines(text: str) -> Iterator[list[str]]:
    """What each part of an English sentence names or does, as a headline: noun phrases joined by
    prepositions and participles (tool for managing tables), without articles. A headline ends where
    its clause does, or before a preposition, so that it is whole.
    """
    for run in _runs(text):
        if _denies(run):
            continue
        tags = _in_context(run)
        begin = 0
        while begin < len(run):
            stop = begin
            while stop < len(run) and _joins(run, tags, begin, stop):
                stop += 1
            end = _complete(run, tags, begin, stop)
            words = [run[i].text for i in range(begin, end) if tags[i] not in _AFTER_VERBS]
            if len(words) > 1:
                yield words
            begin = stop + 1


def _joins(run: Sequence[_Word], tags: Sequence[str], begin: int, i: int) -> bool:
    """Whether word i goes on with a headline that begins with word `begin`."""
    tag, following = tags[i], tags[i + 1] if i + 1 < len(run) else ""
    before = tags[i - 1] if i else ""
    word = run[i].text.casefold()
    if tag in _NOUNS or tag in ("JJ", "JJR", "JJS"):
        if i > begin:
            return word not in _OTHERS
        # able to, more than, a number of
        light = word in _LIGHT or tag not in _NOUNS
        return tag != "JJR" and word not in _OTHERS and not (light and following in _LINKS)
    if tag in ("VB", "VBP"):  # to copy files
        return before == "TO" and word != "be"
    if i == begin:  # by copying files, a compressed file
        return tag in ("VBG", "VBN") and before == ("IN" if tag == "VBG" else "DT")
    if tag in ("VBG", "VBN"):  # tables based on, libraries using
        return before not in ("VBZ", "VBP", "VBD", "VB", "MD")
    if tag == "RB":
        return following in ("JJ", "VBN") or before == "VBN"
    if tag in ("IN", "TO", "CC"):
        return word not in _CLAUSES and before not in ("IN", "TO", "CC")
    return tag in _AFTER_VERBS and before not in _NOUNS


def _complete(run: Sequence[_Word], tags: Sequence[str], begin: int, stop: int) -> int:
    """Where a headline of the words [begin, stop) ends: the last noun that nothing belongs to."""
    following = tags[stop] if stop < len(run) else ""
    links = [tag for tag in tags[begin:stop] if tag in _LINKS]
    next_clause = bool(following) and links[-1:] == ["CC"]
    result = begin
    for end in range(begin + 1, min(stop, begin + _HEADLINE) + 1):
        if end == stop:
            whole = following not in ("X", "CD") and not next_clause
        elif tags[end] == "CC":
            whole = next_clause and "CC" not in tags[end + 1 : stop]
        else:  # something by something else
            whole = tags[end] in _LINKS and run[end].text != "of"
        if whole and tags[end - 1] in _NOUNS:
            result = end
    return result


def _may_be_verb(tags: Sequence[str], run: Sequence[_Word], words: Sequence[int]) -> bool:
    """Whether the words that begin a sentence may hold its verb: check files, the-tool exports."""
    first, last = run[words[0]].text, run[words[-1]].text
    if len(words) == 1:
        return "VERB" in _kinds(first)
    return (tags[words[0]] == "NN" and "VERB" in _kinds(first)) or (
        tags[words[-1]] == "NNS" and "VERB" in _kinds(last) and len(words) == 2
    )


@cache
def _kinds(word: str) -> frozenset[str]:
    """What an English word can be; empty for an unknown one, which is a name or a term."""
    import lemminflect

    return frozenset(lemminflect.getAllLemmas(word) or lemminflect.getAllLemmas(word.casefold()))


@cache
def _parser() -> Any:
    import warnings

    from textblob.en import parser

    with warnings.catch_warnings():  # it leaves the files of its lexicon open
        warnings.simplefilter("ignore", ResourceWarning)
        parser.find_tags(["a", "b"])
    return parser


def _tags(words: list[str]) -> list[str]:
    """Penn Treebank tags."""
    return [tag for _, tag in _parser().find_tags(words)]


def _knows(word: str) -> bool:
    """Whether the lexicon has a word, in singular or plural."""
    lexicon, folded = _parser().lexicon, word.casefold()
    return any(one in lexicon for one in (word, folded, folded.removesuffix("s")))


def _between_stopwords(run: Sequence[_Word], language: str) -> Iterator[Phrase]:
    """What stands between function words of a run."""
    stops = stopwords(language)
    held: list[_Word] = []
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
