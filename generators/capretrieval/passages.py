"""Documents, cut into passages with their places, and the passages that are relevant to a query.

Cuts fall where a section begins, else where a paragraph does, else at the end of a sentence where
one is near, and never within a word. In scripts without spaces every character counts as a word.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.generators.capretrieval.params import CapRetrievalParams, SplitShares
from retgen.generators.source import PassageSize
from retgen.generators.tables import read_rows
from retgen.sources import (
    Block,
    Columns,
    RefusedRow,
    SourceDocument,
    is_row_id,
    read_sources,
    whole_id,
)
from retgen.tokenizer import FULL_STOPS, is_unspaced

_DATA = Path(__file__).parent / "data"
_LANGUAGES = "en", "zh"
CAPTIONS = tuple(_DATA / f"captions_{language}.jsonl" for language in _LANGUAGES)
LICENCE = "CC0-1.0"  # of the bundled captions
_END = re.compile(rf"(?:[.!?{FULL_STOPS}][\"')\]]*(?=\s)|[。！？]|\n\s*\n)\s*")
_SLACK = 0.2  # of a passage's words, within which a sentence's end is looked for
HEADINGS = ("title", "heading")  # blocks that begin a section
Terms = tuple[str, ...]
Codes = NDArray[np.uint64]
Span = tuple[str, int, int]  # a source document, and characters [start, stop) of it


# --- documents ------------------------------------------------------------------------------------


def documents_of(
    params: CapRetrievalParams, limit: int | None = None, *, structure: bool = False
) -> Iterator[SourceDocument | RefusedRow]:
    """The documents in their order, and what is not used with its reason; at most `limit` rows.

    `structure`: with their blocks and links.
    """
    source = params.source
    if source is None:
        rows = (None, None) if limit is None else (limit - limit // 2, limit // 2)
        return chain.from_iterable(
            read_sources(path, Columns("text", "_id"), limit=most)
            for path, most in zip(CAPTIONS, rows, strict=True)
        )
    return source.rows(limit, structure=structure)


@cache
def bundled_queries() -> tuple[dict[str, str], ...]:
    """The queries to the bundled captions: id, text, language, type (paper, Appendix B.1)."""
    return tuple(
        {"id": row["_id"], "text": row["text"], "type": row["type"], "language": language}
        for language in _LANGUAGES
        for row in read_rows(_DATA / f"queries_{language}.jsonl")
    )


@cache
def bundled_labels() -> Mapping[str, Mapping[str, int]]:
    """The grade of every caption of a query's language, by the texts of query and caption."""
    result: dict[str, dict[str, int]] = {}
    for language in _LANGUAGES:
        captions = {
            row["_id"]: row["text"] for row in read_rows(_DATA / f"captions_{language}.jsonl")
        }
        asked = {row["_id"]: row["text"] for row in read_rows(_DATA / f"queries_{language}.jsonl")}
        for text in asked.values():
            result[text] = dict.fromkeys(captions.values(), 0)
        for row in read_rows(_DATA / f"qrels_{language}.jsonl"):
            result[asked[row["query-id"]]][captions[row["corpus-id"]]] = row["score"]
    return result


# --- passages -------------------------------------------------------------------------------------


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
    blocks: tuple[Block, ...] = ()


def word_spans(text: str) -> list[tuple[int, int]]:
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


def spans(
    text: str, size: PassageSize | None, blocks: Sequence[Block] = ()
) -> list[tuple[int, int]]:
    """Where the passages of a text begin and end; the whole of it where it is short enough.

    A passage ends before the last heading that it reaches, unless that leaves less than a quarter
    of it, and the next one begins with this heading. Elsewhere passages overlap.
    """
    placed = word_spans(text) if size is not None else []
    if size is None or len(placed) <= size.tokens:
        return [(0, len(text))]
    begins = [begin for begin, _ in placed]
    starts = (one.start for one in blocks if one.kind in HEADINGS)
    heads = _openings(begins, (text.rfind("\n", 0, at) + 1 for at in starts))  # with their marks
    paragraphs = _openings(begins, (one.start for one in blocks if one.kind != "boilerplate"))
    sentences = _openings(begins, chain((0,), (match.end() for match in _END.finditer(text))))
    result = []
    first, few, slack = 0, size.tokens // 4, max(1, int(size.tokens * _SLACK))
    while first + size.tokens < len(placed):
        last = first + size.tokens
        at_head = _near(heads, first + max(1, few), last)
        cut = (
            at_head
            or _near(paragraphs, last - 2 * slack, last)
            or _near(sentences, last - slack, last)
            or last
        )
        result.append((placed[first][0], placed[cut - 1][1]))
        back = cut - size.overlap
        first = (
            at_head or _near(sentences, max(first + 1, back - slack), back) or max(first + 1, back)
        )
    result.append((placed[first][0], placed[-1][1]))
    # white space before the first passage and behind the last one belongs to them
    result[0] = (0, result[0][1])
    result[-1] = (result[-1][0], len(text))
    return result


def _openings(begins: Sequence[int], places: Iterable[int]) -> list[int]:
    """The words, by number, that stand first at or behind some places of a text, ascending."""
    return sorted({at for place in places if (at := bisect_left(begins, place)) < len(begins)})


def _near(opening: Sequence[int], low: int, high: int) -> int | None:
    """The last word of low..high that opens a sentence, a paragraph or a section."""
    at = bisect_right(opening, high) - 1
    return opening[at] if at >= 0 and opening[at] >= max(1, low) else None


def cut_passages(documents: Sequence[Whole], size: PassageSize | None) -> Iterator[Passage]:
    """The passages of documents in their order: a document that is one by its own id, others as
    DOCUMENT#1, DOCUMENT#2, with as many # as it takes where somebody has such an id.
    """
    taken = {one.id for one in documents}
    for one in documents:
        places = spans(one.text, size, one.blocks)
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


def numbered_sources(passages: Iterable[Passage]) -> Sequence[int]:
    """The number of each passage's document; each document has one passage at least."""
    result, before = array("q"), None
    for one in passages:
        result.append(result[-1] + (one.source != before) if result else 0)
        before = one.source
    return result


def parts_together(documents: Iterable[str], repeats: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of `document_splits`, shared by the parts of a long document too. `documents`:
    ids.
    """
    result, first = repeats.copy(), dict[str, int]()
    for number, one in enumerate(documents):
        begin = first.setdefault(whole_id(one), number)
        if begin != number:
            result[result == result[number]] = result[begin]
    return result


def lasting_name(document: SourceDocument) -> str:
    """What a document is held out by: its id, and where that is the number of its row, which others
    may take, its text.
    """
    return document.text if is_row_id(whole_id(document.id)) else document.id


def document_splits(
    seed: int, documents: Sequence[str], repeats: NDArray[np.int64], splits: SplitShares
) -> list[str]:
    """The split of each document: "train", "dev" or "test"; near-duplicates on one side.

    `documents`: their lasting names, by whose hash they are drawn, so that a few more or less move
    a few of the others. `repeats`: a number of each document that near-duplicates share (`alike`).
    A group of these goes to a held-out split where it fits into its share; where none does, the
    smallest one goes there. All are "train" where all are alike; two groups are train and test.
    """
    members: dict[int, list[int]] = defaultdict(list)
    for document, group in enumerate(repeats.tolist()):
        members[group].append(document)
    every = list(members.values())
    names = (min(documents[i] for i in group) for group in every)  # one, whatever its size
    drawn = np.argsort(term_codes(f"{seed}\0{name}" for name in names), kind="stable")
    every = [every[group] for group in drawn.tolist()]
    left = {
        name: max(1, round(share * len(repeats)))
        for name, share in (("test", splits.test), ("dev", splits.dev))
        if share
    }
    while left and len(left) >= len(every):
        left.popitem()
    split_of = dict.fromkeys(range(len(every)), "train")
    trained = len(repeats)
    for group in split_of:
        size = len(every[group])
        for name in left:
            if size <= left[name] and trained > size:
                left[name] -= size
                trained -= size
                split_of[group] = name
                break
    for name in left:
        trained_groups = [group for group, split in split_of.items() if split == "train"]
        if name not in split_of.values() and len(trained_groups) > 1:
            split_of[min(trained_groups, key=lambda group: len(every[group]))] = name
    result = ["train"] * len(repeats)
    for group, name in split_of.items():
        for document in every[group]:
            result[document] = name
    return result


# --- labels ---------------------------------------------------------------------------------------


def term_codes(terms: Iterable[str]) -> Codes:
    """(n,) numbers for terms: equal ones for equal terms."""
    from xxhash import xxh3_64_intdigest

    made = (xxh3_64_intdigest(one.encode()) for one in terms)
    return np.fromiter(made, np.uint64)


def shown_text(passage: Passage) -> str:
    """A passage as it is searched: its document's title and its text."""
    return f"{passage.title} {passage.text}".strip()


class Holders:
    """The passages that hold each phrase side by side: their numbers, ascending, by the phrase.

    Compared are 64-bit hashes of a phrase's codes.
    """

    def __init__(self, passages: Iterable[Codes], phrases: Iterable[Terms]) -> None:
        """`passages`: the codes of the words of each (`term_codes`), title and text."""
        of_size: dict[int, list[int]] = defaultdict(list)
        for phrase in filter(None, phrases):
            of_size[len(phrase)].append(_code_of(phrase))
        wanted = {size: np.unique(np.array(some, np.uint64)) for size, some in of_size.items()}
        self._held = {code: array("q") for some in wanted.values() for code in some.tolist()}
        for number, words in enumerate(passages):
            for size, keys in wanted.items():
                count = max(0, len(words) - size + 1)
                met = _combined(words[at : at + count] for at in range(size))
                for code in np.intersect1d(met, keys).tolist():
                    if self._held[code][-1:] != array("q", [number]):  # of another size
                        self._held[code].append(number)

    def __getitem__(self, phrase: Terms) -> list[int]:
        """Of a phrase that was asked for, or `KeyError`; none hold the empty one."""
        return self._held[_code_of(phrase)].tolist() if phrase else []


def _code_of(phrase: Terms) -> int:
    return int(_combined(term_codes(phrase)[:, None])[0])


def _combined(columns: Iterable[Codes]) -> Codes:
    """One number of several, in their order."""
    first, *others = columns
    result = first.copy()
    for one in others:
        result = result * np.uint64(0x9E3779B97F4A7C15) + one
    return result


class PassageLabels:
    """Which passages are relevant to a query, however the documents are cut; no model is asked.

    Every query rests on characters [start, stop) of its document, also on those of every query of
    the same text that was merged into it. A passage is relevant if it holds such a span whole.
    Where none does, as a span that is longer than a passage, those are relevant that lie in it by
    more than half of themselves, or, if there is none, the one that overlaps it most. To keywords
    and phrases every passage is relevant that holds the words side by side, whatever its document.

    `held`: the passages that hold each phrase.
    """

    def __init__(self, passages: Iterable[Passage], held: Holders) -> None:
        self.held = held
        self._first: dict[str, int] = {}  # passage of a document
        self._owners, self._starts, self._stops = array("q"), array("q"), array("q")
        for number, one in enumerate(passages):
            self._first.setdefault(one.source, number)
            self._owners.append(len(self._first))
            self._starts.append(one.start)
            self._stops.append(one.stop)

    @property
    def documents(self) -> int:
        """How many there are."""
        return len(self._first)

    def relevant(self, phrase: Terms | None, rests_on: Iterable[Span]) -> set[int]:
        """Numbers of the passages, of all splits. `phrase`: of a keyword or phrase."""
        result = set(self.held[phrase]) if phrase is not None else set[int]()
        return result.union(*map(self.holding, rests_on))

    def holding(self, span: Span) -> list[int]:
        """Numbers of the passages that are relevant to who rests on a span, ascending."""
        source, start, stop = span
        first = self._first[source]
        end = bisect_right(self._owners, self._owners[first], first)
        starts, stops = self._starts[first:end], self._stops[first:end]
        low, high = bisect_right(stops, start), bisect_left(starts, stop)
        shared = {i: min(stops[i], stop) - max(starts[i], start) for i in range(low, high)}
        if not shared:  # it is empty, or the white space between two passages
            return [first + min(low, len(starts) - 1)]
        whole = [i for i, count in shared.items() if count == stop - start]
        inside = [i for i, count in shared.items() if 2 * count > stops[i] - starts[i]]
        chosen = whole or inside or [max(shared, key=shared.__getitem__)]
        return [first + i for i in chosen]
