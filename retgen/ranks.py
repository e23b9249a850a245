"""`gen run --rank`: one of n processes makes and proves its share; the ordinary run merges them.

A share is pieces of the corpus: their lines, and what the proof finds in these as they lie on disk.
All that is small, queries and qrels, every rank makes for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from retgen.agents.rejections import Rejections, write_rejections
from retgen.data import Chunk, Dataset, TableFiles
from retgen.engines import Local
from retgen.engines.files import HEAD, ResultFiles
from retgen.engines.ranks import Rank, Ranks, Share
from retgen.errors import UsageError
from retgen.generate import (
    Piece,
    Tables,
    generate_with_agents,
    make_piece,
    pieces_of,
    table_files,
    write_table,
)
from retgen.manifest import PARTS
from retgen.progress import Progress
from retgen.recipe import SOURCES, Recipe
from retgen.validation.findings import with_rulings
from retgen.validation.scan import Scanner, scan_chunks
from retgen.validation.states import PartFiles, identity
from retgen.validators.rule import CorpusRule
from retgen.version import __version__
from retgen.write import make_folder, scratch_folder

Results = Callable[[Path, bytes], ResultFiles]  # those of a folder, by their key


def check_ranks(recipe: Recipe) -> None:
    """Raises `UsageError` for a recipe whose run cannot be shared by rank."""
    if recipe.live:
        raise UsageError(
            "--rank: this recipe asks a model, whose answers all need; run it with --engine ray, "
            "or without --rank"
        )
    if recipe.output.format == "parquet":
        raise UsageError(
            "--rank: pieces of Parquet cannot be joined; leave output.format=jsonl, and let gen "
            "export write Parquet"
        )


def do_share(
    recipe: Recipe,
    folder: Path,
    rank: Rank,
    workers: int,
    patience: float,
    progress: Progress,
    results: Results = ResultFiles,
) -> int:
    """Do the share of a rank in an opened run directory. Returns its number of pieces.

    `results`: where ranks see each other's.
    """
    ranks = join_ranks(folder, rank, results)
    files = ranks.files
    engine = Share(rank, files, Local(workers), patience, progress)
    recipe = recipe.at(folder)
    refused = Rejections()
    if recipe.needs_sources:
        from retgen.agents.calls import ModelOptions

        made = generate_with_agents(
            recipe, folder, ModelOptions(), engine=engine, progress=progress
        )
        refused = made.rejected
    records = recipe.records()
    corpus, others = table_files(recipe, records)
    for one in others:
        make_folder((folder / one.name).parent)
        write_table(folder, one)
    refused += records.rejected
    write_rejections(folder / "rejected.jsonl", refused)
    pieces = pieces_of(corpus)
    share = len(range(rank.number, len(pieces), rank.of))
    for done, _ in enumerate(engine.do(make_piece, Tables(recipe, folder), pieces), start=1):
        progress("corpus", done, share)
    scanner = _PieceScanner(recipe, folder)
    lines = {name: files.path(f"make_piece {name}") for name in pieces}
    proven = engine.do(scan_piece, scanner, lines)
    for done, _ in enumerate(proven, start=1):
        progress("proof", done, share)
    ranks.finish(rank)
    return share


def join_ranks(
    folder: Path, rank: Rank, results: Results = ResultFiles, where: str | None = None
) -> Ranks:
    """The ranks of a run, this one among them. Raises `RunDirectoryError` for a stranger.

    `where`: where the run is looked for, if not in its folder.
    """
    key = identity(folder)
    ranks = _ranks(folder, key, results, where)
    ranks.join(rank, {"retgen": __version__, "identity": key.hex()})
    return ranks


def shares_of(
    folder: Path, results: Results = ResultFiles, where: str | None = None
) -> ResultFiles | None:
    """What ranks have left in a run directory; None where there were none.

    Raises `RanksMissing`, naming the ranks that have not finished.
    """
    common = Ranks.common(folder / PARTS)
    if common is None:
        return None
    ranks = _ranks(folder, identity(folder), results, where)
    ranks.check_finished(common["of"])
    return ranks.files


def _ranks(folder: Path, key: bytes, results: Results, where: str | None) -> Ranks:
    return Ranks(
        results(folder / PARTS, key),
        where or str(folder),
        "or start again with `gen run --fresh` without --rank",
        "make all of it here with --fresh",
        _difference,
    )


def _difference(there: dict[str, Any], own: dict[str, Any]) -> str | None:
    return None if there == own else (
        f"other ranks have retgen {there['retgen']}, this one has {__version__}, or other versions "
        "of its packages, or changed code: install the same everywhere"
    )  # fmt: skip


class RankParts(PartFiles):
    """The parts of a proof as ranks have left them: the pieces of the corpus."""

    def __init__(self, files: ResultFiles, pieces: Mapping[str, Piece]) -> None:
        self.folder, self.files, self.loaded = files.folder, files, 0
        self._pieces = dict(pieces)
        self._names = list(pieces)

    def cut(self, corpus: TableFiles) -> list[list[Chunk]]:
        paths = {path.name: path for path in corpus.files}
        ends: dict[str, int] = {}
        result = []
        for name, piece in self._pieces.items():
            start = ends.get(piece.file, 0)
            size = self.files.size(f"make_piece {name}")
            ends[piece.file] = start + size
            result.append([Chunk(paths[Path(piece.file).name], start, start + size)])
        return result

    def begin(self, parts: Sequence[Sequence[Chunk]], *asked: Any) -> dict[int, Any]:
        return self.load_all(len(parts))

    def name(self, number: int) -> str:
        return f"scan_piece {self._names[number]}"


class _PieceScanner(Scanner):
    """The same over a folder that holds all tables but the corpus."""

    def __init__(self, recipe: Recipe, run: Path) -> None:
        super().__init__(run, None, recipe, with_rulings(recipe, {}, {})[0])

    def open(self, run: Path) -> tuple[Dataset, list[CorpusRule]]:
        with scratch_folder(".rank-", run) as folder:
            for name in ("recipe.yaml", SOURCES, "inputs"):
                if (run / name).exists():
                    (folder / name).symlink_to((run / name).resolve())
            make_folder(folder / "dataset")
            for path in (run / "dataset").glob("*.jsonl"):
                if not path.name.startswith("corpus"):
                    (folder / "dataset" / path.name).symlink_to(path.resolve())
            (folder / "dataset" / "corpus.jsonl").touch()
            return super().open(folder)


def scan_piece(scanner: Scanner, path: Path) -> bytes:
    """The packed result of the lines of a piece, in the file that its rank wrote."""
    return scan_chunks(scanner, [Chunk(path, HEAD, path.stat().st_size)])
