"""Texts that a test set holds too, or nearly: they may be neither trained on nor tested with.

A text is dropped for one with a ROUGE-L F1 above the threshold (`overlapping`), and for one that
stands in it whole, or in which it stands whole (`contained`); every drop names the pair.

ROUGE-L is computed exactly, for every pair above the threshold. Texts are cut by
`retgen.tokenizer.sequence`: words, and characters of scripts without spaces. Three steps, each far
cheaper a pair than the next, so that only the last counts a subsequence:

1. lengths: where F1 > t, the longer text has less than (2 - t) / t tokens for each of the shorter;
2. parities: a bit for each bucket of tokens says whether a text has an odd number of them. A bit
   that differs is a token that is not shared; F1 > t leaves less than (1 - t)(|a| + |b|) of these;
3. the longest common subsequence, 64 tokens in a step (rapidfuzz).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset, refuse
from retgen.errors import DatasetError
from retgen.tokenizer import is_unspaced, sequence

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Coded = str | tuple[int, ...]  # a text's tokens, each a code point or, of very many, a number

THRESHOLD = 0.6  # CapRetrieval, section 4

_CODE_POINTS = 0x110000
_ROWS = 256  # texts that are compared with _COLUMNS others in a step: it stays in the cache
_COLUMNS = 4096
_BITS_A_TOKEN = 8  # of parities, of a text of the mean length; fewer let more pairs through
_MOST_BITS = 4096
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SLACK = 1e-6  # beyond any rounding of F1, and below what one token more or less changes


class SimilarTexts(NamedTuple):
    """Text `text` of one collection and `other` of the other one, by their places; their F1."""

    text: int
    other: int
    f1: float


def rouge_l(a: Sequence[str], b: Sequence[str]) -> float:
    """ROUGE-L F1 of two token sequences, as rouge-score computes it, to the last bit.

    With precision LCS / |a| and recall LCS / |b|, F1 = 2 LCS / (|a| + |b|). Turning a into b by
    insertions and deletions alone takes |a| + |b| - 2 LCS of them, so F1 is one minus their share
    of |a| + |b|: the normalised Indel similarity. 0 where either is empty.
    """
    from rapidfuzz.distance import LCSseq

    if not a or not b:
        return 0.0
    size = np.array([len(a)]), np.array([len(b)])
    return float(_f1(np.array([float(LCSseq.similarity(a, b))]), *size)[0])


def overlapping(
    texts: Sequence[str], others: Sequence[str], threshold: float = THRESHOLD
) -> list[SimilarTexts]:
    """Every text whose ROUGE-L F1 with any of `others` is above the threshold, in order.

    Each with the other that it is most alike; of several, the first. Raises `ValueError` unless
    0 < threshold < 1. A pair whose F1 is the threshold itself is decided by rounding, as
    rouge-score decides it.
    """
    own, theirs = encode_tokens(map(sequence, texts), map(sequence, others))
    return alike(own, theirs, threshold)


def encode_tokens(
    texts: Iterable[Sequence[str]], others: Iterable[Sequence[str]]
) -> tuple[list[Coded], list[Coded]]:
    """Token sequences of both collections, the same token the same code in both."""
    codes: dict[str, int] = {}
    own, theirs = (
        [[codes.setdefault(token, len(codes)) for token in tokens] for tokens in some]
        for some in (texts, others)
    )
    code: Callable[[list[int]], Coded] = tuple
    if len(codes) <= _CODE_POINTS:  # faster than numbers, as far as they go
        code = _code_points
    return list(map(code, own)), list(map(code, theirs))


def _code_points(numbers: list[int]) -> str:
    return "".join(map(chr, numbers))


def numbers_of(texts: Sequence[Coded]) -> NDArray[np.uint64]:
    """(tokens of all texts,) codes, text after text."""
    if texts and isinstance(texts[0], str):
        joined = "".join(text for text in texts if isinstance(text, str))
        data = joined.encode("utf-32-le", "surrogatepass")
        return np.frombuffer(data, "<u4").astype(np.uint64)
    return np.fromiter(chain.from_iterable(texts), np.uint64)


def alike(texts: Sequence[Coded], others: Sequence[Coded], threshold: float) -> list[SimilarTexts]:
    """`overlapping` for texts that are `coded`."""
    if not 0 < threshold < 1:
        raise ValueError(f"threshold {threshold}: give a number above 0 and below 1")
    steps = [np.empty((3, 0)), *_Search(texts, others, threshold).steps()]
    text, other, f1 = _best(np.concatenate(steps, 1))
    columns = text.astype(int).tolist(), other.astype(int).tolist(), f1.tolist()
    return [SimilarTexts(*row) for row in zip(*columns, strict=True)]


class _Search:
    """Pairs above a threshold. Both sides are looked at in the order of their lengths."""

    def __init__(self, texts: Sequence[Coded], others: Sequence[Coded], threshold: float) -> None:
        self._threshold = threshold
        self._own, self._theirs = _Side(texts), _Side(others)

    def steps(self) -> Iterator[Floats]:
        """(3, n) texts, others and their F1, step by step; in each the best pair of a text."""
        # of a pair above the threshold no text has more tokens than this for each of the other's
        most = (2 - self._threshold) / self._threshold + _SLACK
        sizes, theirs = self._own.sizes, self._theirs.sizes
        for low in range(int(np.searchsorted(sizes, 1)), len(sizes), _ROWS):
            rows = slice(low, min(low + _ROWS, len(sizes)))
            least, largest = sizes[rows.start], sizes[rows.stop - 1]
            begin = int(np.searchsorted(theirs, max(least / most, 1)))
            end = int(np.searchsorted(theirs, largest * most, "right"))
            for column in range(begin, end, _COLUMNS):
                yield self._above(rows, slice(column, min(column + _COLUMNS, end)))

    def _above(self, rows: slice, columns: slice) -> Floats:
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cpdist

        i, j = np.nonzero(self._possible(rows, columns))
        i, j = self._own.order[rows][i], self._theirs.order[columns][j]
        likeness = cpdist(
            [self._own.texts[one] for one in i.tolist()],
            [self._theirs.texts[one] for one in j.tolist()],
            scorer=Indel.normalized_similarity,
            score_cutoff=self._threshold - _SLACK,
            dtype=np.float64,
        )
        kept = likeness > 0
        i, j = i[kept], j[kept]
        a, b = self._own.lengths[i], self._theirs.lengths[j]
        f1 = _f1(np.rint(likeness[kept] * (a + b) / 2), a, b)
        above = f1 > self._threshold
        return _best(np.stack([i[above], j[above], f1[above]]))

    def _possible(self, rows: slice, columns: slice) -> NDArray[np.bool_]:
        """(rows, columns) which pairs their parities leave."""
        sizes, theirs = self._own.sizes[rows], self._theirs.sizes[columns]
        words = _words(float(sizes.mean()))
        apart = np.zeros((len(sizes), len(theirs)), np.uint16)
        own, other = self._own.parities(words), self._theirs.parities(words)
        for word in range(words):
            apart += np.bitwise_count(own[word, rows, None] ^ other[word, None, columns])
        room = (1 - self._threshold) * np.arange(sizes[-1] + theirs[-1] + 1) + _SLACK
        most = np.minimum(room, 1 << 15).astype(np.uint16)[sizes[:, None] + theirs]
        result: NDArray[np.bool_] = apart <= most
        return result


class _Side:
    """One of two collections; `order`: its texts from the shortest to the longest."""

    def __init__(self, texts: Sequence[Coded]) -> None:
        self.texts = texts
        self.lengths: Ints = np.fromiter(map(len, texts), np.int64, len(texts))
        self.order: Ints = np.argsort(self.lengths, kind="stable")
        self.sizes: Ints = self.lengths[self.order]
        self._parities: dict[int, NDArray[np.uint64]] = {}

    def parities(self, words: int) -> NDArray[np.uint64]:
        """(words, texts in order) bits: of which buckets a text has an odd number of tokens."""
        if words not in self._parities:
            result = np.empty((len(self.texts), words), np.uint64)
            for low in range(0, len(self.order), _COLUMNS):
                some = [self.texts[one] for one in self.order[low : low + _COLUMNS].tolist()]
                result[low : low + _COLUMNS] = _parities(some, words)
            self._parities[words] = np.ascontiguousarray(result.T)
        return self._parities[words]


def _parities(texts: Sequence[Coded], words: int) -> NDArray[np.uint64]:
    """(texts, words)"""
    bits = 64 * words
    bucket = ((numbers_of(texts) * _MULTIPLIER) >> np.uint64(64 - bits.bit_length() + 1)).astype(
        np.int64
    )
    cells = np.repeat(np.arange(len(texts)) * bits, list(map(len, texts))) + bucket
    odd = np.bincount(cells, minlength=len(texts) * bits) & 1
    packed = np.packbits(odd.astype(np.uint8)).view(np.uint64)
    return packed.reshape(len(texts), words)


def _words(size: float) -> int:
    """How many times 64 parities tell texts of so many tokens apart: a power of two."""
    needed = min(size * _BITS_A_TOKEN, _MOST_BITS)
    return 1 << max(0, round(math.log2(needed / 64)))


def _f1(lcs: Floats, a: Ints, b: Ints) -> Floats:
    """rouge-score's own arithmetic, whose last bit decides where F1 is the threshold itself."""
    precision, recall = lcs / b, lcs / a
    both = precision + recall
    result: Floats = 2 * precision * recall / np.where(both > 0, both, 1)
    return result


def _best(pairs: Floats) -> Floats:
    """(3, texts) of (3, pairs) the one of the highest F1 of each text; of several, the first."""
    text, other, f1 = pairs
    ordered = pairs[:, np.lexsort((other, -f1, text))]
    _, first = np.unique(ordered[0], return_index=True)
    return ordered[:, first]


# --- texts that stand in others whole -----------------------------------------------------------

# How long a text must be to count as contained: a name or a keyword stands in many texts that have
# nothing else in common with it. In words; a character of a script without spaces is half a word.
LEAST = 8
_GRAM = 8  # tokens that are looked up: no more than the shortest of LEAST words has


class HeldOut(NamedTuple):
    """What must not be met before: texts by id."""

    name: str
    passages: Mapping[str, str]
    queries: Mapping[str, str]


class Drop(NamedTuple):
    """A passage or query, and the passage or query of a test set that it is dropped for.

    `kind`, `test_kind`: "passage" or "query". `f1`: None where one stands in the other whole.
    """

    kind: str
    id: str
    test_set: str
    test_kind: str
    test_id: str
    f1: float | None

    @property
    def reason(self) -> str:
        other = f"{self.test_kind} {self.test_id} of {self.test_set}"
        if self.f1 is None:
            return f"contained in {other}, or contains it"
        return f"ROUGE-L F1 {self.f1:.2f} with {other}"

    def to_json(self) -> dict[str, Any]:
        stated = "contained" if self.f1 is None else "rouge-l"
        return {**self._asdict(), "rule": stated, "f1": self.f1 and round(self.f1, 4)}


class Decontaminated(NamedTuple):
    """What is left of passages and queries, by id, and what was dropped, in their order."""

    passages: dict[str, str]
    queries: dict[str, str]
    drops: list[Drop]


def read_test_set(name: str, dataset: Dataset) -> HeldOut:
    """All passages, with their titles, and queries of a data set.

    Raises `DatasetError` for a row that is none: one without a text, for example.
    """
    passages = {
        one.doc_id: f"{one.title}\n{one.text}" if one.title else one.text
        for one in dataset.documents(strict=Path(name))
    }
    queries, problems = dataset.read_queries()
    refuse(dataset.queries, problems, Path(name))
    return HeldOut(name, passages, {query.query_id: query.text for query in queries})


def drop_overlapping(
    passages: Mapping[str, str],
    queries: Mapping[str, str],
    test_sets: Sequence[HeldOut],
    threshold: float = THRESHOLD,
) -> Decontaminated:
    """Texts by id without those that a test set holds too, or nearly.

    Passages and queries are each compared with passages and queries. A drop names the first test
    set with such a text, and of its texts the most alike one. Raises `DatasetError` for a test set
    without text.
    """
    kinds = ["passage"] * len(passages) + ["query"] * len(queries)
    ids = [*passages, *queries]
    tokens = list(map(sequence, [*passages.values(), *queries.values()]))
    drops: dict[int, Drop] = {}
    for test_set in test_sets:
        others = list(map(sequence, [*test_set.passages.values(), *test_set.queries.values()]))
        if not any(others):
            raise DatasetError(_without_text(test_set))
        test_ids = [*test_set.passages, *test_set.queries]
        left = [place for place in range(len(ids)) if place not in drops]
        held = [tokens[place] for place in left]
        own, theirs = encode_tokens(held, others)
        pairs: dict[int, tuple[int, float | None]] = {
            text: (other, None)
            for text, other in _contained_pairs(own, theirs, _long(held), _long(others))
        }
        pairs |= {text: (other, f1) for text, other, f1 in alike(own, theirs, threshold)}
        for text, (other, f1) in pairs.items():
            place = left[text]
            test_kind = "passage" if other < len(test_set.passages) else "query"
            drops[place] = Drop(
                kinds[place], ids[place], test_set.name, test_kind, test_ids[other], f1
            )
    gone = {(drop.kind, drop.id) for drop in drops.values()}
    return Decontaminated(
        {one: text for one, text in passages.items() if ("passage", one) not in gone},
        {one: text for one, text in queries.items() if ("query", one) not in gone},
        [drops[place] for place in sorted(drops)],
    )


def _without_text(test_set: HeldOut) -> str:
    return (
        f"{test_set.name}: the test set has no text (passages: {len(test_set.passages):,}, "
        f"queries: {len(test_set.queries):,}, none with a word), so nothing can be compared with "
        "it. Give a data set whose rows have texts, not ids alone."
    )


def find_contained(texts: Sequence[str], others: Sequence[str]) -> list[tuple[int, int]]:
    """(text, other) by their places: texts that stand whole in another, or it in them.

    Compared are tokens in their order. The one that is contained has `LEAST` words or more; shorter
    ones must be equal. Each text comes once, with the first such other.
    """
    held, theirs = list(map(sequence, texts)), list(map(sequence, others))
    return _contained_pairs(*encode_tokens(held, theirs), _long(held), _long(theirs))


def _long(texts: Sequence[Sequence[str]]) -> list[bool]:
    """Which texts have `LEAST` words or more."""
    distinct: set[str] = set().union(*texts)
    words = {token: 0.5 if is_unspaced(token) else 1.0 for token in distinct}
    return [sum(map(words.__getitem__, text)) >= LEAST for text in texts]


def _contained_pairs(
    texts: Sequence[Coded],
    others: Sequence[Coded],
    long: Sequence[bool],
    others_long: Sequence[bool],
) -> list[tuple[int, int]]:
    copies: dict[Coded, list[int]] = {}  # equal texts are looked at once
    for place, text in enumerate(texts):
        copies.setdefault(text, []).append(place)
    places = {other: place for place, other in reversed(list(enumerate(others))) if len(other)}
    pairs = [(text, text) for text in copies if text in places]
    parts = [other for other, place in places.items() if others_long[place]]
    pairs += ((whole, part) for part, whole in _inside(parts, list(copies)))
    parts = [text for text, equal in copies.items() if long[equal[0]]]
    pairs += _inside(parts, list(places))
    first: dict[Coded, int] = {}
    for text, other in pairs:
        first[text] = min(places[other], first.get(text, len(others)))
    return sorted((place, other) for text, other in first.items() for place in copies[text])


def _inside(parts: Sequence[Coded], wholes: Sequence[Coded]) -> Iterator[tuple[Coded, Coded]]:
    """(part, whole): every part that stands in a whole. Parts have `_GRAM` tokens or more.

    A part is looked up under its rarest run of `_GRAM` tokens, by a hash; then it is compared.
    """
    grams, owner, offset = _grams(parts)
    if not len(grams):
        return
    _, inverse, counts = np.unique(grams, return_inverse=True, return_counts=True)
    order = np.lexsort((offset, counts[inverse], owner))
    rarest = order[np.unique(owner[order], return_index=True)[1]]
    rarest = rarest[np.argsort(grams[rarest], kind="stable")]
    keys = grams[rarest]
    met, whole, at = _grams(wholes)
    begins, ends = np.searchsorted(keys, met), np.searchsorted(keys, met, "right")
    for hit in np.flatnonzero(ends > begins).tolist():
        text = wholes[whole[hit]]
        for row in rarest[begins[hit] : ends[hit]].tolist():
            part, start = parts[owner[row]], int(at[hit] - offset[row])
            if start >= 0 and text[start : start + len(part)] == part:
                yield part, text


def _grams(
    texts: Sequence[Coded],
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """A hash of every run of `_GRAM` tokens, the text it stands in and where it begins there."""
    codes = numbers_of(texts) + np.uint64(1)
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    runs = max(len(codes) - _GRAM + 1, 0)
    hashes = np.zeros(runs, np.uint64)
    for step in range(_GRAM):
        hashes = (hashes ^ codes[step : step + runs]) * _MULTIPLIER
        hashes ^= hashes >> np.uint64(32)
    owner = np.repeat(np.arange(len(texts)), sizes)[:runs]
    starts = np.cumsum(sizes) - sizes
    offset = np.arange(runs) - starts[owner]
    within = offset + _GRAM <= sizes[owner]
    return hashes[within], owner[within], offset[within]
