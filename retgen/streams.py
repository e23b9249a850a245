"""Random streams: counter-based, so record *i* is the same whoever draws it, in whatever order.

A stream is a Philox4x64 key made from (seed, purpose). Its raw 64-bit words are stable across NumPy
versions and machines; NumPy's distributions are not promised to be, so every reduction to integers
is done here. Record *i* owns the words of the counters [i * stride, (i + 1) * stride).

Reference: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_WORDS_PER_COUNTER = 4  # Philox4x64 turns one counter into four words


T = TypeVar("T")


class Stream:
    """Random draws for one purpose under one seed.

    `integers` and `permutation` consume the stream in order; `draws` is random access by record.
    Use one purpose for one thing only: sequential and random access share the same words.
    """

    def __init__(self, seed: int, purpose: str) -> None:
        digest = hashlib.sha256(f"{seed}\n{purpose}".encode()).digest()
        self._key = int.from_bytes(digest[:16], "little")
        self._counter = 0

    def words(self, counter: int, count: int) -> NDArray[np.uint64]:
        """`count` raw 64-bit words, beginning with the first word of `counter`."""
        return np.random.Philox(key=self._key, counter=counter).random_raw(count)

    def draws(self, start: int, stop: int, bounds: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Draws of the records start..stop-1: int64 (stop - start, len(bounds)).

        Column j is uniform in [0, bounds[j]) with a bias below bounds[j] / 2**32: each draw is
        32 bits, multiplied by the bound, high part kept.
        """
        stride = -(-len(bounds) // (2 * _WORDS_PER_COUNTER)) or 1  # counters a record
        words = self.words(start * stride, (stop - start) * stride * _WORDS_PER_COUNTER)
        # little-endian halves, so that a big-endian machine draws the same numbers
        halves = words.astype("<u8", copy=False).view("<u4").reshape(stop - start, -1)
        return ((halves[:, : len(bounds)] * bounds) >> np.uint64(32)).astype(np.int64)

    def integers(self, bound: int, size: int) -> NDArray[np.int64]:
        """The next `size` integers, exactly uniform in [0, bound); bound <= 2**63."""
        if not 0 < bound <= 2**63:
            raise ValueError(f"bound must be in 1..2**63, not {bound}")
        limit = np.uint64((2**64 // bound) * bound - 1)  # words above it would favour small values
        kept: list[NDArray[np.uint64]] = []
        missing = size
        while missing > 0:
            words = self._next(missing)
            words = words[words <= limit]
            kept.append(words)
            missing -= len(words)
        values = np.concatenate(kept) if kept else np.empty(0, np.uint64)
        return (values % np.uint64(bound)).astype(np.int64)

    def below(self, bound: int) -> int:
        """The next integer, uniform in [0, bound)."""
        return int(self.integers(bound, 1)[0])

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Items in an order at random."""
        return [items[i] for i in self.permutation(len(items)).tolist()]

    def permutation(self, n: int) -> NDArray[np.int64]:
        """A uniform permutation of 0..n-1, int64 (n,)."""
        return np.argsort(self._next(n), kind="stable").astype(np.int64)

    def _next(self, count: int) -> NDArray[np.uint64]:
        words = self.words(self._counter, count)
        self._counter += -(-count // _WORDS_PER_COUNTER)
        return words


class Permutation:
    """A keyed bijection of [0, size) onto itself, evaluated anywhere without a table.

    A six-round Feistel network over pairs (a, b) with a in [0, rows), b in [0, columns), where
    rows * columns is the smallest near-square product that holds `size`; the few values beyond
    `size` walk along their cycle until they are back inside (Black and Rogaway, "Ciphers with
    arbitrary finite domains", CT-RSA 2002). Memory does not depend on `size`.
    """

    _ROUNDS = 6

    def __init__(self, seed: int, purpose: str, size: int) -> None:
        if not 0 < size < 2**62:
            raise ValueError(f"size must be in 1..2**62 - 1, not {size}")
        self.size = size
        self._rows = math.isqrt(size - 1) + 1
        self._columns = -(-size // self._rows)
        self._keys = Stream(seed, f"permutation/{purpose}").words(0, self._ROUNDS)

    def __call__(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Images of `values` (any shape, each in [0, size)), int64 of the same shape."""
        out = np.array(values, dtype=np.uint64)
        flat = out.reshape(-1)
        flat[:] = self._encrypt(flat)
        while (outside := np.flatnonzero(flat >= np.uint64(self.size))).size:
            flat[outside] = self._encrypt(flat[outside])
        return flat.reshape(out.shape).astype(np.int64)

    def _encrypt(self, x: NDArray[np.uint64]) -> NDArray[np.uint64]:
        rows, columns = np.uint64(self._rows), np.uint64(self._columns)
        a = x // columns
        b = x - a * columns
        for i in range(0, self._ROUNDS, 2):
            a = (a + _mix(b ^ self._keys[i]) % rows) % rows
            b = (b + _mix(a ^ self._keys[i + 1]) % columns) % columns
        return a * columns + b


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Let every bit reach every bit: splitmix64's finaliser (Steele, Lea and Flood, 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
