"""What a run writes: first what only models can write, then the tables.

Tables are dataset/ in JSON Lines or Parquet, sharded when large, training/ and tables/.

A table file appears under its name only when it is complete, so a rerun skips what is there.
Pieces of a large corpus are made by an engine's workers, each from the recipe alone; who makes
which changes nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from retgen.agents.rejections import write_rejections
from retgen.data import GRADED
from retgen.engines import Engine
from retgen.generators.records import Records, Rows
from retgen.progress import Progress, no_progress
from retgen.recipe import SOURCES, Recipe
from retgen.version import __version__
from retgen.write import (
    ArrowSink,
    AtomicFile,
    FileInfo,
    dump_json,
    file_info,
    make_folder,
    remove_partial,
    write_file,
)

if TYPE_CHECKING:  # most runs ask no model
    from retgen.agents.calls import CallReport, ModelOptions
    from retgen.agents.context import Context

TABLES = ".tables.json"  # finished files of a run that has not ended yet

_SHARD = 1_000_000  # documents in a corpus file, unless the recipe says otherwise
BLOCK = 1024  # rows made and written at a time: small pieces stay in the cache


def check_models(recipe: Recipe, model_options: ModelOptions) -> None:
    """Raises `UsageError` for a key, a provider or a price that is missing."""
    from retgen.agents.calls import check_model
    from retgen.agents.prices import Prices

    Prices(model_options.prices)
    if model_options.replay is not None:
        return
    for agent, one in recipe.models.items():
        if agent in recipe.agents:
            check_model(one, model_options)


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
    from retgen.agents.calls import CallReport, call_models, in_thread, with_call_report
    from retgen.agents.context import Context

    call_report = CallReport()
    if not recipe.needs_sources:
        return call_report
    sources = folder / (".pilot" if pilot is not None else SOURCES)
    make_folder(sources)
    family, job = recipe.family, recipe.job._replace(sources=sources)
    settings = recipe.live

    async def work(context: Context) -> None:
        call_report.rejected, call_report.stages = context.rejected, context.stages
        await family.generate_with_agents(job, context)

    try:
        if not settings:
            options: dict[str, Any] = {"pilot": pilot, "engine": engine, "progress": progress}
            in_thread(lambda stop: work(Context(sources, {}, stop=stop, **options)), stopping="")
        else:
            with with_call_report(call_report):
                call_models(
                    work, sources, folder, settings, model_options, call_report, pilot, progress,
                    engine,
                )  # fmt: skip
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


def table_files(recipe: Recipe, records: Records) -> tuple[list[TableFile], list[TableFile]]:
    """All that a run's records become: the shards of the corpus, and the other tables."""
    suffix, features = recipe.output.format, records.features
    count, wanted = records.corpus.count, recipe.output.shards
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
    return corpus, [TableFile(name, rows, 0, rows.count, types) for name, rows, types in others]


class WrittenTables(NamedTuple):
    """The files of a data set by path relative to the run, and how many were there already."""

    files: dict[str, FileInfo]
    kept: int


def write_dataset(
    recipe: Recipe,
    records: Records,
    run: Path,
    engine: Engine,
    progress: Progress = no_progress,
) -> WrittenTables:
    """Write the tables and rejected.jsonl of a run whose recipe.yaml is in place."""
    corpus, others = table_files(recipe, records)
    for folder in dict.fromkeys((run / one.name).parent for one in (*corpus, *others)):
        make_folder(folder)
        remove_partial(folder)
    count = records.corpus.count
    made_from = sources_digest(run)
    files = _finished_files(run, made_from)
    missing = [one for one in corpus if one.name not in files]
    done = sum(one.stop - one.start for one in corpus if one.name in files)
    if missing and engine.pays(seconds_of(missing)):

        def report_more(rows: int) -> None:
            nonlocal done
            done += rows
            progress("corpus", done, count)

        try:
            with contextlib.closing(_by_engine(recipe, run, missing, engine, report_more)) as made:
                for name, info in made:
                    files[name] = info
                    _record_finished(run, files, made_from)
        except BaseException:
            remove_partial((run / missing[0].name).parent)  # its writers ended in the middle
            raise
    else:
        for one in missing:
            base = done

            def report_rows(rows: int, base: int = base) -> None:
                progress("corpus", base + rows, count)

            files[one.name] = write_table(run, one, report_rows)
            _record_finished(run, files, made_from)
            done += one.stop - one.start
    for one in others:
        if one.name not in files:
            files[one.name] = write_table(run, one)
    for path in sorted((run / SOURCES).glob("*")):
        files[f"{SOURCES}/{path.name}"] = file_info(path)
    files["rejected.jsonl"] = write_rejections(run / "rejected.jsonl", records.rejected)
    return WrittenTables(dict(sorted(files.items())), len(corpus) - len(missing))


def sources_digest(run: Path) -> str:
    """SHA-256 of the answers of agents; tables that were made from others cannot be kept."""
    result = hashlib.sha256()
    for path in sorted((run / SOURCES).glob("*")):
        result.update(f"{path.name} {file_info(path).sha256}\n".encode())
    return result.hexdigest()


def _finished_files(run: Path, made_from: str) -> dict[str, FileInfo]:
    """The table files of an interrupted run by this version that are still as they were written."""
    try:
        noted = orjson.loads((run / TABLES).read_bytes())
        files = {name: FileInfo(**info) for name, info in noted["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    if noted.get("retgen") != __version__ or noted.get("sources") != made_from:
        return {}
    return {
        name: info
        for name, info in files.items()
        if (run / name).is_file() and file_info(run / name) == info
    }


def _record_finished(run: Path, files: Mapping[str, FileInfo], made_from: str) -> None:
    """Remember which files are finished, so that a rerun can tell them from altered ones."""
    kept = {name: info._asdict() for name, info in files.items()}
    noted = {"retgen": __version__, "sources": made_from, "files": kept}
    write_file(run / TABLES, dump_json(noted))


def seconds_of(tables: Sequence[TableFile]) -> float:
    """What making all rows takes in one process, by the first ones of each table."""
    result = 0.0
    for one in tables:
        some = min(one.start + 2 * BLOCK, one.stop)
        began = time.perf_counter()
        one.rows.jsonl(one.start, some)
        took = time.perf_counter() - began
        result += took * (one.stop - one.start) / max(1, some - one.start)
    return result


class Tables:
    """What makes rows in any process: the records of a recipe, made once in each."""

    def __init__(self, recipe: Recipe, run: Path) -> None:
        self.recipe, self.run = recipe, run

    @cached_property
    def corpus(self) -> dict[str, TableFile]:
        """The files of the corpus."""
        return {one.name: one for one in table_files(self.recipe, self.recipe.records())[0]}

    def __getstate__(self) -> dict[str, Any]:
        return {"recipe": self.recipe, "run": self.run}


def _by_engine(
    recipe: Recipe,
    run: Path,
    files: Sequence[TableFile],
    engine: Engine,
    report_more: Callable[[int], None],
) -> Generator[tuple[str, FileInfo], None, None]:
    """Corpus files, each as it is whole: by one worker each, or from pieces where files are few.

    A Parquet file cannot be made of pieces.
    """
    tables = Tables(recipe, run)
    few = not engine.writes_files or len(files) < engine.workers
    if not few or files[0].name.endswith(".parquet"):
        whole = {one.name: one for one in files}
        for name, info in engine.map(_write_whole, tables, {name: name for name in whole}):
            report_more(whole[name].stop - whole[name].start)
            yield name, FileInfo(**orjson.loads(bytes(info)))
        return
    pieces = pieces_of(files)
    made = engine.map_in_order(make_piece, tables, pieces)
    with contextlib.closing(made):
        for one in files:
            with AtomicFile(run / one.name) as file:
                at = one.start
                while at < one.stop:
                    name, piece = next(made)
                    file.write(piece)
                    _, start, at = pieces[name]
                    report_more(at - start)
            yield one.name, file.info


LEAST, MOST = 1 << 20, 16 << 20  # bytes of a piece, more or less: a 64th of the corpus


class Piece(NamedTuple):
    """Rows start..stop-1 of the corpus, in a file of that name."""

    file: str
    start: int
    stop: int


def pieces_of(corpus: Sequence[TableFile]) -> dict[str, Piece]:
    """What JSON Lines files are made of, in order."""
    result = {}
    for one in corpus:
        some = one.rows.jsonl(one.start, min(one.start + 16, one.stop))
        row = max(1, len(some) // 16)
        size = min(max(LEAST, row * (one.stop - one.start) * len(corpus) // 64), MOST)
        rows = max(BLOCK, size // row // BLOCK * BLOCK)
        for start in range(one.start, one.stop, rows):
            result[f"{one.name} {start}"] = Piece(one.name, start, min(start + rows, one.stop))
    return result


def make_piece(tables: Tables, piece: Piece) -> bytes:
    """The lines of a piece."""
    name, start, stop = piece
    rows = tables.corpus[name].rows
    firsts = range(start, stop, BLOCK)
    return b"".join(rows.jsonl(first, min(first + BLOCK, stop)) for first in firsts)


def _write_whole(tables: Tables, name: str) -> bytes:
    return orjson.dumps(write_table(tables.run, tables.corpus[name])._asdict())


def write_table(run: Path, table: TableFile, report_rows: Any = None) -> FileInfo:
    """Write a table's file; `report_rows` is told how many rows there are."""
    path = run / table.name
    with AtomicFile(path) as file:
        if path.suffix == ".parquet":
            _write_parquet(file, table, report_rows)
        else:
            # hashing and writing wait for the disk and leave the interpreter free meanwhile
            with ThreadPoolExecutor(1) as writer:
                written: Future[None] | None = None
                for first in range(table.start, table.stop, BLOCK):
                    last = min(first + BLOCK, table.stop)
                    block = table.rows.jsonl(first, last)
                    if written:
                        written.result()
                    written = writer.submit(file.write, block)
                    if report_rows:
                        report_rows(last - table.start)
                if written:
                    written.result()
    return file.info


def _write_parquet(file: AtomicFile, table: TableFile, report_rows: Any = None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, sink = arrow_schema(table), ArrowSink(file)
    with pq.ParquetWriter(pa.PythonFile(sink, "w"), schema, compression="zstd") as writer:
        for last, block in arrow_blocks(table):
            writer.write_table(block.cast(schema))
            sink.check()
            if report_rows:
                report_rows(last - table.start)
    sink.check()


def arrow_blocks(table: TableFile) -> Iterator[tuple[int, Any]]:
    """(row behind it, block) for each block of rows, read back from their JSON by Arrow."""
    import io

    import pyarrow.json as pj

    schema = arrow_schema(table)
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    read = pj.ReadOptions(use_threads=False, block_size=1 << 30)
    for first in range(table.start, table.stop, BLOCK):
        last = min(first + BLOCK, table.stop)
        yield last, pj.read_json(io.BytesIO(table.rows.jsonl(first, last)), read, options)


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
            "int32": pa.int32(), "string": pa.string(), "float64": pa.float64(), "bool": pa.bool_(),
        }[declared]  # fmt: skip

    fields = []
    for key in row:
        if key == "metadata":
            fields.append((key, pa.struct([(name, kind(t)) for name, t in features.items()])))
        elif key in features:
            fields.append((key, kind(features[key])))
        else:
            fields.append((key, pa.int32() if key == "score" else pa.string()))
    return pa.schema(fields)
