"""Texts cut into pieces, some of them marked: what a page highlights of a record, and why.

Spans are (start, end, kind) in characters. What a kind looks like is the page's business; it knows
`query` (a word of the query), `found` (what the query asks for), `span` (what the metadata points
at), `changed` (`was`: what stood there before) and `code`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from retgen.tokenizer import STOPWORDS, WORD, content_stems, is_unspaced, laid_out

Span = tuple[int, int, str]
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


def query_word_spans(query: str, text: str, but: frozenset[str] = frozenset()) -> Iterator[Span]:
    """Where the content words of a query stand in a text, in any inflection, but for some stems.

    Of scripts without spaces: the longest stretches of the query.
    """
    stems = content_stems(query) - but
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
    """All of `after` in pieces; of words that differ, with what stood there in `before`.

    White space at the end of a text is left out.
    """
    old, new = laid_out(before), laid_out(after)
    result: list[Segment] = []
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        was, words = "".join(old[i:j]), "".join(new[k:m])
        if kind == "equal":
            result.append(Segment(words))
            continue
        longer = words or was
        result.append(Segment(longer[: len(longer) - len(longer.lstrip())]))
        result.append(Segment(words.lstrip(), "changed", was.lstrip()))
    return [piece for piece in result if piece.text or piece.was]


def both_sides(before: str, after: str) -> tuple[list[Segment], list[Segment]]:
    """Both texts in pieces, each with its own white space; words that differ are marked.

    White space at the end of a text is left out.
    """
    words = laid_out(before), laid_out(after)
    sides: tuple[list[Segment], list[Segment]] = ([], [])
    for kind, i, j, k, m in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, of, part in zip(sides, words, (slice(i, j), slice(k, m)), strict=True):
            text = "".join(of[part])
            space = len(text) - len(text.lstrip()) if kind != "equal" else 0
            marked = Segment(text[space:], "" if kind == "equal" else "changed")
            side += [piece for piece in (Segment(text[:space]), marked) if piece.text]
    return sides


def query_examples(samples: Mapping[str, Any]) -> dict[str, Any]:
    """Queries with their relevant documents, and some documents, cut up for highlighting.

    `literal`: whether every relevant document shown holds words that its query asks for.
    """
    queries, documents = samples.get("queries") or [], samples.get("documents") or []
    texts = [text for query in queries for text in query["relevant"]] + list(documents)
    # words that stand in every text ("likes") are no part of what a query asks for
    everywhere = frozenset[str]()
    if len(texts) > 1:
        everywhere = frozenset.intersection(*map(content_stems, texts))
    shown, literal = [], bool(texts) and bool(queries)
    for query in queries:
        relevant = []
        for text in query["relevant"]:
            spans = [*query_word_spans(query["query"], text, everywhere)]
            literal = literal and bool(spans)
            relevant.append(_excerpt(text, spans))
        asked = query_word_spans(" ".join(query["relevant"]), query["query"], everywhere)
        shown.append({"query": highlight_segments(query["query"], asked), "relevant": relevant})
    return {
        "queries": shown,
        "documents": [_excerpt(text, []) for text in documents],
        "literal": literal and any(query["relevant"] for query in queries),
    }


def _excerpt(text: str, spans: list[Span]) -> list[Segment]:
    """A text cut at its spans, and shortened around the first of them."""
    start = max(0, min(spans[0][0] - _TEXT // 3, len(text) - _TEXT)) if spans else 0
    stop = start + _TEXT
    shown = [(low - start, high - start, kind) for low, high, kind in spans]
    result = highlight_segments(text[start:stop], shown)
    before, behind = Segment("… " * (start > 0)), Segment(" …" * (stop < len(text)))
    return [piece for piece in (before, *result, behind) if piece.text]
