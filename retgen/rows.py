"""The rows of a text table, in JSON Lines or TSV: parsed, refused with a reason, and located.

Also what stops a file of text before its first row: another encoding, or a header that does not
name the columns of qrels.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import xxhash

from retgen.errors import DatasetError

DEEPEST = 200  # levels of a row; what writes JSON ends at 254
_TOO_DEEP = f"is nested more than {DEEPEST} levels deep"
NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
NOT_UTF8 = "is not UTF-8: convert the file (from Latin-1: iconv -f LATIN1 -t UTF-8)"
QREL_COLUMNS = ("query-id", "corpus-id", "score")
_PIECE = 1 << 20  # bytes read at a time where lines are counted
_TIME = re.compile(rb'"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+(Z|[+-][0-9:]+)?)?"')  # ISO 8601


class Problem(NamedTuple):
    """A row that is not a document, query or qrel. `line` counts from 1 within its table."""

    line: int
    reason: str


def text_hash(text: str) -> int:
    """64 bits of a text, which may hold halves of surrogate pairs."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def json_rows(lines: list[bytes]) -> list[Any]:
    """A dict for each line of JSON, or a `Problem`."""
    try:
        rows = [orjson.loads(line) for line in lines]
        if set(map(type, rows)) <= {dict} and not any(map(_may_be_deep, lines)):
            return rows
    except orjson.JSONDecodeError:
        pass
    return [_json_row(number, line) for number, line in enumerate(lines, start=1)]


def _may_be_deep(line: bytes) -> bool:
    return line.count(b"[") + line.count(b"{") > DEEPEST


def _json_row(number: int, line: bytes) -> Any:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return Problem(number, NOT_UTF8 if "UTF-8" in error.msg else f"is not JSON: {error.msg}")
    if type(row) is not dict:
        return Problem(number, "is not a JSON object")
    levels, inside = 0, [row]
    while inside:
        levels += 1
        values = (one.values() if type(one) is dict else one for one in inside)
        inside = [one for one in chain.from_iterable(values) if type(one) in (dict, list)]
    return row if levels <= DEEPEST else Problem(number, _TOO_DEEP)


def holds_times(lines: bytes) -> bool:
    """Whether a text in lines of JSON is a time.

    Arrow guesses the types of each batch that `load_dataset` reads, whatever a card declares: in a
    column with no other text, 2023-01-01 comes back as a datetime.
    """
    return bool(_TIME.search(lines))


def tsv_row(number: int, line: bytes, header: list[str]) -> Any:
    """A dict of a line's cells, a number in the column `score`, or a `Problem`."""
    try:
        cells = line.decode().rstrip("\r").split("\t")
    except UnicodeDecodeError:
        return Problem(number, NOT_UTF8)
    if len(cells) != len(header):
        return Problem(number, f"has {len(cells)} columns, the header {len(header)}")
    row: dict[str, Any] = dict(zip(header, cells, strict=True))
    if NUMBER.fullmatch(score := row.get("score", "")):
        row["score"] = float(score)
    return row


class RowPlace(NamedTuple):
    """A row's file, and its number in it from 1: lines of a text, rows of Parquet; 0: unknown."""

    path: Path
    number: int

    def __str__(self) -> str:
        if not self.number:
            return str(self.path)
        return f"{self.path}, {'row' if _is_parquet(self.path) else 'line'} {self.number:,}"

    def below(self, root: Path) -> RowPlace:
        """The same, with the file named from a folder on."""
        inside = self.path.is_relative_to(root)
        return RowPlace(self.path.relative_to(root), self.number) if inside else self

    def name(self) -> str:
        """ "corpus.jsonl:7", as the ids of findings name it."""
        return f"{self.path.as_posix()}:{self.number}" if self.number else self.path.as_posix()


def places(files: Sequence[Path], rows: Sequence[int]) -> list[RowPlace]:
    """The places of rows, given in order and counted from 1 over all files of a table."""
    result: list[RowPlace] = []
    before = number = 0
    for row in rows:
        # the last file needs no count
        while number < len(files) - 1 and row > before + (held := _rows(files[number])):
            before, number = before + held, number + 1
        # the first line of TSV is its header
        header = files[number].suffix == ".tsv"
        result.append(RowPlace(files[number], row - before + header))
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
    raise DatasetError(
        f"{path}, line 1 is {line.strip()[:80]!r}: the header must name query-id, corpus-id and "
        "score, with tabs between. TREC's qrels have none: write that line, then of each line the "
        "first, third and fourth value"
    )
