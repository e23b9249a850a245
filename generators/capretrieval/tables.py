"""What queries become: corpus, queries, qrels by split, and training pairs."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retgen.generators.capretrieval.passages import (
    FOUND,
    TWO,
    Passage,
    PassageQuery,
    numbered_sources,
    shown_text,
)
from retgen.generators.capretrieval.reading import DOCUMENTS, PASSAGES, QUERIES
from retgen.generators.records import Rows, rows_of
from retgen.generators.tables import Ids, iterate_rows
from retgen.on_disk import DiskList, JSONLines, MappedList
from retgen.streams import Permutation
from retgen.tokenizer import length
from retgen.validators.capretrieval.words import bare

SPLITS = ("train", "dev", "test")
CORPUS_COLUMNS = {"source": "string", "span": ["int32"], "language": "string", "split": "string"}
_OF_A_QUERY = ("kind", "set", "evidence", "score", "side")
QUERY_COLUMNS: dict[str, Any] = {
    **dict.fromkeys((*_OF_A_QUERY, "source", "span", "found_in", "language", "split"), "string"),
    "score": "float64",
    "span": ["int32"],
}
_OF_LINES = ("title", "heading", "question", "link")  # found queries that are no sentences
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
        known = dict[QueryFacts, QueryFacts]()  # one object for queries that are alike
        self.facts: list[QueryFacts] = []
        self.passage_of, self._negatives = array("q"), array("q")
        for one in self.queries:
            facts = QueryFacts(one.split, one.set, one.kind, one.evidence, one.side)
            self.facts.append(known.setdefault(facts, facts))
            self.passage_of.append(one.passage)
            self._negatives.append(len(one.negatives))
        # of every training pair; queries with fewer are not trained on
        self.negatives = max(self._negatives, default=0)
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
            text = document["text"][row["start"] : row["stop"]]
            place = (row["id"], row["source"], row["start"], row["stop"])
            yield Passage(*place, document["title"], text, row["language"])

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
            note = {name: getattr(one, name) for name in _OF_A_QUERY}
            note |= {"source": passage.source, "span": list(one.span), "found_in": one.found_in}
            if one.kind == TWO:
                source, *span = one.rests_on[1]
                note |= {"other_source": source, "other_span": span}
            note |= {"language": passage.language, "split": one.split}
            return {"_id": self._id(number), "text": one.text, "metadata": note}

        return rows_of(make, len(self.queries))

    def qrels(self) -> dict[str, Rows]:
        """The positives, by split; a split without any is left out, but for test."""
        pairs = {split: array("q") for split in ("test", "dev", "train")}
        for number in self._order:  # queries and passages in turn
            for passage in self.queries[number].positives:
                pairs[self.facts[number].split].extend((number, passage))

        def rows(split: str) -> Rows:
            def make(i: int) -> dict[str, Any]:
                query, passage = pairs[split][2 * i : 2 * i + 2]
                ids = {"query-id": self._id(query), "corpus-id": self.passages[passage].id}
                return ids | {"score": 1}

            return rows_of(make, len(pairs[split]) // 2)

        return {split: rows(split) for split in pairs if pairs[split] or split == "test"}

    def training(self) -> dict[str, Rows]:
        """The training queries with the passage they were written for, and mined negatives; a
        question that needs two documents with each of them.

        The positive lacks what the query was made from or found as: or the model would learn to
        find copies. Where nothing else would be left of it, the pair is left out.
        """
        result = {}
        for name in (FOUND, "KW", "SM", TWO):
            pairs = array("q")
            for number in self._order:
                facts, passage = self.facts[number], self.passage_of[number]
                is_of_set = (facts.split, facts.set) == ("train", name)
                if not is_of_set or self._negatives[number] != self.negatives:
                    continue
                one = self.queries[number]
                if name != FOUND or length(self.positive(one, passage)) >= _REST:
                    for positive in one.positives if name == TWO else [passage]:
                        pairs.extend((number, positive))
            if pairs:
                result[name.lower()] = rows_of(self._triplet(pairs), len(pairs) // 2)
        return result

    def _triplet(self, pairs: array[int]) -> Callable[[int], Mapping[str, Any]]:
        def make(i: int) -> dict[str, Any]:
            query, passage = pairs[2 * i : 2 * i + 2]
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
        """A passage without what the query was made from, where enough is left; without the lines
        that say what a found query says in any case, such as the heading of a page. `number`: of
        one of its positives.
        """
        passage, text = self.passages[number], self.passages[number].text
        spans = one.rests_on if one.kind == TWO else [(passage.source, *one.span)]
        if one.evidence == FOUND:
            text = _without_lines(text, one.text)
            if one.kind not in _OF_LINES:  # a description that its document begins with
                text = text.replace(one.text, "", 1).strip()
        elif one.kind in ("summary", "question", TWO):
            start, stop = next(place for source, *place in spans if source == passage.source)
            start, stop = max(0, start - passage.start), max(0, stop - passage.start)
            rest = f"{text[:start].rstrip()} {text[stop:].lstrip()}".strip()
            copied, text = text[start:stop], rest if length(rest) >= _REST else text
            if text == rest and bare(copied) == bare(passage.title):
                return text
        says_title = bare(passage.title) in bare(one.text) or bare(one.text) in bare(passage.title)
        if one.evidence == FOUND and says_title:
            return _without_lines(text, passage.title)
        return f"{passage.title} {text}".strip()


def _without_lines(text: str, words: str) -> str:
    """A text without the lines that say nothing but some words, and what underlines them."""
    says, kept = bare(words), list[str]()
    after = False  # such a line
    for line in text.splitlines(keepends=True):
        shown = bare(line)
        after = shown in says if shown else after and bool(line.strip())
        if not after:
            kept.append(line)
    return "".join(kept).strip()
