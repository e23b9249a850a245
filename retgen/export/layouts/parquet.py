"""Parquet as the Hub likes it: configurations corpus, queries and qrels, all splits.

corpus/corpus.parquet  queries/queries.parquet  qrels/test.parquet

Where documents or queries have metadata, `corpus` and `queries` leave it to `corpus_metadata` and
`queries_metadata`, of the same files: mteb stacks every column of a batch, and lists of several
lengths cannot be stacked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from retgen.data import TableFiles
from retgen.export.layouts import QUERIES_APART, Layout, LayoutCard, Table
from retgen.export.layouts.mteb import (
    Rows,
    document_rows,
    judgements,
    queries_apart,
    query_rows,
)
from retgen.export.records import ExportJob


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
        *judgements("{stem}/{split}.parquet"),
        Table(
            "queries_without_positives/queries.parquet",
            known(queries_apart),
            "queries_without_positives",
            "queries",
            QUERIES_APART,
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
