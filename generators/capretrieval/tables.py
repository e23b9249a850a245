"""What queries become: corpus, queries, qrels by split, and training pairs."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retgen.generators.capretrieval.passages import (
    Passage,
    numbered_sources,
    shown_text,
)
from retgen.generators.capretrieval.queries import FOUND, TWO, PassageQuery
from retgen.generators.capretrieval.reading import DOCUMENTS, PASSAGES, QUERIES
from retgen.generators.records import Rows, rows_of
from retgen.generators.tables import Ids, iterate_rows
from retgen.on_disk import DiskList, JSONLines, MappedList
from retgen.streams import Permutation
from retgen.tokenizer import length
from retgen.validators.capretrieval.words import bare

SPLITS = ("train", "dev", "test")
_MARKS_BEFORE = re.compile(r"^[^\w\n]*\Z", re.MULTILINE)  # of a line that words are cut from
_MARKS_BEHIND = re.compile(r"[^\w\n]*(?:\Z|\n(?:[ ]*[=~^-]+[ ]*(?:\n|\Z))?)")
_BLANKS = " \t"
_REST = 8  # words that have to be left of a passage without the sentence a query was made from


class QueryFacts(NamedTuple):
    """What many queries have in common."""

    split: str
    set: str
    kind: str
    evidence: str
    side: str


class QueryTables:
    """All tables of a run, from its sources/, of which queries and texts are read as needed.

    `split`: of each passage. `facts`, `passage_of`: of each query, its passage by number.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.documents: Sequence[dict[str, Any]] = JSONLines(folder / DOCUMENTS)
        self.split: list[str] = []
        self.passages: Sequence[Passage] = DiskList(self._read_passages(folder / PASSAGES))
        self.document_of = numbered_sources(self.passages)
        rows = JSONLines(folder / QUERIES)
        self.queries: Sequence[PassageQuery] = MappedList(PassageQuery.from_json, rows)
        self._count_queries()
        count = len(self.queries)
        self._ids = Ids(seed, "capretrieval/queries", "q", max(1, count)).fields(np.arange(count))
        # another order than that of the documents: a place in one tells nothing of the other
        self._order = array("q")
        if count:
            self._order.extend(Permutation(seed, "capretrieval/order", count)(np.arange(count)))

    def _read_passages(self, path: Path) -> Iterator[Passage]:
        number_of = {row["id"]: number for number, row in enumerate(self.documents)}
        document = dict[str, Any]()
        for row in iterate_rows(path):
            if document.get("id") != row["source"]:  # several passages of one follow each other
                document = self.documents[number_of[row["source"]]]
            self.split.append(sys.intern(row["split"]))
            start, stop = row["start"], row["stop"]
            yield Passage(
                row["id"],
                row["source"],
                start,
                stop,
                document["title"],
                document["text"][start:stop],
                row["language"],
            )

    def _count_queries(self) -> None:
        kinds = dict[QueryFacts, QueryFacts]()
        self.facts: list[QueryFacts] = []
        self.passage_of, self._negatives = array("q"), array("q")
        for one in self.queries:
            facts = QueryFacts(one.split, one.set, one.kind, one.evidence, one.side)
            self.facts.append(kinds.setdefault(facts, facts))
            self.passage_of.append(one.passage)
            self._negatives.append(len(one.negatives))

    def _id(self, query: int) -> str:
        return bytes(self._ids[query]).decode()

    def corpus(self) -> Rows:
        """Every passage, as it stands in its document."""

        def make(i: int) -> dict[str, Any]:
            one = self.passages[i]
            return {
                "_id": one.id,
                "title": one.title,
                "text": one.text,
                "metadata": {
                    "source": one.source,
                    "span": [one.start, one.stop],
                    "language": one.language,
                    "split": self.split[i],
                },
            }

        return rows_of(make, len(self.passages))

    def query_rows(self) -> Rows:
        """Every query with what it rests on."""

        def make(i: int) -> dict[str, Any]:
            number = self._order[i]
            one = self.queries[number]
            passage = self.passages[one.passage]
            other = {}
            if one.kind == TWO:
                source, *span = one.rests_on[1]
                other = {"other_source": source, "other_span": span}
            return {
                "_id": self._id(number),
                "text": one.text,
                "metadata": {
                    "kind": one.kind,
                    "set": one.set,
                    "evidence": one.evidence,
                    "score": one.score,
                    "side": one.side,
                    "source": passage.source,
                    "span": list(one.span),
                    "found_in": one.found_in,
                    "found_at": [list(place) for place in one.found_at],
                    **other,
                    "language": passage.language,
                    "split": one.split,
                },
            }

        return rows_of(make, len(self.queries))

    def qrels(self) -> dict[str, Rows]:
        """The positives, by split; a split without any is left out, but for test."""
        result = {}
        for split in ("test", "dev", "train"):
            pairs = _Pairs()
            for number in self._order:
                if self.facts[number].split == split:
                    pairs.add(number, self.queries[number].positives)
            if len(pairs) or split == "test":
                result[split] = rows_of(self._qrel(pairs), len(pairs))
        return result

    def _qrel(self, pairs: _Pairs) -> Callable[[int], Mapping[str, Any]]:
        def make(i: int) -> dict[str, Any]:
            query, passage = pairs[i]
            return {
                "query-id": self._id(query),
                "corpus-id": self.passages[passage].id,
                "score": 1,
            }

        return make

    def training(self) -> dict[str, Rows]:
        """The training queries with the passage they were written for, and mined negatives; a
        question that needs two documents with each of them.

        The positive lacks what the query was made from or found as: or the model would learn to
        find copies. Where nothing else would be left of it, the pair is left out.
        """
        result = {}
        for name in (FOUND, "KW", "SM", TWO):
            pairs = _Pairs()
            for number in self._order:
                facts, passage = self.facts[number], self.passage_of[number]
                if (
                    facts.split != "train"
                    or facts.set != name
                    or self._negatives[number] != self.negatives
                ):
                    continue
                if name == TWO:
                    pairs.add(number, self.queries[number].positives)
                elif name != FOUND or length(self.positive(self.queries[number], passage)) >= _REST:
                    pairs.add(number, [passage])
            if len(pairs):
                result[name.lower()] = rows_of(self._triplet(pairs), len(pairs))
        return result

    @cached_property
    def negatives(self) -> int:
        """Of every training pair; queries with fewer are not trained on."""
        return max(self._negatives, default=0)

    def _triplet(self, pairs: _Pairs) -> Callable[[int], Mapping[str, Any]]:
        def make(i: int) -> dict[str, Any]:
            query, passage = pairs[i]
            one = self.queries[query]
            negatives = [self.passages[j] for j in one.negatives]
            return {
                "anchor": one.text,
                "positive": self.positive(one, passage),
                **{f"negative_{n}": shown_text(its) for n, its in enumerate(negatives, 1)},
                "query-id": self._id(query),
                "positive-id": self.passages[passage].id,
                "negatives-id": [its.id for its in negatives],
            }

        return make

    def positive(self, one: PassageQuery, number: int) -> str:
        """A passage without what the query was made from, where enough is left; without what a
        found query was found as in any case. `number`: of one of its positives.

        That is for a title every line that says it: the heading of a page.
        """
        passage = self.passages[number]
        if one.evidence == FOUND:
            places = one.found_at if one.found_in == passage.source else []
            text = _without(passage, places)
            if one.kind == "title" or bare(passage.title) in bare(one.text):
                return _unheaded(text, passage.title)
            return f"{passage.title} {text}".strip()
        if one.kind in ("summary", "question", TWO):
            spans = one.rests_on if one.kind == TWO else [(passage.source, *one.span)]
            span = next((start, stop) for source, start, stop in spans if source == passage.source)
            rest = _without(passage, [span])
            if length(rest) >= _REST:
                start, stop = span[0] - passage.start, span[1] - passage.start
                copied = bare(passage.text[start:stop]) == bare(passage.title)
                return rest if copied else f"{passage.title} {rest}".strip()
        return shown_text(passage)


class _Pairs:
    """Queries and passages, by their numbers."""

    def __init__(self) -> None:
        self._queries, self._passages = array("q"), array("q")

    def add(self, query: int, passages: Sequence[int]) -> None:
        self._queries.extend([query] * len(passages))
        self._passages.extend(passages)

    def __len__(self) -> int:
        return len(self._queries)

    def __getitem__(self, number: int) -> tuple[int, int]:
        return self._queries[number], self._passages[number]


def _without(passage: Passage, places: Iterable[tuple[int, int]]) -> str:
    """The text of a passage without some characters of its document, and without the marks that
    are left of their lines: of a heading its `##`, and what underlines it.
    """
    text = passage.text
    for start, stop in sorted(places, reverse=True):
        low, high = max(0, start - passage.start), max(0, stop - passage.start)
        if high == 0 or low >= len(text):
            continue
        before, after = _MARKS_BEFORE.search(text[:low]), _MARKS_BEHIND.match(text[high:])
        if before and after:  # whole lines
            low, high = before.start(), high + after.end()
            text = f"{text[:low].rstrip()}\n{text[high:].lstrip()}"
        else:  # of a line, which stays one of its own
            text = f"{text[:low].rstrip(_BLANKS)} {text[high:].lstrip(_BLANKS)}"
    return text.strip()  # not before: places count from its begin


def _unheaded(text: str, title: str) -> str:
    """A text without the lines that say its title and nothing else, and what underlines them."""
    says = bare(title)
    kept: list[str] = []
    lines = text.splitlines(keepends=True)
    after = False  # a heading
    for line in lines if says else ():
        underlines = after and line.strip() and not line.strip().strip("=-")
        after = bare(line) in (says, f"title{says}")
        if not after and not underlines:
            kept.append(line)
    return text if not says or len(kept) == len(lines) else "".join(kept).strip()
