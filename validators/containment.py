"""Which queries stand whole, word for word, in which documents: sets looked up in sets.

Documents times queries is too much for a large collection. Each query is looked up under its rarest
word only, and the few documents that hold it are asked for the next rarest; so the work grows with
the documents and with the pairs that share a rarest word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

PAIRS = 1 << 20  # pairs of a document and a query that are looked at in one go
Ints = NDArray[np.int64]


class Containment:
    """Sets of words, given as columns 0..width-1, to be found in documents.

    `sets`: none empty, none with a repeated column. `frequencies` (width,): in about how many
    documents a word stands; how often it is right changes the speed and nothing else.
    """

    def __init__(self, sets: Sequence[Sequence[int]], frequencies: NDArray[np.integer]) -> None:
        self._width = len(frequencies)
        self._sizes = np.fromiter(map(len, sets), np.int64, len(sets))
        self._starts = np.cumsum(self._sizes) - self._sizes
        columns = np.fromiter(chain.from_iterable(sets), np.int64, int(self._sizes.sum()))
        # the words of each set, rarest first; the sets, by their rarest word
        owner = np.repeat(np.arange(len(sets)), self._sizes)
        self._columns = columns[np.lexsort((columns, frequencies[columns], owner))]
        rarest = self._columns[self._starts]
        self._order = np.argsort(rarest, kind="stable")
        self._fan = np.bincount(rarest, minlength=self._width)  # sets of which a word is the rarest
        self._first = np.cumsum(self._fan) - self._fan

    def pairs(self, documents: Ints, columns: Ints) -> Iterator[tuple[Ints, Ints]]:
        """(documents, sets), two columns: every document with every set that it holds whole.

        Word `columns[i]` stands in document `documents[i]`. Pairs come in no particular order, each
        once.
        """
        held = np.unique(documents * self._width + columns)
        rows, words = np.divmod(held, max(self._width, 1))
        wanted = self._fan[words] > 0
        rows, words = rows[wanted], words[wanted]
        ends = np.cumsum(self._fan[words])
        total = int(ends[-1]) if len(ends) else 0
        cuts = np.searchsorted(ends, np.arange(PAIRS, total, PAIRS)).tolist()
        for start, stop in pairwise([0, *cuts, len(ends)]):
            fan = self._fan[words[start:stop]]
            ranks = np.arange(int(fan.sum())) - np.repeat(np.cumsum(fan) - fan, fan)
            sets = self._order[np.repeat(self._first[words[start:stop]], fan) + ranks]
            owners = np.repeat(rows[start:stop], fan)
            size = 1
            while len(sets):
                whole = self._sizes[sets] == size
                if whole.any():
                    yield owners[whole], sets[whole]
                    owners, sets = owners[~whole], sets[~whole]
                following = owners * self._width + self._columns[self._starts[sets] + size]
                found = held.take(np.searchsorted(held, following), mode="clip") == following
                owners, sets = owners[found], sets[found]
                size += 1
