"""Examples of a report page: texts cut up, with what is asked for, or differs, highlighted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from retgen.results.page import Segments
from retgen.tokenizer import STOPWORDS, laid_out

_TEXT = 900  # characters of a document shown
_WORD = re.compile(r"\w+")


def example_of(example: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A record laid out; where the second text of a row is the first one changed, how is marked."""
    if not example:
        return None
    pieces = differences if example.get("changed", True) else _side_by_side
    rows = [(what, *pieces(a, b)) for what, a, b in example["rows"]]
    return {"title": example["title"], "head": example["head"], "rows": rows}


def _side_by_side(a: str, b: str) -> tuple[Segments, Segments]:
    return [(a, False)], [(b, False)]


def differences(a: str, b: str) -> tuple[Segments, Segments]:
    """Both texts cut up by words, special where the other has something else."""
    return marked(laid_out(a), laid_out(b))


def marked(before: Sequence[str], after: Sequence[str]) -> tuple[Segments, Segments]:
    """The same of texts that are words already, each with the white space before it."""
    pieces: tuple[Segments, Segments] = ([], [])
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


def examples_of(samples: Mapping[str, Any]) -> dict[str, Any]:
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
            phrases = _asked(query["query"], text, everywhere)
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
    return {word.casefold() for word in _WORD.findall(text)}


def _asked(query: str, text: str, everywhere: set[str]) -> list[str]:
    """The longest phrases of a query, begun and ended by content words, that stand in a text."""
    words = list(_WORD.finditer(query))[:100]
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
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)


def _highlight(text: str, phrases: Sequence[str]) -> Segments:
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
