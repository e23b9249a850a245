"""What queries become: corpus, queries, qrels by split, and training pairs; of judged ones, qrels.

Queries without any relevant passage are in a split of their own (`NONE`): a ranking measure cannot
say anything of them (paper, Appendix B.2), a classifier can.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from retgen.agents.judge import Calibration
from retgen.generators.capretrieval.judging import GIVEN, JUDGED, JUDGEMENTS, agreement_text
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
from retgen.generators.tables import Ids, iterate_rows, read_rows
from retgen.on_disk import DiskList, JSONLines, MappedList
from retgen.streams import Permutation, Stream
from retgen.tokenizer import length
from retgen.validators.capretrieval.words import bare

SPLITS = ("train", "dev", "test")
NONE = "no_positives"
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
            pairs = array("q")  # queries and passages in turn
            for number in self._order:
                if self.facts[number].split == split:
                    for passage in self.queries[number].positives:
                        pairs.extend((number, passage))
            if pairs or split == "test":
                result[split] = rows_of(self._qrel(pairs), len(pairs) // 2)
        return result

    def _qrel(self, pairs: array[int]) -> Callable[[int], Mapping[str, Any]]:
        def make(i: int) -> dict[str, Any]:
            query, passage = pairs[2 * i : 2 * i + 2]
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
            pairs = array("q")
            for number in self._order:
                facts, passage = self.facts[number], self.passage_of[number]
                if (
                    facts.split != "train"
                    or facts.set != name
                    or self._negatives[number] != self.negatives
                ):
                    continue
                one = self.queries[number]
                if name != FOUND or length(self.positive(one, passage)) >= _REST:
                    for positive in one.positives if name == TWO else [passage]:
                        pairs.extend((number, positive))
            if pairs:
                result[name.lower()] = rows_of(self._triplet(pairs), len(pairs) // 2)
        return result

    @cached_property
    def negatives(self) -> int:
        """Of every training pair; queries with fewer are not trained on."""
        return max(self._negatives, default=0)

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


class JudgedTables:
    """The queries and qrels of a run, from its sources/."""

    def __init__(self, folder: Path, seed: int) -> None:
        given = read_rows(folder / GIVEN)
        # another order than the documents': a place in one tells nothing of the other
        self.given = [given[i] for i in Stream(seed, "capretrieval/given").permutation(len(given))]
        # a conflict that nobody settled has readings, and no grade
        self.judgements = [
            row for row in read_rows(folder / JUDGEMENTS) if row["relevance"] is not None
        ]
        self.judged: dict[str, Any] = orjson.loads((folder / JUDGED).read_bytes())
        self.answered = {row["query"] for row in self.judgements if row["relevance"]}

    def queries(self) -> Rows:
        """The queries, as they were given."""

        def make(i: int) -> dict[str, Any]:
            one = self.given[i]
            kind = {"type": one["type"]} if one["type"] else {}
            split = "test" if one["id"] in self.answered else NONE
            note = {**kind, "language": one["language"], "split": split}
            return {"_id": one["id"], "text": one["text"], "metadata": note}

        return rows_of(make, len(self.given))

    def qrels(self) -> dict[str, Rows]:
        """The judged pairs: of queries that have a relevant passage, and of those that have not."""
        test = [row for row in self.judgements if row["query"] in self.answered]
        rest = [row for row in self.judgements if row["query"] not in self.answered]
        result = {"test": _judged_qrels(test)}
        return {**result, NONE: _judged_qrels(rest)} if rest else result

    def sentences(self) -> list[str]:
        """For the card: how the labels came about, and what is known of them."""
        found = self.judged
        unjudged = found["candidates"] - found["judged"]
        result = [
            "The queries were given, not written for these documents. "
            f"{found['judged']:,} pairs of a query and a passage were judged 0 (not relevant), 1 "
            f"(in part) or 2, of which {found['relevant']:,} are relevant; each has a row in the "
            "qrels. "
            + (
                "Every pair was judged."
                if found["complete"]
                else "A pair without a row was not judged, which does not mean that it is not "
                "relevant."
            )
        ]
        if len(self.answered) < len(self.given):
            result[0] += f" Queries without a relevant passage are in the configuration `{NONE}`."
        if unjudged:
            result[0] += f" {unjudged:,} candidates got no grade that could be used."
        if found["agreement"] is None:
            result.append("The labels came with the captions; a language model wrote both.")
        else:
            words = agreement_text(found["agreement"])
            result.append(
                f"{words[0].upper()}{words[1:]}; {found['conflicts']:,} conflicts "
                "were settled by a third look at the pair. Cohen's kappa is left out: where hardly "
                "any pair is relevant it is low for good judges as well."
            )
        return result

    def notes(self) -> Mapping[str, str]:
        """What `gen run` prints."""
        found = self.judged
        line = (
            f"{found['judged']:,} of {found['candidates']:,} pairs; {found['relevant']:,} are "
            f"relevant; {len(self.answered):,} of {len(self.given):,} queries have such a passage"
        )
        if found["agreement"] is None:
            return {"pairs": line}
        settled = f"{agreement_text(found['agreement'])}; {found['conflicts']:,} conflicts settled"
        return {"pairs": line, "agreement": settled}

    def judge(self) -> dict[str, Any]:
        """How good the judge was found to be; see `Family.judges`."""
        known = self.judged["calibration"]
        if known is None:
            by = "labels that came with the captions"
            return {"by": by, "measured": "written by a language model"}
        twice, result = self.judged["agreement"], Calibration(**known).report()
        return {
            **result,
            **{name: twice[name] for name in ("raw", "positive", "ac1")},
            "measured": f"{result['measured']}; {agreement_text(twice)}",
        }


def _judged_qrels(rows: list[dict[str, Any]]) -> Rows:
    def make(i: int) -> dict[str, Any]:
        row = rows[i]
        return {
            "query-id": row["query"],
            "corpus-id": row["passage"],
            "score": row["relevance"],
        }

    return rows_of(make, len(rows))
