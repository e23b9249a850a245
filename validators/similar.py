"""Sets of words that share most of their members, every pair verified exactly.

Two ways lead to pairs that may be similar. A join of the rarest words is exact, where its pairs are
few enough to look at. Where they are not, banded MinHash finds nearly all, in time that grows with
the number of words alone.

The hashing is a dozen lines of NumPy because libraries do not reach it: rensa computes digests
as fast, but hands them out as Python lists only, which takes ten times as long again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.validators.wordsets import WORD_BITS, Ints, Sets

Floats = NDArray[np.float64]

THRESHOLD = 0.8
MISSED = "; a few more may have been missed among so many"  # what a message adds where not exact
_BANDS, _ROWS = 16, 4  # of pairs at the threshold one in 4,600 is missed, above it far fewer
_ROUNDS = 32  # members of a bucket that the others are compared with
BLOCK = 1024  # sets that are looked at in a step, so that they stay in the processor's cache
CHUNK = 1 << 18  # words, or pairs, that are looked at in a step
BUCKET_BITS = 22  # words of one bucket are taken for one: they only add pairs to look at
BUCKETS = (1 << BUCKET_BITS) - 1
_ENTRIES = 1 << 25  # beyond, they take too much memory
PAIRS_A_WORD = 64  # beyond, MinHash takes far less time


def groups(
    sets: Sets, threshold: float = THRESHOLD, known: Ints | None = None
) -> tuple[Ints, bool]:
    """(n,) a number for every set, shared by those that a chain of similar pairs connects.

    Also whether no pair can have been missed. Empty sets are similar to nothing. `known`: (m, 2)
    pairs that belong together, however similar they are.
    """
    forest = _Forest(len(sets))
    if known is not None:
        forest.connect(known[:, 0], known[:, 1])
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
    chunks = _join(proof.sets, proof.threshold)
    if chunks is None:
        for keys in _keys(proof.sets):
            _stars(proof, keys, kept)
        return False
    for a, b in chunks:
        proof.look(a, b, kept)
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


# --- the join of the rarest words -------------------------------------------------------------


def _join(sets: Sets, threshold: float) -> Iterator[tuple[Ints, Ints]] | None:
    """Chunks of pairs of sets that may be similar, no similar one left out; None for too many.

    Two sets with a Jaccard similarity of t or more share one of the first |x| - ceil(t |x|) + 1 of
    their words, the rarest first (Chaudhuri et al., ICDE 2006): a product of sparse matrices pairs
    them. They are compared by size and by 64 bits of each, the parity of its words by bucket: every
    bit that differs is a word that they do not share.
    """
    from scipy.sparse import csr_array

    rarity, once = _rarity(sets)
    bits = np.zeros(len(sets), np.uint64)
    rows, words = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for low in range(0, len(sets), BLOCK):
        starts = sets.starts[low : low + BLOCK + 1]
        held = np.asarray(sets.words[starts[0] : starts[-1]])
        sizes, begins = np.diff(starts), starts[:-1] - starts[0]
        filled = np.flatnonzero(sizes)
        if not len(filled):
            continue
        bit = np.uint64(1) << ((held >> BUCKET_BITS) & 63).view(np.uint64)
        bits[low + filled] = np.bitwise_xor.reduceat(bit, begins[filled])
        own = np.repeat(np.arange(len(sizes)), sizes)
        ranked = (own << BUCKET_BITS) | rarity[held & BUCKETS]
        ranked.sort()
        ranked &= BUCKETS
        first = np.arange(len(own)) - begins[own] < _prefix(sizes, threshold)[own]
        taken = first & (ranked >= once)  # but for words that stand in one set alone
        rows.append(own[taken] + low)
        words.append(ranked[taken])
    every = np.concatenate(words)
    runs = np.bincount(every).astype(np.float64)
    if len(every) > _ENTRIES or runs @ runs > PAIRS_A_WORD * int(sets.starts[-1]):
        return None
    entries = csr_array(
        (np.ones(len(every), bool), (np.concatenate(rows), every)), shape=(len(sets), len(runs))
    )
    return _products(sets, threshold, entries, bits)


def _products(
    sets: Sets, threshold: float, entries: Any, bits: NDArray[np.uint64]
) -> Iterator[tuple[Ints, Ints]]:
    others, apart = entries.T.tocsr(), (1 - threshold) / (1 + threshold)
    for low in range(0, len(sets), BLOCK):
        pairs = (entries[low : low + BLOCK] @ others).tocoo()
        a, b = pairs.row.astype(np.int64) + low, pairs.col.astype(np.int64)
        a, b = a[a < b], b[a < b]
        differ = np.bitwise_count(bits[a] ^ bits[b])
        maybe = differ <= (sets.sizes[a] + sets.sizes[b]) * apart + 1e-9
        yield a[maybe], b[maybe]


def _prefix(sizes: Ints, threshold: float) -> Ints:
    """How many of the rarest words of sets may be the first that they share with a similar one."""
    count: Ints = sizes - np.ceil(threshold * sizes - 1e-9).astype(np.int64) + 1
    return count


def _rarity(sets: Sets) -> tuple[NDArray[np.int32], int]:
    """(buckets,) ranks of buckets of words, the rarest first; the first of two words and more."""
    counts = np.zeros(BUCKETS + 1, np.int32)
    for low in range(0, int(sets.starts[-1]), CHUNK):
        np.add.at(counts, sets.words[low : low + CHUNK] & BUCKETS, 1)
    used = np.flatnonzero(counts)
    order = (counts[used].astype(np.int64) << BUCKET_BITS) | used  # equally rare ones by number
    order.sort()
    rarity = counts  # of buckets that are used, each is overwritten
    rarity[order & BUCKETS] = np.arange(len(order))
    return rarity, int(np.searchsorted(order, 2 << BUCKET_BITS))


# --- MinHash ----------------------------------------------------------------------------------


def _keys(sets: Sets) -> Iterator[NDArray[np.uint64]]:
    """(n,) keys band by band: similar sets have equal keys in some band."""
    draw = np.random.Generator(np.random.Philox(key=[0, 0])).integers
    factors = draw(0, 1 << 31, (_BANDS, _ROWS, 2), np.int64).astype(np.uint32) * 2 + 1
    count = len(sets)
    for band in range(_BANDS):
        keys = np.zeros(count, np.uint64)
        for low in range(0, count, BLOCK):
            starts = sets.starts[low : low + BLOCK + 1]
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
            high = max(low + 1, int(np.searchsorted(ends, done + CHUNK, "right")))
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
