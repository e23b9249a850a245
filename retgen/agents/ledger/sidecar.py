"""The state file beside the database: how far the ledger had come, and who has it open.

A database that lost its `-wal`, was copied alone while it was in use, or was put back from an older
copy is sound, and lacks answers that were paid for. So after each transaction the number of changes
is written beside it as well. That is not synchronised: after a power failure the state file may be
behind, never ahead. A lock on it tells who opens the ledger first and who closes it last. Where no
state file can be written or locked, nothing is claimed. On network drives, SQLite's files are not
safe when several machines use them: `network_drive` says whether a path lies on one.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
import zlib
from pathlib import Path
from typing import NamedTuple

if sys.platform != "win32":
    import fcntl


_MARK = "retgen-ledger"
_LENGTH = 128  # bytes; one page, so a write is whole or not there


class LedgerState(NamedTuple):
    """`ledger`: which; `changes` and `answers`: how many it had, see `tables.meta`."""

    ledger: str
    changes: int
    answers: int


def state_path(path: Path) -> Path:
    """The state file of a ledger."""
    return path.with_name(path.name + ".state")


class Sidecar:
    """The state file of the ledger at `path`; made where it is not there and can be."""

    def __init__(self, path: Path) -> None:
        self.path = state_path(path)
        self.writable, self.made = True, False
        self._file = self._open()

    def enter(self) -> bool | None:
        """Take part: whether nobody else has the ledger open; None where that cannot be told.

        Who is alone keeps others waiting until `share`.
        """
        while self._file is not None:
            alone = self._lock(alone=True)
            if alone is None:
                return None
            if alone or self._lock(alone=False):
                if self._is_there():
                    return alone
                os.close(self._file)  # it was removed meanwhile
                self._file = self._open()
            else:
                time.sleep(0.005)  # somebody opens or closes it
        return None

    def share(self) -> None:
        """Let others in."""
        if self._file is not None:
            self._lock(alone=False)

    def lock_exclusively(self) -> bool | None:
        """Whether nobody else has it open, who then wait until `share` or `close`; as `enter`."""
        return None if self._file is None else self._lock(alone=True)

    def read(self) -> LedgerState | None:
        """What is there; None for nothing, and for what a power failure left."""
        if self._file is None:
            return None
        try:
            mark, which, changes, answers, check = os.pread(self._file, _LENGTH, 0).decode().split()
            state = LedgerState(which, int(changes), int(answers))
            return state if mark == _MARK and int(check) == _check(state) else None
        except (ValueError, OSError):
            return None

    def write(self, state: LedgerState, *, back: bool = False) -> None:
        """Say how far it is. `back`: even where another process had come farther."""
        if self._file is None or not self.writable:
            return
        if not back:
            known = self.read()  # two processes may write in another order than they committed
            if known is not None and known.ledger == state.ledger and known > state:
                return
        line = f"{_MARK} {' '.join(map(str, state))} {_check(state)}"
        with contextlib.suppress(OSError):  # a full disk: the database itself will say so
            os.pwrite(self._file, line.ljust(_LENGTH - 1).encode() + b"\n", 0)

    def close(self) -> None:
        """Leave."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def undo(self) -> None:
        """Remove the file again if this made it, since there is no ledger after all."""
        if self.made and self._file is not None and os.fstat(self._file).st_size == 0:
            self.path.unlink(missing_ok=True)

    def _open(self) -> int | None:
        if sys.platform == "win32":  # it has neither these locks nor pwrite
            return None
        self.made = not self.path.exists()
        for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
            self.writable = flags != os.O_RDONLY
            with contextlib.suppress(OSError):
                return os.open(self.path, flags, 0o666)
        return None

    def _is_there(self) -> bool:
        assert self._file is not None
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self.path))
        except OSError:
            return False

    def _lock(self, *, alone: bool) -> bool | None:
        """Whether it was got; None where files cannot be locked."""
        assert self._file is not None
        if sys.platform == "win32":
            return None
        try:
            fcntl.flock(self._file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # some network drives have no locks
            return None
        return True


def _check(state: LedgerState) -> int:
    return zlib.crc32(" ".join(map(str, state)).encode())


# --- network drives -----------------------------------------------------------------------------

MOUNTS = Path("/proc/self/mounts")
_KINDS = frozenset(
    "9p afs beegfs ceph cifs coda davfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs "
    "smb3 smbfs vboxsf".split()
)  # fmt: skip
# programs that show a local disk; any other may be a network
_LOCAL = frozenset(
    "fuse.ntfs fuse.ntfs-3g fuse.exfat fuse.bindfs fuse.fuse-overlayfs fuse.mergerfs fuse.zfs "
    "fuse.lxcfs fuse.encfs fuse.gocryptfs fuse.portal fuse.gvfsd-fuse fuse.grpcfuse".split()
)  # fmt: skip


def network_drive(path: Path, mounts: str | None = None) -> str | None:
    """The kind of network drive that a path lies on ("nfs4", "fuse.sshfs"); None: on none.

    `mounts`: as /proc/self/mounts has them; where there is no such file nothing is known.
    """
    if mounts is None:
        try:
            mounts = MOUNTS.read_text(errors="replace")
        except OSError:
            return None
    real = path.resolve()
    result, length = "", -1
    for line in mounts.splitlines():
        _, where, kind, *_ = [*line.split(" "), "", "", ""]
        there = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), where))
        # of several mounts at one place the last one is seen
        if real.is_relative_to(there) and len(there.parts) >= length:
            result, length = kind, len(there.parts)
    remote = result in _KINDS or (result.startswith("fuse.") and result not in _LOCAL)
    return result if remote else None
