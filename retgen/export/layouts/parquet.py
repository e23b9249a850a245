"""Parquet as the Hub likes it: configurations corpus, queries and qrels, all splits.

corpus/corpus.parquet  queries/queries.parquet  qrels/test.parquet

Where documents or queries have metadata, `corpus` and `queries` leave it to `corpus_metadata` and
`queries_metadata`, of the same files: mteb stacks every column of a batch, and lists of several
lengths cannot be stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from retgen.data import GRADED, Qrel, Query, TableFiles
from retgen.export.layouts import QRELS_APART, Layout, LayoutCard, Table
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


def known(rows: Callable[[ExportJob], Rows]) -> Callable[[ExportJob], Rows]:
    """The rows of a table, with None for metadata that say nothing."""
    return lambda job: ({**row, "metadata": row["metadata"] or None} for row in rows(job))


class Parquet(Layout):
    about = (
        "corpus/, queries/ and qrels/SPLIT as Parquet with content-defined chunks, page index and "
        "small row groups"
    )
    readers = "load_dataset, the Hub and its viewer, mteb, DuckDB"
    apart = (
        "they are a configuration of their own, queries_without_positives, so that no score counts "
        "them"
    )
    tables = (
        Table("corpus/corpus.parquet", known(document_rows), "corpus", "corpus"),
        Table("queries/queries.parquet", known(query_rows), "queries", "queries"),
        Table("qrels/{split}.parquet", lambda job, split: qrel_rows(job.qrels(split)), "default"),
        Table(
            f"{GRADED}/{{split}}.parquet", lambda job, split: qrel_rows(job.grades(split)), "graded"
        ),
        # a scorer would count queries without positives as failures of every system
        Table(
            "qrels_without_positives/{split}.parquet",
            lambda job, split: qrel_rows(job.qrels(split, apart=True)),
            "qrels_without_positives",
            of=QRELS_APART,
        ),
        Table(
            "queries_without_positives/queries.parquet",
            known(queries_apart),
            "queries_without_positives",
            "queries",
        ),
    )
    usage = """As Parquet:

```python
from datasets import load_dataset

corpus = load_dataset("FOLDER", "corpus", split="corpus")
queries = load_dataset("FOLDER", "queries", split="queries")
qrels = load_dataset("FOLDER", split="{split}")
```"""

    def write(self, job: ExportJob) -> LayoutCard:
        card = super().write(job)
        configs, columns = dict(card.configs), {}
        for name in ("corpus", "queries", "queries_without_positives"):
            paths = tuple(job.folder / path for path in card.configs.get(name, {}).values())
            if paths and "metadata" in (there := TableFiles(name, paths).columns()):
                columns[name] = [one for one in there if one != "metadata"]
                configs[f"{name}_metadata"] = card.configs[name]  # the same file once more
                columns[f"{name}_metadata"] = ["_id", "metadata"]
        return replace(card, configs=configs, columns=columns)
