"""The words of many texts as sets of hashes, kept on disk: eight bytes a word."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from retgen.validators.rule import State
from retgen.validators.similar import WORD_BITS, Sets

__all__ = ["WordSets", "word_sets"]

_ROWS = 1 << (64 - WORD_BITS)  # texts whose words fit into a sort with their number
_KNOWN = 1 << 20  # words whose hashes are remembered


class _Hashes(dict[str, int]):
    def __missing__(self, word: str) -> int:
        if len(self) >= _KNOWN:
            self.clear()
        found = xxhash.xxh3_64_intdigest(word.encode("utf-8", "surrogatepass"))
        found = self[word] = found >> (64 - WORD_BITS)
        return found


_hashes = _Hashes()


@dataclass
class WordSets(State):
    """Word sets of texts in order, in files of `scratch`, who sets it removes them.

    `orders`: a hash of the words in their order for each text, which is that of texts that differ
    in case, punctuation and white space only.
    """

    scratch: str | None = None
    sizes: list[NDArray[np.int64]] = field(default_factory=list)
    orders: list[NDArray[np.uint64]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def files(self) -> Sequence[str]:
        return self.paths

    def add(self, texts: Sequence[Sequence[str]]) -> None:
        """Take in the words of some texts."""
        for low in range(0, len(texts), _ROWS):
            words, sizes, order = _distinct(texts[low : low + _ROWS])
            if not self.paths:
                handle, path = tempfile.mkstemp(prefix="words-", dir=self.scratch)
                os.close(handle)
                self.paths.append(path)
            with open(self.paths[-1], "ab") as file:
                file.write(words.tobytes())
            self.sizes.append(sizes)
            self.orders.append(order)

    def merge(self, later: Self, offset: int) -> None:
        self.sizes += later.sizes
        self.orders += later.orders
        self.paths += later.paths

    def order(self) -> NDArray[np.uint64]:
        """(n,) hashes of the words in their order."""
        return np.concatenate(self.orders) if self.orders else np.empty(0, np.uint64)

    def sets(self) -> Sets:
        """All sets, in one file, which is read where it is looked at.

        The files of the parts stay as they are: a run that is killed from here on needs them again.
        """
        starts = np.concatenate([[0], *self.sizes]).cumsum(dtype=np.int64)
        path = self.paths[0] if self.paths else os.devnull
        if len(self.paths) > 1:
            handle, path = tempfile.mkstemp(prefix="words-", dir=self.scratch)
            with open(handle, "wb") as whole:
                for one in self.paths:
                    with open(one, "rb") as part:
                        shutil.copyfileobj(part, whole, 1 << 20)
        if not starts[-1]:
            return Sets(np.empty(0, np.int64), starts)
        return Sets(np.memmap(path, np.int64, "r"), starts)


def word_sets(texts: Sequence[Sequence[str]]) -> Sets:
    """The sets of a few texts, in memory."""
    parts = [_distinct(texts[low : low + _ROWS]) for low in range(0, len(texts), _ROWS)]
    words = np.concatenate([np.empty(0, np.int64), *(words for words, *_ in parts)])
    starts = np.concatenate([[0], *(sizes for _, sizes, _ in parts)]).cumsum(dtype=np.int64)
    return Sets(words, starts)


def _distinct(
    texts: Sequence[Sequence[str]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
    """(sum of sizes,) hashes ascending and distinct in each text, (n,) sizes, (n,) orders."""
    lengths = np.array([len(words) for words in texts], np.int64)
    keys = np.fromiter(
        map(_hashes.__getitem__, chain.from_iterable(texts)), np.uint64, lengths.sum()
    )
    rows = np.repeat(np.arange(len(texts), dtype=np.uint64), lengths)
    order = _orders(keys, lengths)
    keys |= rows << np.uint64(WORD_BITS)
    keys.sort()
    fresh = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    keys = keys[fresh]
    sizes = np.bincount((keys >> np.uint64(WORD_BITS)).astype(np.int64), minlength=len(texts))
    return (keys & np.uint64((1 << WORD_BITS) - 1)).astype(np.int64), sizes, order


def _orders(words: NDArray[np.uint64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """(n,) a hash of each text's words in their order: the sum of what each adds in its place."""
    starts = np.cumsum(lengths) - lengths
    place = (np.arange(len(words)) - np.repeat(starts, lengths)).astype(np.uint64)
    mixed = (words + (place + np.uint64(1)) * _ODD) * _ODD
    mixed ^= mixed >> np.uint64(32)
    mixed *= _ODD
    mixed ^= mixed >> np.uint64(29)
    order = np.zeros(len(lengths), np.uint64)
    filled = np.flatnonzero(lengths)
    if len(filled):
        order[filled] = np.add.reduceat(mixed, starts[filled])
    return order


_ODD = np.uint64(0x9E3779B97F4A7C15)
