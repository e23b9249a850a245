"""The queries of a ladder set, 24 bytes each."""

from __future__ import annotations

from array import array
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from retgen.rows import text_hash


class QueryIndex:
    """Ladder, style and number of conditions by query id."""

    def __init__(self) -> None:
        self._rows = array("Q")

    def add(self, query_id: str, text: str, ladder: int, style: int, conditions: int) -> None:
        """Another query; `style`: 0 or 1; `conditions`: 1 to 10."""
        self._rows.extend(
            (text_hash(query_id), text_hash(text), ladder << 5 | style << 4 | conditions)
        )

    def __len__(self) -> int:
        return len(self._rows) // 3

    @cached_property
    def _table(self) -> NDArray[np.uint64]:
        """(queries, 3): hashes of id and text, ladder with style and conditions; by the first."""
        rows = np.array(self._rows, np.uint64).reshape(-1, 3)
        return rows[np.argsort(rows[:, 0], kind="stable")]

    def place(self, query_id: object) -> int | None:
        """A number of a query; None where there is none of that id."""
        if not isinstance(query_id, str) or not len(self):
            return None
        wanted, ids = np.uint64(text_hash(query_id)), self._table[:, 0]
        place = int(np.searchsorted(ids, wanted))
        return place if place < len(ids) and ids[place] == wanted else None

    def at(self, place: int) -> tuple[int, int, int]:
        """(ladder, style, conditions) of a query by its number."""
        packed = int(self._table[place, 2])
        return packed >> 5, packed >> 4 & 1, packed & 15

    def which(self, query_id: object) -> tuple[int, int, int] | None:
        """(ladder, style, conditions) of a query; None where there is none."""
        place = self.place(query_id)
        return None if place is None else self.at(place)

    def repeated_texts(self) -> frozenset[int]:
        """Hashes of texts that stand more than once."""
        texts, counts = np.unique(self._table[:, 1], return_counts=True)
        return frozenset(texts[counts > 1].tolist())

    @staticmethod
    def repeats(text: str, among: frozenset[int]) -> bool:
        """Whether a text is one of `repeated_texts`."""
        return text_hash(text) in among
