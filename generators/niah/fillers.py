"""Fillers: whole sentences of books that together have exactly as many tokens as are asked for.

A filler is a *body*, the same in all haystacks of one group, length and number, and a *tail*: the
sentences behind it that bring a text to its exact length, whatever the needle takes. No sentence
is cut, and none stands twice.

`shuffled`: snippets of random books. `coherent`: one book from a random sentence on (`Runs`), and a
tail of the same book where that has sentences of the right length.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.generators.niah.params import FillerKind, Order
from retgen.streams import Stream

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Kind = Literal["one_hop", "literal", "neutral", "none", "near"]
_SNIPPET = 250  # tokens of consecutive sentences of one book are fewer
_SNIPPETS = 4  # at least so many to a body
_CLOSE = 48  # tokens left of a body that are filled by one sentence or two
_SPARE = (12, 3)  # sentences of a size that there should be, and have to be
_ATTEMPTS = 40
_RUNS = 200  # snippets that are tried in a row without one that fits
_DRAWS = 256
_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: its multiples spread evenly
_EACH = 3  # sentences that there are to begin with, for each filler


# --- texts ----------------------------------------------------------------------------------------


class FillerKey(NamedTuple):
    """What all haystacks of one filler share. `group`: its index."""

    length: int
    group: int
    number: int
    filler: FillerKind
    filtered: bool
    distractors: int


class Variant(NamedTuple):
    """What stands where in a filler."""

    needle: Kind
    order: Order | Literal[""] = ""
    place: int = -1


class FillerText(NamedTuple):
    """A body with its near-answers, and where needles go.

    `parts`: its sentences; `boundaries`: of each place, how many parts stand before it (the last:
    all, and the tail); `offsets`: tokens before each boundary between parts; `body`: its sentences
    but near-answers, by their numbers in the pool; `used`: their texts.
    """

    parts: tuple[str, ...]
    boundaries: tuple[int, ...]
    offsets: tuple[int, ...]
    body: Body
    used: frozenset[int]


class Haystack(NamedTuple):
    """A finished text. `filler`: its number; `span`: characters of the needle; `depth`: tokens
    of the filler before it, as a share of all of the filler: 0 at the beginning, 1 at the end.
    """

    filler: int
    key: FillerKey
    variant: Variant
    text: str
    span: tuple[int, int]
    depth: float


class Gaps(NamedTuple):
    """Of a coherent filler without its tail: its sentences, those of its books that are left out
    between them, and how many books there are. `own_tail`: the tail is of the last one, too.
    """

    sentences: int
    left_out: int
    books: int
    own_tail: bool


class SizedSentence(NamedTuple):
    """A sentence that is put into a filler, and its tokens."""

    text: str
    tokens: int


class Body(NamedTuple):
    """Sentences by their numbers, and the one from which on a tail is looked for."""

    chosen: tuple[int, ...]
    at: int


# --- choosing sentences ---------------------------------------------------------------------------


class NoFit(Exception):
    """No choice of sentences has so many tokens; why, and what helps."""

    def __init__(self, why: str = "", helps: str = "") -> None:
        super().__init__(why)
        self.why, self.helps = why, helps


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


class SentencePool:
    """Sentences that fillers are made of, in the order of the books.

    `sizes`: tokens of each, (n,); `books`: number of the book of each, (n,); `texts`: a number of
    each, (n,), equal where the texts are; `begins`: whether coherent filler may begin with it.
    """

    def __init__(self, sizes: Ints, books: Ints, texts: Ints, begins: Bools) -> None:
        self.sizes, self.books = sizes.tolist(), books.tolist()
        self.count = len(self.sizes)
        self._array, self._books, self._begins = sizes, books, begins
        first = np.unique(texts, return_index=True)[1]
        self._first = np.sort(first)  # of each text the first sentence
        self.texts = texts.tolist()
        self.distinct, self.tokens = len(first), int(sizes[first].sum())
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
        lengths = len(np.unique(self._array))
        raise NoFit(
            "its last one or two sentences make up for the tokens of any needle, so those of the "
            f"books must come to each number of tokens in a range of {spread + 1:,}, and do not: "
            f"they have {self.distinct:,} different sentences of {lengths:,} length"
            f"{'s' * (lengths != 1)} ({self._lengths()}), and of each length at least {_SPARE[-1]} "
            "are needed",
            "use more books, with sentences of many lengths",
        )

    def _lengths(self) -> str:
        some = [f"{one:,}" for one in np.unique(self._array).tolist()]
        shown = some if len(some) < 7 else [*some[:3], "...", *some[-2:]]
        return f"{', '.join(shown)} tokens"

    @cache  # noqa: B019  a pool lives as long as its run
    def _reachable(self, spare: int) -> NDArray[np.bool_]:
        """Whether one or two sentences have so many tokens, `spare` of each size, (size,)."""
        one = np.zeros(max(self.sizes, default=0) + 1, np.int64)
        for size, held in self._of_size.items():
            one[size] = len({self.texts[i] for i in held.tolist()}) >= spare
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
            raise NoFit(
                f"its places need {least:,} sentences between needle and last sentences, where "
                f"{max(0, tokens):,} tokens are left, and only {fitting:,} of the books' "
                f"{self.count:,} sentences are as short as that",
                "use longer haystacks, fewer places, or books with more short sentences",
            )
        most = int(ascending[fitting - 1])
        return most, np.flatnonzero(self._array <= most)

    def shuffled_body(self, tokens: int, least: int, stream: Stream) -> Body:
        """At least `least` sentences that have exactly so many tokens. Raises `NoFit`."""
        most, fitting = self.short(tokens, least)
        for _ in range(_ATTEMPTS):
            snippets = self._snippets(tokens, most, fitting, stream)
            try:
                chosen = self._fill(snippets, tokens, most)
            except NoFit:
                continue
            if len(chosen) >= least:
                return Body(tuple(chosen), int(stream.integers(self.count, 1)[0]))
        raise NoFit(
            f"{least:,} and more sentences have to come to exactly {tokens:,} tokens, and in "
            f"{_ATTEMPTS} tries those of the books never did: too few are short enough to fill "
            "what is left at the end",
            "use longer haystacks, fewer places, or more books with short sentences",
        )

    def coherent_body(self, tokens: int, least: int, tail: int, spread: int, draw: Draw) -> Body:
        """At least `least` sentences in order, of at most so many tokens; see `Runs`.

        What they leave is left to the tail, which has `tail` tokens and up to `spread` more beside.
        Where no `least` sentences in a row are short enough, long ones are left out. Raises
        `NoFit`.
        """
        short = self.short(tokens, least)[1]
        for spare in _SPARE:
            windows = np.lib.stride_tricks.sliding_window_view(self._reachable(spare), spread + 1)
            after: Bools = np.logical_and.reduce(windows[tail:], axis=1)
            runs = Runs(self._array, self._books, self._begins, after)
            for some in (self._first, np.intersect1d(short, self._first)):
                if (chosen := runs.draw(some, tokens, least, draw)) is not None:
                    return Body(tuple(chosen), chosen[-1] + 1)
        raise NoFit(
            f"no {least:,} sentences of a book in order, without those that are too long, come to "
            f"at most {tokens:,} tokens such that one or two more fill the rest",
            "use longer haystacks, fewer places, more books, or filler: [shuffled]",
        )

    def fit(
        self, tokens: int, used: Container[int], at: int, *, beside: int | None = None
    ) -> list[int]:
        """One or two sentences whose texts are not in `used`, with so many tokens: the next ones
        from `at` on. `beside`: a sentence whose book is taken first. Raises `NoFit`.
        """
        if beside is not None:
            book = self.books[beside]
            if found := self._fit(tokens, used, at, book):
                return sorted(found, key=lambda one: (one < at, one))
        if found := self._fit(tokens, used, at, None):
            return found
        raise NoFit(
            f"no one or two sentences of the books that it does not hold have {tokens:,} tokens",
            "use more books, with sentences of many lengths",
        )

    def _fit(self, tokens: int, used: Container[int], at: int, book: int | None) -> list[int]:
        if (one := self._next(tokens, used, at, book)) is not None:
            return [one]
        for size in sorted(self._of_size, key=lambda size: (abs(2 * size - tokens), size)):
            if tokens - size not in self._of_size:
                continue
            first = self._next(size, used, at, book)
            if first is None:
                continue
            second = self._next(tokens - size, used, first + 1, book, self.texts[first])
            if second is not None:
                return [first, second]
        return []

    def _next(
        self, size: int, used: Container[int], at: int, book: int | None, other: int = -1
    ) -> int | None:
        """`other`: a text that is used, too."""
        held = self._of_size.get(size, ())
        begin = int(np.searchsorted(held, at))
        for i in range(len(held)):
            one = int(held[(begin + i) % len(held)])
            text = self.texts[one]
            if text != other and text not in used and book in (None, self.books[one]):
                return one
        return None

    def _fill(self, runs: Iterable[Iterator[int]], tokens: int, most: int) -> list[int]:
        """Runs of sentences one after the other, then what brings them to so many tokens."""
        chosen: list[int] = []
        used: set[int] = set()
        left, close = tokens, min(_CLOSE, most)
        for run in runs:
            for i in run:
                if self.texts[i] in used or self.sizes[i] > left:
                    break
                chosen.append(i)
                used.add(self.texts[i])
                left -= self.sizes[i]
                if left <= close:
                    break
            if left <= close:
                break
        at = chosen[-1] + 1 if chosen else 0
        for _ in range(3):
            try:
                return chosen + (self.fit(left, used, at) if left else [])
            except NoFit:
                if not chosen:
                    break
                gone = chosen.pop()
                used.discard(self.texts[gone])
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
