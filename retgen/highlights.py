"""Texts cut into pieces, some of them marked: what a page highlights of a record, and why.

Spans are (start, end, kind) in characters. What a kind looks like is the page's business; it knows
`query` (a word of the query), `found` (what the query asks for), `span` (what the metadata points
at) and `changed` (`was`: what stood there before).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from retgen.tokenizer import MARKS, STOPWORDS, WORD, content_stems, is_unspaced, laid_out

Span = tuple[int, int, str]
Marked = list[tuple[str, bool]]  # a text cut up: (segment, whether it is highlighted)
_TEXT = 900  # characters of a document shown
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
    for match in WORD.finditer(text):
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


# --- texts of a report, marked or not ----------------------------------------------------------


def text_differences(a: str, b: str) -> tuple[Marked, Marked]:
    """Both texts cut up by words, special where the other has something else."""
    return mark_differences(laid_out(a), laid_out(b))


def mark_differences(before: Sequence[str], after: Sequence[str]) -> tuple[Marked, Marked]:
    """The same of texts that are words already, each with the white space before it."""
    pieces: tuple[Marked, Marked] = ([], [])
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        for side, words in zip(pieces, (before[i:j], after[k:m]), strict=True):
            text = "".join(words)
            space = len(text) - len(text.lstrip())
            if kind == "equal" or not text:
                side.append((text, False))
            else:
                side.extend([(text[:space], False), (text[space:], True)])
    return pieces


def query_examples(samples: Mapping[str, Any]) -> dict[str, Any]:
    """Queries with their relevant documents, and some documents, cut up for highlighting.

    `literal`: whether every relevant document shown holds words that its query asks for.
    """
    queries = samples.get("queries") or []
    documents = samples.get("documents") or []
    texts = [text for query in queries for text in query["relevant"]] + list(documents)
    # words that stand in every text ("likes") are no part of what a query asks for
    everywhere = set.intersection(*(_words(text) for text in texts)) if len(texts) > 1 else set()
    shown = []
    literal = bool(queries)
    for query in queries:
        asked: list[str] = []
        relevant = []
        for text in query["relevant"]:
            phrases = _query_phrases(query["query"], text, everywhere)
            literal = literal and bool(phrases)
            asked += phrases
            relevant.append(_highlight(text, phrases))
        shown.append({"query": _highlight(query["query"], asked), "relevant": relevant})
    return {
        "queries": shown,
        "documents": [_highlight(text, []) for text in documents],
        "literal": literal and any(query["relevant"] for query in queries),
    }


def _words(text: str) -> set[str]:
    return {word.casefold() for word in WORD.findall(text)}


def _query_phrases(query: str, text: str, everywhere: set[str]) -> list[str]:
    """The longest phrases of a query, begun and ended by content words, that stand in a text."""
    words = list(WORD.finditer(query))[:100]
    content = [
        word[0].casefold() not in STOPWORDS and word[0].casefold() not in everywhere
        for word in words
    ]
    result = []
    i = 0
    while i < len(words):
        for j in range(len(words) - 1, i - 1, -1):
            phrase = query[words[i].start() : words[j].end()]
            if content[i] and content[j] and _pattern([phrase]).search(text):
                result.append(phrase)
                i = j
                break
        i += 1
    return result


def _pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(set(phrases), key=len, reverse=True)
    words = "|".join(map(re.escape, longest_first))
    return re.compile(rf"(?<![\w{MARKS}])(?:{words})(?![\w{MARKS}])", re.IGNORECASE)


def _highlight(text: str, phrases: Sequence[str]) -> Marked:
    """A text cut at its phrases, and shortened around the first of them."""
    spans = [match.span() for match in _pattern(phrases).finditer(text)] if phrases else []
    start = max(0, min(spans[0][0] - _TEXT // 3, len(text) - _TEXT)) if spans else 0
    stop = start + _TEXT
    pieces = [("… ", False)] if start else []
    for low, high in spans:
        if low >= start and high <= stop:
            pieces += [(text[start:low], False), (text[low:high], True)]
            start = high
    pieces.append((text[start:stop] + (" …" if stop < len(text) else ""), False))
    return [piece for piece in pieces if piece[0]]
