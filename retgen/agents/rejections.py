"""Records that were not accepted, with their reasons, kept on disk: there may be many."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, cast

import orjson

from retgen.agents.agent import Rejection
from retgen.write import AtomicFile, FileInfo

_IN_MEMORY = 1 << 20  # bytes
_AT_ONCE = 1000  # rows that are written together


class Rejections(Collection[Rejection]):
    """Rejections in order, as JSON Lines in a file without a name: beyond a megabyte, on disk."""

    def __init__(self, rejected: Iterable[Rejection] = ()) -> None:
        self._file = cast(IO[bytes], tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._count = 0
        self.extend(rejected)

    def append(self, one: Rejection) -> None:
        """Keep a rejection; what changes in its record afterwards is not kept."""
        self._file.write(_line(one))
        self._count += 1

    def extend(self, others: Iterable[Rejection]) -> None:
        """Keep others, not itself."""
        for one in others:
            self.append(one)

    def __iadd__(self, others: Iterable[Rejection]) -> Rejections:
        self.extend(others)
        return self

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Rejection]:
        place, left = 0, self._count
        while left:
            self._file.seek(place)  # others may have written or read since
            rows = [self._file.readline() for _ in range(min(left, _AT_ONCE))]
            place, left = self._file.tell(), left - len(rows)
            self._file.seek(0, 2)
            for row in rows:
                yield Rejection(**orjson.loads(row))

    def __contains__(self, one: object) -> bool:
        return any(one == other for other in self)


def rejected_lines(rejected: Collection[Rejection]) -> Iterator[bytes]:
    """The lines of rejected.jsonl, many at a time."""
    block: list[bytes] = []
    for one in rejected:
        block.append(_line(one))
        if len(block) == _AT_ONCE:
            yield b"".join(block)
            block = []
    yield b"".join(block)


def write_rejections(path: Path, rejected: Collection[Rejection]) -> FileInfo:
    """Every record that was not accepted, with its reason."""
    with AtomicFile(path) as file:
        for block in rejected_lines(rejected):
            file.write(block)
    return file.info


def write_rejected(path: Path, rejected: Collection[Rejection]) -> None:
    """What failed; no file where nothing did, not even that of an earlier call."""
    if rejected:
        write_rejections(path, rejected)
    else:
        path.unlink(missing_ok=True)


def _line(one: Rejection) -> bytes:
    return orjson.dumps(one._asdict(), option=orjson.OPT_APPEND_NEWLINE)
