"""Words of texts as the proof compares them: folded, one by one, in one script."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from retgen.tokenizer import STOPWORDS, sequence, tokens


def bare(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(single_words(text))


def plain(text: str) -> str:
    """Without differences of case, width and white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def same_script(one: str, other: str) -> bool:
    """Whether two texts differ in simplified and traditional characters at most."""
    if one.isascii() or other.isascii():
        return False
    import opencc

    convert = opencc.OpenCC("t2s").convert
    return bool(convert(plain(one)) == convert(plain(other)))


def holds(text: str, phrase: str) -> bool:
    """Whether the words of a phrase stand in a text side by side, whatever marks are between them.

    A character of a script without spaces is a word by itself, and has no edges.
    """
    words = _words(phrase)
    return bool(words.strip()) and words in _words(text)


def single_words(text: str) -> list[str]:
    """The words of a text, those of a name such as max_size each for itself."""
    return _words(text, sequence).split()


def stand_in(words: set[str], text: str) -> bool:
    """Whether all of some words stand in a text; most do not even within others."""
    whole = plain(text.replace("_", " "))
    return all(word in whole for word in words) and words <= {*single_words(text)}


def content_words(query: str, note: Mapping[str, Any]) -> set[str]:
    """The words of a query that are no English function words, all of them if it is not English."""
    words = {*single_words(query)}
    return words - STOPWORDS if note.get("language") == "en" else words


@lru_cache(4096)  # passages are looked at for many phrases
def _words(text: str, cut: Callable[[str], list[str]] = tokens) -> str:
    return f" {' '.join(cut(plain(text)))} "
