"""Words as rules compare them: case folded, stemmed, without function words."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

__all__ = ["STOPWORDS", "content_stems", "stems", "tokens"]

# English function and question words: they carry no topic, whatever the query
STOPWORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being
    below between both but by can could did do does doing down during each few for from further
    had has have having he her here hers him his how i if in into is it its itself just me more
    most my no nor not now of off on once only or other our ours out over own same she should so
    some such than that the their theirs them then there these they this those through to too
    under until up us very was we were what when where which while who whom whose why will with
    would you your yours""".split()
)

_WORD = re.compile(r"\w+")


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")


def tokens(text: str) -> list[str]:
    """The words of a text, case folded."""
    return _WORD.findall(text.casefold())


def stems(words: list[str]) -> list[str]:
    """Snowball (English) stems of case-folded words."""
    return list(_stemmer().stemWords(words))


def content_stems(text: str) -> frozenset[str]:
    """The stems of a text's words that are no function words."""
    return frozenset(stems([word for word in tokens(text) if word not in STOPWORDS]))
