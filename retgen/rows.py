"""The rows of a text table, in JSON Lines or TSV: parsed, refused with a reason, and located.

Also what stops a file of text before its first row: another encoding, or a header that does not
name the columns of qrels.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import xxhash

from retgen.errors import DatasetError

DEEPEST = 200  # levels of a row; what writes JSON ends at 254
_TOO_DEEP = f"is nested more than {DEEPEST} levels deep"
NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
# the next half would be of the other kind
_HALF = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|"
    rb"(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
NOT_UTF8 = "is not UTF-8: convert the file (from Latin-1: iconv -f LATIN1 -t UTF-8)"
QREL_COLUMNS = ("query-id", "corpus-id", "score")
_PIECE = 1 << 20  # bytes read at a time where lines are counted
_BATCH = 10 << 20  # bytes, and the rest of a line: what `load_dataset` reads at a time
_TIME = re.compile(rb'"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:+-]+Z?)?"')  # as Arrow reads ISO 8601


class Problem(NamedTuple):
    """A row that is not a document, query or qrel. `line` counts from 1 within its table."""

    line: int
    reason: str


def text_hash(text: str) -> int:
    """64 bits of a text, which may hold halves of surrogate pairs."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def json_rows(data: bytes, lines: list[bytes]) -> list[Any]:
    """A dict for each line, or a `Problem`. `data`: the lines as they stand in the file."""
    try:
        result = [orjson.loads(line) for line in lines]
        if set(map(type, result)) <= {dict} and not _may_be_deep(data, lines):
            # a parser takes the last of two equal keys and says nothing; where every string of the
            # text is one of the rows, none was dropped
            quotes = _quotes(data)
            # lists, which often hold many numbers, are looked into only where it matters
            if any(quotes == 2 * _size(result, lists)[0] for lists in (False, True)):
                return result
    except ValueError:
        pass
    return [_json_row(number, line) for number, line in enumerate(lines, start=1)]


def _may_be_deep(data: bytes, lines: list[bytes]) -> bool:
    if data.count(b"[") + data.count(b"{") <= len(lines) + DEEPEST:
        return False
    return any(line.count(b"[") + line.count(b"{") > DEEPEST for line in lines)


def _quotes(data: bytes) -> int:
    """How many quotation marks of a text begin or end a string."""
    import numpy as np  # four times as fast as bytes.count

    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord('"')))


def _size(rows: Sequence[dict[str, Any]], lists: bool) -> tuple[int, int]:
    """How many strings rows hold, keys among them, and how many levels; with `lists` or without."""
    strings = levels = 0
    objects: Sequence[dict[str, Any]] = rows
    arrays: list[list[Any]] = []
    while objects or arrays:
        levels += 1
        values = list(chain.from_iterable(map(dict.values, objects)))
        strings += len(values)  # every value has its key
        values += chain.from_iterable(arrays)
        kinds = list(map(type, values))
        strings += kinds.count(str)
        objects = [one for one in values if type(one) is dict] if dict in kinds else []
        arrays = [one for one in values if type(one) is list] if lists and list in kinds else []
    return strings, levels


def _json_row(number: int, line: bytes) -> Any:
    try:
        row = orjson.loads(line)
    except ValueError:
        return Problem(number, _why_not_json(line))
    if type(row) is not dict:
        return Problem(number, "is not a JSON object")
    if _size([row], lists=True)[1] > DEEPEST:
        return Problem(number, _TOO_DEEP)
    if key := _twice(line):
        return Problem(number, f"has the key {key!r} twice")
    return row


def _twice(line: bytes) -> str | None:
    """The first key that an object in a line has twice."""
    result: list[str] = []

    def pairs(members: list[tuple[str, Any]]) -> None:
        keys = Counter(key for key, _ in members)
        result.extend(key for key, count in keys.items() if count > 1)

    json.loads(line, object_pairs_hook=pairs)
    return result[0] if result else None


def reads_as_times(lines: Iterable[bytes]) -> bool:
    """Whether a column of JSON Lines has only texts that `load_dataset` would take for times.

    It guesses the types of each batch anew, whatever a card declares: 2023-01-01 comes back as a
    datetime, or as the text 2023-01-01 00:00:00.
    """
    size, times, texts = 0, set[Any](), set[Any]()
    for line in lines:
        # a line without a time tells nothing that the first of its batch has not told
        if not size or not times <= texts or _TIME.search(line):
            for column, text in _texts(orjson.loads(line), ()):
                (times if _TIME.fullmatch(orjson.dumps(text)) else texts).add(column)
        size += len(line)
        if size > _BATCH:
            if not times <= texts:
                return True
            size, times, texts = 0, set(), set()
    return not times <= texts


def _texts(value: Any, column: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each text within a value, after the column that it stands in: the keys down to it."""
    if isinstance(value, str):
        yield column, value
    elif isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else zip(repeat("[]"), value)
        for key, one in inside:
            yield from _texts(one, (*column, key))


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


def _why_not_json(line: bytes) -> str:
    if not line.strip():
        return "is blank"
    if b"\0" in line:
        return "is not JSON: it holds NUL bytes, as UTF-16 does"
    try:
        line.decode()
    except UnicodeDecodeError:
        return NOT_UTF8
    try:
        json.loads(line)
    except ValueError:
        return "is not JSON"
    except RecursionError:
        return _TOO_DEEP
    # what Python's reader takes and JSON does not know
    half = _HALF.search(line)
    return (
        f"holds {half[0].decode()}, half of a surrogate pair, which is no character"
        if half
        else "is not JSON: it holds NaN, Infinity or a number that is too large"
    )


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
