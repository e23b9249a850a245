"""What a run writes: first what only models can write, then the tables.

Tables are dataset/ in JSON Lines or Parquet, sharded when large, training/ and tables/.

A table file appears under its name only when it is complete, so a rerun skips the shards of a large
corpus that are there. Pieces of a large corpus are made by an engine's workers, each from the
recipe alone; who makes which changes nothing.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from retgen.agents.models import ModelOptions
from retgen.agents.report import write_rejections
from retgen.data import GRADED
from retgen.generators.records import Records, Rows
from retgen.progress import Progress, no_progress
from retgen.recipe import SOURCES, Recipe
from retgen.rows import holds_times
from retgen.work import Engine
from retgen.write import (
    ArrowBuffer,
    AtomicFile,
    FileInfo,
    file_info,
    make_folder,
    remove_partial,
)

if TYPE_CHECKING:  # most runs ask no model
    from retgen.agents.report import CallReport

_SHARD = 1_000_000  # documents in a corpus file, unless the recipe says otherwise
BLOCK = 1024  # rows made and written at a time: small blocks stay in the cache
PIECE = 4 * BLOCK  # rows of the corpus that a worker makes at a time


def generate_with_agents(
    recipe: Recipe,
    folder: Path,
    model_options: ModelOptions,
    *,
    pilot: int | None = None,
    engine: Engine,
    progress: Progress = no_progress,
) -> CallReport:
    """Have the family's agents write what only models can write, into sources/ of the run.

    After an error, rejected.jsonl lists the records that were rejected until then. `pilot`: make
    only so many records of each stage, and keep none of them.
    """
    from retgen.agents.report import CallReport
    from retgen.agents.session import call_models

    call_report = CallReport()
    if not recipe.needs_sources:
        return call_report
    sources = folder / (".pilot" if pilot is not None else SOURCES)
    make_folder(sources)
    remove_partial(sources)
    job = recipe.job._replace(sources=sources)
    try:
        call_models(
            partial(recipe.family.generate_with_agents, job),
            folder,
            recipe.live,
            model_options,
            call_report,
            sources=sources,
            pilot=pilot,
            engine=engine,
            progress=progress,
        )
    except BaseException:
        write_rejections(folder / "rejected.jsonl", call_report.rejected)
        raise
    finally:
        if pilot is not None:
            shutil.rmtree(sources, ignore_errors=True)
    return call_report


class TableFile(NamedTuple):
    """A table's file, by its path below the run: rows start..stop-1, and their types in Parquet."""

    name: str
    rows: Rows
    start: int
    stop: int
    features: Mapping[str, Any]


def table_files(
    recipe: Recipe, records: Records, suffix: str = ""
) -> tuple[list[TableFile], list[TableFile]]:
    """Lay out the files of a run: (the shards of the corpus, all other tables).

    `suffix` defaults to the recipe's format. If an id or text of a user reads as a time, all are
    Parquet, because `load_dataset` would turn it into a datetime.
    """
    suffix, features = suffix or recipe.file.output.format, records.features
    count, wanted = records.corpus.count, recipe.file.output.shards
    shards = max(1, min(count, -(-count // _SHARD) if wanted == "auto" else wanted))
    bounds = [count * i // shards for i in range(shards + 1)]
    names = [f"dataset/corpus.{suffix}"]
    if shards > 1:
        names = [f"dataset/corpus-{i:05}-of-{shards:05}.{suffix}" for i in range(shards)]
    corpus = [
        TableFile(name, records.corpus, start, stop, features.get("corpus", {}))
        for name, start, stop in zip(names, bounds, bounds[1:], strict=False)
    ]
    others = [(f"dataset/queries.{suffix}", records.queries, features.get("queries", {}))]
    for stem, splits in (("qrels", records.qrels), (GRADED, records.graded)):
        for split, rows in splits.items():
            name = stem if split == "test" else f"{stem}.{split}"
            others.append((f"dataset/{name}.{suffix}", rows, {}))
    for name, rows in records.training.items():
        others.append((f"training/{name}.parquet", rows, features.get(f"training/{name}", {})))
    others += [(f"tables/{name}.jsonl", rows, {}) for name, rows in records.tables.items()]
    tables = [TableFile(name, rows, 0, rows.count, types) for name, rows, types in others]
    if suffix == "jsonl" and recipe.family.from_user(recipe.job) != "nothing":
        dataset = (one for one in (*corpus, *tables) if one.name.startswith("dataset/"))
        if any(map(holds_times, chain.from_iterable(map(lines_of, dataset)))):
            return table_files(recipe, records, "parquet")
    return corpus, tables


def write_dataset(
    recipe: Recipe,
    records: Records,
    run: Path,
    engine: Engine,
    progress: Progress = no_progress,
) -> tuple[dict[str, FileInfo], int]:
    """Write the tables and rejected.jsonl of a run whose recipe.yaml is in place.

    Returns (files by path relative to the run, number of corpus files kept from an earlier run).
    """
    corpus, others = table_files(recipe, records)
    paths = {run / one.name for one in (*corpus, *others)}
    for folder in (run / "dataset", run / "training", run / "tables"):
        if any(path.parent == folder for path in paths):
            make_folder(folder)
        remove_partial(folder)
        for left in {*folder.glob("*.jsonl"), *folder.glob("*.parquet")} - paths:
            left.unlink()  # of an earlier attempt, whose sources asked for another format
    # the answers of agents may have changed since, and with them the rows
    keeps = len(corpus) > 1 and not recipe.needs_sources
    there = [one for one in corpus if keeps and (run / one.name).is_file()]
    files = {one.name: file_info(run / one.name) for one in there}
    missing = [one for one in corpus if one.name not in files]
    done = sum(one.stop - one.start for one in there)

    def shown(lines: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal done
        for one in lines:
            yield one
            done += one.count(b"\n")
            progress("corpus", done, records.corpus.count)

    pieces = [
        (one.name, at, min(at + PIECE, one.stop))
        for one in missing
        for at in range(one.start, one.stop, PIECE)
    ]
    tasks = ((f"{one[0]} {one[1]}", one) for one in pieces)
    by = engine.local if recipe.reads_files else engine
    with contextlib.closing(by.map(_make_piece, _Corpus(recipe, missing), tasks)) as made:
        for one in missing:
            own = islice(made, -(-(one.stop - one.start) // PIECE))
            files[one.name] = write_table(run, one, shown(data for _, data in own))
    for one in others:
        files[one.name] = write_table(run, one, lines_of(one))
    for path in sorted((run / SOURCES).glob("*")):
        files[f"{SOURCES}/{path.name}"] = file_info(path)
    files["rejected.jsonl"] = write_rejections(run / "rejected.jsonl", records.rejected)
    return dict(sorted(files.items())), len(there)


def lines_of(table: TableFile) -> Iterator[bytes]:
    """Make the lines of a table, block by block."""
    for first in range(table.start, table.stop, BLOCK):
        yield table.rows.jsonl(first, min(first + BLOCK, table.stop))


class _Corpus:
    """The files of a corpus by name. A worker gets the recipe alone and makes the tables itself."""

    def __init__(self, recipe: Recipe, files: Iterable[TableFile] | None = None) -> None:
        self._recipe = recipe
        files = table_files(recipe, recipe.records())[0] if files is None else files
        self.files = {one.name: one for one in files}

    def __reduce__(self) -> tuple[Any, ...]:
        return _Corpus, (self._recipe,)


def _make_piece(corpus: _Corpus, piece: tuple[str, int, int]) -> bytes:
    """In a worker: make rows start..stop-1 of the corpus, which belong to the named file."""
    name, start, stop = piece
    return b"".join(lines_of(corpus.files[name]._replace(start=start, stop=stop)))


def write_table(run: Path, table: TableFile, lines: Iterable[bytes]) -> FileInfo:
    """Write a table's file, in the format that its name says."""
    path = run / table.name
    if path.suffix == ".parquet":
        return _write_parquet(path, table, lines)
    # hashing and writing wait for the disk and leave the interpreter free meanwhile
    with AtomicFile(path) as file, ThreadPoolExecutor(1) as writer:
        written: Future[None] | None = None
        for one in lines:
            if written:
                written.result()
            written = writer.submit(file.write, one)
        if written:
            written.result()
    return file.info


def _write_parquet(path: Path, table: TableFile, lines: Iterable[bytes]) -> FileInfo:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, buffer = arrow_schema(table), ArrowBuffer()
    with AtomicFile(path) as file:
        with pq.ParquetWriter(pa.PythonFile(buffer, "w"), schema, compression="zstd") as writer:
            for one in lines:
                writer.write_table(arrow_rows(one, schema), row_group_size=BLOCK)
                buffer.move_to(file)
        buffer.move_to(file)
    return file.info


def arrow_rows(lines: bytes, schema: Any) -> Any:
    """Parse lines of JSON into an Arrow table."""
    import pyarrow as pa
    import pyarrow.json as pj

    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    read = pj.ReadOptions(use_threads=False, block_size=1 << 30)
    return pj.read_json(pa.BufferReader(lines), read, options).cast(schema)


def arrow_schema(table: TableFile) -> Any:
    """Arrow types: strings and int32 scores, and the metadata as the family declares it."""
    import pyarrow as pa

    first = table.rows.jsonl(table.start, min(table.start + 1, table.stop))
    row = orjson.loads(first) if first else {}

    def kind(declared: Any) -> Any:
        if isinstance(declared, Mapping):
            return pa.struct([(name, kind(one)) for name, one in declared.items()])
        if isinstance(declared, list):
            return pa.list_(kind(declared[0]))
        return pa.type_for_alias(declared)

    kinds = {"score": "int32", **table.features, "metadata": table.features}
    return pa.schema([(key, kind(kinds.get(key, "string"))) for key in row])
