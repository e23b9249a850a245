"""How long to wait for a request that another process has out.

A lease is a duration, and no time of day is written down or read: it ends with the process that
holds it, where that can be seen from here, or once this process has seen it unchanged for so long
by its own monotonic clock. Setting a clock can neither stretch nor shorten it.
"""

from __future__ import annotations

from collections.abc import Callable

from retgen.agents.ledger.owners import Owner
from retgen.agents.ledger.records import Busy


class Leases:
    """What this process has seen of the leases of others. `clock`: monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[bytes, tuple[int, float]] = {}  # by key: which send, first seen when

    def busy(self, key: bytes, send: int, lease: float, owner: Owner | None) -> Busy | None:
        """For whom and how long to wait; None where the lease has ended."""
        now = self._clock()
        which, since = self._seen.get(key, (send, now))
        if which != send:
            since = now
        left = since + lease - now
        if left <= 0 or (owner is not None and owner.ended()):
            self.over(key)
            return None
        self._seen[key] = send, since
        return Busy("another process" if owner is None else str(owner), left)

    def over(self, key: bytes) -> None:
        """Nobody waits for this request any longer."""
        self._seen.pop(key, None)
