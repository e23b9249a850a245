"""Texts that a test set holds too, or nearly: they may be neither trained on nor tested with.

A text is dropped for one with a ROUGE-L F1 above the threshold (`rouge`), and for one that stands
in it whole, or in which it stands whole (`contained`); every drop names the pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.data import Dataset, refuse
from retgen.errors import DatasetError
from retgen.tokenizer import is_unspaced, sequence
from retgen.validators.rouge import THRESHOLD, Coded, alike, coded, numbers_of

# How long a text must be to count as contained: a name or a keyword stands in many texts that have
# nothing else in common with it. In words; a character of a script without spaces is half a word.
LEAST = 8
_GRAM = 8  # tokens that are looked up: no more than the shortest of LEAST words has
_ODD = np.uint64(0x9E3779B97F4A7C15)


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


def decontaminated(
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
        own, theirs = coded(held, others)
        pairs: dict[int, tuple[int, float | None]] = {
            text: (other, None)
            for text, other in _contained(own, theirs, _long(held), _long(others))
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


def contained(texts: Sequence[str], others: Sequence[str]) -> list[tuple[int, int]]:
    """(text, other) by their places: texts that stand whole in another, or it in them.

    Compared are tokens in their order. The one that is contained has `LEAST` words or more; shorter
    ones must be equal. Each text comes once, with the first such other.
    """
    held, theirs = list(map(sequence, texts)), list(map(sequence, others))
    return _contained(*coded(held, theirs), _long(held), _long(theirs))


def _long(texts: Sequence[Sequence[str]]) -> list[bool]:
    """Which texts have `LEAST` words or more."""
    distinct: set[str] = set().union(*texts)
    words = {token: 0.5 if is_unspaced(token) else 1.0 for token in distinct}
    return [sum(map(words.__getitem__, text)) >= LEAST for text in texts]


def _contained(
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
        hashes = (hashes ^ codes[step : step + runs]) * _ODD
        hashes ^= hashes >> np.uint64(32)
    owner = np.repeat(np.arange(len(texts)), sizes)[:runs]
    starts = np.cumsum(sizes) - sizes
    offset = np.arange(runs) - starts[owner]
    within = offset + _GRAM <= sizes[owner]
    return hashes[within], owner[within], offset[within]
