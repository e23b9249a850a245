"""Sentences of books that hardly are prose: counted, with examples, before anything is made.

A word is unlikely where it begins with a small letter and neither the dictionary (lemminflect) nor
the bundled prose knows it, where marks stand within it, or where it is written in capitals. A
sentence is unlikely if `_FEWEST` of its words and one in `_SHARE` are. Code, tables, addresses,
headings, lines of a licence and words that a scan has broken are; so are dialect and other
languages. What it means is for the reader to say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from retgen.generators.niah.prose import PROSE, Sentence
from retgen.tokenizer import STOPWORDS

_SHARE, _FEWEST = 5, 2
_EXAMPLES = 3
_CHARACTERS = 70  # of an example
_PART = re.compile(r"[^\W\d_]+")
_INNER = re.compile(r"[^\w\s'\u2018\u2019\u2013\u2014-]")  # marks that stand within no word
_EDGES = ".,;:!?\"'()[]\u2018\u2019\u201c\u201d\u2026\u2013\u2014-_*"


def note_of(found: Sequence[Sentence]) -> str:
    """How many sentences are unlikely, and the least likely ones; "" for none."""
    scored = [(share(one.text), -number) for number, one in enumerate(found)]
    least = sorted((one for one in scored if one[0]), reverse=True)
    if not least:
        return ""
    books = Counter(found[-number].book for _, number in least)
    book, most = books.most_common(1)[0]
    shown = "; ".join(
        f"{text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 3] + '...'!r}"
        for text in (found[-number].text for _, number in least[:_EXAMPLES])
    )
    return (
        f"{len(least):,} of {len(found):,} sentences of the books hardly look like prose (code, "
        f"tables, lines of a licence, broken words of a scan, another language?), {most:,} of them "
        f"in {book}: {shown}. Clean the books, or leave such ones out"
    )


def share(sentence: str) -> float:
    """The share of a sentence's words that are unlikely; 0 where that says nothing."""
    words = [plain for word in sentence.split() if (plain := word.strip(_EDGES))]
    unlikely = sum(map(_unlikely, words))
    return unlikely / len(words) if unlikely >= max(_FEWEST, len(words) / _SHARE) else 0.0


@cache
def _unlikely(word: str) -> bool:
    parts = _PART.findall(word)
    if _INNER.search(word) or not parts:
        return not word.replace(",", "").isdecimal()
    if any(len(part) > 1 and part.isupper() for part in parts):
        return True
    return any(not _known(part) for part in parts if part.islower() and len(part) > 1)


@cache
def _known(word: str) -> bool:
    from lemminflect import getAllLemmas

    return word in STOPWORDS or word in _bundled() or bool(getAllLemmas(word))


@cache
def _bundled() -> frozenset[str]:
    """Words of the bundled prose: also those that the dictionary has under no part of speech."""
    texts = (path.read_text("utf-8") for path in PROSE.glob("*.txt"))
    return frozenset(word for text in texts for word in _PART.findall(text.lower()))
