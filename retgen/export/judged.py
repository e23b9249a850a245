"""Queries, qrels and the documents they name, joined on disk: memory stays flat.

A scratch SQLite file beside what is written holds them for the time of an export.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.data import Dataset, Qrel, Query, training_pairs
from retgen.errors import DatasetError

_SCHEMA = """
create table query (n integer primary key, id text unique, text text, metadata blob);
create table qrel (n integer primary key, split text, q text, d text, score real);
create table grade (split text, q text, d text, score real, primary key (split, q, d));
create table answered (split text, q text, primary key (split, q)) without rowid;
create table document (id text primary key, title text, text text) without rowid;
create table pair (
    n integer primary key, key text, anchor text, positive text, positive_id text, negatives blob
);
"""
_BLOCK = 10_000  # rows


class JudgedText(NamedTuple):
    """A document with a query. `score`: its grade, None where only a text is known."""

    doc_id: str
    title: str
    text: str
    score: float | None = None

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


class JudgedRecords:
    """The queries and qrels of a data set. `path`: what the user gave, for messages.

    Raises `DatasetError` for invalid rows, queries that stand twice, qrels of queries that
    are not there, and two qrels of a pair that differ.
    """

    def __init__(self, dataset: Dataset, path: Path, scratch: Path) -> None:
        self._dataset, self._path = dataset, path
        self._sql = sqlite3.connect(scratch)
        self._sql.executescript(
            "pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -16000;"
            + _SCHEMA
        )
        self._joined = False
        self._read()
        self._check()

    def close(self) -> None:
        """Let go of the scratch file."""
        self._sql.close()

    def _read(self) -> None:
        dataset = self._dataset
        for query in dataset.queries.records(self._path):
            added = self._sql.execute(
                "insert or ignore into query (id, text, metadata) values (?, ?, ?)",
                (query.query_id, query.text, orjson.dumps(query.metadata)),
            )
            if not added.rowcount:
                raise DatasetError(f"{self._path}: query {query.query_id} stands twice")
        for name, tables in (("qrel", dataset.qrels), ("grade", dataset.graded)):
            for split, table in tables.items():
                rows = table.records(self._path)
                self._sql.executemany(
                    f"insert or replace into {name} (split, q, d, score) values (?, ?, ?, ?)",
                    ((split, one.query_id, one.doc_id, float(one.relevance)) for one in rows),
                )
        self._sql.execute("create index judged on qrel (split, q)")
        self._sql.execute(
            "insert or ignore into answered select split, q from qrel where score > 0"
        )

    def _check(self) -> None:
        for split, query_id in self._sql.execute(
            "select split, q from qrel where q not in (select id from query) limit 1"
        ):
            raise DatasetError(
                f"{self._path}: the qrels of split {split} name query {query_id}, which is not "
                f"among the queries; `gen validate {self._path}` lists all such rows"
            )
        for split, q, d, low, high in self._sql.execute(
            "select split, q, d, min(score), max(score) from qrel group by split, q, d "
            "having min(score) <> max(score) limit 1"
        ):
            raise DatasetError(
                f"{self._path}: the qrels ({split}) give {d} for {q} both {low:g} and {high:g}"
            )

    # --- what scorers read ------------------------------------------------------------------

    def splits(self) -> list[str]:
        """The splits that have a query with a positive, in the data set's order."""
        known = {split for (split,) in self._sql.execute("select distinct split from answered")}
        return [split for split in self._dataset.qrels if split in known]

    def queries(self, positive: bool = True) -> Iterator[Query]:
        """The queries that have a positive in any split, or the others, in order."""
        return self._queries(f"id {_IN[positive]} (select q from answered)")

    def queries_of(self, split: str) -> Iterator[Query]:
        """The queries that have a positive in a split, in order."""
        return self._queries("id in (select q from answered where split = ?)", split)

    def _queries(self, where: str, *values: object) -> Iterator[Query]:
        sql = f"select id, text, metadata from query where {where} order by n"
        for query_id, text, metadata in self._sql.execute(sql, values):
            yield Query(query_id, text, orjson.loads(metadata))

    def qrels(self, split: str, positive: bool = True) -> Iterator[Qrel]:
        """The qrels of the queries with a positive in that split, or of the others, in order."""
        sql = f"select q, d, score from qrel where {_of_split(positive)} order by n"
        for query_id, doc_id, score in self._sql.execute(sql, (split,)):
            yield Qrel(query_id, doc_id, _number(score))

    def grades(self, split: str) -> Iterator[Qrel]:
        """The grades beside the qrels of the queries with a positive in a split, in order."""
        answered = self._sql.execute("select q from answered where split = ?", (split,))
        wanted = {query_id for (query_id,) in answered}
        return (
            one for one in self._dataset.graded[split].records(self._path) if one.query_id in wanted
        )

    def count(self, split: str) -> tuple[int, int]:
        """Queries with a positive in a split, and their qrels."""
        sql = f"select count(distinct q), count(*) from qrel where {_of_split()}"
        queries, qrels = self._sql.execute(sql, (split,)).fetchone()
        return queries, qrels

    def check_whole(self, layout: str) -> None:
        """Raise `DatasetError` for a score that is not a whole number."""
        if found := self.fraction():
            split, q, d, score = found
            raise DatasetError(
                f"{self._path}: the qrels ({split}) give {d} for {q} the score {score:g}, and "
                f"{layout} holds whole numbers: scale the scores, or export --to parquet"
            )

    def fraction(self) -> Any:
        """(split, query, document, score) of a score that is no whole number; None without one."""
        rows = "select split, q, d, score from "
        part = " where score <> cast(score as integer)"
        return self._sql.execute(f"{rows} qrel {part} union all {rows} grade {part}").fetchone()

    def most(self) -> float:
        """The highest relevance."""
        return float(self._one("select max(score) from qrel") or 0)

    # --- what trainers read -----------------------------------------------------------------

    def examples(self, split: str) -> Iterator[TrainingExample]:
        """The queries of a split with their documents: above 0 positives, 0 negatives."""
        self._join()
        rows = self._sql.execute(
            "select qrel.q, query.text, qrel.d, document.title, document.text, qrel.score, "
            "coalesce(grade.score, qrel.score) from qrel "
            "join query on query.id = qrel.q join document on document.id = qrel.d "
            "left join grade on grade.split = qrel.split and grade.q = qrel.q "
            f"and grade.d = qrel.d where {_of_split()} "
            "group by qrel.q, qrel.d order by query.n, min(qrel.n)",
            (split,),
        )
        for query_id, group in groupby(rows, key=lambda row: row[0]):
            positives: list[JudgedText] = []
            negatives: list[JudgedText] = []
            text = ""
            for _, text, doc_id, title, body, score, grade in group:  # noqa: B007
                (positives if score > 0 else negatives).append(
                    JudgedText(doc_id, title, body, _number(grade))
                )
            yield TrainingExample(query_id, text, positives, negatives)

    def _join(self) -> None:
        """Keep the texts of the documents that qrels name."""
        if self._joined:
            return
        self._sql.execute("insert into document (id) select distinct d from qrel")
        documents = self._dataset.documents(self._path)
        self._sql.executemany(
            "update document set title = ?, text = ? where id = ?",
            ((one.title, one.text, one.doc_id) for one in documents),
        )
        for (doc_id,) in self._sql.execute("select id from document where text is null limit 1"):
            count = self._one("select count(*) from document where text is null")
            raise DatasetError(
                f"{self._path}: the qrels name {count:,} documents that are not in the corpus, "
                f"such as {doc_id}; `gen validate {self._path}` lists them"
            )
        self._joined = True

    def from_tables(self, files: Sequence[Path]) -> Iterator[TrainingExample]:
        """The queries of training tables with the texts of their rows, each text once."""
        if not self._one("select 1 from pair limit 1"):
            self._sql.executemany(
                "insert into pair (key, anchor, positive, positive_id, negatives) "
                "values (?, ?, ?, ?, ?)",
                (
                    (f"{one.query_id}\n{one.anchor}", *one[1:4], orjson.dumps(one.negatives))
                    for file in files
                    for one in training_pairs(file)
                ),
            )
            self._sql.execute("create index of_query on pair (key, n)")
        rows = self._sql.execute(
            "select pair.key, anchor, positive, positive_id, negatives from pair join "
            "(select key, min(n) as first from pair group by key) as one on one.key = pair.key "
            "order by one.first, pair.n"
        )
        for key, group in groupby(rows, key=lambda row: row[0]):
            positives: dict[str, JudgedText] = {}
            negatives: dict[str, JudgedText] = {}
            anchor = ""
            for _, anchor, positive, positive_id, listed in group:  # noqa: B007
                positives.setdefault(positive, JudgedText(positive_id, "", positive))
                for doc_id, text in orjson.loads(listed):
                    negatives.setdefault(text, JudgedText(doc_id, "", text))
            kept = [one for text, one in negatives.items() if text not in positives]
            yield TrainingExample(key.partition("\n")[0], anchor, [*positives.values()], kept)

    def _one(self, sql: str, *values: object) -> Any:
        row = self._sql.execute(sql, values).fetchone()
        return row[0] if row else None


_IN = {True: "in", False: "not in"}


def _of_split(positive: bool = True) -> str:
    """SQL: qrels of a split, of queries with a positive in it or of the others."""
    answered = "(select q from answered where split = ?1)"
    return f"qrel.split = ?1 and qrel.q {_IN[positive]} {answered}"


def _number(score: float) -> float:
    return int(score) if score == int(score) else score
