"""What a run has beside its data set, as configurations of their own.

    training/pairs.parquet -> training_pairs: what a trainer reads, without ids
    tables/verdicts.jsonl  -> tables_verdicts: in a layout of the family's own
    sources/groups.jsonl   -> sources_groups: only where the card names it

Not published: other sources, rejected records, and the questions of a review.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from retgen.errors import DatasetError
from retgen.export.files import parquet
from retgen.export.kinds import kinds
from retgen.layouts import card_header


def write_tables(run: Path, manifest: Mapping[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Write them as Parquet; their entries for `configs` of a card. No row, no entry."""
    named = (run / "dataset" / "README.md").read_text("utf-8")
    columns = {
        one["config_name"]: one.get("columns")
        for one in card_header(run / "training").get("configs", ())
    }
    result = []
    for name in sorted(manifest["files"]):
        kind, _, file = name.partition("/")
        stem = file.rpartition(".")[0]
        target = f"{kind}/{stem}.parquet"
        if not (run / name).is_file():
            continue  # a run that is published in spite of that
        if kind == "training" and name.endswith(".parquet"):
            _copy(run / name, folder / target)
        elif name.endswith(".jsonl") and (
            (kind == "tables" and not stem.startswith("review_"))
            or (kind == "sources" and f"`{name}`" in named)
        ):
            _convert(run / name, folder / target)
        if not (folder / target).is_file():
            continue
        shown = columns.get(stem) if kind == "training" else None
        result.append({
            "config_name": f"{kind}_{stem}",
            "data_files": [{"split": "train" if kind == "training" else kind, "path": target}],
            **({"columns": list(shown)} if shown else {}),
        })  # fmt: skip
    return result


def _copy(source: Path, target: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(source) as table, parquet(target, table.schema_arrow) as add:
        for batch in table.iter_batches(1_000):
            for row in batch.to_pylist():
                add(row)


def _convert(source: Path, target: Path) -> None:
    import pyarrow as pa

    found = kinds(_rows(source))
    columns = {name: one for name, one in found.items() if one.type is not None}
    schema = pa.schema([(name, one.type) for name, one in columns.items()])
    with parquet(target, schema) as add:
        for row in _rows(source):
            add({name: one.given(row.get(name)) for name, one in columns.items()})


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                row = orjson.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise DatasetError(f"{path}, line {number}: is not a JSON object")
            yield row
