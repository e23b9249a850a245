"""What the queries become: corpus, queries, qrels by split, and training pairs."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.generators.capretrieval.checks import SETS
from retgen.generators.capretrieval.labels import Labels
from retgen.generators.capretrieval.passages import Passage, Whole, cut
from retgen.generators.capretrieval.queries import Query
from retgen.generators.capretrieval.writing import DOCUMENTS, PASSAGES, QUERIES
from retgen.generators.ids import Ids
from retgen.generators.records import Rows, rows_of
from retgen.generators.source import PassageSize
from retgen.streams import Permutation
from retgen.tokenizer import length

SPLITS = ("train", "dev", "test")
_REST = 8  # words that have to be left of a passage without the sentence a query was made from


class _Pair(NamedTuple):
    query: int
    passage: int


class Tables:
    """All tables of a run, from its sources/."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.documents: dict[str, tuple[str, str]] = {}
        for row in _lines(folder / DOCUMENTS):
            self.documents[row["id"]] = row["title"], row["text"]
        self.passages: list[Passage] = []
        self.split: list[str] = []
        for row in _lines(folder / PASSAGES):
            title, text = self.documents[row["source"]]
            start, stop = row["start"], row["stop"]
            self.passages.append(
                Passage(row["id"], row["source"], start, stop, title, text[start:stop],
                        row["language"])
            )  # fmt: skip
            self.split.append(row["split"])
        self.queries = [
            Query(**(row | {
                "span": tuple(row["span"]), "rests_on": [tuple(span) for span in row["rests_on"]],
            }))
            for row in _lines(folder / QUERIES)
        ]  # fmt: skip
        count = len(self.queries)
        self._ids = Ids(seed, "capretrieval/queries", "q", max(1, count)).texts(_numbers(count))
        # another order than that of the documents: a place in one tells nothing of the other
        self._order = (
            Permutation(seed, "capretrieval/order", count)(_numbers(count)).tolist()
            if count else []
        )  # fmt: skip

    def rechunk(self, size: PassageSize | None) -> Tables:
        """The same queries over the same documents, cut in another way; without negatives.

        `Labels` has the rule by which the positives are found again. Queries keep their splits.
        """
        of_source = {
            one.source: (one.language, name)
            for one, name in zip(self.passages, self.split, strict=True)
        }
        result = copy(self)
        wholes = [
            Whole(source, title, text, of_source[source][0])
            for source, (title, text) in self.documents.items()
        ]
        result.passages = list(cut(wholes, size))
        result.split = [of_source[one.source][1] for one in result.passages]
        phrases = [one.phrase(self.passages) for one in self.queries]
        labels = Labels(result.passages, {phrase for phrase in phrases if phrase is not None})
        result.queries = []
        for one, phrase in zip(self.queries, phrases, strict=True):
            relevant = labels.relevant(phrase, one.rests_on)
            result.queries.append(replace(
                one, passage=labels.holding(one.rests_on[0])[0], negatives=[],
                positives=sorted(j for j in relevant if result.split[j] == one.split),
            ))  # fmt: skip
        return result

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
            return {
                "_id": self._ids[number],
                "text": one.text,
                "metadata": {
                    "kind": one.kind,
                    "set": SETS[one.kind],
                    "source": passage.source,
                    "span": list(one.span),
                    "language": passage.language,
                    "split": one.split,
                },
            }

        return rows_of(make, len(self.queries))

    def qrels(self) -> dict[str, Rows]:
        """The positives, by split; a split without any is left out, but for test."""
        result = {}
        for split in ("test", "dev", "train"):
            pairs = [
                _Pair(number, passage)
                for number in self._order
                if self.queries[number].split == split
                for passage in self.queries[number].positives
            ]
            if pairs or split == "test":
                result[split] = rows_of(self._qrel(pairs), len(pairs))
        return result

    def _qrel(self, pairs: list[_Pair]) -> Callable[[int], Mapping[str, Any]]:
        def make(i: int) -> dict[str, Any]:
            query, passage = pairs[i]
            return {
                "query-id": self._ids[query], "corpus-id": self.passages[passage].id, "score": 1,
            }  # fmt: skip

        return make

    def training(self) -> dict[str, Rows]:
        """The training queries with the passage they were written for, and mined negatives.

        A query made from a sentence, or from the title, is trained against the passage without it:
        or the model would learn to find copies.
        """
        result = {}
        for name in ("KW", "SM"):
            chosen = [
                number
                for number in self._order
                if self.queries[number].split == "train"
                and SETS[self.queries[number].kind] == name
                and len(self.queries[number].negatives) == self.negatives
            ]
            if chosen:
                result[name.lower()] = rows_of(self._triplet(chosen), len(chosen))
        return result

    @cached_property
    def negatives(self) -> int:
        """Of every training pair; queries with fewer are not trained on."""
        return max((len(one.negatives) for one in self.queries), default=0)

    def _triplet(self, chosen: list[int]) -> Callable[[int], Mapping[str, Any]]:
        def make(i: int) -> dict[str, Any]:
            one = self.queries[chosen[i]]
            return {
                "anchor": one.text,
                "positive": self.positive(one),
                **{f"negative_{n}": self._shown(j) for n, j in enumerate(one.negatives, 1)},
                "query-id": self._ids[chosen[i]],
                "positive-id": self.passages[one.passage].id,
                "negatives-id": [self.passages[j].id for j in one.negatives],
            }

        return make

    def positive(self, one: Query) -> str:
        """The passage without what the query was made from, where enough is left.

        That is for a title every line that says it: the heading of a page, and `title: ` before it.
        """
        passage = self.passages[one.passage]
        if one.kind == "title":
            return _unheaded(passage.text, passage.title) or passage.text
        if one.kind in ("summary", "question"):
            start, stop = one.span[0] - passage.start, one.span[1] - passage.start
            rest = f"{passage.text[:start].rstrip()} {passage.text[stop:].lstrip()}".strip()
            if length(rest) >= _REST:
                copied = _letters(passage.text[start:stop]) == _letters(passage.title)
                return rest if copied else f"{passage.title} {rest}".strip()
        return self._shown(one.passage)

    def _shown(self, number: int) -> str:
        one = self.passages[number]
        return f"{one.title} {one.text}".strip()


def _unheaded(text: str, title: str) -> str:
    """A text without the lines that say its title and nothing else, and what underlines them."""
    says = _letters(title)
    kept: list[str] = []
    lines = text.splitlines(keepends=True)
    after = False  # a heading
    for line in lines if says else ():
        underlines = after and line.strip() and not line.strip().strip("=-")
        after = _letters(line) in (says, f"title{says}")
        if not after and not underlines:
            kept.append(line)
    return text if not says or len(kept) == len(lines) else "".join(kept).strip()


def _letters(text: str) -> str:
    """Letters and digits alone, folded."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _numbers(count: int) -> Any:
    import numpy as np

    return np.arange(count, dtype=np.int64)


def _lines(path: Path) -> Iterator[Any]:
    with open(path, "rb") as file:
        for line in file:
            yield orjson.loads(line)
