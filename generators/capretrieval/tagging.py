"""English words with their parts of speech, by textblob (Brill's lexicon and context rules)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from retgen.tokenizer import FULL_STOPS, LETTER, MARKS

_TOKEN = re.compile(r"\S+")
# a word that people type, names such as C++, node.js and X.509 among them
_INNER = rf"(?:[^\W_]|[{MARKS}])"
_NAME = re.compile(rf"[^\W\d_]{_INNER}*(?:[-'’.+/&]{_INNER}+)*[+#]{{0,2}}|\d+[^\W\d_]{LETTER}*")
_OPENS, _CLOSES = "([{\"'“‘«*_„", f".,;:!?)]}}\"'”’»*_…{FULL_STOPS}،؛՝·፣၊"
_POSSESSIVE = "'s"
NOUNS = frozenset({"NN", "NNP", "NNPS", "NNS"})
PLURALS = frozenset({"NNS", "NNPS"})
_BEFORE_VERBS = frozenset({"TO", "MD", "PRP", "WP", "WDT", "EX"})
AFTER_VERBS = frozenset({"DT", "PRP$"})
_NAMING = ("named", "called")  # a name follows, without which they say nothing


class Word(NamedTuple):
    text: str
    start: int
    stop: int
    plain: bool  # a word, no code, number or address
    opens: bool  # a sentence


def runs(text: str) -> Iterator[list[Word]]:
    """The words between two marks (commas, brackets, ends of sentences)."""
    run: list[Word] = []
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
            run.append(Word(bare.replace("’", "'"), start, start + len(bare), plain, opens))
            opens = False
        if run and len(bare) < len(core):
            opens = any(mark in f".!?:{FULL_STOPS}" for mark in core[len(bare) :])
            yield run
            run = []
    if run:
        yield run


def tags_in_context(run: Sequence[Word]) -> list[str]:
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
        elif (tag in NOUNS and following in AFTER_VERBS) or (
            before in _BEFORE_VERBS
            and tag in ("NN", "JJ", "VBN")
            and "-" not in word.text
            and word.text.islower()
        ):
            tags[i] = "VB"
        elif tag == "VBG" and before == "NN" and not following:
            tags[i] = "NN"  # image processing
    return tags


@cache
def word_classes(word: str) -> frozenset[str]:
    """What an English word can be; empty for an unknown one, which is a name or a term."""
    import lemminflect

    return frozenset(lemminflect.getAllLemmas(word) or lemminflect.getAllLemmas(word.casefold()))


def gerund(verb: str) -> str:
    """A verb without who does it: converts, converting. As a command, it would say to do so."""
    import lemminflect

    lemma = next(iter(lemminflect.getLemma(verb.casefold(), "VERB")), verb)
    return next(iter(lemminflect.getInflection(lemma, "VBG")), verb)


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


def in_lexicon(word: str) -> bool:
    """Whether the lexicon has a word, in singular or plural."""
    lexicon, folded = _parser().lexicon, word.casefold()
    return any(one in lexicon for one in (word, folded, folded.removesuffix("s")))


def is_name(word: str) -> bool:
    """Whether no lexicon has a word: a name, an identifier, a term."""
    return not (in_lexicon(word) or word_classes(word))
