"""Texts that a test set holds too, or nearly: they may be neither trained on nor tested with.

A text is dropped for one with a ROUGE-L F1 above the threshold, and for one that stands in it
whole, or in which it stands whole; every drop names the pair. Texts are cut by
`retgen.tokenizer.sequence`: words, and characters of scripts without spaces.

With precision LCS / |a| and recall LCS / |b|, ROUGE-L F1 is 2 LCS / (|a| + |b|): rapidfuzz's
normalised Indel similarity of the tokens, each a code point.
"""

from __future__ import annotations

import math
import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset, refuse
from retgen.errors import DatasetError
from retgen.tokenizer import is_unspaced, sequence
from retgen.work import Engine, Local

THRESHOLD = 0.6  # CapRetrieval, section 4
# How long a text must be to count as contained: a name or a keyword stands in many texts that have
# nothing else in common with it. In words; a character of a script without spaces is half a word.
LEAST = 8

ROWS, COLUMNS = 256, 4096  # texts that are compared with others in a step
PART = 8192  # texts that a process compares at a time: it cuts all others each time
_GRAM = 8  # tokens that are looked up: no more than the shortest of LEAST words has
_SLACK = 1e-6  # beyond any rounding of F1, and below what one token more or less changes
BITS_A_TOKEN, _MOST_BITS = 8, 4096  # of parities; fewer let more pairs through
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_Pairs = dict[int, tuple[int, float | None]]
Bits = NDArray[np.uint64]


class HeldOut(NamedTuple):
    """What must not be met before: texts by id."""

    name: str
    passages: Mapping[str, str]
    queries: Mapping[str, str]


class Drop(NamedTuple):
    """The text of a test set that a text is dropped for. `kind`: "passage" or "query". `f1`: None
    where one stands in the other whole.
    """

    test_set: str
    kind: str
    id: str
    f1: float | None

    @property
    def reason(self) -> str:
        other = f"{self.kind} {self.id} of {self.test_set}"
        if self.f1 is None:
            return f"contained in {other}, or contains it"
        return f"ROUGE-L F1 {self.f1:.2f} with {other}"


def read_test_set(name: str, dataset: Dataset) -> HeldOut:
    """All passages, with their titles, and queries of a data set.

    Raises `DatasetError` for a row that is none: one without a text, for example.
    """
    passages = {
        one.doc_id: f"{one.title}\n{one.text}" if one.title else one.text
        for one in dataset.documents(strict=Path(name))
    }
    queries, problems = dataset.queries.read()
    refuse(dataset.queries, problems, Path(name))
    return HeldOut(name, passages, {query.query_id: query.text for query in queries})


def drop_overlapping(
    texts: Mapping[str, str],
    test_sets: Sequence[HeldOut],
    threshold: float = THRESHOLD,
    engine: Engine | None = None,
) -> dict[str, Drop]:
    """The texts, by id, that a test set holds too, or nearly, in their order.

    A drop names the first test set with such a text, and of its texts the most alike one.
    `engine`: who compares. Raises `DatasetError` for a test set without text.
    """
    drops: dict[str, Drop] = {}
    for name, passages, queries in test_sets:
        others = [*passages.values(), *queries.values()]
        if not any(map(sequence, others)):
            raise DatasetError(
                f"{name}: the test set has no text (passages: {len(passages):,}, queries: "
                f"{len(queries):,}, none with a word), so nothing can be compared with it. Give a "
                "data set whose rows have texts, not ids alone."
            )
        ids = [*(("passage", one) for one in passages), *(("query", one) for one in queries)]
        left = [one for one in texts if one not in drops]
        parts = (
            (str(i), [texts[one] for one in left[i : i + PART]]) for i in range(0, len(left), PART)
        )
        for first, pairs in (engine or Local(1)).map(_overlapping, (others, threshold), parts):
            for text, (other, f1) in pickle.loads(pairs).items():
                kind, text_id = ids[other]
                drops[left[int(first) + text]] = Drop(name, kind, text_id, f1)
    return {name: drops[name] for name in texts if name in drops}


def _overlapping(held: tuple[Sequence[str], float], texts: Sequence[str]) -> bytes:
    return pickle.dumps(overlapping(texts, *held))


def overlapping(
    texts: Sequence[str], others: Sequence[str], threshold: float = THRESHOLD
) -> dict[int, tuple[int, float | None]]:
    """The texts, by place, with a ROUGE-L F1 above the threshold with any of `others`, each with
    the place of the first of those that it is most alike, and F1; then those that hold one whole,
    or stand in one, with the first such other and None.

    A pair whose F1 is the threshold itself is decided by rounding, as rouge-score decides it.
    Contained is a run of tokens of `LEAST` words or more, or an equal text.
    """
    own = list(map(sequence, texts))
    best, inside = _Pairs(), _Pairs()
    for first in range(0, len(others), COLUMNS):
        block = list(map(sequence, others[first : first + COLUMNS]))
        codes = {one: chr(n) for n, one in enumerate(dict.fromkeys(t for b in block for t in b))}
        unknown = chr(len(codes))  # a token that no other text has cannot be shared
        coded = ["".join(codes.get(token, unknown) for token in text) for text in own]
        theirs = ["".join(map(codes.__getitem__, text)) for text in block]
        for text, other, f1 in _most_alike(coded, theirs, threshold):
            if f1 > (best.get(text, (0, 0.0))[1] or 0.0):
                best[text] = first + other, f1
        for text, other in _contained(coded, theirs, _are_long(own), _are_long(block)):
            inside.setdefault(text, (first + other, None))
    return dict(sorted((inside | best).items()))


def _most_alike(
    texts: Sequence[str], others: Sequence[str], threshold: float
) -> Iterator[tuple[int, int, float]]:
    """The pairs of an F1 above the threshold. A subsequence is counted only where lengths allow it
    and parities do: a bit for each bucket of tokens says whether a text has an odd number of them,
    and a bit that differs is a token that is not shared.
    """
    from rapidfuzz.distance import Indel
    from rapidfuzz.process import cpdist

    sizes, theirs = (np.array([len(one) for one in some]) for some in (texts, others))
    order = np.argsort(sizes, kind="stable")
    held: dict[int, Bits] = {}
    for low in range(0, len(texts), ROWS):
        rows = order[low : low + ROWS]
        bits = min(max(64.0, sizes[rows].mean() * BITS_A_TOKEN), _MOST_BITS)
        words = 1 << round(math.log2(bits / 64))
        if words not in held:
            held[words] = _parities(others, words)
        apart = np.zeros((len(rows), len(others)), np.uint16)
        for own, other in zip(_parities([texts[i] for i in rows], words), held[words], strict=True):
            apart += np.bitwise_count(own[:, None] ^ other)
        total = sizes[rows, None] + theirs
        possible = apart <= (1 - threshold) * total + _SLACK
        possible &= 2 * np.minimum(sizes[rows, None], theirs) > (threshold - _SLACK) * total
        i, j = np.nonzero(possible)
        i = rows[i]
        likeness = cpdist(
            [texts[one] for one in i.tolist()],
            [others[one] for one in j.tolist()],
            scorer=Indel.normalized_similarity,
            score_cutoff=threshold - _SLACK,
            dtype=np.float64,
        )
        lcs = np.rint(likeness * (sizes[i] + theirs[j]) / 2)
        # rouge-score's own arithmetic, whose last bit decides where F1 is the threshold itself
        precision, recall = lcs / theirs[j], lcs / sizes[i]
        both = precision + recall
        f1 = 2 * precision * recall / np.where(both > 0, both, 1)
        above = f1 > threshold
        yield from zip(i[above].tolist(), j[above].tolist(), f1[above].tolist(), strict=True)


def _parities(texts: Sequence[str], words: int) -> Bits:
    """(words, texts) bits."""
    bits = 64 * words
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<u4")
    bucket = (codes * _MULTIPLIER) >> np.uint64(64 - bits.bit_length() + 1)
    cells = np.repeat(np.arange(len(texts)) * bits, list(map(len, texts))) + bucket.astype(np.int64)
    odd = np.bincount(cells, minlength=len(texts) * bits) & 1
    packed = np.packbits(odd.astype(np.uint8)).view(np.uint64)
    return np.ascontiguousarray(packed.reshape(len(texts), words).T)


def _are_long(texts: Sequence[Sequence[str]]) -> list[bool]:
    """Which texts have `LEAST` words or more."""
    distinct: set[str] = set().union(*texts)
    words = {token: 0.5 if is_unspaced(token) else 1.0 for token in distinct}
    return [sum(map(words.__getitem__, text)) >= LEAST for text in texts]


def _contained(
    texts: Sequence[str], others: Sequence[str], long: Sequence[bool], others_long: Sequence[bool]
) -> Iterator[tuple[int, int]]:
    """(text, other) by their places: the first other that stands in a text, or holds it."""
    places = {other: place for place, other in reversed(list(enumerate(others))) if other}
    copies = dict(zip(texts, long, strict=True))  # equal texts are looked at once
    first: dict[str, int] = {text: places[text] for text in copies if text in places}
    parts = [other for other, place in places.items() if others_long[place]]
    pairs = [(whole, part) for part, whole in _inside(parts, copies)]
    pairs += _inside([text for text, is_long in copies.items() if is_long], places)
    for text, other in pairs:
        first[text] = min(places[other], first.get(text, len(others)))
    yield from ((place, first[text]) for place, text in enumerate(texts) if text in first)


def _inside(parts: Iterable[str], wholes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(part, whole): every part that stands in a whole. Parts have `_GRAM` tokens or more."""
    begins: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        begins[part[:_GRAM]].append(part)
    for whole in wholes:
        for at in range(len(whole) - _GRAM + 1):
            for part in begins.get(whole[at : at + _GRAM], ()):
                if whole.startswith(part, at):
                    yield part, whole
