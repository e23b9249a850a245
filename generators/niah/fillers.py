"""Fillers: whole sentences of books that together have exactly as many tokens as are asked for.

A filler is a *body*, the same in all haystacks of one group, length and number, and a *tail*: the
sentences behind it that bring a text to its exact length, whatever the needle takes. Tails also
bring all texts of one filler to one number of words, where the sentences allow it: needles hold
names, so else a text without one had more words for its tokens. No sentence is cut, and none stands
twice.

`shuffled`: snippets of random books. `coherent`: one book from a random sentence on, and a tail of
the same book where that has sentences of the right length.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.generators.niah.books import Sentence
from retgen.generators.niah.params import FillerKind, Order
from retgen.streams import Stream

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Kind = Literal["one_hop", "literal", "neutral", "none", "near"]
_SNIPPET = 250  # tokens of consecutive sentences of one book are fewer
_SNIPPETS = 4  # at least so many to a body
_CLOSE = 48  # tokens left of a body that are filled by one sentence or two
# sentences of a size that there should be, and have to be: of so many tokens and words, of tokens
_SPARE = {True: (3, 2), False: (12, 3)}
_SLACK = 2  # tokens that a text may have more or fewer than its sentences
_ATTEMPTS = 40
_RUNS = 200  # snippets that are tried in a row without one that fits
_DRAWS = 256
GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: its multiples spread evenly
_EACH = 3  # sentences that there are to begin with, for each filler
_REFRAIN = 2  # words of a sentence that may stand twice, as in any prose: "It was."
MORE = "use more books, with sentences of many lengths"


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
    all, and the tail); `offsets`: tokens before each boundary between parts; `beside`: of coherent
    filler the number in the pool of its last sentence but near-answers; `at`: of the one from which
    on a tail is looked for; `used`: the texts of all. `words`: of needle and tail together, 0 where
    no number is possible for all.
    """

    parts: tuple[str, ...]
    boundaries: tuple[int, ...]
    offsets: tuple[int, ...]
    beside: int | None
    at: int
    used: frozenset[str]
    words: int = 0


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


class Size(NamedTuple):
    """Tokens and words of a sentence or more; 0 words where they do not matter."""

    tokens: int
    words: int = 0

    def less(self, other: Size) -> Size:
        """What is left without the other; words matter if they do here, so none left are -1."""
        return Size(self.tokens - other.tokens, self.words and (self.words - other.words or -1))


class SizedSentence(NamedTuple):
    """A sentence that is put into a filler, and its size; "" for nothing."""

    text: str
    size: Size


# --- choosing sentences ---------------------------------------------------------------------------


class NoFit(Exception):
    """No choice of sentences has so many tokens: why, and what helps."""


Pieces = tuple[Size, ...]  # of what may stand in a filler; Size(0) for nothing


def _by_words(pieces: Pieces) -> bool:
    """Whether words of the pieces matter."""
    return any(piece.words for piece in pieces)


def _behind(sizes: Bools, piece: Size) -> Bools:
    """The sizes (tokens, words) that are possible, with a piece added to each."""
    result = np.zeros_like(sizes)
    rows, columns = (max(0, n - k) for n, k in zip(sizes.shape, piece, strict=True))
    result[piece.tokens :, piece.words :] = sizes[:rows, :columns]
    return result


class SentencePool:
    """Sentences that fillers are made of, in the order of the books.

    `sizes`: of all sentences of the books; `filtered`: only those without a fault are in the pool.
    `sentences`, `books`: each sentence, and the number of its book. `texts`: equal where no two may
    stand in one haystack.
    """

    def __init__(self, every: Sequence[Sentence], sizes: Sequence[Size], filtered: bool) -> None:
        kept = [i for i, one in enumerate(every) if not (filtered and one.fault)]
        numbers = {book: i for i, book in enumerate(dict.fromkeys(one.book for one in every))}
        self.sentences = [SizedSentence(every[i].text, sizes[i]) for i in kept]
        self.books = [numbers[every[i].book] for i in kept]
        self.texts = [
            text if len(text.split()) > _REFRAIN else str(i)
            for i, (text, _) in enumerate(self.sentences)
        ]
        self.sizes = [size.tokens for _, size in self.sentences]
        self.count, self._words = len(self.sizes), sum(size.words for _, size in self.sentences)
        self._tokens, self._books = np.array(self.sizes, np.int64), np.array(self.books, np.int64)
        # coherent filler begins elsewhere where it is not filtered: without a sentence to leave out
        # the two would be one text
        self._begins = np.array(kept, np.int64) % 2 == int(not filtered)
        first: dict[str, int] = {}
        found: dict[Size, list[int]] = {}
        for number, (_, size) in enumerate(self.sentences):
            first.setdefault(self.texts[number], number)
            found.setdefault(Size(size.tokens), []).append(number)
            found.setdefault(size, []).append(number)
        self._first = np.array([*first.values()], np.int64)  # of each text the first sentence
        self.distinct, self.tokens = len(first), int(self._tokens[self._first].sum())
        # size -> sentences of it, ascending; of each number of tokens also whatever their words
        self._of_size = {size: np.array(numbers, np.int64) for size, numbers in found.items()}
        self._closing = lru_cache(256)(self._find_closing)

    def room(self, pieces: Pieces) -> int:
        """The fewest tokens that each of some pieces can have together with a tail behind it.

        Raises `NoFit`.
        """
        for spare in _SPARE[_by_words(pieces)]:
            possible = self._closing(pieces, spare).any(axis=1)
            for slack in (_SLACK, 0):
                around = np.convolve(possible, np.ones(2 * slack + 1), "same")
                found = np.flatnonzero(around == 2 * slack + 1)
                if len(found):
                    return int(found[0])
        lengths = [f"{one:,}" for one in sorted(set(self.sizes))]
        shown = lengths if len(lengths) < 7 else [*lengths[:3], "...", *lengths[-2:]]
        spread = max(piece.tokens for piece in pieces)
        raise NoFit(
            "its last one or two sentences make up for the tokens of any needle, so those of the "
            f"books must come to each number of tokens in a range of {spread + 1:,}, and do not: "
            f"they have {self.distinct:,} different sentences of {len(lengths):,} length"
            f"{'s' * (len(lengths) != 1)} ({', '.join(shown)} tokens), and of each length at least "
            f"{_SPARE[False][-1]} are needed; {MORE}"
        )

    def word_counts(self, pieces: Pieces, tokens: int) -> list[int]:
        """The words that each of some pieces can have together with a tail, if they come to so many
        tokens; the likeliest first.
        """
        possible = self._closing(pieces, 1)
        if tokens >= len(possible):
            return []
        likely = tokens * self._words / sum(self.sizes)
        return sorted(np.flatnonzero(possible[tokens]).tolist(), key=lambda n: abs(n - likely))

    def _find_closing(self, pieces: Pieces, spare: int) -> Bools:
        """Whether pieces can have so many tokens and words with a tail, (tokens, words).

        A tail is one or two sentences, of whose sizes there are `spare`.
        """
        by_words = _by_words(pieces)
        sizes = [
            size
            for size, held in self._of_size.items()
            if bool(size.words) == by_words and len({self.texts[i] for i in held.tolist()}) >= spare
        ]
        longest, most = (max((one[part] for one in sizes), default=0) + 1 for part in (0, 1))
        one = np.zeros((2 * longest, 2 * most), np.bool_)
        for size in sizes:
            one[size] = True
        tails = one.copy()
        for size in sizes:
            tails |= _behind(one, size)
        result: Bools = np.logical_and.reduce([_behind(tails, piece) for piece in pieces])
        return result

    def short(self, tokens: int, least: int) -> tuple[int, Ints]:
        """The most tokens of a sentence, such that `least` of that many or fewer have on average
        no more than `tokens`; and these sentences. Raises `NoFit`.
        """
        ascending = np.sort(self._tokens)
        means = np.cumsum(ascending) / np.arange(1, self.count + 1)
        fitting = int(np.searchsorted(means, tokens / (least + 1), side="right"))
        if fitting < 2 * least:
            raise NoFit(
                f"its places need {least:,} sentences between needle and last sentences, where "
                f"{max(0, tokens):,} tokens are left, and only {fitting:,} of the books' "
                f"{self.count:,} sentences are as short as that; use longer haystacks, fewer "
                "places, or books with more short sentences"
            )
        most = int(ascending[fitting - 1])
        return most, np.flatnonzero(self._tokens <= most)

    def shuffled_body(self, tokens: int, least: int, stream: Stream) -> tuple[list[int], int]:
        """At least `least` sentences that have exactly so many tokens, and the number from which
        on a tail is looked for. Raises `NoFit`.
        """
        most, fitting = self.short(tokens, least)
        for _ in range(_ATTEMPTS):
            snippets = self._snippets(tokens, most, fitting, stream)
            try:
                chosen = self._fill(snippets, tokens, most)
            except NoFit:
                continue
            if len(chosen) >= least:
                return chosen, int(stream.integers(self.count, 1)[0])
        raise NoFit(
            f"{least:,} and more sentences have to come to exactly {tokens:,} tokens, and in "
            f"{_ATTEMPTS} tries those of the books never did: too few are short enough to fill "
            "what is left at the end; use longer haystacks, fewer places, or more books with short "
            "sentences"
        )

    def coherent_body(
        self, tokens: int, least: int, pieces: Pieces, room: int, drawn: int, fillers: int
    ) -> list[int]:
        """At least `least` sentences in order, of at most so many tokens, of one book where the
        books are long enough for all fillers to begin elsewhere. Else what follows the end of a
        book is the beginning of the next; the first follows the last.

        What they leave is left to the tail: pieces and tails have `room` tokens beside. Where no
        `least` sentences in a row are short enough, long ones are left out. `drawn`: 64 bits, those
        of the fillers evenly spread. Raises `NoFit`.
        """
        short = self.short(tokens, least)[1]
        for spare in _SPARE[_by_words(pieces)]:
            after = np.logical_or.reduce(self._closing(pieces, spare), axis=1)[room:]
            for some in (self._first, np.intersect1d(short, self._first)):
                books, starts = self._books[some], np.flatnonzero(self._begins[some])
                ends = np.searchsorted(books, books[starts], side="right")
                on = starts + len(some)
                for stops, enough in ((ends, _EACH * fillers), (on, 1), (ends, 1)):
                    begin, end = self._runs(some, starts, stops, tokens, least, after)
                    if len(begin) >= enough:
                        i = drawn * len(begin) >> 64
                        run: list[int] = some[np.arange(begin[i], end[i]) % len(some)].tolist()
                        return run
        raise NoFit(
            f"no {least:,} sentences of a book in order, without those that are too long, come to "
            f"at most {tokens:,} tokens such that one or two more fill the rest; "
            "use longer haystacks, fewer places, more books, or filler: [shuffled]"
        )

    def _runs(
        self, some: Ints, starts: Ints, stops: Ints, tokens: int, least: int, after: Bools
    ) -> tuple[Ints, Ints]:
        """(first, behind the last) of the longest runs from some sentences on that can be used.

        `after`: whether a tail can be found behind a run that leaves so many tokens, (tokens,).
        """
        total = np.concatenate([[0], np.cumsum(np.tile(self._tokens[some], 2))])
        ends = np.searchsorted(total, total[starts] + tokens, side="right") - 1
        ends = np.minimum(ends, stops)
        left = tokens - (total[ends] - total[starts])
        can = (ends - starts >= least) & (left < len(after))
        can[can] = after[left[can]]
        return starts[can], ends[can]

    def fit(
        self, size: Size, used: Container[str], at: int, *, beside: int | None = None
    ) -> list[int]:
        """One or two sentences whose texts are not in `used`, of such a size: the next ones from
        `at` on. `beside`: a sentence whose book is taken first. Raises `NoFit`.
        """
        book = None if beside is None else self.books[beside]
        if book is not None and (found := self._fit(size, used, at, book)):
            return sorted(found, key=lambda one: (one < at, one))
        if found := self._fit(size, used, at, None):
            return found
        raise NoFit(
            f"no one or two sentences of the books that it does not hold have {size.tokens:,} "
            f"tokens{f' and {size.words:,} words' if size.words else ''}; {MORE}"
        )

    def _fit(self, size: Size, used: Container[str], at: int, book: int | None) -> list[int]:
        if (one := self._next(size, used, at, book)) is not None:
            return [one]
        for one_size, other_size in self._halves(size):
            if (first := self._next(one_size, used, at, book)) is not None:
                second = self._next(other_size, used, first + 1, book, self.texts[first])
                if second is not None:
                    return [first, second]
        return []

    def _halves(self, size: Size) -> list[tuple[Size, Size]]:
        """Two sizes of sentences that come to a size, the most alike first."""
        pairs = (
            (one, size.less(one)) for one in self._of_size if bool(one.words) == bool(size.words)
        )
        return sorted(
            (pair for pair in pairs if pair[1] in self._of_size),
            key=lambda pair: (abs(2 * pair[0].tokens - size.tokens), pair),
        )

    def _next(
        self, size: Size, used: Container[str], at: int, book: int | None, other: str = ""
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

    def _fill(self, runs: Iterable[list[int]], tokens: int, most: int) -> list[int]:
        """Runs of sentences one after the other, then what brings them to so many tokens."""
        chosen: list[int] = []
        used: set[str] = set()
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
                return chosen + (self.fit(Size(left), used, at) if left else [])
            except NoFit:
                if not chosen:
                    break
                gone = chosen.pop()
                used.discard(self.texts[gone])
                left += self.sizes[gone]
        raise NoFit

    def _snippets(
        self, tokens: int, most: int, fitting: Ints, stream: Stream
    ) -> Iterator[list[int]]:
        """Consecutive sentences of random books."""
        limit = min(_SNIPPET - 1, tokens // _SNIPPETS)
        for _ in range(-(-tokens // _DRAWS) + _RUNS // _DRAWS + 1):
            for start in fitting[stream.integers(len(fitting), _DRAWS)].tolist():
                total, snippet = self.sizes[start], [start]
                for i in range(start + 1, self.count):
                    total += self.sizes[i]
                    too_long = total > limit or self.sizes[i] > most
                    if self.books[i] != self.books[start] or too_long:
                        break
                    snippet.append(i)
                yield snippet
