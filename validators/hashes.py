"""Hashes that many texts are compared by: of whole texts, and of their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import xxhash
from numpy.typing import NDArray

from retgen.rows import text_hash

_ODD, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HIGH, _LOW = np.uint64(32), np.uint64(29)
_AT_A_TIME = 1 << 22  # hashes that are sorted together
_LONG = 1024  # bytes of a word that are hashed eight by eight


def hashes_of(keys: Iterable[str]) -> NDArray[np.uint64]:
    """(n,) a hash of each."""
    return np.fromiter(map(text_hash, keys), np.uint64)


def repeated(keys: Iterable[str]) -> NDArray[np.bool_]:
    """(n,) whether a key stands more than once; true as well where two share a hash."""
    hashes = hashes_of(keys)
    ordered = np.sort(hashes)
    return np.isin(hashes, ordered[1:][ordered[1:] == ordered[:-1]])


def repeated_hashes(parts: Sequence[NDArray[np.uint64]]) -> frozenset[int]:
    """The hashes that stand more than once in ascending arrays.

    Of all parts those between two bounds are sorted at a time, so memory does not grow.
    """
    ranges = -(-sum(map(len, parts)) // _AT_A_TIME)
    bounds = np.array([(i << 64) // max(1, ranges) for i in range(1, ranges)], np.uint64)
    starts = [np.searchsorted(part, bounds).tolist() for part in parts]
    result: set[int] = set()
    for i in range(ranges):
        some = [
            part[at[i - 1] if i else 0 : at[i] if i < ranges - 1 else len(part)]
            for part, at in zip(parts, starts, strict=True)
        ]
        ordered = np.sort(np.concatenate(some))
        result.update(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    return frozenset(result)


def hash_words(texts: Sequence[Sequence[str]]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """(sum of counts,) hashes of the words of all texts in order, (n,) words of each text.

    Computed of all words at once, eight bytes in a step. A hash is one of the whole word and its
    length; up to eight bytes no two words share one.
    """
    counts = np.fromiter(map(len, texts), np.int64, len(texts))
    count = int(counts.sum())
    if not count:
        return np.empty(0, np.uint64), counts
    joined = "\n".join(chain.from_iterable(texts)).encode("utf-8", "surrogatepass")
    data = np.frombuffer(joined + b"\n" + bytes(8), np.uint8)
    ends = np.flatnonzero(data == 10)  # no word holds white space
    starts = np.concatenate([[0], ends[:-1] + 1])
    eight: NDArray[np.uint64] = np.ndarray(len(data) - 7, "<u8", data, strides=(1,))
    hashes = (ends - starts).astype(np.uint64) * _OTHER
    first, left = 0, np.arange(count)
    while len(left) and first < _LONG:
        rest = ends[left] - starts[left] - first  # bytes of these words from here on
        piece = eight[starts[left] + first]
        piece <<= (8 * np.maximum(8 - rest, 0)).view(np.uint64)
        hashes[left] = mix(hashes[left] ^ piece)
        first += 8
        left = left[rest > 8]
    for i in left.tolist():  # a step for every eight bytes of a long word would take too long
        rest_of_word = data[starts[i] + first : ends[i]].tobytes()
        hashes[i] ^= np.uint64(xxhash.xxh3_64_intdigest(rest_of_word))
    return hashes, counts


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Values in whose bits all bits of the given ones have a say; those are overwritten."""
    values *= _ODD
    values ^= values >> _HIGH
    values *= _OTHER
    values ^= values >> _LOW
    return values
