"""The lock of a run in a bucket: an object that its holder writes anew as a sign of life.

Every write has a condition: that nobody else has written it meanwhile. Without a sign of life for
a while it lapses, and another run takes it over.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import time
from pathlib import Path
from typing import NamedTuple

import orjson

from retgen.errors import RetgenError, RunDirectoryError, UsageError
from retgen.object_store import ConditionFailed, ObjectStore
from retgen.progress import Progress
from retgen.write import write_file

LEASE = "RETGEN_LEASE"  # seconds without a sign of life until a lock lapses
NAME = ".lock"
_OWNER = ".owner"


class _Stated(NamedTuple):
    token: str
    owner: str
    lease: float
    free: bool
    beats: int


class BucketLock:
    """The lock of a run that is made in `folder`, which the caller holds: a lock that was taken
    from there is taken again at once.
    """

    def __init__(self, store: ObjectStore, folder: Path) -> None:
        text = os.environ.get(LEASE, "60")
        with contextlib.suppress(ValueError):
            self.lease = float(text)
        if not getattr(self, "lease", 0) > 0:
            raise UsageError(f"{LEASE}={text}: must be seconds, for example 60")
        self._store, self._owner, self._beats, self._etag = store, folder.with_name(_OWNER), 0, ""

    def acquire(self, patience: float, progress: Progress) -> None:
        """Raises `RunDirectoryError` where another run lives for longer than `patience` seconds."""
        if not self._owner.is_file():
            write_file(self._owner, secrets.token_hex(8))
        began, first = time.monotonic(), ""
        while not (taken := self._read()) or not self._take_over(*taken, first, began):
            if not taken:
                with contextlib.suppress(ConditionFailed):  # somebody was faster
                    self._etag = self._store.put(NAME, self._content(), if_absent="*")
                    break
                continue
            stated, etag, _ = taken
            waited = time.monotonic() - began
            first = first or etag
            if etag != first and waited > patience:
                raise RunDirectoryError(
                    f"{self._store.url} is in use by another gen run ({stated.owner}); wait for "
                    "it, or choose another --out"
                )
            note = f"{stated.owner} makes this run, or was killed"
            progress("waiting", int(min(waited, stated.lease)), int(stated.lease) or 1, note)
            time.sleep(min(1.0, self.lease / 20))
        self._check_conditions()

    def _take_over(self, stated: _Stated, etag: str, age: float, first: str, began: float) -> bool:
        """Take a lock that nobody holds any more; whether that was so."""
        silent = max(age, time.monotonic() - began if etag == first else 0)
        if not stated.free and stated.token != self._owner.read_text() and silent <= stated.lease:
            return False
        try:
            self._etag = self._store.put(NAME, self._content(), if_match=etag)
        except ConditionFailed:
            return False
        return True

    def _check_conditions(self) -> None:
        for words in ({"if_absent": "*"}, {"if_match": '"0"'}):
            with contextlib.suppress(ConditionFailed):
                self._store.put(NAME, self._content(), **words)
                raise UsageError(
                    f"{self._store.url}: this store ignores the conditions of a write (If-Match, "
                    "If-None-Match), which keep two runs apart; use another one, or a shared disk"
                )

    def beat(self) -> None:
        """Give a sign of life. Raises `RunDirectoryError` where another run has taken over."""
        self._beats += 1
        try:
            self._etag = self._store.put(NAME, self._content(), if_match=self._etag)
        except ConditionFailed:
            taken = self._read()  # it may be our own, the answer to which was lost
            if not taken or taken[0].token != self._owner.read_text():
                raise RunDirectoryError(
                    f"{self._store.url} was taken over by another gen run"
                    f"{f' ({taken[0].owner})' if taken else ''}, after {self.lease:.0f} seconds "
                    "without a sign of life from this one. The same command waits for it"
                ) from None
            self._etag = taken[1]

    def release(self) -> None:
        """Let go; a lock that cannot be reached lapses."""
        with contextlib.suppress(RetgenError, ConditionFailed):
            self._store.put(NAME, self._content(free=True), if_match=self._etag)

    def _content(self, free: bool = False) -> bytes:
        owner = f"process {os.getpid()} on {socket.gethostname()}"
        return orjson.dumps(
            _Stated(self._owner.read_text(), owner, self.lease, free, self._beats)._asdict()
        )

    def _read(self) -> tuple[_Stated, str, float] | None:
        """What the lock says, what S3 knows it by, its age in seconds."""
        found = self._store.get(NAME)
        if found is None:
            return None
        try:
            return _Stated(**orjson.loads(found[0])), found[1].etag, found[1].age or 0.0
        except (ValueError, TypeError) as error:
            raise RunDirectoryError(
                f"{self._store.url}/{NAME} was not written by gen run: remove it, or choose "
                "another --out"
            ) from error
