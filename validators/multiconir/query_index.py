"""The queries of a ladder set; of each two hashes and a number are kept, 24 bytes."""

from __future__ import annotations

from array import array
from functools import cached_property

import numpy as np
import xxhash
from numpy.typing import NDArray


class QueryIndex:
    """Ladder, style and number of conditions by query id, each to be taken once."""

    def __init__(self) -> None:
        self._ids, self._texts, self._packed = array("Q"), array("Q"), array("Q")

    def add(self, query_id: str, text: str, ladder: int, style: int, conditions: int) -> None:
        """Another query; `style`: 0 or 1; `conditions`: 1 to 10."""
        self._ids.append(_hash(query_id))
        self._texts.append(_hash(text))
        self._packed.append(ladder << 5 | style << 4 | conditions)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.bool_]]:
        ids = np.frombuffer(self._ids, np.uint64) if self._ids else np.empty(0, np.uint64)
        order = np.argsort(ids, kind="stable")
        return ids[order], order, np.zeros(len(ids), bool)

    def take(self, query_id: str) -> tuple[int, int] | None:
        """(ladder, conditions) of a query; None where there is none, or it was taken before."""
        place = self._place(query_id)
        if place is None or self._sorted[2][place]:
            return None
        self._sorted[2][place] = True
        packed = self._packed[int(self._sorted[1][place])]
        return packed >> 5, packed & 15

    def which(self, query_id: object) -> tuple[int, int, int] | None:
        """(ladder, style, conditions) of a query, taken or not; None where there is none."""
        place = self._place(query_id) if isinstance(query_id, str) else None
        if place is None:
            return None
        packed = self._packed[int(self._sorted[1][place])]
        return packed >> 5, packed >> 4 & 1, packed & 15

    def _place(self, query_id: str) -> int | None:
        ids = self._sorted[0]
        wanted = np.uint64(_hash(query_id))
        place = int(np.searchsorted(ids, wanted))
        return place if place < len(ids) and ids[place] == wanted else None

    def again(self) -> None:
        """Let every query be taken once more."""
        self._sorted[2][:] = False

    def left(self) -> int:
        """How many were not taken."""
        return int((~self._sorted[2]).sum())

    def repeated(self) -> frozenset[int]:
        """Hashes of texts that stand more than once."""
        if not self._texts:
            return frozenset()
        texts, counts = np.unique(np.frombuffer(self._texts, np.uint64), return_counts=True)
        return frozenset(texts[counts > 1].tolist())

    def repeats(self, text: str, among: frozenset[int]) -> bool:
        """Whether a text is one of `repeated`."""
        return _hash(text) in among


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
