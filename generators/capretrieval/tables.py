"""What queries become: corpus, queries, qrels by split, and training pairs; of judged ones, qrels.

Queries without any relevant passage are in a split of their own (`NONE`): a ranking measure cannot
say anything of them (paper, Appendix B.2), a classifier can.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from retgen.generators.capretrieval.judging import GIVEN, JUDGED, JUDGEMENTS, agreement_text
from retgen.generators.capretrieval.language import words_of
from retgen.generators.capretrieval.passages import (
    Holders,
    Passage,
    PassageLabels,
    Whole,
    cut_passages,
    shown_text,
    term_codes,
)
from retgen.generators.capretrieval.queries import FOUND, TWO, PassageQuery
from retgen.generators.capretrieval.reading import DOCUMENTS, PASSAGES, QUERIES
from retgen.generators.records import Rows, rows_of
from retgen.generators.source import PassageSize
from retgen.generators.tables import Ids, iterate_rows, read_rows
from retgen.sources import Block
from retgen.streams import Permutation, Stream
from retgen.tokenizer import length

SPLITS = ("train", "dev", "test")
NONE = "no_positives"
_MARKS_BEFORE = re.compile(r"^[^\w\n]*\Z", re.MULTILINE)  # of a line that words are cut from
_MARKS_BEHIND = re.compile(r"[^\w\n]*(?:\Z|\n(?:[ ]*[=~^-]+[ ]*(?:\n|\Z))?)")
_BLANKS = " \t"
_REST = 8  # words that have to be left of a passage without the sentence a query was made from


class _Pair(NamedTuple):
    query: int
    passage: int


class QueryTables:
    """All tables of a run, from its sources/."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self.documents: dict[str, tuple[str, str]] = {}
        for row in iterate_rows(folder / DOCUMENTS):
            self.documents[row["id"]] = row["title"], row["text"]
        self.passages: list[Passage] = []
        self.split: list[str] = []
        for row in iterate_rows(folder / PASSAGES):
            title, text = self.documents[row["source"]]
            start, stop = row["start"], row["stop"]
            self.passages.append(
                Passage(row["id"], row["source"], start, stop, title, text[start:stop],
                        row["language"])
            )  # fmt: skip
            self.split.append(row["split"])
        self.queries = [PassageQuery.from_json(row) for row in iterate_rows(folder / QUERIES)]
        count = len(self.queries)
        self._ids = Ids(seed, "capretrieval/queries", "q", max(1, count)).texts(np.arange(count))
        # another order than that of the documents: a place in one tells nothing of the other
        self._order = (
            Permutation(seed, "capretrieval/order", count)(np.arange(count)).tolist()
            if count else []
        )  # fmt: skip

    def rechunk(self, size: PassageSize | None) -> QueryTables:
        """The same queries over the same documents, cut in another way; without negatives.

        `Labels` has the rule by which the positives are found again. Queries keep their splits.
        """
        of_source = {
            one.source: (one.language, name)
            for one, name in zip(self.passages, self.split, strict=True)
        }
        result = copy(self)
        wholes = [
            Whole(row["id"], row["title"], row["text"], of_source[row["id"]][0],
                  tuple(Block(*block) for block in row["blocks"]))
            for row in iterate_rows(self._folder / DOCUMENTS)
        ]  # fmt: skip
        result.passages = list(cut_passages(wholes, size))
        result.split = [of_source[one.source][1] for one in result.passages]
        phrases = [one.phrase() for one in self.queries]
        words = (term_codes(words_of(shown_text(one))) for one in result.passages)
        held = Holders(words, {phrase for phrase in phrases if phrase is not None})
        labels = PassageLabels(result.passages, held)
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
            other = {}
            if one.kind == TWO:
                source, *span = one.rests_on[1]
                other = {"other_source": source, "other_span": span}
            return {
                "_id": self._ids[number],
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
        """The training queries with the passage they were written for, and mined negatives; a
        question that needs two documents with each of them.

        The positive lacks what the query was made from or found as: or the model would learn to
        find copies. Where nothing else would be left of it, the pair is left out.
        """
        result = {}
        for name in (FOUND, "KW", "SM", TWO):
            chosen = [
                _Pair(number, passage)
                for number in self._order
                if (one := self.queries[number]).split == "train"
                and one.set == name
                and len(one.negatives) == self.negatives
                and (name != FOUND or length(self.positive(one, one.passage)) >= _REST)
                for passage in (one.positives if name == TWO else [one.passage])
            ]
            if chosen:
                result[name.lower()] = rows_of(self._triplet(chosen), len(chosen))
        return result

    @cached_property
    def negatives(self) -> int:
        """Of every training pair; queries with fewer are not trained on."""
        return max((len(one.negatives) for one in self.queries), default=0)

    def _triplet(self, chosen: list[_Pair]) -> Callable[[int], Mapping[str, Any]]:
        def make(i: int) -> dict[str, Any]:
            query, passage = chosen[i]
            one = self.queries[query]
            return {
                "anchor": one.text,
                "positive": self.positive(one, passage),
                **{f"negative_{n}": self._shown(j) for n, j in enumerate(one.negatives, 1)},
                "query-id": self._ids[query],
                "positive-id": self.passages[passage].id,
                "negatives-id": [self.passages[j].id for j in one.negatives],
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
            if one.kind == "title" or _letters(passage.title) in _letters(one.text):
                return _unheaded(text, passage.title)
            return f"{passage.title} {text}".strip()
        if one.kind in ("summary", "question", TWO):
            spans = one.rests_on if one.kind == TWO else [(passage.source, *one.span)]
            span = next((start, stop) for source, start, stop in spans if source == passage.source)
            rest = _without(passage, [span])
            if length(rest) >= _REST:
                start, stop = span[0] - passage.start, span[1] - passage.start
                copied = _letters(passage.text[start:stop]) == _letters(passage.title)
                return rest if copied else f"{passage.title} {rest}".strip()
        return self._shown(number)

    def _shown(self, number: int) -> str:
        return shown_text(self.passages[number])


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
        twice = self.judged["agreement"]
        if not known["pairs"]:
            return {**known, "measured": f"unmeasured, as no answer came; {agreement_text(twice)}"}
        precision, recall = (
            "undefined" if known[name] is None else f"{known[name]:.2f}"
            for name in ("precision", "recall")
        )
        return {
            **known,
            **{name: twice[name] for name in ("raw", "positive", "ac1")},
            "measured": (
                f"right about {known['exact']:.0%} of {known['pairs']} pairs of bundled captions "
                f"whose grades are known (relevant or not: precision {precision}, recall "
                f"{recall}); {agreement_text(twice)}"
            ),
        }


def _judged_qrels(rows: list[dict[str, Any]]) -> Rows:
    def make(i: int) -> dict[str, Any]:
        row = rows[i]
        return {
            "query-id": row["query"], "corpus-id": row["passage"], "score": row["relevance"],
        }  # fmt: skip

    return rows_of(make, len(rows))
