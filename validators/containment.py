"""Which queries stand whole, word for word, in which documents: sets looked up in sets.

Documents times queries is too much for a large collection. Each query is looked up under its rarest
word only, and the few documents that hold it are asked for the next rarest; so the work grows with
the documents and with the pairs that share a rarest word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

CELLS = 1 << 23  # of the table documents x words that is held at a time (4 bytes each)
PAIRS = 1 << 20  # pairs of a document and a query that are looked at in one go


class Containment:
    """Sets of words, given as columns 0..width-1, to be found in documents.

    `sets`: none empty, none with a repeated column. `frequencies` (width,): in about how many
    documents a word stands; how often it is right changes the speed and nothing else.
    """

    def __init__(self, sets: Sequence[Sequence[int]], frequencies: NDArray[np.integer]) -> None:
        self._width = len(frequencies)
        sizes = np.fromiter(map(len, sets), np.int64, len(sets))
        columns = np.fromiter(chain.from_iterable(sets), np.int64, int(sizes.sum()))
        # the words of each set, rarest first; the sets, by their rarest word
        owner = np.repeat(np.arange(len(sets)), sizes)
        columns = columns[np.lexsort((columns, frequencies[columns], owner))]
        starts = np.cumsum(sizes) - sizes
        rarest = columns[starts]
        self._order = np.argsort(rarest, kind="stable")  # place here -> place in `sets`
        self._sizes, self._starts = sizes[self._order], starts[self._order]
        self._columns = columns
        self._fan = np.bincount(rarest, minlength=self._width)  # sets of which a word is the rarest
        self._first = np.cumsum(self._fan) - self._fan
        # which word stands where: a cell is of this block if it is not below the block's `_stamp`
        self._height = max(1, CELLS // max(self._width, 1))
        self._seen = np.zeros(0, np.int32)
        self._stamp = 1

    def pairs(
        self, documents: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """(documents, sets), two columns: every document with every set that it holds whole.

        Word `columns[i]` stands in document `documents[i]`; documents ascend. Pairs come in no
        particular order, each once.
        """
        if not len(documents) or not len(self._sizes):
            return
        blocks = np.arange(0, int(documents[-1]) + 1, self._height)
        starts = np.searchsorted(documents, blocks).tolist()
        stops = [*starts[1:], len(documents)]
        for first, start, stop in zip(blocks.tolist(), starts, stops, strict=True):
            if start < stop:
                for rows, sets in self._block(documents[start:stop] - first, columns[start:stop]):
                    yield rows + first, self._order[sets]

    def _block(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        seen, stamp = self._mark_block(rows, columns)
        cells = rows * self._width + columns
        once = seen[cells] == np.arange(stamp, stamp + len(cells))  # a word may stand repeatedly
        wanted = once & (self._fan[columns] > 0)
        rows, columns = rows[wanted], columns[wanted]
        fan = self._fan[columns]
        ends = np.cumsum(fan)
        total = int(ends[-1]) if len(ends) else 0
        cuts = np.searchsorted(ends, np.arange(PAIRS, total, PAIRS)).tolist()
        for start, stop in zip([0, *cuts], [*cuts, len(ends)], strict=True):
            count = fan[start:stop]
            if not len(count):
                continue
            ranks = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
            sets = np.repeat(self._first[columns[start:stop]], count) + ranks
            held = np.repeat(rows[start:stop], count)
            size = 1
            while len(sets):
                whole = self._sizes[sets] == size
                if whole.any():
                    yield held[whole], sets[whole]
                    held, sets = held[~whole], sets[~whole]
                following = self._columns[self._starts[sets] + size]
                kept = seen[held * self._width + following] >= stamp
                held, sets = held[kept], sets[kept]
                size += 1

    def _mark_block(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], int]:
        """The table of this block, (height * width,), and the least number of its cells."""
        size = (int(rows[-1]) + 1) * self._width
        if len(self._seen) < size or self._stamp > (1 << 31) - 1 - len(rows):
            self._seen, self._stamp = np.zeros(size, np.int32), 1
        stamp = self._stamp
        self._stamp += len(rows)
        numbers = np.arange(stamp, self._stamp, dtype=np.int32)
        self._seen[rows * self._width + columns] = numbers  # of equal cells the last one stays
        return self._seen, stamp
