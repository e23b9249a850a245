"""Parquet as the Hub likes it: configurations corpus, queries and qrels, all splits.

corpus/corpus-00000-of-00002.parquet  queries/queries.parquet  qrels/test.parquet
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from retgen.data import GRADED
from retgen.export.files import (
    WITHOUT,
    Rows,
    document_rows,
    judged_tables,
    note_without,
    parquet,
    qrel_rows,
    query_rows,
)
from retgen.export.layout import Job, Layout, Page, shown

_SHARD = 1_000_000  # documents of a file, as a run has them
_CONFIGS = {"qrels": "default", GRADED: "graded", f"qrels_{WITHOUT}": f"qrels_{WITHOUT}"}


class Parquet(Layout):
    about = (
        "corpus/, queries/ and qrels/SPLIT as Parquet with content-defined chunks, page index and "
        "small row groups"
    )
    readers = "load_dataset, the Hub and its viewer, mteb, DuckDB"

    def write(self, job: Job) -> Page:
        corpus = self._corpus(job)
        queries = _Metadata(query_rows(job.judged.queries()))
        self._rows(job, "queries/queries.parquet", queries.schema(("_id", "text")),
                   queries.rows(query_rows(job.judged.queries())))  # fmt: skip
        configs: dict[str, dict[str, str]] = {
            "default": {},
            "corpus": {"corpus": corpus},
            "queries": {"queries": "queries/queries.parquet"},
        }
        schema = _qrel_schema(whole=job.judged.whole())
        for stem, split, qrels in judged_tables(job):
            path = f"{stem}/{split}.parquet"
            if self._rows(job, path, schema, qrel_rows(qrels)):
                configs.setdefault(_CONFIGS[stem], {})[split] = path
        apart = f"queries_{WITHOUT}"
        others = _Metadata(query_rows(job.judged.queries(positive=False)))
        count = self._rows(job, f"{apart}/queries.parquet", others.schema(("_id", "text")),
                           others.rows(query_rows(job.judged.queries(positive=False))))  # fmt: skip
        if count:
            configs[apart] = {"queries": f"{apart}/queries.parquet"}
            note_without(job, count, f"they are a configuration of their own, {apart}")
        return Page([
            "As Parquet:", "", "```python", "from datasets import load_dataset", "",
            'corpus = load_dataset("FOLDER", "corpus", split="corpus")',
            'queries = load_dataset("FOLDER", "queries", split="queries")',
            f'qrels = load_dataset("FOLDER", split="{shown(job.splits[0])}")', "```",
        ], configs)  # fmt: skip

    def _corpus(self, job: Job) -> str:
        """Write the corpus; the pattern of its files."""
        known = _Metadata(document_rows(job))
        schema = known.schema(("_id", "title", "text"))
        count = max(1, -(-known.count // _SHARD))
        rows = iter(known.rows(document_rows(job)))
        for number in range(count):
            name = f"corpus-{number:05}-of-{count:05}.parquet"
            with parquet(job.folder / "corpus" / name, schema) as add:
                for _ in range(_SHARD):
                    if (row := next(rows, None)) is None:
                        break
                    add(row)
        return "corpus/*.parquet" if count > 1 else "corpus/corpus-00000-of-00001.parquet"

    def _rows(self, job: Job, path: str, schema: Any, rows: Rows) -> int:
        count = 0
        with parquet(job.folder / path, schema) as add:
            for row in rows:
                add(row)
                count += 1
        return count


class _Metadata:
    """The type of a table's metadata, found in a first reading of its rows.

    Arrow needs it before the first row is written. What has no one type (a text here, a number
    there), or none that Parquet holds (an object without keys), becomes JSON.
    """

    def __init__(self, rows: Rows) -> None:
        self.count = 0
        self._type: Any = None
        self._json = False
        held: list[Any] = []
        for row in rows:
            self.count += 1
            if row["metadata"] and not self._json:
                held.append(row["metadata"])
                if len(held) == 10_000:
                    self._learn(held)
                    held = []
        self._learn(held)

    def _learn(self, held: list[Any]) -> None:
        import pyarrow as pa

        if not held or self._json:
            return
        try:
            schemas = [pa.schema([("m", pa.array(held).type)])]
            if self._type is not None:
                schemas.append(pa.schema([("m", self._type)]))
            self._type = pa.unify_schemas(schemas, promote_options="permissive").field("m").type
            self._json = not pa.types.is_struct(self._type) or _hollow(self._type)
        except (pa.ArrowException, OverflowError):
            self._json = True

    def schema(self, texts: Iterable[str]) -> Any:
        """Arrow's schema of a table with some texts beside its metadata."""
        import pyarrow as pa

        fields = [(name, pa.string()) for name in texts]
        if self._json:
            fields.append(("metadata", pa.string()))
        elif self._type is not None:
            fields.append(("metadata", self._type))
        return pa.schema(fields)

    def rows(self, rows: Rows) -> Rows:
        """The rows, as the schema has them."""
        for row in rows:
            given = dict(row)
            metadata = given.pop("metadata")
            if self._json:
                given["metadata"] = orjson.dumps(metadata).decode() if metadata else None
            elif self._type is not None:
                given["metadata"] = metadata or None
            yield given


def _hollow(kind: Any) -> bool:
    """Whether a type holds a struct without fields, which Parquet has not."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return kind.num_fields == 0 or any(
            _hollow(kind.field(i).type) for i in range(kind.num_fields)
        )
    return bool(pa.types.is_list(kind) and _hollow(kind.value_type))


def _qrel_schema(*, whole: bool) -> Any:
    import pyarrow as pa

    return pa.schema([
        ("query-id", pa.string()), ("corpus-id", pa.string()),
        ("score", pa.int32() if whole else pa.float64()),
    ])  # fmt: skip
