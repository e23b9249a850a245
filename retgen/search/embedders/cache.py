"""Embeddings kept on disk by (model, text): what was computed once is never computed again.

A SQLite file a model, named by the model's fingerprint; keys are 128-bit hashes of text and kind.
What an interrupted run had encoded is there for the next one. A row carries a checksum; one that
does not fit is encoded again, and a damaged file is made anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import xxhash
from numpy.typing import NDArray

from retgen.errors import OutputError
from retgen.write import make_folder

_AT_ONCE = 500  # keys a statement
# SQLite's codes: busy, locked, read-only, an I/O error, full, cannot be opened
_OF_THE_SYSTEM = (5, 6, 8, 10, 13, 14)
Result = TypeVar("Result")


class Cache:
    """Rows of float32 and a count of tokens, by the hash of (kind, text)."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        make_folder(folder)
        self.path = folder / f"{fingerprint}.sqlite"
        self._work(self._open)

    def _open(self) -> None:
        self._db = sqlite3.connect(self.path, timeout=60)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS embeddings "
            "(key BLOB PRIMARY KEY, tokens INTEGER, data BLOB, checksum BLOB)"
        )

    def _work(self, work: Callable[[], Result]) -> Result:
        """Work on the file; one that is damaged is made anew, and its vectors computed again."""
        try:
            try:
                return work()
            except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite quotes damaged text
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_THE_SYSTEM:
                    raise
                self._db.close()
                for end in ("", "-wal", "-shm"):
                    Path(f"{self.path}{end}").unlink(missing_ok=True)
                self._open()
                return work()
        except sqlite3.Error as error:
            raise OutputError(
                f"{self.path}: this cache of embeddings cannot be used ({error}). Free some space "
                "if the disk is full, or name another folder with RETGEN_CACHE, and run the same "
                "command again"
            ) from error

    def get(self, kind: str, texts: Sequence[str]) -> dict[int, tuple[NDArray[np.float32], int]]:
        """Index in `texts` -> (row, tokens) of those that are known."""
        where: dict[bytes, list[int]] = {}
        for i, text in enumerate(texts):
            where.setdefault(_key(kind, text), []).append(i)
        result = {}
        keys = list(where)
        for start in range(0, len(keys), _AT_ONCE):
            for key, tokens, data, checksum in self._select(keys[start : start + _AT_ONCE]):
                if type(data) is not bytes or checksum != _checksum(key, tokens, data):
                    continue
                for i in where.get(key, ()):
                    result[i] = (np.frombuffer(data, np.float32), tokens)
        return result

    def put(
        self,
        kind: str,
        texts: Sequence[str],
        rows: NDArray[np.float32],
        tokens: Sequence[int],
    ) -> None:
        """Keep some rows. Raises `OutputError` for what cannot be written."""
        records = [
            (key, int(count), data, _checksum(key, int(count), data))
            for text, count, row in zip(texts, tokens, rows.astype(np.float32), strict=True)
            for key, data in [(_key(kind, text), row.tobytes())]
        ]
        statement = "INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?, ?)"

        def insert() -> None:
            with self._db:
                self._db.executemany(statement, records)

        self._work(insert)

    def _select(self, keys: list[bytes]) -> list[tuple[bytes, int, bytes, bytes]]:
        marks = ",".join("?" * len(keys))
        query = f"SELECT key, tokens, data, checksum FROM embeddings WHERE key IN ({marks})"
        return self._work(lambda: self._db.execute(query, keys).fetchall())


def _checksum(key: object, tokens: object, data: bytes) -> bytes:
    return xxhash.xxh3_64_digest(repr((key, tokens)).encode() + data)


def _key(kind: str, text: str) -> bytes:
    return xxhash.xxh3_128_digest(f"{kind}\0{text}".encode())
