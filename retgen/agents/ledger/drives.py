"""Network drives, on which SQLite's files are not safe when several machines use them."""

from __future__ import annotations

import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mounts")
_KINDS = frozenset(
    "9p afs beegfs ceph cifs coda davfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs "
    "smb3 smbfs vboxsf".split()
)  # fmt: skip


def network_drive(path: Path, mounts: str | None = None) -> str | None:
    """The kind of network drive that a path lies on ("nfs4", "fuse.sshfs"); None: on none.

    `mounts`: as /proc/self/mounts has them; where there is no such file nothing is known.
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(errors="replace")
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


# programs that show a local disk; any other may be a network
_LOCAL = frozenset(
    "fuse.ntfs fuse.ntfs-3g fuse.exfat fuse.bindfs fuse.fuse-overlayfs fuse.mergerfs fuse.zfs "
    "fuse.lxcfs fuse.encfs fuse.gocryptfs fuse.portal fuse.gvfsd-fuse fuse.grpcfuse".split()
)  # fmt: skip
