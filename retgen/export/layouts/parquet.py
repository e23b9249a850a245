"""Parquet as the Hub likes it: configurations corpus, queries and qrels, all splits.

corpus/corpus-00000-of-00002.parquet  queries/queries.parquet  qrels/test.parquet

Where documents or queries have metadata, `corpus` and `queries` leave it to `corpus_metadata` and
`queries_metadata`, of the same files: mteb stacks every column of a batch, and lists of several
lengths cannot be stacked.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from retgen.export.files import (
    CONFIGS,
    WITHOUT,
    ColumnType,
    Rows,
    document_rows,
    judged_tables,
    note_without,
    qrel_rows,
    query_row,
    write_parquet,
)
from retgen.export.layouts import ExportJob, Layout, LayoutCard, one_line

SHARD = 1_000_000  # documents of a file, as a run has them


class Parquet(Layout):
    about = (
        "corpus/, queries/ and qrels/SPLIT as Parquet with content-defined chunks, page index and "
        "small row groups"
    )
    readers = "load_dataset, the Hub and its viewer, mteb, DuckDB"

    def write(self, job: ExportJob) -> LayoutCard:
        configs: dict[str, dict[str, str]] = {"default": {}}
        columns: dict[str, list[str]] = {}
        configs["corpus"] = {"corpus": self._corpus(job, columns)}
        self._queries(job, "queries", configs, columns, positive=True)
        schema = _qrel_schema(whole=job.judged.fraction() is None)
        for stem, split, qrels in judged_tables(job):
            path = f"{stem}/{split}.parquet"
            if write_parquet(job.folder / path, schema, qrel_rows(qrels)):
                configs.setdefault(CONFIGS[stem], {})[split] = path
        apart = f"queries_{WITHOUT}"
        if count := self._queries(job, apart, configs, columns, positive=False):
            note_without(job, count, f"they are a configuration of their own, {apart}")
        for name in columns:  # the same file once more
            configs[f"{name}_metadata"] = configs[name]
        columns |= {f"{name}_metadata": ["_id", "metadata"] for name in columns}
        return LayoutCard(
            [
                "As Parquet:",
                "",
                "```python",
                "from datasets import load_dataset",
                "",
                'corpus = load_dataset("FOLDER", "corpus", split="corpus")',
                'queries = load_dataset("FOLDER", "queries", split="queries")',
                f'qrels = load_dataset("FOLDER", split="{one_line(job.splits[0])}")',
                "```",
            ],
            configs,
            columns=columns,
        )

    def _corpus(self, job: ExportJob, columns: dict[str, list[str]]) -> str:
        """Write the corpus; the pattern of its files."""
        known = _Metadata(document_rows(job))
        texts = ["_id", "title", "text"]
        schema = known.schema(texts)
        if known.has_values:
            columns["corpus"] = texts
        count = max(1, -(-known.count // SHARD))
        rows = iter(known.rows(document_rows(job)))
        for number in range(count):
            name = f"corpus-{number:05}-of-{count:05}.parquet"
            write_parquet(job.folder / "corpus" / name, schema, islice(rows, SHARD))
        return "corpus/*.parquet" if count > 1 else "corpus/corpus-00000-of-00001.parquet"

    def _queries(
        self,
        job: ExportJob,
        name: str,
        configs: dict[str, dict[str, str]],
        columns: dict[str, list[str]],
        *,
        positive: bool,
    ) -> int:
        """Write queries with or without positives; how many."""
        known = _Metadata(map(query_row, job.judged.queries(positive)))
        path, texts = f"{name}/queries.parquet", ["_id", "text"]
        rows = known.rows(map(query_row, job.judged.queries(positive)))
        if count := write_parquet(job.folder / path, known.schema(texts), rows):
            configs[name] = {"queries": path}
            if known.has_values:
                columns[name] = texts
        return count


class _Metadata:
    """The metadata of a table, whose type a first reading of its rows finds."""

    def __init__(self, rows: Rows) -> None:
        self.count = 0
        self._kind = ColumnType(objects=True)
        for row in rows:
            self.count += 1
            self._kind.see(row["metadata"] or None)

    @property
    def has_values(self) -> bool:
        """Whether some row has any."""
        return self._kind.type is not None

    def schema(self, texts: Iterable[str]) -> Any:
        """Arrow's schema of a table with some texts beside its metadata."""
        import pyarrow as pa

        fields = [(name, pa.string()) for name in texts]
        if self.has_values:
            fields.append(("metadata", self._kind.type))
        return pa.schema(fields)

    def rows(self, rows: Rows) -> Rows:
        """The rows, as the schema has them."""
        there = self.has_values
        for row in rows:
            given = dict(row)
            metadata = given.pop("metadata")
            if there:
                given["metadata"] = self._kind.encode_value(metadata or None)
            yield given


def _qrel_schema(*, whole: bool) -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            ("query-id", pa.string()),
            ("corpus-id", pa.string()),
            ("score", pa.int32() if whole else pa.float64()),
        ]
    )
