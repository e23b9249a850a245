"""MTEB: corpus.jsonl, queries.jsonl, qrels.jsonl, and a ready task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from retgen.data import GRADED, Qrel, Query
from retgen.export.layouts import QRELS_APART, QUERIES_APART, Layout, LayoutCard, Table
from retgen.export.mteb import write_mteb
from retgen.export.records import ExportJob

Rows = Iterator[Mapping[str, Any]]


def document_rows(job: ExportJob) -> Rows:
    """The corpus as BEIR, MTEB and the Hub have it."""
    for doc_id, title, text, metadata in job.documents():
        yield {"_id": doc_id, "title": title, "text": text, "metadata": metadata or {}}


def query_rows(job: ExportJob) -> Rows:
    """The queries with a positive, in the same layouts."""
    return map(_query, job.queries())


def queries_apart(job: ExportJob) -> Rows:
    """Those without."""
    return map(_query, job.queries(apart=True))


def _query(one: Query) -> Mapping[str, Any]:
    return {"_id": one.query_id, "text": one.text, "metadata": one.metadata or {}}


def qrel_rows(qrels: Iterable[Qrel]) -> Rows:
    """Qrels in the same layouts, but for BEIR's."""
    for query_id, doc_id, relevance in qrels:
        whole = int(relevance) if relevance == int(relevance) else relevance
        yield {"query-id": query_id, "corpus-id": doc_id, "score": whole}


def judgements(path: str) -> tuple[Table, ...]:
    """Tables of qrels, of grades beside them, and of what is kept apart: `{stem}` stands in `path`.

    Apart are the qrels of queries that have no positive in a split, which a scorer would count
    as failures of every system.
    """
    apart = "qrels_without_positives"
    return (
        Table(
            path.replace("{stem}", "qrels"),
            lambda job, split: qrel_rows(job.qrels(split)),
            "default",
        ),
        Table(
            path.replace("{stem}", GRADED),
            lambda job, split: qrel_rows(job.grades(split)),
            "graded",
        ),
        Table(
            path.replace("{stem}", apart),
            lambda job, split: qrel_rows(job.qrels(split, apart=True)),
            apart,
            of=QRELS_APART,
        ),
    )


class Mteb(Layout):
    about = "corpus.jsonl, queries.jsonl, qrels.jsonl, task.py: a ready task; eval.yaml"
    readers = "mteb, load_dataset"
    whole = "MTEB"
    apart = (
        "they are in queries_without_positives.jsonl, a configuration of its own, so that no score "
        "counts them"
    )
    tags = ("mteb",)
    tables = (
        Table("corpus.jsonl", document_rows, "corpus", "corpus"),
        Table("queries.jsonl", query_rows, "queries", "queries"),
        *judgements("{stem}{dot}.jsonl"),
        Table(
            "queries_without_positives.jsonl",
            queries_apart,
            "queries_without_positives",
            "queries",
            QUERIES_APART,
        ),
    )
    usage = (
        "In the layout that MTEB reads. `task.py` beside this card is a ready task, `eval.yaml` is "
        "for a leaderboard on the Hub."
    )

    def write(self, job: ExportJob) -> LayoutCard:
        card = super().write(job)
        write_mteb(job.folder, "", job.facts, job.dataset.run)
        return card
