"""What a job makes: tables whose rows can be asked for in any order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import orjson

from retgen.agents.report import Rejection
from retgen.write import json_line

OWN_LICENCE = "Apache-2.0 (retgen)"  # of texts that are bundled, or composed of bundled ones
MODEL_TERMS = "as the terms of the model that wrote them say"

Row = Mapping[str, Any]


class Rows(Protocol):
    """A table of rows that can be made in any order: row i depends on nothing but i."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        ...

    def jsonl(self, start: int, stop: int) -> bytes:
        """Rows start..stop-1 as JSON Lines, each with its final newline."""
        ...


@dataclass(frozen=True)
class BatchedRows:
    """A table whose rows are made several at a time: `make(start, stop)`.

    `size`: how many rows there are, or a function that says so once it is asked.
    """

    size: int | Callable[[], int]
    make: Callable[[int, int], Iterable[Row]]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self.size if isinstance(self.size, int) else self.size()

    def jsonl(self, start: int, stop: int) -> bytes:
        """Rows start..stop-1 as JSON Lines."""
        return b"".join(map(json_line, self.make(start, stop)))


def _counted(rows: Rows) -> Rows:
    """How many rows a table has, and its first one."""
    first = list(map(orjson.loads, rows.jsonl(0, min(1, rows.count)).splitlines()))
    return BatchedRows(rows.count, lambda start, stop: first[start:stop])


def rows_of(make: Callable[[int], Row], count: int) -> Rows:
    """A table of `count` rows from a function of the row's index."""
    return BatchedRows(count, lambda start, stop: map(make, range(start, stop)))


class Example(NamedTuple):
    """A record laid out for a reader. Each row: what it is about, and two texts.

    `changed`: the second text is the first one changed, so what differs is marked.
    """

    title: str
    head: tuple[str, str, str]
    rows: Sequence[tuple[str, str, str]]
    changed: bool = True


@dataclass(frozen=True)
class Records:
    """What a job makes.

    `features` gives the types of the metadata columns for the data set card, table by table, in
    the notation of `datasets` ({"corpus": {"attributes": ["int32"], "column": "int32"}}).
    `qrels` are what a scorer counts, by split. `graded`: where these are binary, because a document
    that is right in part is a hard negative, the grades of the same pairs, by split.
    `apart`: splits of qrels that the card puts into a configuration of their own.
    `complete`: a pair without a qrel is known to be not relevant. `word_lists`: name -> SHA-256 of
    every list of words used. `card`: paragraphs for the data set card, plain text in which only
    `code` is marked. `training`: rows of texts (anchor, positive, negative_1, ..., query-id) by the
    name of their file in training/, of which `features` names the columns that are no text under
    "training/NAME"; columns whose names end with -id are left out where a trainer reads them.
    `tables`: tables in a layout of the family's own, by the name of their file in
    tables/. `languages`: ISO 639-3 and the script (ISO 15924) of the texts. `facts`: a row of
    figures for the card, by their headings. `notes`: lines for the terminal, by a word for each.
    `example`: a record laid out for a reader. `breakdown`: columns of the queries by whose
    values scores are shown where nothing else is asked for. `source_documents`: as `Plan` has it.
    """

    corpus: Rows
    queries: Rows
    qrels: Mapping[str, Rows]
    graded: Mapping[str, Rows] = field(default_factory=dict)
    features: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    complete: bool = False
    apart: frozenset[str] = frozenset()
    rejected: Collection[Rejection] = ()
    word_lists: Mapping[str, str] = field(default_factory=dict)
    card: Sequence[str] = ()
    licences: Mapping[str, str] = field(default_factory=dict)
    languages: Sequence[str] = ("eng-Latn",)
    training: Mapping[str, Rows] = field(default_factory=dict)
    tables: Mapping[str, Rows] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    example: Example | None = None
    breakdown: Sequence[str] = ()
    source_documents: int | None = None

    def counted(self) -> Records:
        """The same without the rows, and so without what they are made from: for a card it is
        enough how many there are of each table, and its first one.
        """

        def counts(tables: Mapping[str, Rows]) -> dict[str, Rows]:
            return {name: _counted(rows) for name, rows in tables.items()}

        return replace(
            self,
            corpus=_counted(self.corpus),
            queries=_counted(self.queries),
            qrels=counts(self.qrels),
            graded=counts(self.graded),
            training=counts(self.training),
            tables=counts(self.tables),
        )
