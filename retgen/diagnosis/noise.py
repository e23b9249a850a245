"""Small noise in queries: what people type, and what a retriever should not mind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from retgen.streams import Stream

_WORD = re.compile(r"[^\W\d_]+")
_LONG = 5  # letters of a word in which people miss a key
_TYPOS = 2  # words of a query that have one


def typos(query: str) -> str:
    """Two of the longer words with two neighbouring letters swapped, the first letter kept."""
    draw = Stream(0, f"typos/{query}")
    words = [one for one in _WORD.finditer(query) if len(one[0]) >= _LONG and _swaps(one[0])]
    for one in sorted(draw.shuffled(words)[:_TYPOS], key=lambda word: -word.start()):
        places = _swaps(one[0])
        at = one.start() + places[draw.below(len(places))]
        query = f"{query[:at]}{query[at + 1]}{query[at]}{query[at + 2 :]}"
    return query


def _swaps(word: str) -> list[int]:
    """Where two neighbouring letters differ, from the second letter on."""
    return [i for i in range(1, len(word) - 1) if word[i] != word[i + 1]]


def endings(query: str) -> str:
    """Every longer lower-case word with an -s more, or one less: films, plot turn, takes place."""
    return _WORD.sub(lambda one: _ending(one[0]), query)


def _ending(word: str) -> str:
    if len(word) < _LONG or not word.islower() or word.endswith(("ss", "ing", "ed", "ly")):
        return word
    return word[:-1] if word.endswith("s") else f"{word}s"


NOISES: Mapping[str, Callable[[str], str]] = {
    "typos": typos,
    "UPPER CASE": str.upper,
    "endings": endings,
}
