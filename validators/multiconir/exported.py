"""Training data and the paper's flat tables, row by row, from the proven ladders.

Every text is put together anew from the sentences of its ladder, in the order in which they stand
in its documents; queries are named by the ids that the data set gives them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.data import Dataset
from retgen.validators.multiconir.ladders import TEN, LadderRow
from retgen.validators.multiconir.proof import STYLES, LadderProof
from retgen.validators.rows import RowFaults, columns_of, read_rows
from retgen.validators.rule import Batch, CorpusRule, DocumentNotes, Finding

Row = dict[str, Any]


class _Query(NamedTuple):
    """In place of a query's id: which query it is to be."""

    ladder: int
    style: int
    conditions: int


class _Parts(NamedTuple):
    """What rows of a ladder are made of.

    `queries`: by style; `order`: conditions as their sentences stand; `rungs`: the positive, HN1,
    ..., HN10, each as its ten pieces in this order.
    """

    ladder: LadderRow
    queries: tuple[list[str], list[str]]
    order: Sequence[int]
    rungs: list[list[str]]

    def document(self, rung: int) -> str:
        return " ".join(self.rungs[rung])

    def single(self, condition: int) -> str:
        """The document that breaks a condition, counted from 1, alone."""
        ladder = self.ladder
        pieces = (
            (ladder.rewrites if c == condition - 1 else ladder.sentences)[c] for c in self.order
        )
        return " ".join(pieces)


class ExportedTables(CorpusRule):
    """Files of `training/` and `tables/` hold the rows that the ladders give, and no others."""

    name = "ladder-proof/exported"

    def __init__(self, proof: LadderProof) -> None:
        self.proof = proof
        self._findings: list[Finding] = []
        self.start()

    def start(self) -> None:
        self.state: DocumentNotes = DocumentNotes()

    def scan(self, batch: Batch) -> None:
        """Documents are the proof's."""

    def findings(self) -> Iterator[Finding]:
        yield from self._findings

    def read_qrels(self, dataset: Dataset, split: str) -> None:
        if dataset.run is None:
            return
        tables: dict[str, tuple[dict[str, str] | None, Callable[[_Parts], Iterator[Row]]]] = {
            "training/triplets.parquet": (_TRIPLETS, self._triplets),
            "training/ladders.parquet": (_LISTS, self._lists),
            "training/pairs.parquet": (_PAIRS, self._pairs),
            "tables/task1.jsonl": (None, lambda parts: self._flat(parts, 2)),
            "tables/task2_3.jsonl": (None, lambda parts: self._flat(parts, TEN + 1)),
            "tables/position.jsonl": (None, self._position),
        }
        if self.proof.spec.singles:
            tables["training/singles.parquet"] = _TRIPLETS, self._singles
        for name, (columns, rows) in tables.items():
            self._findings += self._file(dataset.run, name, columns, rows)
        for words in (512, 1024):
            self._findings += self._padded_table(dataset.run, words)
        self._findings += self._verdicts(dataset.run)
        self._findings += self._reviews(dataset.run)

    # --- what rows are to be ----------------------------------------------------------------

    def _parts(self) -> Iterator[_Parts]:
        for name in self.proof.ladders.ids():
            ladder = self.proof.ladders.get(name)
            order = self.proof.order_of(ladder.number) if ladder else None
            if ladder is None or order is None:
                continue  # it has no documents, which the proof says
            opening = self.proof.spec.opening
            listed = [f"{n}. {text}" for n, text in enumerate(ladder.conditions, 1)]
            asked = ["\n".join([opening, *listed[:n]]) for n in range(1, TEN + 1)]
            rungs = [
                [(ladder.rewrites if c < rung else ladder.sentences)[c] for c in order]
                for rung in range(TEN + 1)
            ]
            yield _Parts(ladder, (asked, ladder.queries), order, rungs)

    def _triplets(self, parts: _Parts) -> Iterator[Row]:
        return self._against(parts, lambda n: parts.document(1))

    def _singles(self, parts: _Parts) -> Iterator[Row]:
        return self._against(parts, parts.single)

    def _against(self, parts: _Parts, negative: Callable[[int], str]) -> Iterator[Row]:
        for style in range(len(STYLES)):
            for n, text in enumerate(parts.queries[style], 1):
                yield {
                    "anchor": text, "positive": parts.document(0), "negative": negative(n),
                    "query-id": _Query(parts.ladder.number, style, n),
                }  # fmt: skip

    def _lists(self, parts: _Parts) -> Iterator[Row]:
        documents = [parts.document(rung) for rung in range(TEN + 1)]
        for style in range(len(STYLES)):
            yield {
                "query": parts.queries[style][-1],
                "docs": documents,
                "labels": [TEN - rung for rung in range(TEN + 1)],
                "query-id": _Query(parts.ladder.number, style, TEN),
            }

    def _pairs(self, parts: _Parts) -> Iterator[Row]:
        for style in range(len(STYLES)):
            for rung in range(TEN):
                yield {
                    "query": parts.queries[style][-1], "better": parts.document(rung),
                    "worse": parts.document(rung + 1),
                    "query-id": _Query(parts.ladder.number, style, TEN),
                }  # fmt: skip

    def _flat(self, parts: _Parts, documents: int) -> Iterator[Row]:
        for style, name in enumerate(STYLES):
            row = {"id": parts.ladder.id, "style": name}
            row |= {f"Query{n}": text for n, text in enumerate(parts.queries[style], 1)}
            yield row | {_column(rung): parts.document(rung) for rung in range(documents)}

    def _position(self, parts: _Parts) -> Iterator[Row]:
        row: Row = {"id": parts.ladder.id, "condition": 1}
        for place in range(TEN):
            listed = parts.ladder.conditions[1:]
            listed.insert(place, parts.ladder.conditions[0])
            lines = [f"{n}. {text}" for n, text in enumerate(listed, 1)]
            row[f"Query{place + 1}"] = "\n".join([self.proof.spec.opening, *lines])
        yield row | {"Positive": parts.document(0), "HN1": parts.document(1)}

    # --- and what they are ------------------------------------------------------------------

    def _file(
        self,
        run: Path,
        name: str,
        columns: Mapping[str, str] | None,
        rows: Callable[[_Parts], Iterator[Row]],
    ) -> list[Finding]:
        """One file, compared with the rows that it is to have."""
        faults = RowFaults(self.name, name)
        path = run / name
        try:
            if columns is not None and [*columns_of(path).items()] != [*columns.items()]:
                return [faults.of_file(f"its columns are not {', '.join(columns)}")]
            right = (row for parts in self._parts() for row in rows(parts))
            for number, (stated, row) in enumerate(zip_longest(read_rows(path), right), start=1):
                self._row(faults, number, stated, row)
        except (OSError, ValueError) as error:
            return [faults.of_file(f"it cannot be read: {error}")]
        return list(faults.findings())

    def _row(self, faults: RowFaults, number: int, stated: Any, right: Row | None) -> None:
        if right is None:
            faults.add("more", number, "there is a row too many")
        elif stated is None:
            faults.add("fewer", number, "there is no such row", _names(right))
        elif not isinstance(stated, dict) or list(stated) != list(right):
            faults.add("columns", number, f"its columns are not {', '.join(right)}", _names(right))
        else:
            for key, value in right.items():
                message = ""
                if isinstance(value, _Query):
                    asked = self.proof.asked.which(stated[key])
                    name = self.proof.ladders.ids()[value.ladder]
                    if asked != value:
                        message = (
                            f"{key} {stated[key]} is not that of the {STYLES[value.style]} query "
                            f"of {value.conditions} conditions of ladder {name}"
                        )
                elif orjson.dumps(stated[key]) != orjson.dumps(value):
                    message = f"{key} is {_short_json(stated[key])}, must be {_short_json(value)}"
                if message:
                    faults.add(key, number, message, _names(stated))

    def _padded_table(self, run: Path, words: int) -> list[Finding]:
        """Task 4: the flat table, with nothing but the paper's filler between the sentences.

        The padded texts are read back; every other column is compared as in the flat table.
        """
        name = f"tables/task4_{words}.jsonl"
        faults = RowFaults(self.name, name)
        try:
            right = ((parts, row) for parts in self._parts() for row in self._flat(parts, TEN + 1))
            both = zip_longest(read_rows(run / name), right)
            for number, (stated, made) in enumerate(both, start=1):
                if isinstance(stated, dict) and made is not None:
                    parts, row = made
                    for rung in range(TEN + 1):
                        column = _column(rung)
                        message = _padding_fault(stated.get(column), parts.rungs[rung], words)
                        if message:
                            faults.add("padding", number, f"{column} {message}", _names(row))
                        if column in stated:
                            stated[column] = row[column]
                self._row(faults, number, stated, made and made[1])
        except (OSError, ValueError) as error:
            return [faults.of_file(f"it cannot be read: {error}")]
        return list(faults.findings())

    def _verdicts(self, run: Path) -> list[Finding]:
        """Verdicts name the queries that ask for their condition; the rest is the proof's."""
        name = "tables/verdicts.jsonl"
        faults = RowFaults(self.name, name)
        try:
            for number, row in enumerate(read_rows(run / name), start=1):
                ladder, c = self.proof.ladders.get(row["ladder"]), row["condition"]
                if ladder is None or type(c) is not int:
                    continue  # which the proof says
                result = [*map(self.proof.asked.which, row["query-ids"])]
                right = [(ladder.number, s, n) for s in range(2) for n in range(c, TEN + 1)]
                if result != right:
                    message = f"its queries are not those of {ladder.id} that ask for condition {c}"
                    faults.add("queries", number, message, [ladder.id])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return [faults.of_file(f"it cannot be read: {error}")]
        return list(faults.findings())

    def _reviews(self, run: Path) -> Iterator[Finding]:
        """What people are asked to review is in the data set, and labelled as it is there."""
        each = len(STYLES) * TEN, len(STYLES) * (TEN + 1)  # styles by lengths, styles by rungs
        checks = self._reviewed_query, self._reviewed_label
        for name, kinds, check in zip(("queries", "labels"), each, checks, strict=True):
            faults = RowFaults(self.name, f"tables/review_{name}.jsonl")
            seen: set[bytes] = set()
            number = 0
            try:
                for number, row in enumerate(read_rows(run / f"tables/review_{name}.jsonl"), 1):
                    message = check(row)
                    key = orjson.dumps(row)
                    if message is None and key in seen:
                        message = "it stands in another row already"
                    seen.add(key)
                    if message:
                        faults.add("row", number, message, _names(row))
                if number != (right := min(_SAMPLE, len(self.proof.ladders) * kinds)):
                    yield faults.of_file(f"there are {number} rows, must be {right}")
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                yield faults.of_file(f"it cannot be read: {error}")
            yield from faults.findings()

    def _reviewed_query(self, row: Row) -> str | None:
        asked = self.proof.asked.which(row["query-id"])
        if asked is None:
            return f"there is no query {row['query-id']}"
        ladder, style, n = asked
        if (row["style"], row["conditions"]) != (STYLES[style], n):
            return f"query {row['query-id']} is {STYLES[style]} and has {n} conditions"
        return self._query_text(row, ladder, style, n)

    def _query_text(self, row: Row, number: int, style: int, n: int) -> str | None:
        ladder = self.proof.ladders.get(self.proof.ladders.ids()[number])
        assert ladder is not None
        lines = [f"{i}. {text}" for i, text in enumerate(ladder.conditions[:n], 1)]
        texts = "\n".join([self.proof.spec.opening, *lines]), ladder.queries[n - 1]
        return None if row["query"] == texts[style] else f"query is not that of {row['query-id']}"

    def _reviewed_label(self, row: Row) -> str | None:
        asked = self.proof.asked.which(row["query-id"])
        if asked is None or asked[2] != TEN:
            return f"there is no query {row['query-id']} of ten conditions"
        broken = self.proof.documents_of(asked[0]).get(row["corpus-id"])
        if broken is None:
            return f"document {row['corpus-id']} is not of the ladder of query {row['query-id']}"
        name = self.proof.ladders.ids()[asked[0]]
        ladder, order = self.proof.ladders.get(name), self.proof.order_of(asked[0])
        assert ladder is not None
        assert order is not None
        text = " ".join(
            (ladder.rewrites if broken >> c & 1 else ladder.sentences)[c] for c in order
        )
        if row["document"] != text:
            return f"document is not the text of {row['corpus-id']}"
        label = TEN - broken.bit_count()
        if (row["label"], row["of"]) != (label, TEN):
            return f"label is {row['label']} of {row['of']}, the words say {label} of {TEN}"
        return self._query_text(row, asked[0], asked[1], TEN)


# as Appendix F.2 of the paper quotes it; three and four words add up to all numbers but three
_FILLER = (
    "The grass is green.", "The sky is blue.", "The sun is yellow.", "Here we go.",
    "There and back again.",
)  # fmt: skip
_BETWEEN = re.compile(rf"(?:(?:{'|'.join(map(re.escape, _FILLER))}) )+")
_IMPOSSIBLE = (1, 2, 5)
_SAMPLE = 100  # records that people review (paper, Appendix C)

_TEXTS = "list<element: string>"
_TRIPLETS = dict.fromkeys(("anchor", "positive", "negative", "query-id"), "string")
_LISTS = {
    "query": "string", "docs": _TEXTS, "labels": "list<element: int32>", "query-id": "string",
}  # fmt: skip
_PAIRS = dict.fromkeys(("query", "better", "worse", "query-id"), "string")


def _column(rung: int) -> str:
    return f"HN{rung}" if rung else "Positive"


def _padding_fault(text: Any, pieces: list[str], words: int) -> str | None:
    """What is wrong with a document that is to be so many words long."""
    if not isinstance(text, str) or not _between(text, pieces):
        return "is not its document with the paper's filler between sentences"
    plain, there = len(" ".join(pieces).split()), len(text.split())
    if there != words and (there != plain or (words - plain not in _IMPOSSIBLE and plain < words)):
        return f"has {there} words, must have {max(words, plain)}"
    return None


def _between(text: str, pieces: list[str]) -> bool:
    """Whether a text is these pieces in order, with nothing but filler between them."""
    at = 0
    for i, piece in enumerate(pieces):
        if i and (filler := _BETWEEN.match(text, at)):
            at = filler.end()
        if not text.startswith(piece, at):
            return False
        at += len(piece)
        if i < len(pieces) - 1:
            if text[at : at + 1] != " ":
                return False
            at += 1
    return at == len(text)


def _names(row: Any) -> list[str]:
    keys = ("query-id", "corpus-id", "id", "ladder")
    if not isinstance(row, dict):
        return []
    return [row[key] for key in keys if isinstance(row.get(key), str)]


def _short_json(value: Any) -> str:
    text = orjson.dumps(value, default=str).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."
