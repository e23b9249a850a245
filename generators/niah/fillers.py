"""Fillers: whole sentences of books that together have exactly as many tokens as are asked for.

A filler is a *body*, the same in all haystacks of one group, length and number, and a *tail*: the
sentences behind it that bring a text to its exact length, whatever the needle takes. No sentence
is cut, and none stands twice.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.generators.niah.params import FillerKind
from retgen.streams import Stream

Ints = NDArray[np.int64]

_SNIPPET = 250  # tokens of consecutive sentences of one book are fewer
_SNIPPETS = 4  # at least so many to a body
_CLOSE = 48  # tokens left of a body that are filled by one sentence or two
_SPARE = (12, 3)  # sentences of a size that there should be, and have to be
_ATTEMPTS = 40
_RUNS = 200  # snippets that are tried in a row without one that fits
_DRAWS = 256


class NoFit(Exception):
    """No choice of sentences has so many tokens."""


class Body(NamedTuple):
    """Sentences by their numbers, and the one from which on a tail is looked for."""

    chosen: tuple[int, ...]
    at: int


class Pool:
    """Sentences that fillers are made of, in the order of the books.

    `sizes`: tokens of each, (n,); `books`: number of the book of each, (n,).
    """

    def __init__(self, sizes: Ints, books: Ints) -> None:
        self.sizes, self.books = sizes.tolist(), books.tolist()
        self.count, self.tokens = len(self.sizes), int(sizes.sum())
        self._array = sizes
        order = np.argsort(sizes, kind="stable")
        found, starts = np.unique(sizes[order], return_index=True)
        ends = [*starts[1:].tolist(), len(order)]
        # size -> sentences of it, ascending
        self._of_size: dict[int, Ints] = {
            int(size): order[start:end]
            for size, start, end in zip(found, starts.tolist(), ends, strict=True)
        }

    def tail(self, spread: int) -> int:
        """The fewest tokens of a tail, such that all of up to `spread` more can be made, too.

        Raises `NoFit`.
        """
        for spare in _SPARE:
            there = self._reachable(spare)
            for least in range(1, len(there) - spread):
                if there[least : least + spread + 1].all():
                    return least
        raise NoFit

    @cache  # noqa: B019  a pool lives as long as its run
    def _reachable(self, spare: int) -> NDArray[np.bool_]:
        """Whether one or two sentences have so many tokens, `spare` of each size, (size,)."""
        one = np.zeros(max(self.sizes, default=0) + 1, np.int64)
        for size, held in self._of_size.items():
            one[size] = len(held) >= spare
        two = np.convolve(one, one)
        two[: len(one)] += one
        result: NDArray[np.bool_] = two > 0
        return result

    def short(self, tokens: int, least: int) -> tuple[int, Ints]:
        """The most tokens of a sentence, such that `least` of that many or fewer have on average
        no more than `tokens`; and these sentences. Raises `NoFit`.
        """
        ascending = np.sort(self._array)
        means = np.cumsum(ascending) / np.arange(1, self.count + 1)
        fitting = int(np.searchsorted(means, tokens / (least + 1), side="right"))
        if fitting < 2 * least:
            raise NoFit
        most = int(ascending[fitting - 1])
        return most, np.flatnonzero(self._array <= most)

    def body(self, kind: FillerKind, tokens: int, least: int, stream: Stream) -> Body:
        """At least `least` sentences that have exactly so many tokens. Raises `NoFit`."""
        if tokens > self.tokens:
            raise NoFit
        most, fitting = self.short(tokens, least)
        for _ in range(_ATTEMPTS):
            runs = self._snippets if kind == "shuffled" else self._onward
            try:
                chosen, at = self._fill(runs(tokens, most, fitting, stream), tokens, most)
            except NoFit:
                continue
            if len(chosen) >= least:
                if kind == "shuffled":
                    at = int(stream.integers(self.count, 1)[0])
                return Body(tuple(chosen), at)
        raise NoFit

    def fit(self, tokens: int, used: Container[int], at: int) -> list[int]:
        """One or two sentences not in `used` with so many tokens: the next ones from `at` on.

        Raises `NoFit`.
        """
        if (one := self._next(tokens, used, at)) is not None:
            return [one]
        for size in sorted(self._of_size, key=lambda size: (abs(2 * size - tokens), size)):
            if tokens - size not in self._of_size:
                continue
            first = self._next(size, used, at)
            second = None if first is None else self._next(tokens - size, used, first + 1, first)
            if first is not None and second is not None:
                return [first, second]
        raise NoFit

    def _next(self, size: int, used: Container[int], at: int, other: int = -1) -> int | None:
        held = self._of_size.get(size, ())
        begin = int(np.searchsorted(held, at))
        for i in range(len(held)):
            one = int(held[(begin + i) % len(held)])
            if one != other and one not in used:
                return one
        return None

    def _fill(self, runs: Iterable[Iterator[int]], tokens: int, most: int) -> tuple[list[int], int]:
        """Runs of sentences one after the other, then what brings them to so many tokens."""
        chosen: list[int] = []
        used: set[int] = set()
        left, close = tokens, min(_CLOSE, most)
        for run in runs:
            for i in run:
                if i in used or self.sizes[i] > left:
                    break
                chosen.append(i)
                used.add(i)
                left -= self.sizes[i]
                if left <= close:
                    break
            if left <= close:
                break
        at = chosen[-1] + 1 if chosen else 0
        for _ in range(3):
            try:
                last = self.fit(left, used, at) if left else []
                return chosen + last, (last[-1] + 1 if last else at)
            except NoFit:
                if not chosen:
                    break
                used.discard(gone := chosen.pop())
                left += self.sizes[gone]
        raise NoFit

    def _snippets(
        self, tokens: int, most: int, fitting: Ints, stream: Stream
    ) -> Iterator[Iterator[int]]:
        """Consecutive sentences of random books."""
        limit = min(_SNIPPET - 1, tokens // _SNIPPETS)
        for _ in range(-(-tokens // _DRAWS) + _RUNS // _DRAWS + 1):
            for start in fitting[stream.integers(len(fitting), _DRAWS)].tolist():
                yield self._snippet(start, limit, most)

    def _snippet(self, start: int, limit: int, most: int) -> Iterator[int]:
        total, book = 0, self.books[start]
        for i in range(start, self.count):
            total += self.sizes[i]
            too_long = i > start and (total > limit or self.sizes[i] > most)
            if self.books[i] != book or too_long:
                return
            yield i

    def _onward(
        self, tokens: int, most: int, fitting: Ints, stream: Stream
    ) -> Iterator[Iterator[int]]:
        """The sentences of a book in order from a random one on; at its end the next book goes on.

        Where a haystack is short, long sentences are left out.
        """
        start = int(stream.integers(len(fitting), 1)[0])
        yield (int(fitting[i % len(fitting)]) for i in range(start, start + len(fitting)))
