"""Records that were not accepted, with reasons; packed, as there may be many."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import orjson

from retgen.agents.agent import Rejection
from retgen.write import AtomicFile, FileInfo

_BLOCK = 1 << 16  # bytes that are packed together


class Rejections(Collection[Rejection]):
    """Rejections in order, as JSON Lines in blocks, which zlib packs."""

    def __init__(self, rejected: Iterable[Rejection] = ()) -> None:
        self._packed: list[bytes] = []
        self._last = bytearray()  # lines that fill no block yet
        self._count = 0
        self.extend(rejected)

    def append(self, one: Rejection) -> None:
        """Keep a rejection; what changes in its record afterwards is not kept."""
        self._last += orjson.dumps(one._asdict(), option=orjson.OPT_APPEND_NEWLINE)
        self._count += 1
        if len(self._last) >= _BLOCK:
            self._packed.append(zlib.compress(self._last, 1))
            self._last.clear()

    def extend(self, others: Iterable[Rejection]) -> None:
        """Keep others, not itself."""
        for one in others:
            self.append(one)

    def __iadd__(self, others: Iterable[Rejection]) -> Rejections:
        self.extend(others)
        return self

    def __len__(self) -> int:
        return self._count

    def blocks(self) -> Iterator[bytes]:
        """The lines of rejected.jsonl, many at a time."""
        packed, last = self._packed[:], bytes(self._last)  # others may append meanwhile
        yield from map(zlib.decompress, packed)
        yield last

    def __iter__(self) -> Iterator[Rejection]:
        for block in self.blocks():
            for line in block.splitlines():
                yield Rejection(**orjson.loads(line))

    def __contains__(self, one: object) -> bool:
        return any(one == other for other in self)


def write_rejections(path: Path, rejected: Iterable[Rejection]) -> FileInfo:
    """Every record that was not accepted, with its reason."""
    kept = rejected if isinstance(rejected, Rejections) else Rejections(rejected)
    with AtomicFile(path) as file:
        for block in kept.blocks():
            file.write(block)
    return file.info


def write_rejected(path: Path, rejected: Collection[Rejection]) -> None:
    """What failed; no file where nothing did, not even that of an earlier call."""
    if rejected:
        write_rejections(path, rejected)
    else:
        path.unlink(missing_ok=True)
