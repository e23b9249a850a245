"""What is alike in texts: equal ones, sets of words that share most of theirs, sets within sets.

Texts are compared as sets of hashes of their words, eight bytes a word, which may lie on disk. Two
ways lead to pairs of sets that may be similar. A join of the rarest words is exact, where its pairs
are few enough to look at. Where they are not, banded MinHash finds nearly all, in time that grows
with the number of words alone. Every pair is verified.

The hashing is a dozen lines of NumPy because libraries do not reach it: rensa computes digests
as fast, but hands them out as Python lists only, which takes ten times as long again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from retgen.data import Query
from retgen.on_disk import joined
from retgen.rows import text_hash
from retgen.tokenizer import STOPWORDS, is_unspaced, stems, tokens

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]

THRESHOLD = 0.8
MISSED = "; a few more may have been missed among so many"  # what a message adds where not exact
WORD_BITS = 52  # bits of a word's hash: two words of a pair of texts meet once in 10^12 pairs
BLOCK = 1024  # sets that are looked at in a step, so that they stay in the processor's cache
CHUNK = 1 << 18  # words, or pairs, that are looked at in a step
BUCKET_BITS = 22  # words of one bucket are taken for one: they only add pairs to look at
BUCKETS = (1 << BUCKET_BITS) - 1
PAIRS_A_WORD = 64  # beyond, MinHash takes far less time
PAIRS = 1 << 20  # pairs of a document and a query that are looked at in one go
_ENTRIES = 1 << 25  # words of a join; beyond, they take too much memory
_BANDS, _ROWS = 16, 4  # of pairs at the threshold one in 4,600 is missed, above it far fewer
_ROUNDS = 32  # members of a bucket that the others are compared with
_AT_A_TIME = 1 << 22  # hashes that are sorted together
_WORDS = 1 << 16  # of texts that are held at a time
_LONG = 1024  # bytes of a word that are hashed eight by eight
_ODD, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HIGH, _LOW = np.uint64(32), np.uint64(29)
_NEGATIONS = frozenset({"no", "nor", "not", "without", "never"})
_COMMON = STOPWORDS - _NEGATIONS


# --- equal texts ------------------------------------------------------------------------------


class _Kept(dict[int, str]):
    """What stands for a character: itself, or a space for punctuation and control characters.

    Signs tell names and values apart (C++ and C#, $5 and 5%), marks are parts of letters.
    """

    def __missing__(self, code: int) -> str:
        kind, sign = unicodedata.category(chr(code)), chr(code)
        keep = kind[0] in "LNM" or kind in ("Sm", "Sc", "So") or sign in "#%&@"
        self[code] = sign if keep and sign not in "|~" else " "
        return self[code]


_kept = _Kept()
_ASCII_KEPT = "".join(_kept[code].lower() for code in range(128))


def normalise_text(text: str) -> str:
    """The text without case, punctuation and runs of white space: equal to a reader."""
    if text.isascii():  # one table look-up, ten times as fast
        return " ".join(text.translate(_ASCII_KEPT).split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(_kept).split())


def hashes_of(keys: Iterable[str]) -> Hashes:
    """(n,) a hash of each."""
    return np.fromiter(map(text_hash, keys), np.uint64)


def repeated(keys: Iterable[str]) -> Mask:
    """(n,) whether a key stands more than once; true as well where two share a hash."""
    hashes = hashes_of(keys)
    ordered = np.sort(hashes)
    return np.isin(hashes, ordered[1:][ordered[1:] == ordered[:-1]])


def repeated_hashes(parts: Sequence[Hashes]) -> frozenset[int]:
    """The hashes that stand more than once in ascending arrays.

    Of all parts those between two bounds are sorted at a time, so memory does not grow.
    """
    ranges = max(1, -(-sum(map(len, parts)) // _AT_A_TIME))
    inner = np.array([(i << 64) // ranges for i in range(1, ranges)], np.uint64)
    bounds = [[0, *np.searchsorted(part, inner).tolist(), len(part)] for part in parts]
    result: set[int] = set()
    for i in range(ranges if parts else 0):
        some = [part[at[i] : at[i + 1]] for part, at in zip(parts, bounds, strict=True)]
        ordered = np.sort(np.concatenate(some))
        result.update(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    return frozenset(result)


# --- words as hashes --------------------------------------------------------------------------


def mix(values: Hashes) -> Hashes:
    """Values in whose bits all bits of the given ones have a say; those are overwritten."""
    values *= _ODD
    values ^= values >> _HIGH
    values *= _OTHER
    values ^= values >> _LOW
    return values


def hash_words(texts: Sequence[Sequence[str]]) -> tuple[Hashes, Ints]:
    """(sum of counts,) hashes of the words of all texts in order, (n,) words of each text.

    Computed of all words at once, eight bytes in a step. A hash is one of the whole word and its
    length; up to eight bytes no two words share one.
    """
    counts = np.fromiter(map(len, texts), np.int64, len(texts))
    count = int(counts.sum())
    if not count:
        return np.empty(0, np.uint64), counts
    lines = "\n".join(chain.from_iterable(texts)).encode("utf-8", "surrogatepass")
    data = np.frombuffer(lines + b"\n" + bytes(8), np.uint8)
    ends = np.flatnonzero(data == 10)  # no word holds white space
    starts = np.concatenate([[0], ends[:-1] + 1])
    eight: Hashes = np.ndarray(len(data) - 7, "<u8", data, strides=(1,))
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


@dataclass(frozen=True)
class Sets:
    """Set i is words[starts[i]:starts[i + 1]], ascending and distinct; `words` may lie on disk.

    `weights`: what each word counts beside its rarity; None where all words count the same.
    """

    words: Ints
    starts: Ints
    weights: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, parts: Iterable[tuple[Ints, Ints]], scratch: str | None = None) -> Sets:
        """All sets of parts: the words of each, one set behind the other, and the sizes.

        Many lie in a file of the folder `scratch`, which is read where it is looked at.
        """
        sizes = [np.zeros(1, np.int64)]

        def words() -> Iterator[Ints]:
            for some, count in parts:
                sizes.append(count)
                yield some

        every = joined(words(), np.int64, scratch)
        return cls(every, np.concatenate(sizes).cumsum(dtype=np.int64))

    @cached_property
    def sizes(self) -> Ints:
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> Ints:
        return self.words[self.starts[number] : self.starts[number + 1]]


def distinct_words(hashes: Hashes, counts: Ints) -> tuple[Ints, Ints]:
    """(sum of sizes,) hashes ascending and distinct in each text, (n,) sizes. At most 4096 texts.

    `hashes`, `counts`: see `hash_words`.
    """
    owners = np.arange(len(counts), dtype=np.uint64) << np.uint64(WORD_BITS)
    keys = hashes >> np.uint64(64 - WORD_BITS)
    keys |= np.repeat(owners, counts)
    keys.sort()
    fresh = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    sizes = np.zeros(len(counts), np.int64)
    filled = np.flatnonzero(counts)
    if len(filled):
        starts = np.cumsum(counts) - counts
        sizes[filled] = np.add.reduceat(fresh, starts[filled], dtype=np.int64)
    keys = keys[fresh]
    keys &= np.uint64((1 << WORD_BITS) - 1)
    return keys.view(np.int64), sizes


def word_sets(texts: Iterable[Sequence[str]]) -> Sets:
    """The sets of texts, whose words are held for a step only."""
    return Sets.of(distinct_words(*hash_words(some)) for some in _steps(texts))


def word_runs(texts: Iterable[Sequence[str]], length: int, sampled: int) -> Sets:
    """Hashes of the runs of so many words that texts hold: of `sampled` one, by its hash."""

    def runs(words: Hashes, lengths: Ints) -> tuple[Ints, Ints]:
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

    return Sets.of(runs(*hash_words(some)) for some in _steps(texts))


def _steps(texts: Iterable[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Some texts at a time."""
    step, held = list[Sequence[str]](), 0
    for one in texts:
        step.append(one)
        held += len(one)
        if len(step) == BLOCK or held >= _WORDS:
            yield step
            step, held = [], 0
    yield step


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
    """The words but characters of a script without spaces beside a pair that they are part of."""
    result = []
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        begins = len(after) > len(word) and after.startswith(word) and is_unspaced(after)
        ends = len(before) > len(word) and before.endswith(word) and is_unspaced(before)
        if not ((begins or ends) and is_unspaced(word)):
            result.append(word)
    return result


# --- similar sets -----------------------------------------------------------------------------


def groups(
    sets: Sets, threshold: float = THRESHOLD, known: Ints | None = None
) -> tuple[Ints, bool]:
    """(n,) a number for every set, shared by those that a chain of similar pairs connects.

    Also whether no pair can have been missed. Empty sets are similar to nothing. `known`: (m, 2)
    pairs that belong together, however similar they are.
    """
    search = _Groups(sets, threshold, np.arange(len(sets)))
    if known is not None:
        search.connect(known[:, 0], known[:, 1])
    exact = search.run()
    return search.labels, exact


def matches(sets: Sets, first: int, threshold: float = THRESHOLD) -> tuple[Ints, bool]:
    """(m, 2) pairs of one of the `first` sets with a later one: one for every set that has any.

    Also whether no set can have been missed.
    """
    search = _Matches(sets, threshold, (np.arange(len(sets)) >= first).astype(np.int64))
    exact = search.run()
    result = np.flatnonzero(search.match[:first] >= 0)
    return np.stack([result, search.match[result]], 1), exact


class _Search:
    """Finds pairs whose Jaccard similarity reaches the threshold, and connects them.

    Where words have weights, that of the weighed words must reach it, too. A word counts its weight
    times log(n / m): m - 1 of the n sets beside the pair hold it.

    `labels` (n,): pairs of one label need no look.
    """

    def __init__(self, sets: Sets, threshold: float, labels: Ints) -> None:
        self.sets, self.threshold, self.labels = sets, threshold, labels
        self._weights: list[NDArray[np.float64]] = []  # of words: in one of a pair, in both
        if sets.weights is not None:
            _, places, counts = np.unique(sets.words, return_inverse=True, return_counts=True)
            for others in (counts, np.maximum(counts - 1, 1)):
                self._weights.append(sets.weights * np.log(len(sets) / others)[places])

    def connect(self, a: Ints, b: Ints) -> None:
        """Take in similar pairs."""
        raise NotImplementedError

    def undecided(self, a: Ints, b: Ints) -> Mask:
        """Which pairs are still to be looked at."""
        undecided: Mask = self.labels[a] != self.labels[b]
        return undecided

    def needs_others(self, leaders: Ints, members: Ints) -> Mask:
        """Which members of a bucket are to be compared with others than its leader."""
        return self.undecided(leaders, members)

    def run(self) -> bool:
        """Find all similar pairs, or nearly all; whether none can have been missed."""
        chunks = _join(self.sets, self.threshold)
        for a, b in chunks or ():
            self._look(a, b)
        if chunks is None:
            for keys in _keys(self.sets):
                self._compare_buckets(keys)
        return chunks is not None

    def _compare_buckets(self, keys: Hashes) -> None:
        """Compare the sets of a bucket with its last one, those that are left with theirs, and so
        on.

        A bucket of up to 32 is compared throughout; a big one of similar sets ends in a round.
        """
        members = np.flatnonzero(self.sets.sizes)[::-1]
        order = members[np.argsort(keys[members], kind="stable")]
        for _ in range(_ROUNDS):
            begins = np.append(True, keys[order[1:]] != keys[order[:-1]])[: len(order)]
            leaders = order[np.flatnonzero(begins)][np.cumsum(begins) - 1]
            a, b = leaders[~begins], order[~begins]
            if not len(b):
                return
            self._look(b, a)
            order = b[self.needs_others(a, b)]

    def _look(self, a: Ints, b: Ints) -> None:
        """Connect the pairs that are similar."""
        sizes = self.sets.sizes
        ends, low = np.cumsum(sizes[a] + sizes[b]), 0
        while low < len(a):
            done = ends[low - 1] if low else 0
            high = max(low + 1, int(np.searchsorted(ends, done + CHUNK, "right")))
            x, y = a[low:high], b[low:high]
            low = high
            maybe = np.minimum(sizes[x], sizes[y]) >= (
                self.threshold * np.maximum(sizes[x], sizes[y]) - 1e-9
            )
            maybe &= self.undecided(x, y)
            x, y = x[maybe], y[maybe]
            if len(x):
                similar = self._similar(x, y)
                self.connect(x[similar], y[similar])

    def _similar(self, a: Ints, b: Ints) -> Mask:
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
        similar: Mask = shared >= self.threshold * (sizes[left] + sizes[right] - shared) - 1e-9
        if self._weights:
            one, both = (rows(weights[taken]) for weights in self._weights)
            apart = one.sum(axis=1)[left] + one.sum(axis=1)[right]
            apart -= 2 * one[left].multiply(ones[right]).sum(axis=1)
            weighed = both[left].multiply(ones[right]).sum(axis=1)
            similar &= weighed >= self.threshold * (weighed + apart) - 1e-9
        return similar


class _Groups(_Search):
    """Sets in groups: those of one label."""

    def connect(self, a: Ints, b: Ints) -> None:
        if not len(a):
            return
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        old, places = np.unique(self.labels[np.concatenate([a, b])], return_inverse=True)
        ends = places[: len(a)], places[len(a) :]
        edges = coo_array((np.ones(len(a), bool), ends), shape=(len(old), len(old)))
        parts = connected_components(edges, directed=False)[1]
        smallest = np.full(parts.max() + 1, np.iinfo(np.int64).max)
        np.minimum.at(smallest, parts, old)
        renamed = np.arange(len(self.labels))
        renamed[old] = smallest[parts]
        self.labels = renamed[self.labels]


class _Matches(_Search):
    """Sets of two collections, labelled 0 and 1: a pair has one of each, the lower number first.

    One pair for a set of the first is enough.
    """

    def __init__(self, sets: Sets, threshold: float, labels: Ints) -> None:
        super().__init__(sets, threshold, labels)
        self.match = np.full(len(sets), -1)

    def connect(self, a: Ints, b: Ints) -> None:
        own, other = np.minimum(a, b)[::-1], np.maximum(a, b)[::-1]
        self.match[own] = other  # of several the first

    def undecided(self, a: Ints, b: Ints) -> Mask:
        return super().undecided(a, b) & (self.match[np.minimum(a, b)] < 0)

    def needs_others(self, leaders: Ints, members: Ints) -> Mask:
        needs: Mask = self.match[members] < 0
        return needs


def _join(sets: Sets, threshold: float) -> Iterator[tuple[Ints, Ints]] | None:
    """Chunks of pairs of sets that may be similar, no similar one left out; None for too many.

    Two sets with a Jaccard similarity of t or more share one of the first |x| - ceil(t |x|) + 1 of
    their words, the rarest first (Chaudhuri et al., ICDE 2006): a product of sparse matrices pairs
    them. They are compared by size and by 64 bits of each, the parity of its words by bucket: every
    bit that differs is a word that they do not share.
    """
    from scipy.sparse import csr_array

    rarity, once = _rarity(sets)
    prefix = sets.sizes - np.ceil(threshold * sets.sizes - 1e-9).astype(np.int64) + 1
    bits = np.zeros(len(sets), np.uint64)
    rows, words = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for low, filled, begins, held in _blocks(sets):
        bit = np.uint64(1) << ((held >> BUCKET_BITS) & 63).view(np.uint64)
        bits[low + filled] = np.bitwise_xor.reduceat(bit, begins)
        sizes = np.diff(np.append(begins, len(held)))
        own = np.repeat(filled, sizes)
        ranked = (own << BUCKET_BITS) | rarity[held & BUCKETS]
        ranked.sort()
        ranked &= BUCKETS
        first = np.arange(len(own)) - np.repeat(begins, sizes) < prefix[low + own]
        taken = first & (ranked >= once)  # but for words that stand in one set alone
        rows.append(own[taken] + low)
        words.append(ranked[taken])
    every = np.concatenate(words)
    runs = np.bincount(every).astype(np.float64)
    if len(every) > _ENTRIES or runs @ runs > PAIRS_A_WORD * int(sets.starts[-1]):
        return None
    places = np.concatenate(rows), every
    entries = csr_array((np.ones(len(every), bool), places), shape=(len(sets), len(runs)))
    apart = (1 - threshold) / (1 + threshold)

    def chunks() -> Iterator[tuple[Ints, Ints]]:
        others = entries.T.tocsr()
        for low in range(0, len(sets), BLOCK):
            pairs = (entries[low : low + BLOCK] @ others).tocoo()
            a, b = pairs.row.astype(np.int64) + low, pairs.col.astype(np.int64)
            a, b = a[a < b], b[a < b]
            differ = np.bitwise_count(bits[a] ^ bits[b])
            maybe = differ <= (sets.sizes[a] + sets.sizes[b]) * apart + 1e-9
            yield a[maybe], b[maybe]

    return chunks()


def _blocks(sets: Sets) -> Iterator[tuple[int, Ints, Ints, Ints]]:
    """Some sets at a time: the number of the first, which of them hold words (from 0), where
    the words of each begin, and the words.
    """
    for low in range(0, len(sets), BLOCK):
        starts = sets.starts[low : low + BLOCK + 1]
        if len(filled := np.flatnonzero(np.diff(starts))):
            words = np.asarray(sets.words[starts[0] : starts[-1]])
            yield low, filled, starts[filled] - starts[0], words


def _rarity(sets: Sets) -> tuple[Ints, int]:
    """(buckets,) ranks of buckets of words, the rarest first; the first of two words and more."""
    ranks = np.zeros(BUCKETS + 1, np.int64)
    for low in range(0, len(sets.words), len(ranks)):
        some = sets.words[low : low + len(ranks)] & BUCKETS
        ranks += np.bincount(some, minlength=len(ranks))
    used = np.flatnonzero(ranks)
    order = (ranks[used] << BUCKET_BITS) | used  # equally rare ones by number
    order.sort()
    ranks[order & BUCKETS] = np.arange(len(order))
    return ranks, int(np.searchsorted(order, 2 << BUCKET_BITS))


def _keys(sets: Sets) -> Iterator[Hashes]:
    """(n,) keys band by band (MinHash): similar sets have equal keys in some band."""
    draw = np.random.Generator(np.random.Philox(key=[0, 0])).integers
    factors = draw(0, 1 << 31, (_BANDS, _ROWS, 2), np.int64).astype(np.uint32) * 2 + 1
    for band in factors:
        keys = np.zeros(len(sets), np.uint64)
        for low, filled, begins, words in _blocks(sets):
            short = (words >> (WORD_BITS - 32)).astype(np.uint32)
            short ^= words.astype(np.uint32)
            key = np.zeros(len(filled), np.uint64)
            for a, b in band:
                mixed = short * a
                mixed ^= mixed >> np.uint32(15)
                mixed *= b
                key = mix(key ^ np.minimum.reduceat(mixed, begins))
            keys[low + filled] = key
        yield keys


# --- sets within sets -------------------------------------------------------------------------


class Containment:
    """Which queries stand whole, word for word, in which documents.

    Documents times queries is too much for a large collection. Each query is looked up under its
    rarest word only, and the few documents that hold it are asked for the next rarest; so the work
    grows with the documents and with the pairs that share a rarest word.

    `sets`: of words, given as columns 0..width-1, to be found in documents; none empty, none with a
    repeated column. `frequencies` (width,): in about how many documents a word stands; how often it
    is right changes the speed and nothing else.
    """

    def __init__(self, sets: Sequence[Sequence[int]], frequencies: NDArray[np.integer]) -> None:
        self._width = len(frequencies)
        self._sizes = np.fromiter(map(len, sets), np.int64, len(sets))
        self._starts = np.cumsum(self._sizes) - self._sizes
        columns = np.fromiter(chain.from_iterable(sets), np.int64, int(self._sizes.sum()))
        # the words of each set, rarest first; the sets, by their rarest word
        owner = np.repeat(np.arange(len(sets)), self._sizes)
        self._columns = columns[np.lexsort((columns, frequencies[columns], owner))]
        rarest = self._columns[self._starts]
        self._order = np.argsort(rarest, kind="stable")
        self._fan = np.bincount(rarest, minlength=self._width)  # sets of which a word is the rarest
        self._first = np.cumsum(self._fan) - self._fan

    def pairs(self, documents: Ints, columns: Ints) -> Iterator[tuple[Ints, Ints]]:
        """(documents, sets), two columns: every document with every set that it holds whole.

        Word `columns[i]` stands in document `documents[i]`. Pairs come in no particular order, each
        once.
        """
        held = np.unique(documents * self._width + columns)
        rows, words = np.divmod(held, max(self._width, 1))
        wanted = self._fan[words] > 0
        rows, words = rows[wanted], words[wanted]
        ends = np.cumsum(self._fan[words])
        total = int(ends[-1]) if len(ends) else 0
        cuts = np.searchsorted(ends, np.arange(PAIRS, total, PAIRS)).tolist()
        for start, stop in pairwise([0, *cuts, len(ends)]):
            fan = self._fan[words[start:stop]]
            ranks = np.arange(int(fan.sum())) - np.repeat(np.cumsum(fan) - fan, fan)
            sets = self._order[np.repeat(self._first[words[start:stop]], fan) + ranks]
            owners = np.repeat(rows[start:stop], fan)
            size = 1
            while len(sets):
                whole = self._sizes[sets] == size
                if whole.any():
                    yield owners[whole], sets[whole]
                    owners, sets = owners[~whole], sets[~whole]
                following = owners * self._width + self._columns[self._starts[sets] + size]
                found = held.take(np.searchsorted(held, following), mode="clip") == following
                owners, sets = owners[found], sets[found]
                size += 1
