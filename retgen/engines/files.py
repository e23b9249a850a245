"""Results of tasks as files: whole or absent, checked where they are read, not copied."""

from __future__ import annotations

import mmap
from pathlib import Path

import xxhash

from retgen.engines.engine import Result
from retgen.write import AtomicFile, make_folder

_MARK = b"retgen result 2\n"
HEAD = 128  # bytes: mark, checksum, zeros; arrays behind it begin where processors like it


class ResultFiles:
    """Results by the name of their task, in files of a folder.

    `key`: what all of them depend on; with another key there are none. Names are looked for, and
    never found by listing the folder, which may lag behind on a shared disk.
    """

    def __init__(self, folder: Path, key: bytes = b"") -> None:
        self.folder, self.key = folder, key
        make_folder(folder)

    def path(self, name: str) -> Path:
        """The file of a result."""
        return self.folder / name.replace("/", "+").replace(" ", "@")

    def keep(self, name: str, result: Result) -> memoryview:
        """Write a result. Returns it as it lies on disk."""
        head = _MARK + self._checksum(name, result)
        with AtomicFile(self.path(name)) as file:
            file.write(head + bytes(HEAD - len(head)))
            file.write(result)
        return self._open(name)[HEAD:]

    def read(self, name: str) -> memoryview | None:
        """A result; None where there is none, or another one than was kept with this key."""
        try:
            view = self._open(name)
        except (OSError, ValueError):  # an empty file cannot be mapped
            return None
        head = _MARK + self._checksum(name, view[HEAD:])
        return view[HEAD:] if view[: len(head)] == head else None

    def _open(self, name: str) -> memoryview:
        with open(self.path(name), "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def _checksum(self, name: str, result: Result) -> bytes:
        digest = xxhash.xxh3_128(self.key + name.encode() + b"\n")
        digest.update(result)
        return digest.digest()
