"""Tables with some of their rows changed; what is not changed passes through unread."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from retgen.generators.records import Rows

_BLOCK = 4096
_OPTION = orjson.OPT_APPEND_NEWLINE


@dataclass(frozen=True)
class TableLines:
    """A table held as its lines."""

    lines: list[bytes]

    @property
    def count(self) -> int:
        return len(self.lines)

    def jsonl(self, start: int, stop: int) -> bytes:
        return b"".join(self.lines[start:stop])


@dataclass(frozen=True)
class Edited:
    """A table of texts, some of which people wrote anew: id -> field -> text."""

    rows: Rows
    edits: Mapping[str, Mapping[str, str]]

    @property
    def count(self) -> int:
        return self.rows.count

    def jsonl(self, start: int, stop: int) -> bytes:
        block = self.rows.jsonl(start, stop)
        if not any(orjson.dumps(name) in block for name in self.edits):
            return block
        lines = []
        for line in block.splitlines(keepends=True):
            row = orjson.loads(line)
            if change := self.edits.get(row["_id"]):
                line = orjson.dumps(row | change, option=_OPTION)
            lines.append(line)
        return b"".join(lines)


def lines_of(rows: Rows) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Each row, and the line it stands in."""
    for start in range(0, rows.count, _BLOCK):
        for line in rows.jsonl(start, min(start + _BLOCK, rows.count)).splitlines(keepends=True):
            yield orjson.loads(line), line


def without(rows: Rows, removed: Container[str], key: str = "_id") -> TableLines:
    """The rows but those of some names."""
    return TableLines([line for row, line in lines_of(rows) if row[key] not in removed])


def qrel_lines(qrels: Iterable[tuple[str, str, int]]) -> TableLines:
    """Qrels as their table has them."""
    return TableLines([
        orjson.dumps({"query-id": query_id, "corpus-id": doc_id, "score": score}, option=_OPTION)
        for query_id, doc_id, score in qrels
    ])  # fmt: skip


def strings(value: Any) -> Iterator[str]:
    """All texts that a row holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
