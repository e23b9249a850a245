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
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.language import words_of
from retgen.generators.capretrieval.params import CapRetrievalParams, SplitShares
from retgen.generators.source import PassageSize
from retgen.generators.tables import read_rows
from retgen.sources import Block, Columns, RefusedRow, SourceDocument, is_row_id, read_sources
from retgen.tokenizer import FULL_STOPS, is_unspaced
from retgen.validators.capretrieval.wording import Wording

_DATA = Path(__file__).parent / "data"
_LANGUAGES = "en", "zh"
CAPTIONS = tuple(_DATA / f"captions_{language}.jsonl" for language in _LANGUAGES)
LICENCE = "CC0-1.0"  # of the bundled captions
_END = re.compile(rf"(?:[.!?{FULL_STOPS}][\"')\]]*(?=\s)|[。！？]|\n\s*\n)\s*")
_SLACK = 0.2  # of a passage's words, within which a sentence's end is looked for
HEADINGS = ("title", "heading")  # blocks that begin a section
Terms = tuple[str, ...]
Codes = NDArray[np.uint64]
Numbers = NDArray[np.int64]
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
def bundled_grades() -> Mapping[tuple[str, str], int]:
    """The grades of (query, caption), by their ids; a pair that is not listed has grade 0."""
    return {
        (row["query-id"], row["corpus-id"]): row["score"]
        for language in _LANGUAGES
        for row in read_rows(_DATA / f"qrels_{language}.jsonl")
    }


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


def word_begins(text: str) -> list[int]:
    """Where the words of a text begin, and each character of scripts without spaces."""
    result: list[int] = []
    for match in re.finditer(r"\S+", text):
        word, at = match.group(), match.start()
        if word.isascii() or not any(map(is_unspaced, word)):
            result.append(at)
            continue
        for alone, run in groupby(range(at, match.end()), lambda place: is_unspaced(text[place])):
            places = list(run)
            result += places if alone else places[:1]
    return result


def spans(
    text: str, size: PassageSize | None, blocks: Sequence[Block] = ()
) -> list[tuple[int, int]]:
    """Where the passages of a text begin and end; the whole of it where it is short enough.

    A passage ends before the last heading that it reaches, unless that leaves less than a quarter
    of it, and the next one begins with this heading. Elsewhere it ends where a paragraph or a
    sentence does, if one ends in its last fifth, and the next one overlaps it.
    """
    begins = word_begins(text) if size is not None else []
    if size is None or len(begins) <= size.tokens:
        return [(0, len(text))]

    def openings(places: Iterable[int]) -> list[int]:
        """The words, by number, that stand first at or behind some places, ascending."""
        return sorted({bisect_left(begins, place) for place in places})

    heads = (one.start for one in blocks if one.kind in HEADINGS)
    sections = openings(text.rfind("\n", 0, at) + 1 for at in heads)  # with their marks
    sentences = openings(match.end() for match in _END.finditer(text))
    paragraphs = openings(one.start for one in blocks if one.kind != "boilerplate")
    slack = max(1, int(size.tokens * _SLACK))
    result, first = list[tuple[int, int]](), 0
    while first + size.tokens < len(begins):
        last = first + size.tokens
        at_head = _last(sections, first + max(1, size.tokens // 4), last)
        cut = (
            at_head
            or _last(paragraphs, last - 2 * slack, last)
            or _last(sentences, last - slack, last)
            or last
        )
        start = begins[first] if first else 0
        result.append((start, start + len(text[start : begins[cut]].rstrip())))
        back = max(first + 1, cut - size.overlap)
        first = at_head or _last(sentences, max(first + 1, back - slack), back) or back
    return [*result, (begins[first], len(text))]


def _last(openings: Sequence[int], low: int, high: int) -> int | None:
    """The last of some words from low to high."""
    at = bisect_right(openings, high) - 1
    return openings[at] if at >= 0 and openings[at] >= low else None


def cut_passages(
    documents: Sequence[SourceDocument], languages: Iterable[str], size: PassageSize | None
) -> Iterator[Passage]:
    """The passages of documents in their order: a document that is one by its own id, others as
    DOCUMENT#1, DOCUMENT#2, with as many # as it takes where somebody has such an id.
    """
    taken = {one.id for one in documents}
    for one, language in zip(documents, languages, strict=True):
        places = spans(one.text, size, one.blocks)
        names, mark = [one.id], "#"
        while len(places) > 1 and not taken.isdisjoint(names):
            names = [f"{one.id}{mark}{number}" for number in range(1, len(places) + 1)]
            mark += "#"
        taken.update(names)
        for name, (start, stop) in zip(names, places, strict=True):
            text = one.text[start:stop]
            yield Passage(name, one.id, start, stop, one.title, text, language)


# --- queries --------------------------------------------------------------------------------------

Kind = Literal["keyword", "phrase", "hypernym", "summary", "topics", "question", "two_documents"]
Set = Literal["KW", "SM", "two_documents"]
SETS: dict[Kind, Set] = {
    "keyword": "KW",
    "phrase": "KW",
    "hypernym": "KW",
    "summary": "SM",
    "topics": "SM",
    "question": "SM",
    "two_documents": "two_documents",
}
FOUND = "found"  # the evidence of what people wrote, and its set
TWO: Kind = "two_documents"  # the kind of a question that needs two documents, and its set


@dataclass(slots=True)
class PassageQuery:
    """A query, as sources/queries.jsonl has it.

    `passage`: number of the one it was written for. `span`: characters of the source document that
    it rests on. `evidence`: "found" where people wrote it, "rules" or "model". `score`: how much it
    tells of its passage, 0 to 1. `found_in`: of a link the document that has its words.
    `rests_on`: (document, start, stop) of all queries of this text, its own first; both of a
    question that needs two documents. `positives`: numbers of passages; `negatives`: mined ones.
    `side`: "nonlexical" where no positive has a content word of it, else "lexical".
    """

    text: str
    kind: str
    passage: int
    span: tuple[int, int]
    evidence: str = "model"
    score: float = 0.0
    found_in: str = ""
    split: str = "train"
    side: str = "lexical"
    rests_on: Sequence[Span] = ()
    positives: Sequence[int] = ()
    negatives: Sequence[int] = ()

    @property
    def set(self) -> str:
        """The set that it belongs to: found, KW, SM or two_documents."""
        return FOUND if self.evidence == FOUND else SETS[cast(Kind, self.kind)]

    def phrase(self) -> Terms | None:
        """What a passage has to hold to be relevant, where that is enough."""
        is_phrase = self.kind in ("keyword", "phrase") and self.evidence != FOUND
        return tuple(words_of(self.text)) if is_phrase else None

    def to_json(self) -> dict[str, Any]:
        """A row of sources/queries.jsonl."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> PassageQuery:
        """The query of a row of sources/queries.jsonl."""
        rests_on = [tuple(span) for span in row["rests_on"]]
        return cls(**{**row, "span": tuple(row["span"]), "rests_on": rests_on})


class Corpus(NamedTuple):
    """The passages of a run, and by their numbers: the document (a number, ascending), the split,
    the words, the same and their stems (sorted). `wording`, `counts`: what the documents share.
    """

    passages: Sequence[Passage]
    document_of: Sequence[int]
    splits: Sequence[str]
    words: Sequence[Codes]
    stems: Sequence[Codes]
    wording: Wording
    counts: CorpusCounts


# --- splits ---------------------------------------------------------------------------------------


def numbered_sources(passages: Iterable[Passage]) -> Sequence[int]:
    """The number of each passage's document; each document has one passage at least."""
    result, before = array("q"), None
    for one in passages:
        result.append(result[-1] + (one.source != before) if result else 0)
        before = one.source
    return result


def lasting_name(document: SourceDocument) -> str:
    """What a document is held out by: its id, and where that is the number of its row, which others
    may take, its text.
    """
    return document.text if is_row_id(document.id) else document.id


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


class WordIndex:
    """The passages that hold some words."""

    def __init__(self, held: Iterable[Codes], wanted: Iterable[Codes]) -> None:
        """`held`: the words of each passage; `wanted`: of the phrases that are asked for."""
        self._passages = {word: array("q") for one in wanted for word in one.ravel().tolist()}
        for number, words in enumerate(held):
            for word in self._passages.keys() & set(words.tolist()):
                self._passages[word].append(number)

    def holding(self, words: Codes) -> list[int]:
        """The passages that hold all of (k, n) words, any of the k forms of each, ascending."""

        def holders(forms: Sequence[int]) -> set[int]:
            return set[int]().union(*(self._passages[one] for one in forms))

        every = map(holders, words.T.tolist())
        return sorted(next(every, set[int]()).intersection(*every))


class PassageLabels:
    """Which passages are relevant to a query, however the documents are cut; no model is asked.

    Every query rests on characters [start, stop) of its document, also on those of every query of
    the same text that was merged into it. A passage is relevant if it holds such a span whole.
    Where none does, as a span that is longer than a passage, those are relevant that lie in it by
    more than half of themselves, or, if there is none, the one that overlaps it most. To keywords
    and phrases every passage is relevant that holds the words side by side, whatever its document.
    """

    def __init__(
        self, passages: Iterable[Passage], words: Sequence[Codes], phrases: Iterable[Terms]
    ) -> None:
        """`words`: of each passage, in their order; `phrases`: those that are asked for."""
        self._words = words
        self._index = WordIndex(words, [term_codes(set(chain.from_iterable(phrases)))])
        self._first: dict[str, int] = {}  # passage of a document
        self._owners, self._starts, self._stops = array("q"), array("q"), array("q")
        for number, one in enumerate(passages):
            self._first.setdefault(one.source, number)
            self._owners.append(len(self._first))
            self._starts.append(one.start)
            self._stops.append(one.stop)

    def relevant(self, phrase: Terms | None, rests_on: Iterable[Span]) -> set[int]:
        """Numbers of the passages, of all splits. `phrase`: of a keyword or phrase."""
        result = set(self._holding_phrase(phrase)) if phrase else set[int]()
        return result.union(*map(self.holding, rests_on))

    def _holding_phrase(self, phrase: Terms) -> list[int]:
        """The passages that hold words side by side."""
        codes = term_codes(phrase)
        found = self._index.holding(codes[None])
        if len(codes) == 1:
            return found

        def holds(words: Codes) -> bool:
            return bool((sliding_window_view(words, len(codes)) == codes).all(axis=1).any())

        return [number for number in found if holds(self._words[number])]

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
