"""The files that hold the tables of a data set: layouts of run directories, MTEB, BEIR and the Hub.

Also hints for a path that holds no data set, and files that are compressed.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

from retgen.errors import DatasetError
from retgen.yaml_text import parse_yaml

LAYOUTS = (
    "corpus.jsonl, queries.jsonl and qrels.jsonl (a run, MTEB), "
    "corpus.jsonl, queries.jsonl and qrels/test.tsv (BEIR), "
    "corpus/, queries/ and data/ or qrels/ with Parquet or JSON Lines (the Hub), or "
    "candidates.jsonl, or passages/, and queries whose rows list their positives (CapRetrieval)"
)

# the tables every data set has, and where CapRetrieval keeps them
_TABLES: dict[str, tuple[str, ...]] = {
    "corpus": ("candidates.jsonl", "passages/*.jsonl", "passages/*.parquet"),
    "queries": (),
}


def table_files(root: Path) -> dict[str, tuple[Path, ...]]:
    """The files of corpus and queries; none for a table that is not there."""
    declared = _declared_files(root)
    return {name: declared.get(name) or _find(root, *_patterns(name)) for name in _TABLES}


def corpus_files(path: Path) -> tuple[Path, ...]:
    """The files of a corpus, compressed ones too, where a folder is a data set; else none."""
    if not os.access(path, os.X_OK):
        return ()  # who reads the folder says why
    tables = path / "dataset"  # of a run, if its recipe stands beside it
    root = tables if tables.is_dir() and (path / "recipe.yaml").is_file() else path
    if declared := _declared_files(root).get("corpus"):
        return declared
    if not _find(root, "queries.*", "queries-*", "queries/*", "qrels.*", "qrels/*"):
        return ()
    return _find(root, *_patterns("corpus"), *(f"corpus.jsonl{packed}" for packed in COMPRESSED))


def _patterns(name: str) -> tuple[str, ...]:
    """Where the files of a table are looked for, first found first."""
    return (
        f"{name}.jsonl",
        f"{name}-*.jsonl",
        f"{name}.parquet",
        f"{name}-*.parquet",
        f"{name}/*.jsonl",
        f"{name}/*.parquet",
        *_TABLES[name],
    )


def _find(root: Path, *patterns: str) -> tuple[Path, ...]:
    for pattern in patterns:
        files = tuple(sorted(path for path in root.glob(pattern) if path.is_file()))
        if files:
            return files
    return ()


def split_files(root: Path, stem: str, *folders: str) -> dict[str, tuple[Path, ...]]:
    """Split name to files: STEM.jsonl is the test split, others carry theirs in their name.

    Where there is no such file, the files of a folder of the same name, or of `folders`.
    """
    result: dict[str, tuple[Path, ...]] = {}
    for suffix in ("jsonl", "parquet", "tsv"):
        if (root / f"{stem}.{suffix}").is_file():
            result.setdefault("test", (root / f"{stem}.{suffix}",))
        for path in filter(Path.is_file, sorted(root.glob(f"{stem}.*.{suffix}"))):
            result.setdefault(path.name.split(".")[1], (path,))
        for folder in (stem, *folders):
            shards: dict[str, list[Path]] = {}
            for path in filter(Path.is_file, sorted((root / folder).glob(f"*.{suffix}"))):
                shards.setdefault(path.stem.partition("-")[0], []).append(path)
            for split, files in shards.items():
                result.setdefault(split, tuple(files))
    return result


def card_header(root: Path) -> dict[str, Any]:
    """The YAML header of a data set's card, README.md; nothing where there is none."""
    path = root / "README.md"
    try:
        card = path.read_text("utf-8-sig", "replace") if path.is_file() else ""
    except OSError:
        return {}
    if not card.startswith("---\n") or "\n---" not in card[4:]:
        return {}
    try:
        header = parse_yaml(card[4 : card.index("\n---", 4)], root, error=DatasetError)
    except DatasetError:
        return {}
    return header if isinstance(header, dict) else {}


def _declared_files(root: Path) -> dict[str, tuple[Path, ...]]:
    """The files that a data set card's `configs` header names for corpus and queries."""
    result: dict[str, tuple[Path, ...]] = {}
    configs = card_header(root).get("configs")
    for config in configs if isinstance(configs, list) else []:
        name = config.get("config_name") if isinstance(config, dict) else None
        name = "corpus" if name == "passages" else name
        if name not in _TABLES:
            continue
        listed = config.get("data_files")
        entries = listed if isinstance(listed, list) else [listed]
        values = [entry.get("path") if isinstance(entry, dict) else entry for entry in entries]
        patterns = chain.from_iterable(one if isinstance(one, list) else [one] for one in values)
        # a card may come from anywhere: only files below its own folder are followed
        files = [
            path
            for pattern in patterns
            if isinstance(pattern, str) and pattern and pattern[0] != "/" and ".." not in pattern
            for path in sorted(root.glob(pattern))
            if path.is_file()
        ]
        if files and len({path.suffix for path in files}) == 1:
            result[name] = tuple(files)
    return result


def enclosing_dataset_hint(path: Path) -> str:
    """The folder of a run or data set that a file lies in, as a hint; nothing where it is none."""
    for folder in path.parents[:2]:
        if (folder / "recipe.yaml").is_file() or any(folder.glob("corpus*")):
            return f": {folder}"
    return ""


def missing_table_hint(root: Path, stem: str) -> str:
    """What to do with a file that looks as if it were the missing table; nothing without one."""
    if (root / "dataset").is_dir():
        return f" Its recipe.yaml is missing: put it back, or give {root / 'dataset'}."
    alike = {*root.glob(f"{stem}.*"), *root.glob(f"{stem}-*"), *root.glob(f"{stem}/*")}
    names = sorted(path.relative_to(root).as_posix() for path in alike if path.is_file())
    for name in names:
        if not name.endswith((".jsonl", ".parquet")):
            return f" {name} is not read: unpack it, or write it as JSON Lines or Parquet."
    return ""


def _zst(path: Path) -> IO[bytes]:
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(str(path), compression="zstd"))


COMPRESSED: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _zst,
}


def file_format(path: Path) -> str:
    """What a file holds, by its name: "a.csv.gz" is a .csv."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSED else suffix


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed if its name says that it is compressed."""
    suffix = path.suffix.lower()
    if suffix not in COMPRESSED:
        with open(path, "rb") as file:
            yield file
        return
    try:
        with COMPRESSED[suffix](path) as file:
            yield file
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's, not the format's
        raise DatasetError(
            f"{path}: is not a whole {suffix} file ({error}); compress it again"
        ) from error
