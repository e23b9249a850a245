"""Pairs of sets that may be similar, by the rarest words of each: no similar one is left out.

Two sets with a Jaccard similarity of t or more share one of the first |x| - ceil(t |x|) + 1 of
their words, the rarest first (Chaudhuri et al., ICDE 2006). Where the first word that they share
stands in each bounds their sizes (the position filter of PPJoin, WWW 2008), so that of all sets
with a word only some sizes are looked at. What is left is compared by 64 bits of each set, the
parity of its words by bucket: every bit that differs is a word that they do not share.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from retgen.validators.wordsets import Ints, Sets

Longs = NDArray[np.uint64]

_BLOCK = 1024  # sets that are looked at in a step, so that they stay in the processor's cache
_STEP = 1 << 22  # words that are counted in a step
_BUCKET_BITS = 22  # words of one bucket are taken for one: they only add pairs to look at
_BUCKETS = (1 << _BUCKET_BITS) - 1
_ENTRIES = 1 << 25  # beyond, they take too much memory
_PAIRS_A_WORD = 64  # beyond, MinHash takes far less time
_CHUNK = 1 << 20  # entries, or pairs, that are looked at in a step
_ONE = np.uint64(1)


class Prefixes:
    """The rarest words of each set: entries sorted by word, then by the size of the set.

    Sets are numbered by size. An entry is an integer: word, flag, number of the set, place in it.
    """

    def __init__(self, sets: Sets, threshold: float) -> None:
        self._sets = np.argsort(sets.sizes, kind="stable")  # number -> set
        self._sizes = sets.sizes[self._sets]  # ascending
        self._bits = np.zeros(len(sets), np.uint64)  # of numbers
        self._words = int(sets.starts[-1])
        self._threshold = threshold
        longest = int(self._sizes[-1]) if len(sets) else 0
        self._places = int(_prefix(np.array(longest), threshold)).bit_length()
        self._flag = self._places + len(sets).bit_length()  # the bit of the flag
        fits = self._flag + 1 + _BUCKET_BITS <= 64
        self._keys = self._entries(sets) if fits else None

    def _entries(self, sets: Sets) -> Longs | None:
        """Entries, but for words that stand in one set alone; None if there are too many."""
        rarity, once = _rarity(sets)
        number = np.empty(len(sets), np.uint64)
        number[self._sets] = np.arange(len(sets), dtype=np.uint64)
        result, total = [np.empty(0, np.uint64)], 0
        for low in range(0, len(sets), _BLOCK):
            starts = sets.starts[low : low + _BLOCK + 1]
            words = np.asarray(sets.words[starts[0] : starts[-1]])
            sizes = np.diff(starts)
            own = number[low : low + _BLOCK]
            filled = np.flatnonzero(sizes)
            if not len(filled):
                continue
            begins = (starts[:-1] - starts[0])[filled]
            bit = _ONE << ((words >> _BUCKET_BITS) & 63).view(np.uint64)
            self._bits[own[filled]] = np.bitwise_xor.reduceat(bit, begins)
            rows = np.repeat(np.arange(len(sizes)), sizes)
            ranked = (rows << _BUCKET_BITS) | rarity[words & _BUCKETS]
            ranked.sort()
            ranked &= _BUCKETS
            places = np.arange(len(rows)) - (starts[:-1] - starts[0])[rows]
            taken = (places < _prefix(sizes, self._threshold)[rows]) & (ranked >= once)
            keys = ranked[taken].view(np.uint64) << np.uint64(self._flag + 1)
            keys |= own[rows[taken]] << np.uint64(self._places)
            keys |= places[taken].view(np.uint64)
            result.append(keys)
            total += len(keys)
            if total > _ENTRIES:
                return None
        joined = np.concatenate(result)
        joined.sort()
        return joined

    def pairs(self, labels: Ints) -> Iterator[tuple[Ints, Ints]] | None:
        """Chunks of pairs of sets, all similar ones of different labels among them.

        `labels`: (n,) numbers below n. None where there are too many.
        """
        if self._keys is None:
            return None
        keys = self._keys
        flagged = bool(len(labels)) and int(np.bincount(labels).max()) > 1
        if flagged:
            keys = self._flag_common_labels(keys, labels)
        below = np.concatenate([[0], np.cumsum(np.bincount(self._sizes))])  # sets of fewer words
        result = [np.empty((3, 0), np.int64)]
        for begin in range(0, len(keys), _CHUNK):
            result += self._windows(keys, begin, below, flagged)
        first, low, count = np.concatenate(result, 1)
        if int(count.sum()) > _PAIRS_A_WORD * self._words:
            return None
        return self._close(keys, first, low, count)

    def _flag_common_labels(self, keys: Longs, labels: Ints) -> Longs:
        """Entries whose label is the most common one of their word come last of it, flagged.

        No two of them are a pair of different labels.
        """
        label = labels[self._sets][self._number(keys)].view(np.uint64)
        shift = np.uint64(len(labels).bit_length())
        both = ((keys >> np.uint64(self._flag + 1)) << shift) | label
        both.sort()
        begins = np.flatnonzero(np.diff(both, prepend=~both[:1]))
        counts = np.diff(begins, append=len(both)).view(np.uint64)
        word, one = both[begins] >> shift, both[begins] & ((_ONE << shift) - _ONE)
        firsts = np.flatnonzero(np.diff(word, prepend=~word[:1]))
        best = np.maximum.reduceat((counts << shift) | one, firsts)
        most = np.zeros(1 << _BUCKET_BITS, np.uint64)
        most[word[firsts]] = best & ((_ONE << shift) - _ONE)
        same = label == most[keys >> np.uint64(self._flag + 1)]
        sorted_: Longs = np.sort(keys | (same.astype(np.uint64) << np.uint64(self._flag)))
        return sorted_

    def _windows(self, keys: Longs, begin: int, below: Ints, flagged: bool) -> Iterator[Ints]:
        """(3, m) entries, and for each where those that it is compared with begin, and how many.

        Of two entries without a flag the one of the smaller set is compared with the other.
        """
        here = keys[begin : begin + _CHUNK + 1]
        word = here >> np.uint64(self._flag + 1)
        own = np.flatnonzero(word[1:] == word[:-1])
        if flagged:
            own = own[(here[own] >> np.uint64(self._flag)) & _ONE == 0]
        size = self._sizes[self._number(here[own])]
        # the first word of those that two sets share: what is left of both is shared at most
        factor = (1 + self._threshold) / self._threshold
        largest = np.floor((size - self._place(here[own])) * factor - size + 1e-9).astype(np.int64)
        upto = below[np.minimum(largest, len(below) - 2) + 1]
        ranges = [(largest >= size, 0, None)]
        if flagged:
            smallest = np.ceil(self._threshold * size - 1e-9).astype(np.int64)
            ranges.append((largest >= smallest, 1, below[smallest]))
        for some, flag, since in ranges:
            key = (word[own[some]] << _ONE) | np.uint64(flag)
            key <<= np.uint64(self._flag)
            numbers = np.uint64(self._places)
            end = np.searchsorted(keys, key | (upto[some].view(np.uint64) << numbers))
            low = own[some] + (begin + 1)
            if since is not None:
                low = np.searchsorted(keys, key | (since[some].view(np.uint64) << numbers))
            window = np.stack([own[some] + begin, low, end - low])
            yield window[:, window[2] > 0]

    def _close(
        self, keys: Longs, first: Ints, low: Ints, count: Ints
    ) -> Iterator[tuple[Ints, Ints]]:
        """The pairs that may be similar, by their bits, their sizes and what is left of them."""
        apart = (1 - self._threshold) / (1 + self._threshold)  # of both sizes: words not shared
        most = (
            1 + 1 / self._threshold
        ) * apart  # of a size: a similar set is at most 1 / threshold times as large
        ends = np.cumsum(count)
        begin = 0
        while begin < len(first):
            done = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, done + _CHUNK, "right")))
            here = slice(begin, end)
            other = np.arange(done, ends[end - 1])
            other += np.repeat(low[here] - (ends[here] - count[here]), count[here])
            own = self._number(keys[first[here]])
            allowed = np.minimum(self._sizes[own] * most + 1e-9, 64).astype(np.uint8)
            differ = self._bits[self._number(keys[other])]
            differ ^= np.repeat(self._bits[own], count[here])
            result = np.flatnonzero(np.bitwise_count(differ) <= np.repeat(allowed, count[here]))
            a, b = keys[first[np.searchsorted(ends, result + done, "right")]], keys[other[result]]
            x, y = self._number(a), self._number(b)
            sizes = self._sizes[x] + self._sizes[y]
            rest = np.minimum(self._sizes[x] - self._place(a), self._sizes[y] - self._place(b))
            ask = np.bitwise_count(differ[result]) <= sizes * apart + 1e-9
            ask &= rest >= sizes * (1 - apart) / 2 - 1e-9
            yield self._sets[x[ask]], self._sets[y[ask]]
            begin = end

    def _number(self, keys: Longs) -> Ints:
        mask = (1 << (self._flag - self._places)) - 1
        number: Ints = (keys >> np.uint64(self._places)).view(np.int64) & mask
        return number

    def _place(self, keys: Longs) -> Ints:
        return keys.view(np.int64) & ((1 << self._places) - 1)


def _prefix(sizes: Ints, threshold: float) -> Ints:
    """How many of the rarest words of sets may be the first that they share with a similar one."""
    count: Ints = sizes - np.ceil(threshold * sizes - 1e-9).astype(np.int64) + 1
    return count


def _rarity(sets: Sets) -> tuple[Ints, int]:
    """(buckets,) ranks of buckets of words, the rarest first; the first of two words and more."""
    counts = np.zeros(_BUCKETS + 1, np.int64)
    for low in range(0, int(sets.starts[-1]), _STEP):
        counts += np.bincount(sets.words[low : low + _STEP] & _BUCKETS, minlength=len(counts))
    used = np.flatnonzero(counts)
    order = (counts[used] << _BUCKET_BITS) | used  # equally rare ones by their number
    order.sort()
    rarity = np.zeros(len(counts), np.int64)
    rarity[order & _BUCKETS] = np.arange(len(order))
    return rarity, int(np.searchsorted(order, 2 << _BUCKET_BITS))
