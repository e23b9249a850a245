"""The records of an export: queries, qrels and the documents they name, joined once.

Queries and qrels are in memory, as `gen eval` has them, and so are the texts of judged documents
where a layout is one for trainers. The corpus is a stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from retgen.data import HIGHEST_GRADE, Dataset, Document, Qrel, Query, training_pairs
from retgen.dataset_files import missing_table_hint
from retgen.errors import DatasetError
from retgen.export.facts import DatasetFacts

TRAIN = "train"


class JudgedText(NamedTuple):
    """A document with a query. `score`: its grade, 0 where only a text is known."""

    doc_id: str
    title: str
    text: str
    score: float = 0

    @property
    def full_text(self) -> str:
        """Title and text joined by a space, as MTEB joins them."""
        return f"{self.title} {self.text}".strip()


class TrainingExample(NamedTuple):
    """A query with what it is trained on."""

    query_id: str
    query: str
    positives: list[JudgedText]
    negatives: list[JudgedText]


@dataclass(frozen=True)
class ExportJob:
    """One export. `folder`: where to write, empty; `path`: what the user gave, for messages.

    `wanted`: the splits that were asked for, all where none is named. `tables`: the run's own
    training tables. `notes`: what a reader has to know of what was left out.

    A split counts the queries that have a positive in it. The others are unanswered: they would
    fail every system.
    """

    dataset: Dataset
    path: Path
    folder: Path
    facts: DatasetFacts
    wanted: Sequence[str] = ()
    tables: tuple[Path, ...] = ()
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Keep what a reader has to know, once."""
        if text not in self.notes:
            self.notes.append(text)

    # --- what stands in the data set --------------------------------------------------------

    def documents(self) -> Iterator[Document]:
        """Every document, in order. Raises `DatasetError` for a row that is none."""
        return self.dataset.documents(self.path)

    @cached_property
    def _judged(self) -> tuple[dict[str, Query], dict[str, list[Qrel]]]:
        """Queries by id, and qrels by split. Raises `DatasetError` for what does not fit."""
        queries: dict[str, Query] = {}
        qrels: dict[str, list[Qrel]] = {}
        for split in self.dataset.qrels:
            found, qrels[split] = self.dataset.queries_and_qrels(self.path, split)
            queries = queries or {one.query_id: one for one in found}
            for one in qrels[split]:
                if one.query_id not in queries:
                    raise DatasetError(
                        f"{self.path}: the qrels of split {split} name query {one.query_id}, which "
                        f"is not among the queries; `gen validate {self.path}` lists all such rows"
                    )
                if not abs(one.relevance) <= HIGHEST_GRADE:  # nor for NaN
                    raise DatasetError(
                        f"{self.path}: the qrels of split {split} give {one.doc_id} for "
                        f"{one.query_id} {one.relevance:g}; grades are at most {HIGHEST_GRADE:,}"
                    )
        return queries, qrels

    @cached_property
    def _answered(self) -> dict[str, set[str]]:
        """The queries with a positive, by split; empty sets included."""
        return {
            split: {one.query_id for one in qrels if one.relevance > 0}
            for split, qrels in self._judged[1].items()
        }

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """The splits with a positive, as far as they are wanted. Raises `DatasetError`."""
        for split in self.wanted:
            if not self._answered[split]:
                raise DatasetError(
                    f"{self.path}: no qrel of split {split} is above 0, so there is nothing to "
                    "export of it"
                )
        found = tuple(split for split, queries in self._answered.items() if queries)
        if not found:
            what = "no qrel is above 0" if self.dataset.qrels else "it has no qrels"
            hint = "" if self.dataset.qrels else missing_table_hint(self.dataset.root, "qrels")
            raise DatasetError(
                f"{self.path}: {what}, so no query has a document to find and there is nothing to "
                f"export{'.' * bool(hint)}{hint}"
            )
        return tuple(one for one in found if not self.wanted or one in self.wanted)

    @property
    def judged_splits(self) -> tuple[str, ...]:
        """The same, and those without a positive where no split was asked for."""
        return self.splits if self.wanted else tuple(self.dataset.qrels)

    @property
    def training_splits(self) -> tuple[str, ...]:
        """The splits to train on or to hold out, train first."""
        own = (TRAIN,) if self.tables and TRAIN not in self.splits else ()
        return (*own, *sorted(self.splits, key=lambda split: split != TRAIN))

    def queries(self, split: str = "") -> Iterator[Query]:
        """The queries with a positive in a split, or in any, in order."""
        ids = self._answered[split] if split else set().union(*self._answered.values())
        return (one for one in self._judged[0].values() if one.query_id in ids)

    def unanswered_queries(self) -> Iterator[Query]:
        """The queries without a positive in any split, in order."""
        ids = set().union(*self._answered.values())
        return (one for one in self._judged[0].values() if one.query_id not in ids)

    def qrels(self, split: str) -> Iterator[Qrel]:
        """The qrels of the queries with a positive in that split, in order."""
        return (one for one in self._judged[1][split] if one.query_id in self._answered[split])

    def unanswered_qrels(self, split: str) -> Iterator[Qrel]:
        """The qrels of the other queries, in order."""
        return (one for one in self._judged[1][split] if one.query_id not in self._answered[split])

    def grades(self, split: str) -> Iterator[Qrel]:
        """The grades beside the qrels of the queries with a positive in a split, in order."""
        table = self.dataset.graded.get(split)
        rows = table.records(self.path) if table is not None else ()
        return (one for one in rows if one.query_id in self._answered[split])

    def check_whole(self, layout: str) -> None:
        """Raise `DatasetError` for a score that is not a whole number."""
        for split, qrels in self._judged[1].items():
            for one in (*qrels, *self.grades(split)):
                if one.relevance != int(one.relevance):
                    raise DatasetError(
                        f"{self.path}: the qrels ({split}) give {one.doc_id} for {one.query_id} "
                        f"the score {one.relevance:g}, and {layout} holds whole numbers: scale the "
                        "scores, or export --to parquet"
                    )

    # --- what trainers read -----------------------------------------------------------------

    def examples(self, split: str) -> Iterator[TrainingExample]:
        """Queries of a split with positives and negatives.

        Of split train those of the run's own training tables, where it has some: there a positive
        is shown without the sentence that its query was made from, and negatives were mined. Else
        qrels above 0 are the positives and qrels of 0 the negatives; no others are made up.
        """
        if split == TRAIN and self.tables:
            return iter(self._from_tables)
        return self.judged_examples(split)

    def judged_examples(self, split: str) -> Iterator[TrainingExample]:
        """The queries of a split with their documents: above 0 positives, 0 negatives."""
        grades = {(one.query_id, one.doc_id): one.relevance for one in self.grades(split)}
        rows: dict[str, dict[str, float]] = {}
        for one in self.qrels(split):
            rows.setdefault(one.query_id, {}).setdefault(one.doc_id, one.relevance)
        for query in self.queries(split):
            sides: tuple[list[JudgedText], list[JudgedText]] = [], []
            for doc_id, score in rows[query.query_id].items():
                document = self._texts[doc_id]
                grade = grades.get((query.query_id, doc_id), score)
                text = JudgedText(doc_id, document.title, document.text, grade)
                sides[score <= 0].append(text)
            yield TrainingExample(query.query_id, query.text, *sides)

    def with_negatives(self, split: str) -> Iterator[TrainingExample]:
        """The examples that have negatives."""
        return (one for one in self.examples(split) if one.negatives)

    def without_negatives(self, split: str) -> Iterator[TrainingExample]:
        """The examples without negatives, which trainers cannot mix with others, and a note.

        They draw the negatives of a group from those of its query, and end with an error where
        there are none.
        """
        examples = [one for one in self.examples(split) if not one.negatives]
        if examples:
            self.note(
                f"split {split}: {len(examples):,} queries have no judged negative, and none were "
                f"made up: they are in train/{split}.without_negatives.jsonl"
            )
        return iter(examples)

    @cached_property
    def _texts(self) -> dict[str, Document]:
        """The documents that qrels name."""
        missing = {one.doc_id for qrels in self._judged[1].values() for one in qrels}
        found = {one.doc_id: one for one in self.documents() if one.doc_id in missing}
        missing -= found.keys()
        if missing:
            raise DatasetError(
                f"{self.path}: the qrels name {len(missing):,} documents that are not in the "
                f"corpus, such as {min(missing)}; `gen validate {self.path}` lists them"
            )
        return found

    @cached_property
    def _from_tables(self) -> list[TrainingExample]:
        """The queries of training tables with the texts of their rows, each text once."""
        positives: dict[tuple[str, str], dict[str, str]] = {}
        negatives: dict[tuple[str, str], dict[str, str]] = {}
        known: dict[str, str] = {}  # texts stand in many rows, and once in memory
        for pair in (pair for file in self.tables for pair in training_pairs(file)):
            key = pair.query_id, pair.anchor
            text = known.setdefault(pair.positive, pair.positive)
            positives.setdefault(key, {}).setdefault(text, pair.positive_id)
            listed = negatives.setdefault(key, {})
            for doc_id, other in pair.negatives:
                listed.setdefault(known.setdefault(other, other), doc_id)
        return [
            TrainingExample(
                *key, _as_texts(own.items()), _as_texts(negatives[key].items(), without=own)
            )
            for key, own in positives.items()
        ]


def _as_texts(items: Iterable[tuple[str, str]], without: Iterable[str] = ()) -> list[JudgedText]:
    return [JudgedText(doc_id, "", text) for text, doc_id in items if text not in without]
