"""Memory that is used again and again stays with the process."""

from __future__ import annotations

_MOST = 31 << 20  # bytes; of larger blocks glibc learns nothing (its limit is 32 MiB)


def keep_freed() -> None:
    """Have the C library keep freed blocks that arrays of a few MB would ask for again.

    glibc gives every freed block above a size back to the system, which costs a page fault for
    each of its 4 KB next time; that size grows to the largest block freed so far. Here one that
    nobody wrote to, so it costs nothing. Elsewhere this does nothing.
    """
    bytearray(_MOST)
