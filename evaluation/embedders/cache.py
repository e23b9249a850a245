"""Embeddings kept on disk by (model, text): what was computed once is never computed again.

A SQLite file a model, named by the model's fingerprint; keys are 128-bit hashes of text and kind.
What an interrupted run had encoded is there for the next one. A thread of its own writes, while the
model goes on with the next block.
"""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from retgen.errors import OutputError
from retgen.write import make_folder

_AT_ONCE = 500  # keys a statement
_WAITING = 4  # blocks that wait to be written; more, and the model waits for the disk

_Record = tuple[bytes, int, bytes]


def default_folder() -> Path:
    """RETGEN_CACHE, else retgen/ in the user's cache folder."""
    if named := os.environ.get("RETGEN_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "retgen"


class Cache:
    """Rows of float32 and a count of tokens, by the hash of (kind, text)."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        make_folder(folder)
        self.path = folder / f"{fingerprint}.sqlite"
        try:
            # each connection is used by one thread at a time
            self._db = sqlite3.connect(self.path, timeout=60)
            self._writing = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, tokens INTEGER, data BLOB)"
            )
        except sqlite3.Error as error:
            raise OutputError(
                f"{self.path}: cannot be used as a cache ({error}); remove it, or run with "
                "--no-cache"
            ) from error
        self._writer = ThreadPoolExecutor(1, "embeddings")  # ends, all written, with the program
        self._queue: deque[tuple[Future[None], dict[bytes, _Record]]] = deque()

    def get(self, kind: str, texts: Sequence[str]) -> dict[int, tuple[NDArray[np.float32], int]]:
        """Index in `texts` -> (row, tokens) of those that are known."""
        where: dict[bytes, list[int]] = {}
        for i, text in enumerate(texts):
            where.setdefault(_key(kind, text), []).append(i)
        result = {}
        for _, waiting in self._queue:
            for key in where.keys() & waiting.keys():
                _, tokens, data = waiting[key]
                for i in where.pop(key):
                    result[i] = (np.frombuffer(data, np.float32), tokens)
        keys = list(where)
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            rows = self._db.execute(
                f"SELECT key, tokens, data FROM rows WHERE key IN ({marks})", part
            )
            for key, tokens, data in rows:
                for i in where[key]:
                    result[i] = (np.frombuffer(data, np.float32), tokens)
        return result

    def put(
        self,
        kind: str,
        texts: Sequence[str],
        rows: NDArray[np.float32],
        tokens: Sequence[int],
    ) -> None:
        """Keep some rows, for good once `flush` has returned."""
        records = {
            key: (key, int(count), row.tobytes())
            for text, count, row in zip(texts, tokens, rows.astype(np.float32), strict=True)
            for key in [_key(kind, text)]
        }
        self._queue.append((self._writer.submit(self._write, records), records))
        while len(self._queue) > _WAITING or (self._queue and self._queue[0][0].done()):
            self._queue.popleft()[0].result()

    def flush(self) -> None:
        """Wait until all is on disk. Raises `OutputError` for what could not be written."""
        while self._queue:
            self._queue.popleft()[0].result()

    def _write(self, records: dict[bytes, _Record]) -> None:
        try:
            with self._writing:
                self._writing.executemany(
                    "INSERT OR IGNORE INTO rows VALUES (?, ?, ?)", records.values()
                )
        except sqlite3.Error as error:
            raise OutputError(
                f"{self.path}: cannot be written ({error}); free some space, or run with --no-cache"
            ) from error


def _key(kind: str, text: str) -> bytes:
    return xxhash.xxh3_128_digest(f"{kind}\0{text}".encode())
