"""The lists of attributes as a whole: no two documents have the same, and order tells nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from retgen.validators.limit.spec import Spec, error
from retgen.validators.rule import Batch, Finding, State

_P = 1e-6  # below, chance is no explanation


@dataclass
class Lists(State):
    """What lists of attributes show.

    `hashes`: of each document's set, eight bytes a document; `rank` and `variance`: how far the
    places of asked attributes are from the middle, in all, and the variance that chance gives that.
    """

    hashes: list[NDArray[np.uint64]] = field(default_factory=list)
    rank: float = 0.0
    variance: float = 0.0

    def add(
        self, hashes: NDArray[np.uint64], counts: NDArray[np.int64], asked: NDArray[np.bool_]
    ) -> None:
        """Take in documents: `counts` (n,), and of their attributes `hashes` and `asked`."""
        starts = np.cumsum(counts) - counts
        filled = counts > 0
        sums = np.zeros(len(counts), np.uint64)
        if filled.any():
            sums[filled] = np.add.reduceat(hashes, starts[filled])
        self.hashes.append(sums)
        flat = np.flatnonzero(asked)
        owners = np.searchsorted(starts, flat, "right") - 1
        held = np.bincount(owners, minlength=len(counts))
        places = np.bincount(owners, weights=flat - starts[owners], minlength=len(counts))
        # the sum of ranks of a sample without replacement (Wilcoxon)
        self.rank += float((places - held * (counts - 1) / 2).sum())
        self.variance += float((held * (counts - held) * (counts + 1) / 12).sum())

    def merge(self, later: Self, offset: int) -> None:
        self.hashes += later.hashes
        self.rank += later.rank
        self.variance += later.variance

    def repeated(self) -> frozenset[int]:
        """Hashes that stand more than once."""
        ordered = np.sort(np.concatenate([np.empty(0, np.uint64), *self.hashes]))
        return frozenset(ordered[1:][ordered[1:] == ordered[:-1]].tolist())

    def check_order(self, holders: list[str]) -> Iterator[Finding]:
        """Asked attributes stand at the front no more often than at the back."""
        if not self.variance:
            return
        z = self.rank / math.sqrt(self.variance)
        p = math.erfc(abs(z) / math.sqrt(2))
        if p < _P:
            where = "behind" if z > 0 else "in front of"
            yield error(
                "places",
                holders,
                f"attributes that queries ask for stand {where} the others of their document (p = "
                f"{p:.1g}): the first or last attributes give the relevant documents away",
            )


def mixed(vocabulary: int) -> NDArray[np.uint64]:
    """(vocabulary + 1,) a 64-bit hash of each attribute, the last of what is none.

    The sum over a set is a hash of the set.
    """
    mixed = (np.arange(-1, vocabulary) + 2).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, odd in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(odd)
    return np.roll(mixed, -1)


class Twins:
    """Documents whose sets of attributes stand more than once, found in a second look."""

    def __init__(self, spec: Spec, queried: NDArray[np.bool_], mixed: NDArray[np.uint64]) -> None:
        """`queried` (vocabulary + 1,): which attributes queries ask for; `mixed`: their hashes."""
        self.spec = spec
        self.queried = queried
        self.mixed = mixed
        self.repeated: frozenset[int] = frozenset()
        self.groups: dict[frozenset[str], list[str]] = {}

    def look(self, batch: Batch, lists: Sequence[tuple[str, list[str]]]) -> None:
        """`lists`: name and attributes of each document of the batch."""
        if not self.repeated:
            return
        for doc_id, (_, listed) in zip(batch.ids, lists, strict=True):
            terms = np.array([self.spec.attributes.get(a, -1) for a in listed], np.int64)
            if int(self.mixed[terms].sum()) in self.repeated:
                self.groups.setdefault(frozenset(listed), []).append(doc_id)

    def findings(self, documents: int) -> Iterator[Finding]:
        """Documents hold the same attributes no more often than draws would."""
        twins = [
            ids
            for attributes, ids in self.groups.items()
            if len(ids) > 1 and self._by_chance(attributes, documents) < _P
        ]
        if twins:
            largest = max(twins, key=len)
            groups = "1 group" if len(twins) == 1 else f"{len(twins):,} groups"
            yield error(
                "twins",
                [doc_id for ids in twins for doc_id in ids],
                f"{sum(map(len, twins)):,} of {documents:,} documents have the attributes of "
                f"another one, in {groups}; the largest, of {len(largest):,}, begins with "
                f"{largest[0]} and {largest[1]}",
            )

    def _by_chance(self, attributes: frozenset[str], documents: int) -> float:
        """How many pairs of documents would draw the same fillers, of those no query asks for."""
        terms = [self.spec.attributes.get(a, -1) for a in attributes]
        drawn = sum(not (term >= 0 and self.queried[term]) for term in terms)
        pool = len(self.spec.attributes) - int(self.queried.sum())
        return documents**2 / 2 / max(math.comb(max(pool, 0), drawn), 1)
