"""Parquet as the Hub likes it: configurations corpus, queries and qrels, all splits.

corpus/corpus.parquet  queries/queries.parquet  qrels/test.parquet

Where documents or queries have metadata, `corpus` and `queries` leave it to `corpus_metadata` and
`queries_metadata`, of the same files: mteb stacks every column of a batch, and lists of several
lengths cannot be stacked.
"""

from __future__ import annotations

import copy
from typing import Any

from retgen.data import GRADED, Document, Qrel, Query
from retgen.export.layouts import JUDGED, Layout, Table
from retgen.export.records import ExportJob

APART = "queries_without_positives"


def document_row(one: Document) -> dict[str, Any]:
    """A row of the corpus as BEIR, MTEB and the Hub have it."""
    metadata = one.metadata or {}
    return {"_id": one.doc_id, "title": one.title, "text": one.text, "metadata": metadata}


def query_row(one: Query) -> dict[str, Any]:
    """A row of the queries in the same layouts."""
    return {"_id": one.query_id, "text": one.text, "metadata": one.metadata or {}}


def _document(one: Document) -> dict[str, Any]:
    return document_row(one) | {"metadata": one.metadata or None}  # Parquet has no empty object


def _query(one: Query) -> dict[str, Any]:
    return query_row(one) | {"metadata": one.metadata or None}


def _qrel(one: Qrel) -> dict[str, Any]:
    score = int(one.relevance) if one.relevance == int(one.relevance) else one.relevance
    return {"query-id": one.query_id, "corpus-id": one.doc_id, "score": score}


class Parquet(Layout):
    about = (
        "corpus/, queries/ and qrels/SPLIT as Parquet with content-defined chunks, page index and "
        "small row groups"
    )
    readers = "load_dataset, the Hub and its viewer, mteb, DuckDB"
    apart = f"they are a configuration of their own, {APART}, so that no score counts them"
    tables = (
        Table("corpus/corpus.parquet", ExportJob.documents, _document, "corpus", "corpus"),
        Table("queries/queries.parquet", ExportJob.queries, _query, "queries", "queries"),
        Table("qrels/{split}.parquet", ExportJob.qrels, _qrel, "default"),
        Table(f"{GRADED}/{{split}}.parquet", ExportJob.grades, _qrel, "graded"),
        # a scorer would count queries without positives as failures of every system
        Table(
            "qrels_without_positives/{split}.parquet",
            ExportJob.unanswered_qrels,
            _qrel,
            "qrels_without_positives",
            of=JUDGED,
        ),
        Table(f"{APART}/queries.parquet", ExportJob.unanswered_queries, _query, APART, "queries"),
    )
    usage = """As Parquet:

```python
from datasets import load_dataset

corpus = load_dataset("FOLDER", "corpus", split="corpus")
queries = load_dataset("FOLDER", "queries", split="queries")
qrels = load_dataset("FOLDER", split="{split}")
```"""

    def write(self, job: ExportJob) -> list[dict[str, Any]]:
        """Write the files, and give metadata configurations of their own."""
        import pyarrow.parquet as pq

        configs, metadata = super().write(job), []
        for config in configs:
            columns = pq.read_schema(job.folder / config["data_files"][0]["path"]).names
            if "metadata" in columns:
                copied = copy.deepcopy(config)  # else YAML would refer to the other one
                copied["config_name"] += "_metadata"
                metadata.append({**copied, "columns": ["_id", "metadata"]})
                config["columns"] = [one for one in columns if one != "metadata"]
        return [*configs, *metadata]
