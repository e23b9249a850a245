"""Where a row of a table stands, as an editor counts: which file, which line.

Also what stops a file of text before its first row: another encoding, a header that names no
columns of qrels.
"""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from retgen.compressed import COMPRESSED
from retgen.errors import DatasetError

QREL_COLUMNS = ("query-id", "corpus-id", "score")
_PIECE = 1 << 20


class Place(NamedTuple):
    """A row's file, and its number in it from 1: lines of a text, rows of Parquet; 0: unknown."""

    path: Path
    number: int

    def __str__(self) -> str:
        if not self.number:
            return str(self.path)
        return f"{self.path}, {'row' if _is_parquet(self.path) else 'line'} {self.number:,}"

    def below(self, root: Path) -> Place:
        """The same, with the file named from a folder on."""
        inside = self.path.is_relative_to(root)
        return Place(self.path.relative_to(root), self.number) if inside else self

    def name(self) -> str:
        """ "corpus.jsonl:7", as the ids of findings name it."""
        return f"{self.path.as_posix()}:{self.number}" if self.number else self.path.as_posix()


def places(files: Sequence[Path], rows: Sequence[int]) -> list[Place]:
    """The places of rows, given in order and counted from 1 over all files of a table."""
    result: list[Place] = []
    before = number = 0
    for row in rows:
        # the last file needs no count
        while number < len(files) - 1 and row > before + (held := _rows(files[number])):
            before, number = before + held, number + 1
        # the first line of TSV is its header
        header = files[number].suffix == ".tsv"
        result.append(Place(files[number], row - before + header))
    return result


def _is_parquet(path: Path) -> bool:
    return path.suffix == ".parquet"


def _rows(path: Path) -> int:
    if _is_parquet(path):
        import pyarrow.parquet as pq

        return int(pq.read_metadata(path).num_rows)
    lines, last = 0, b"\n"
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            lines += piece.count(b"\n")
            last = piece[-1:]
    return lines + (last != b"\n") - (path.suffix == ".tsv")


def check_start(path: Path, data: bytes) -> None:
    """Raise `DatasetError` where a file of text begins as UTF-16 does. `data`: its first bytes."""
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise DatasetError(
            f"{path} is UTF-16, and tables are UTF-8: convert it (iconv -f UTF-16 -t UTF-8)"
        )


def check_header(path: Path, line: str) -> list[str]:
    """The columns that the first line of a TSV of qrels names.

    Raises `DatasetError` where it does not name those of qrels.
    """
    header = line.rstrip("\r\n").split("\t")
    if set(QREL_COLUMNS) <= set(header):
        return header
    shown = line.strip() if len(line) <= 80 else f"{line[:77]}..."
    cells = line.split()
    why = "the header must name query-id, corpus-id and score, with tabs between"
    if len(cells) == 4 and cells[1] in ("0", "Q0"):
        why = (
            "these are TREC's qrels, without a header. Write the line query-id, corpus-id, score "
            "with tabs between, then of each line the first, third and fourth value"
        )
    elif len(cells) == 3 and not set(cells) & set(QREL_COLUMNS):
        why = "there is no header. Put the line query-id, corpus-id, score before it, with tabs"
    raise DatasetError(f"{path}, line 1 is {shown!r}: {why}")


def around(path: Path) -> str:
    """The folder of a run or data set that a file lies in, as a hint; nothing where it is none."""
    for folder in path.parents[:2]:
        if (folder / "recipe.yaml").is_file() or any(folder.glob("corpus*")):
            return f": {folder}"
    return ""


def instead(root: Path, stem: str) -> str:
    """What to do with a file that looks as if it were the missing table; nothing without one."""
    if (root / "dataset").is_dir():
        return f" Its recipe.yaml is missing: put it back, or give {root / 'dataset'}."
    read = {".jsonl", ".parquet"} | ({".tsv"} if stem == "qrels" else set())
    result = {*root.glob(f"{stem}.*"), *root.glob(f"{stem}-*"), *root.glob(f"{stem}/*")}
    names = sorted(path.relative_to(root).as_posix() for path in result if path.is_file())
    names = [name for name in names if Path(name).suffix not in read]
    for name in names:
        if Path(name).suffix.lower() in (*COMPRESSED, ".zip"):
            return f" {name} is compressed: unpack it first."
    formats = "JSON Lines, Parquet or TSV" if stem == "qrels" else "JSON Lines or Parquet"
    return f" {names[0]} is in no format that is read: write it as {formats}." if names else ""
