"""What a run writes: first what only models can write, then the tables.

Tables are dataset/ in JSON Lines or Parquet, sharded when large, training/ and tables/.

A table file appears under its name only when it is complete, so a rerun skips the shards of a large
corpus that are there. Pieces of a large corpus are made by an engine's workers, each from the
recipe alone; who makes which changes nothing.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from retgen.agents.models import ModelOptions
from retgen.agents.report import write_rejections
from retgen.data import GRADED
from retgen.generators.records import Records, Rows
from retgen.progress import Progress, no_progress
from retgen.recipe import SOURCES, Recipe
from retgen.rows import reads_as_times
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
BLOCK = 1024  # rows made and written at a time: small pieces stay in the cache


def generate_with_agents(
    recipe: Recipe,
    folder: Path,
    model_options: ModelOptions,
    *,
    pilot: int | None = None,
    engine: Engine,
    progress: Progress = no_progress,
) -> CallReport:
    """Ask what the recipe's family wants to know, and leave it in the run directory.

    Where it ends with an error, rejected.jsonl there has what was rejected until then.
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
    """All that a run's records become: the shards of the corpus, and the other tables.

    Parquet, whatever the recipe says, where users' ids or texts would be read as times.
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
        if any(map(reads_as_times, map(_lines, dataset))):
            return table_files(recipe, records, "parquet")
    return corpus, tables


def _lines(table: TableFile) -> Iterator[bytes]:
    for block in lines_of(table):
        yield from bytes(block.data).splitlines(keepends=True)


def write_dataset(
    recipe: Recipe,
    records: Records,
    run: Path,
    engine: Engine,
    progress: Progress = no_progress,
) -> tuple[dict[str, FileInfo], int]:
    """Write the tables and rejected.jsonl of a run whose recipe.yaml is in place.

    Returns the files by path relative to the run, and how many of the corpus were there already.
    """
    corpus, others = table_files(recipe, records)
    paths = {run / one.name for one in (*corpus, *others)}
    for folder in (run / "dataset", run / "training", run / "tables"):
        if any(path.parent == folder for path in paths):
            make_folder(folder)
        remove_partial(folder)
        for left in {*folder.glob("*.jsonl"), *folder.glob("*.parquet")} - paths:
            left.unlink()  # of other sources, whose ids had another format
    # what agents said may have changed since, and with it the rows
    keeps = len(corpus) > 1 and not recipe.needs_sources
    there = [one for one in corpus if keeps and (run / one.name).is_file()]
    files = {one.name: file_info(run / one.name) for one in there}
    missing = [one for one in corpus if one.name not in files]
    done = sum(one.stop - one.start for one in there)

    def shown(table: TableFile, lines: Iterable[Lines]) -> Iterator[Lines]:
        for one in lines:
            yield one
            progress("corpus", done + one.stop - table.start, records.corpus.count)

    for table, lines in lines_by_table(recipe, run, missing, engine):
        files[table.name] = write_table(run, table, shown(table, lines))
        done += table.stop - table.start
    for one in others:
        files[one.name] = write_table(run, one, lines_of(one))
    for path in sorted((run / SOURCES).glob("*")):
        files[f"{SOURCES}/{path.name}"] = file_info(path)
    files["rejected.jsonl"] = write_rejections(run / "rejected.jsonl", records.rejected)
    return dict(sorted(files.items())), len(there)


class Lines(NamedTuple):
    """JSON Lines of a table up to the row before `stop`: whole blocks, unless they are the last."""

    stop: int
    data: bytes


def lines_of(table: TableFile) -> Iterator[Lines]:
    """The lines of a table, block by block."""
    for first in range(table.start, table.stop, BLOCK):
        last = min(first + BLOCK, table.stop)
        yield Lines(last, table.rows.jsonl(first, last))


def lines_by_table(
    recipe: Recipe, run: Path, corpus: Sequence[TableFile], engine: Engine
) -> Iterator[tuple[TableFile, Iterator[Lines]]]:
    """Files of the corpus with their lines, in order: made here or, where that pays, elsewhere."""
    if not corpus or not engine.pays(_seconds_of(corpus)):
        yield from ((one, lines_of(one)) for one in corpus)
        return
    pieces = _pieces_of(corpus)
    made = engine.map(_make_piece, _Corpus(recipe, run), pieces.items())

    def taken(table: TableFile) -> Iterator[Lines]:
        at = table.start
        while at < table.stop:
            name, data = next(made)
            at = pieces[name].stop
            yield Lines(at, data)

    with contextlib.closing(made):
        for one in corpus:
            yield one, taken(one)


def _seconds_of(tables: Sequence[TableFile]) -> float:
    """What making all rows takes in one process, by the first ones of each table."""
    result = 0.0
    for one in tables:
        some = min(one.start + 2 * BLOCK, one.stop)
        began = time.perf_counter()
        one.rows.jsonl(one.start, some)
        took = time.perf_counter() - began
        result += took * (one.stop - one.start) / max(1, some - one.start)
    return result


class _Corpus:
    """What makes rows of the corpus in any process: the records, made once in each."""

    def __init__(self, recipe: Recipe, run: Path) -> None:
        self.recipe, self.run = recipe, run

    @cached_property
    def files(self) -> dict[str, TableFile]:
        """By name."""
        return {one.name: one for one in table_files(self.recipe, self.recipe.records())[0]}

    def __getstate__(self) -> dict[str, Any]:
        return {"recipe": self.recipe, "run": self.run}


LEAST, MOST = 1 << 20, 16 << 20  # bytes of a piece, more or less: a 64th of the corpus


class _Piece(NamedTuple):
    """Rows start..stop-1 of the corpus, in a file of that name."""

    file: str
    start: int
    stop: int


def _pieces_of(corpus: Sequence[TableFile]) -> dict[str, _Piece]:
    """What files are made of, in order."""
    result = {}
    for one in corpus:
        some = one.rows.jsonl(one.start, min(one.start + 16, one.stop))
        row = max(1, len(some) // 16)
        size = min(max(LEAST, row * (one.stop - one.start) * len(corpus) // 64), MOST)
        rows = max(BLOCK, size // row // BLOCK * BLOCK)
        for start in range(one.start, one.stop, rows):
            result[f"{one.name} {start}"] = _Piece(one.name, start, min(start + rows, one.stop))
    return result


def _make_piece(corpus: _Corpus, piece: _Piece) -> bytes:
    table = corpus.files[piece.file]._replace(start=piece.start, stop=piece.stop)
    return b"".join(lines.data for lines in lines_of(table))


def write_table(run: Path, table: TableFile, lines: Iterable[Lines]) -> FileInfo:
    """Write a table's file."""
    path = run / table.name
    if path.suffix == ".parquet":
        return _write_parquet(path, table, lines)
    # hashing and writing wait for the disk and leave the interpreter free meanwhile
    with AtomicFile(path) as file, ThreadPoolExecutor(1) as writer:
        written: Future[None] | None = None
        for one in lines:
            if written:
                written.result()
            written = writer.submit(file.write, one.data)
        if written:
            written.result()
    return file.info


def _write_parquet(path: Path, table: TableFile, lines: Iterable[Lines]) -> FileInfo:
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


def arrow_rows(lines: Lines, schema: Any) -> Any:
    """Rows as Arrow has them, read back from their JSON."""
    import pyarrow as pa
    import pyarrow.json as pj

    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    read = pj.ReadOptions(use_threads=False, block_size=1 << 30)
    return pj.read_json(pa.BufferReader(lines.data), read, options).cast(schema)


def arrow_schema(table: TableFile) -> Any:
    """Arrow types: strings and int32 scores, and the metadata as the family declares it."""
    import pyarrow as pa

    features = table.features
    first = table.rows.jsonl(table.start, min(table.start + 1, table.stop))
    row = orjson.loads(first) if first else {}

    def kind(declared: Any) -> Any:
        if isinstance(declared, list):
            return pa.list_(kind(declared[0]))
        return {
            "int32": pa.int32(),
            "string": pa.string(),
            "float64": pa.float64(),
            "bool": pa.bool_(),
        }[declared]

    fields = []
    for key in row:
        if key == "metadata":
            fields.append((key, pa.struct([(name, kind(t)) for name, t in features.items()])))
        elif key in features:
            fields.append((key, kind(features[key])))
        else:
            fields.append((key, pa.int32() if key == "score" else pa.string()))
    return pa.schema(fields)
