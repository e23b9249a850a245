"""Texts cut into pieces, some of them marked: what a page highlights of a record, and why.

Spans are (start, end, kind) in characters. What a kind looks like is the page's business; it knows
`query` (a word of the query), `found` (what the query asks for), `span` (what the metadata points
at) and `changed` (`was`: what stood there before).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from retgen.tokenizer import STOPWORDS, content_stems, is_unspaced

Span = tuple[int, int, str]
_WORD = re.compile(r"\w+")
_FEWEST = 2  # characters of a phrase in a script without spaces; one alone stands everywhere


class Segment(NamedTuple):
    """A stretch of a text; `kind` "" where it is not marked."""

    text: str
    kind: str = ""
    was: str = ""


def highlight_segments(text: str, spans: Iterable[Span]) -> list[Segment]:
    """All of a text in pieces; where spans overlap, the one that is named first holds."""
    taken: list[Span] = []
    for start, end, kind in spans:
        start, end = max(0, start), min(len(text), end)
        if start < end and all(end <= low or high <= start for low, high, _ in taken):
            taken.append((start, end, kind))
    result, at = [], 0
    for start, end, kind in sorted(taken):
        result += [Segment(text[at:start]), Segment(text[start:end], kind)]
        at = end
    return [piece for piece in (*result, Segment(text[at:])) if piece.text]


def query_word_spans(query: str, text: str) -> list[Span]:
    """Where the content words of a query stand in a text, in any inflection.

    Of scripts without spaces: the longest stretches of the query.
    """
    stems = content_stems(query)
    return list(_query_words(query, stems, text))


def _query_words(query: str, stems: frozenset[str], text: str) -> Iterator[Span]:
    known: dict[str, bool] = {}
    for match in _WORD.finditer(text):
        word = match[0].casefold()
        if word not in known:
            known[word] = word not in STOPWORDS and bool(content_stems(word) & stems)
        if not known[word]:
            continue
        if any(map(is_unspaced, word)):
            for start, end in _stretches(query, match[0]):
                yield match.start() + start, match.start() + end, "query"
        else:
            yield match.start(), match.end(), "query"


def _stretches(query: str, text: str) -> Iterator[tuple[int, int]]:
    """The longest stretches of a query that stand in a text, from left to right."""
    at = 0
    while at < len(text):
        end = at + 1
        while end <= len(text) and text[at:end] in query:
            end += 1
        if end - 1 - at >= _FEWEST:
            yield at, end - 1
            at = end - 1
        else:
            at += 1


def changed_segments(before: str, after: str) -> list[Segment]:
    """All of `after` in pieces; of words that differ, with what stood there in `before`."""
    from rapidfuzz.distance import Levenshtein

    old, new = (re.findall(r"\s*\S+", text) for text in (before, after))
    result: list[Segment] = []
    for step in Levenshtein.opcodes(old, new):
        words = "".join(new[step.dest_start : step.dest_end])
        was = "".join(old[step.src_start : step.src_end])
        if step.tag == "equal":
            result.append(Segment(words))
            continue
        space = words[: len(words) - len(words.lstrip())] or (" " if not words else "")
        if result and result[-1].kind:  # neighbours are one change
            last = result.pop()
            result.append(Segment(last.text + words, "changed", (last.was + was).strip()))
        else:
            result += [Segment(space), Segment(words[len(space) :], "changed", was.strip())]
    return [piece for piece in result if piece.text or piece.was]
