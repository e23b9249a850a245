"""The words of many texts as sets of hashes, kept on disk: eight bytes a word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from retgen.data import Query
from retgen.on_disk import joined
from retgen.tokenizer import STOPWORDS, is_unspaced, stems, tokens
from retgen.validators.hashes import hash_words, mix
from retgen.validators.rule import RuleState

Ints = NDArray[np.int64]

WORD_BITS = 52  # bits of a word's hash: two words of a pair of texts meet once in 10^12 pairs

# texts of a step, which stays in the processor's cache; a sort takes along the numbers of 4096
_ROWS, _WORDS = 1024, 1 << 16
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Sets:
    """Set i is words[starts[i]:starts[i + 1]], ascending and distinct; `words` may lie on disk.

    `weights`: what each word counts beside its rarity; None where all words count the same.
    """

    words: Ints
    starts: Ints
    weights: NDArray[np.float64] | None = None

    @cached_property
    def sizes(self) -> Ints:
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> Ints:
        return self.words[self.starts[number] : self.starts[number + 1]]


@dataclass
class WordSets(RuleState):
    """Word sets of texts in order.

    `orders`: a hash of the words in their order for each text, which is that of texts that differ
    in case, punctuation and white space only.
    """

    words: list[NDArray[np.int64]] = field(default_factory=list)
    sizes: list[NDArray[np.int64]] = field(default_factory=list)
    orders: list[NDArray[np.uint64]] = field(default_factory=list)

    def add(self, hashes: NDArray[np.uint64], counts: Ints) -> None:
        """Take in the words of some texts: see `hash_words`."""
        ends = np.concatenate([[0], np.cumsum(counts)])
        for low in range(0, len(counts), _ROWS):
            some = counts[low : low + _ROWS]
            words, sizes, order = _distinct(hashes[ends[low] : ends[low + len(some)]], some)
            self.words.append(words)
            self.sizes.append(sizes)
            self.orders.append(order)

    def order(self) -> NDArray[np.uint64]:
        """(n,) hashes of the words in their order."""
        return np.concatenate(self.orders) if self.orders else np.empty(0, np.uint64)

    def sets(self, scratch: str | None = None) -> Sets:
        """All sets; many in a file of the folder `scratch`, which is read where it is looked at."""
        starts = np.concatenate([[0], *self.sizes]).cumsum(dtype=np.int64)
        return Sets(joined(self.words, np.int64, scratch), starts)


def word_sets(texts: Iterable[Sequence[str]]) -> Sets:
    """The sets of texts, whose words are held for a step only."""
    return _sets(_distinct(*some)[:2] for some in _steps(texts))


def word_runs(texts: Iterable[Sequence[str]], length: int, sampled: int) -> Sets:
    """Hashes of the runs of so many words that texts hold: of `sampled` one, by its hash."""

    def runs(words: NDArray[np.uint64], lengths: Ints) -> tuple[Ints, Ints]:
        count = max(0, len(words) - length + 1)
        owner = np.repeat(np.arange(len(lengths)), lengths)
        keys = np.zeros(count, np.uint64)
        for at in range(length):
            keys = keys * _ODD + words[at : at + count]
        keys = mix(keys)
        within = owner[:count] == owner[len(owner) - count :]
        taken = np.flatnonzero(within & (keys % np.uint64(sampled) == 0))
        whole = np.stack([owner[taken], (keys[taken] >> np.uint64(1)).view(np.int64)], 1)
        pairs = np.unique(whole, axis=0)
        return pairs[:, 1], np.bincount(pairs[:, 0], minlength=len(lengths))

    return _sets(starmap(runs, _steps(texts)))


def _steps(texts: Iterable[Sequence[str]]) -> Iterator[tuple[NDArray[np.uint64], Ints]]:
    """The hashes of some texts at a time: see `hash_words`."""
    step, held = list[Sequence[str]](), 0
    for one in texts:
        step.append(one)
        held += len(one)
        if len(step) == _ROWS or held >= _WORDS:
            yield hash_words(step)
            step, held = [], 0
    if step:
        yield hash_words(step)


def _sets(parts: Iterable[tuple[Ints, Ints]]) -> Sets:
    """All sets of parts: the words, and the sizes, of each."""
    sizes = [np.zeros(1, np.int64)]

    def words() -> Iterator[Ints]:
        for some, count in parts:
            sizes.append(count)
            yield some

    every = joined(words(), np.int64)
    return Sets(every, np.concatenate(sizes).cumsum())


def _distinct(hashes: NDArray[np.uint64], lengths: Ints) -> tuple[Ints, Ints, NDArray[np.uint64]]:
    """(sum of sizes,) hashes ascending and distinct in each text, (n,) sizes, (n,) orders."""
    starts = np.cumsum(lengths) - lengths
    filled = np.flatnonzero(lengths)
    keys = hashes >> np.uint64(64 - WORD_BITS)
    order = np.zeros(len(lengths), np.uint64)
    sizes = np.zeros(len(lengths), np.int64)
    if len(filled):
        order[filled] = np.add.reduceat(_order_hash(hashes, starts, lengths), starts[filled])
        keys |= np.repeat(np.arange(len(lengths), dtype=np.uint64) << np.uint64(WORD_BITS), lengths)
        keys.sort()
        fresh = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
        sizes[filled] = np.add.reduceat(fresh, starts[filled], dtype=np.int64)
        keys = keys[fresh]
        keys &= np.uint64((1 << WORD_BITS) - 1)
    return keys.view(np.int64), sizes, order


def _order_hash(
    words: NDArray[np.uint64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """(words,) what each word adds to its text's hash of words in their order."""
    place = np.arange(1, len(words) + 1) - np.repeat(starts, lengths)
    return mix(words + place.view(np.uint64) * _ODD)


_NEGATIONS = frozenset({"no", "nor", "not", "without", "never"})
_COMMON = STOPWORDS - _NEGATIONS


def query_sets(queries: Iterable[Query]) -> Sets:
    """What queries are compared by: stems, and no function words unless there are no others.

    Queries are short, and many have words in common that ask for nothing. Words that negate stay.
    Of scripts without spaces pairs of characters, which count half: a word of two characters
    stands in two pairs or more.
    """
    unspaced: set[str] = set()

    def content() -> Iterator[list[str]]:
        for query in queries:
            words = _without_characters_of_pairs(tokens(query.text))
            result = stems([word for word in words if word not in _COMMON] or words)
            unspaced.update(filter(is_unspaced, result))
            yield result

    sets = word_sets(content())
    halves = word_sets([list(unspaced)])
    return replace(sets, weights=np.where(np.isin(sets.words, halves.words), 0.5, 1.0))


def _without_characters_of_pairs(words: list[str]) -> list[str]:
    if not any(map(is_unspaced, words)):
        return words
    around = ["", *words, ""]
    return [
        word
        for before, word, after in zip(around, words, around[2:], strict=False)
        if not is_unspaced(word)
        or not (
            (len(after) > len(word) and after.startswith(word) and is_unspaced(after))
            or (len(before) > len(word) and before.endswith(word) and is_unspaced(before))
        )
    ]
