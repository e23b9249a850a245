"""The rows of a text table, as JSON Lines or TSV have them, or why a line is none."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, compress, repeat
from operator import contains, is_
from typing import Any, NamedTuple

import orjson

DEEPEST = 200  # levels of a row; what writes JSON ends at 254
_TOO_DEEP = f"is nested more than {DEEPEST} levels deep"
NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
# the next half would be of the other kind
_HALF = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|"
    rb"(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
NOT_UTF8 = "is not UTF-8: convert the file (from Latin-1: iconv -f LATIN1 -t UTF-8)"
_ESCAPED_KEY = re.compile(rb'"[^"\\]*\\u[^"]*"\s*:')
_KEYS = {"_id", "id", "title", "text", "metadata", "query-id", "corpus-id", "score"}


class Problem(NamedTuple):
    """A row that is not a document, query or qrel. `line` counts from 1 within its table."""

    line: int
    reason: str


def json_rows(data: bytes, lines: list[bytes]) -> list[Any]:
    """A dict for each line, or a `Problem`. `data`: the lines as they stand in the file."""
    try:
        result = [orjson.loads(line) for line in lines]
        if set(map(type, result)) <= {dict} and not _may_be_deep(data, lines):
            return _without_twins(data, lines, result)
    except ValueError:
        pass
    return [_json_row(number, line) for number, line in enumerate(lines, start=1)]


def _may_be_deep(data: bytes, lines: list[bytes]) -> bool:
    if data.count(b"[") + data.count(b"{") <= len(lines) + DEEPEST:
        return False
    return any(line.count(b"[") + line.count(b"{") > DEEPEST for line in lines)


def _levels(row: Any) -> int:
    """How many lists and objects of a row are inside one another."""
    result, level = 0, [row]
    while level := [one for one in level if type(one) in (dict, list)]:
        result += 1
        level = list(
            chain.from_iterable(one if type(one) is list else one.values() for one in level)
        )
    return result


def _json_row(number: int, line: bytes) -> Any:
    try:
        row = orjson.loads(line)
    except ValueError:
        return Problem(number, _why_not_json(line))
    if type(row) is not dict:
        return Problem(number, "is not a JSON object")
    if _levels(row) > DEEPEST:
        return Problem(number, _TOO_DEEP)
    if key := _twice(line):
        return Problem(number, f"has the key {key!r} twice")
    return row


def _without_twins(data: bytes, lines: list[bytes], rows: list[Any]) -> list[Any]:
    """The rows of a chunk, with a `Problem` for one that has a key twice.

    A parser takes the last of them and says nothing. A key stands in quotes as often as rows have
    it, unless it is also the key of something nested, a value, or there twice.
    """
    # where every string of the text is one of the rows, no parser has dropped any
    if b"\\" not in data and _marks(data) == 2 * _strings(rows):
        return rows
    # counting in the rows is a tenth of the work of looking through the text
    held = {
        key: count
        for key in (rows[0].keys() | _KEYS if rows else ())
        if (count := sum(map(contains, rows, repeat(key))))
    }
    often = [
        quoted for key, count in held.items() if data.count(quoted := orjson.dumps(key)) != count
    ]
    # one byte is found much faster than two
    spelt = b"\\" in data and b"\\u" in data and _ESCAPED_KEY.search(data)
    if often or spelt:
        for number, line in enumerate(lines, start=1):
            if (spelt or any(line.count(quoted) > 1 for quoted in often)) and (key := _twice(line)):
                rows[number - 1] = Problem(number, f"has the key {key!r} twice")
    return rows


def _marks(data: bytes) -> int:
    """How many quotation marks stand in a text."""
    import numpy as np  # four times as fast as bytes.count

    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord('"')))


def _strings(rows: Sequence[dict[str, Any]]) -> int:
    """How many strings rows hold at least, keys among them; lists are not looked into."""
    result = 0
    while rows:
        values = list(chain.from_iterable(map(dict.values, rows)))
        kinds = list(map(type, values))
        result += len(values) + kinds.count(str)  # every value has its key
        rows = list(compress(values, map(is_, kinds, repeat(dict)))) if dict in kinds else []
    return result


def _twice(line: bytes) -> str | None:
    """The first key that an object in a line has twice."""
    result: list[str] = []

    def pairs(members: list[tuple[str, Any]]) -> None:
        keys = Counter(key for key, _ in members)
        result.extend(key for key, count in keys.items() if count > 1)

    json.loads(line, object_pairs_hook=pairs)
    return result[0] if result else None


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
