"""Sets of words that share most of their members, every pair verified exactly.

Two ways lead to pairs that may be similar. A join of the rarest words (`Prefixes`) is exact. Banded
MinHash finds nearly all, in time that grows with the number of words alone. The join is done where
its pairs are few enough to look at. Where they are not, MinHash goes first, since sets of one group
need no further comparison, and the join follows if what is left is few enough.

The hashing is a dozen lines of NumPy because libraries do not reach it: rensa computes digests
as fast, but hands them out as Python lists only, which takes ten times as long again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.validators.prefixes import Prefixes
from retgen.validators.wordsets import WORD_BITS, Ints, Sets

Floats = NDArray[np.float64]

THRESHOLD = 0.8
MISSED = "; a few more may have been missed among so many"  # what a message adds where not exact
_BANDS, _ROWS = 16, 4  # of pairs at the threshold one in 4,600 is missed, above it far fewer
_ROUNDS = 32  # members of a bucket that the others are compared with
_BLOCK = 4096  # sets that are hashed at a time, so that they stay in the processor's cache
_CHUNK = 1 << 22  # words of the pairs that are verified at a time


def groups(sets: Sets, threshold: float = THRESHOLD) -> tuple[Ints, bool]:
    """(n,) a number for every set, shared by those that a chain of similar pairs connects.

    Also whether no pair can have been missed. Empty sets are similar to nothing.
    """
    forest = _Forest(len(sets))
    exact = _find(_Proof(sets, threshold), forest)
    return forest.labels, exact


def matches(sets: Sets, first: int, threshold: float = THRESHOLD) -> tuple[Ints, bool]:
    """(m, 2) pairs of one of the `first` sets with a later one: one for every set that has any.

    Also whether no set can have been missed.
    """
    sides = _Sides(len(sets), first)
    exact = _find(_Proof(sets, threshold), sides)
    result = np.flatnonzero(sides.witness[:first] >= 0)
    return np.stack([result, sides.witness[result]], 1), exact


def _find(proof: _Proof, kept: _Forest | _Sides) -> bool:
    """All similar pairs, or nearly all; whether none can have been missed."""
    prefixes = Prefixes(proof.sets, proof.threshold)
    if _join(prefixes, proof, kept):
        return True
    for keys in _keys(proof.sets):
        _stars(proof, keys, kept)
    return _join(prefixes, proof, kept)


def _join(prefixes: Prefixes, proof: _Proof, kept: _Forest | _Sides) -> bool:
    """All similar pairs of different labels; False, and nothing done, where there are too many."""
    chunks = prefixes.pairs(kept.labels)
    if chunks is None:
        return False
    count = len(proof.sets)
    for a, b in chunks:
        ask = kept.undecided_pairs(a, b)
        pairs = np.unique(np.minimum(a, b)[ask] * count + np.maximum(a, b)[ask])
        proof.look(pairs // count, pairs % count, kept)
    return True


# --- what is done with a similar pair ---------------------------------------------------------


class _Forest:
    """Sets in groups. `labels` (n,): pairs of one label need no look."""

    def __init__(self, count: int) -> None:
        self.labels: Ints = np.arange(count)

    def undecided_pairs(self, a: Ints, b: Ints) -> NDArray[np.bool_]:
        """Which pairs are still to be looked at."""
        undecided: NDArray[np.bool_] = self.labels[a] != self.labels[b]
        return undecided

    def needs_others(self, leader: Ints, member: Ints) -> NDArray[np.bool_]:
        """Which members need others to be compared with: not those of the leader's group."""
        return self.undecided_pairs(leader, member)

    def connect(self, a: Ints, b: Ints) -> None:
        if not len(a):
            return
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        old, places = np.unique(self.labels[np.concatenate([a, b])], return_inverse=True)
        left, right = places[: len(a)], places[len(a) :]
        edges = coo_array((np.ones(len(a), bool), (left, right)), shape=(len(old), len(old)))
        _, parts = connected_components(edges, directed=False)
        smallest = np.full(parts.max() + 1, np.iinfo(np.int64).max)
        np.minimum.at(smallest, parts, old)
        renamed = np.arange(len(self.labels))
        renamed[old] = smallest[parts]
        self.labels = renamed[self.labels]


class _Sides:
    """Sets of two collections: a pair has one of each, and one pair for a set is enough."""

    def __init__(self, count: int, first: int) -> None:
        self.labels: Ints = (np.arange(count) >= first).astype(np.int64)
        self.witness: Ints = np.full(count, -1)

    def undecided_pairs(self, a: Ints, b: Ints) -> NDArray[np.bool_]:
        """Which pairs are still to be looked at."""
        own = np.where(self.labels[a] == 0, a, b)
        undecided: NDArray[np.bool_] = (self.labels[a] != self.labels[b]) & (self.witness[own] < 0)
        return undecided

    def needs_others(self, leader: Ints, member: Ints) -> NDArray[np.bool_]:
        """Which members need others to be compared with: not those that have a pair."""
        return self.witness[member] < 0

    def connect(self, a: Ints, b: Ints) -> None:
        swap = self.labels[a] > self.labels[b]
        own, other = np.where(swap, b, a), np.where(swap, a, b)
        self.witness[own[::-1]] = other[::-1]  # of several the first


# --- MinHash ----------------------------------------------------------------------------------


def _keys(sets: Sets) -> Iterator[NDArray[np.uint64]]:
    """(n,) keys band by band: similar sets have equal keys in some band."""
    draw = np.random.Generator(np.random.Philox(key=[0, 0])).integers
    factors = draw(0, 1 << 31, (_BANDS, _ROWS, 2), np.int64).astype(np.uint32) * 2 + 1
    count = len(sets)
    for band in range(_BANDS):
        keys = np.zeros(count, np.uint64)
        for low in range(0, count, _BLOCK):
            starts = sets.starts[low : low + _BLOCK + 1]
            words = np.asarray(sets.words[starts[0] : starts[-1]])
            filled = np.flatnonzero(np.diff(starts))
            if not len(filled):
                continue
            short = (words >> (WORD_BITS - 32)).astype(np.uint32)
            short ^= words.astype(np.uint32)
            begin = (starts[:-1] - starts[0])[filled]
            key = np.zeros(len(filled), np.uint64)
            for a, b in factors[band]:
                mixed = short * a
                mixed ^= mixed >> np.uint32(15)
                mixed *= b
                least = np.minimum.reduceat(mixed, begin).astype(np.uint64)
                key = (key ^ least) * np.uint64(0x9E3779B97F4A7C15)
                key ^= key >> np.uint64(29)
            keys[low + filled] = key
        yield keys


def _stars(proof: _Proof, keys: NDArray[np.uint64], kept: _Forest | _Sides) -> None:
    """Compare the sets of a bucket with its first one, those that are left with theirs, and so on.

    A bucket of up to 32 is compared throughout; a big one of similar sets ends in a round.
    """
    members = np.flatnonzero(proof.sets.sizes)
    if isinstance(kept, _Sides):
        members = members[::-1]  # one of the others leads, where there is one
    # keys cut to what fits into a sort with the place among the members
    bits = len(members).bit_length()
    keys = keys >> np.uint64(bits) << np.uint64(bits)
    placed = keys[members] | np.arange(len(members), dtype=np.uint64)
    placed.sort()
    order = members[placed.view(np.int64) & ((1 << bits) - 1)]
    for _ in range(_ROUNDS):
        ordered = keys[order]
        begins = np.empty(len(order), bool)
        begins[:1] = True
        np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
        leaders = order[np.flatnonzero(begins)][np.cumsum(begins) - 1]
        rest = np.flatnonzero(~begins)
        if not len(rest):
            return
        a, b = leaders[rest], order[rest]
        ask = kept.undecided_pairs(a, b)
        proof.look(a[ask], b[ask], kept)
        order = order[rest[kept.needs_others(a, b)]]


# --- the proof --------------------------------------------------------------------------------


class _Proof:
    """What a pair must be to be similar: its Jaccard similarity reaches the threshold.

    Where words have weights, that of the weighed words must reach it, too. A word counts its weight
    times log(n / m): m - 1 of the n sets beside the pair hold it.
    """

    def __init__(self, sets: Sets, threshold: float) -> None:
        self.sets = sets
        self.threshold = threshold
        self._weights: tuple[Floats, Floats] | None = None  # of words: in one of a pair, in both
        if sets.weights is not None:
            _, places, counts = np.unique(sets.words, return_inverse=True, return_counts=True)
            one = sets.weights * np.log(len(sets) / counts)[places]
            both = sets.weights * np.log(len(sets) / np.maximum(counts - 1, 1))[places]
            self._weights = one, both

    def look(self, a: Ints, b: Ints, kept: _Forest | _Sides) -> None:
        """Keep the pairs that are similar."""
        sizes, threshold = self.sets.sizes, self.threshold
        ends = np.cumsum(sizes[a] + sizes[b])
        low = 0
        while low < len(a):
            done = ends[low - 1] if low else 0
            high = max(low + 1, int(np.searchsorted(ends, done + _CHUNK, "right")))
            x, y = a[low:high], b[low:high]
            low = high
            ask = kept.undecided_pairs(x, y) & (
                np.minimum(sizes[x], sizes[y]) >= threshold * np.maximum(sizes[x], sizes[y]) - 1e-9
            )
            x, y = x[ask], y[ask]
            if len(x):
                similar = self._similar(x, y)
                kept.connect(x[similar], y[similar])

    def _similar(self, a: Ints, b: Ints) -> NDArray[np.bool_]:
        from scipy.sparse import csr_array

        used, places = np.unique(np.concatenate([a, b]), return_inverse=True)
        left, right = places[: len(a)], places[len(a) :]
        sizes = self.sets.sizes[used]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        taken = np.repeat(self.sets.starts[used] - starts[:-1], sizes) + np.arange(starts[-1])
        words = np.asarray(self.sets.words[taken])

        def rows(values: NDArray[Any]) -> Any:
            # columns are the hashes themselves: only rows are ever looked at
            made = csr_array((values, words, starts), shape=(len(used), 1 << WORD_BITS))
            made.has_canonical_format = True
            return made

        ones = rows(np.ones(len(taken), np.int8))
        shared = np.diff(ones[left].multiply(ones[right]).indptr)
        similar: NDArray[np.bool_]
        similar = shared >= self.threshold * (sizes[left] + sizes[right] - shared) - 1e-9
        if self._weights is not None:
            one, both = (rows(weights[taken]) for weights in self._weights)
            apart = one.sum(axis=1)[left] + one.sum(axis=1)[right]
            apart -= 2 * one[left].multiply(ones[right]).sum(axis=1)
            weighed = both[left].multiply(ones[right]).sum(axis=1)
            similar &= weighed >= self.threshold * (weighed + apart) - 1e-9
        return similar
