"""Documents cut into passages, each with its place in the document.

Cuts fall on white space, at the end of a sentence where one is near, and never within a word. In
scripts without spaces every character counts as a word and any place will do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from retgen.generators.source import PassageSize
from retgen.tokenizer import is_unspaced

_END = re.compile(r"(?:[.!?][\"')\]]*(?=\s)|[。！？]|\n\s*\n)\s*")
_SLACK = 0.2  # of a passage's words, within which a sentence's end is looked for


class Passage(NamedTuple):
    """A part of a document: text == document.text[start:stop]."""

    id: str
    source: str
    start: int
    stop: int
    title: str
    text: str
    language: str


class Whole(NamedTuple):
    """A document before it is cut."""

    id: str
    title: str
    text: str
    language: str


def words(text: str) -> list[tuple[int, int]]:
    """The places of a text's words, and of each character of scripts without spaces."""
    result: list[tuple[int, int]] = []
    for match in re.finditer(r"\S+", text):
        word, at = match.group(), match.start()
        if word.isascii() or not any(map(is_unspaced, word)):
            result.append(match.span())
            continue
        begin = None
        for place, character in enumerate(word, at):
            if is_unspaced(character):
                if begin is not None:
                    result.append((begin, place))
                result.append((place, place + 1))
                begin = None
            elif begin is None:
                begin = place
        if begin is not None:
            result.append((begin, match.end()))
    return result


def spans(text: str, size: PassageSize | None) -> list[tuple[int, int]]:
    """Where the passages of a text begin and end; the whole of it where it is short enough."""
    placed = words(text) if size is not None else []
    if size is None or len(placed) <= size.tokens:
        return [(0, len(text))]
    ends = {match.end() for match in _END.finditer(text)}
    # the words that follow a sentence's end
    opening = [i for i, (begin, _) in enumerate(placed) if i == 0 or begin in ends]
    starts = [0]
    result = []
    slack = max(1, int(size.tokens * _SLACK))
    while True:
        first = starts[-1]
        last = first + size.tokens
        if last >= len(placed):
            result.append((placed[first][0], placed[-1][1]))
            break
        last = _near(opening, last - slack, last) or last
        result.append((placed[first][0], placed[last - 1][1]))
        back = last - size.overlap
        next_one = _near(opening, max(first + 1, back - slack), back) or max(first + 1, back)
        starts.append(next_one)
    # white space before the first passage and behind the last one belongs to them
    result[0] = (0, result[0][1])
    result[-1] = (result[-1][0], len(text))
    return result


def _near(opening: list[int], low: int, high: int) -> int | None:
    """The last word of low..high that opens a sentence."""
    from bisect import bisect_right

    at = bisect_right(opening, high) - 1
    return opening[at] if at >= 0 and opening[at] >= max(1, low) else None


def cut(documents: Sequence[Whole], size: PassageSize | None) -> Iterator[Passage]:
    """The passages of documents in their order: a document that is one by its own id, others as
    DOCUMENT#1, DOCUMENT#2, with as many # as it takes where somebody has such an id.
    """
    taken = {one.id for one in documents}
    for one in documents:
        places = spans(one.text, size)
        names, mark = [one.id], "#"
        if len(places) > 1:
            names = _numbered(one.id, mark, len(places))
            while not taken.isdisjoint(names):
                mark += "#"
                names = _numbered(one.id, mark, len(places))
            taken.update(names)
        for name, (start, stop) in zip(names, places, strict=True):
            text = one.text[start:stop]
            yield Passage(name, one.id, start, stop, one.title, text, one.language)


def _numbered(name: str, mark: str, count: int) -> list[str]:
    return [f"{name}{mark}{number}" for number in range(1, count + 1)]
