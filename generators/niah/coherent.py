"""Coherent fillers: sentences of one book in order, as they follow one another there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: its multiples spread evenly
_EACH = 3  # sentences that there are to begin with, for each filler


class Draw(NamedTuple):
    """Which of so many fillers this is. `offset`: 64 random bits, the same for all of them."""

    number: int
    fillers: int
    offset: int

    def among(self, count: int) -> int:
        """One of so many: hardly ever that of another filler."""
        return ((self.offset + self.number * _GOLDEN) % 2**64 * count) >> 64


class Runs:
    """Runs of sentences within a list of them, which is in the order of the books.

    `sizes`, `books`: tokens and book of each sentence, (n,); `begins`: whether a run may begin with
    it, (n,); `after`: whether a tail can be found behind a run that leaves so many tokens,
    (tokens,).
    """

    def __init__(self, sizes: Ints, books: Ints, begins: Bools, after: Bools) -> None:
        self._sizes, self._books, self._begins, self._after = sizes, books, begins, after

    def draw(self, numbers: Ints, tokens: int, least: int, draw: Draw) -> list[int] | None:
        """At least so many of some sentences, of at most so many tokens; None where there is none.

        All of one book where the books are long enough for all fillers to begin elsewhere. Else
        what follows the end of a book is the beginning of the next; the first
        follows the last.
        """
        books, starts = self._books[numbers], np.flatnonzero(self._begins[numbers])
        ends = np.searchsorted(books, books[starts], side="right")
        for stop, enough in ((ends, _EACH * draw.fillers), (starts + len(numbers), 1), (ends, 1)):
            found = list(self._fitting(numbers, starts, stop, tokens, least))
            if len(found) >= enough:
                start, end = found[draw.among(len(found))]
                return [int(numbers[i % len(numbers)]) for i in range(start, end)]
        return None

    def _fitting(
        self, numbers: Ints, begin: Ints, stop: Ints, tokens: int, least: int
    ) -> Iterator[tuple[int, int]]:
        """(first, behind the last) of the longest runs from some sentences on that can be used."""
        total = np.concatenate([[0], np.cumsum(np.tile(self._sizes[numbers], 2))])
        end = np.minimum(np.searchsorted(total, total[begin] + tokens, side="right") - 1, stop)
        left = tokens - (total[end] - total[begin])
        can = (end - begin >= least) & (left < len(self._after))
        can[can] = self._after[left[can]]
        yield from zip(begin[can].tolist(), end[can].tolist(), strict=True)
