"""How scores change with a fact and with words, and means with intervals.

A change is counted in *gaps*: 1 is the mean difference of a system between what a query asks for
(base and control) and documents about something else, so that systems compare. What hangs together
is a triple, whose queries ask about the same documents: triples are the units of intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retgen.search.base import share_won
from retgen.statistics.clustered import SHARE, Estimate, estimate, parts

Array = NDArray[np.float64]

# shares of queries: a tie is half, but in `last` a loss
SHARES = ("base", "control", "last")
# in gaps: base less twin, the size of base less control, control less twin
CHANGES = ("fact", "rewording", "sensitivity")


@dataclass(frozen=True)
class Changes:
    """One system. `values`: by measure, (queries,); changes as scores. `gap`: (queries,).

    `triples`: the number of each query's triple; `factors`: by factor the value of each query.
    """

    values: Mapping[str, Array]
    gap: Array
    triples: NDArray[np.int64]
    factors: Mapping[str, Sequence[str]]

    @property
    def count(self) -> int:
        """How many triples there are."""
        return int(self.triples.max()) + 1

    def levels(self, factor: str) -> list[str]:
        """The values of a factor: lengths in rising order, others as they come."""
        found = list(dict.fromkeys(self.factors[factor]))
        return sorted(found, key=int) if factor == "length" else sorted(found, key=_ORDER.index)

    def estimate(self, measure: str, **only: str) -> Estimate | None:
        """The mean over the queries of some factors' values; None where there is none."""
        rows = np.ones(len(self.gap), np.bool_)
        for factor, value in only.items():
            rows &= np.array([one == value for one in self.factors[factor]])
        if not rows.any():
            return None
        values = self.values[measure][rows]
        sums, counts = self._by_triple(values, rows), self._by_triple(np.ones(len(values)), rows)
        mean = float(values.mean())
        left = counts.sum() - counts
        means = np.where(left > 0, (sums.sum() - sums) / np.maximum(left, 1), mean)
        if measure in CHANGES:
            unit = float(self.gap.mean())
            if unit <= 0:
                return None
            every = np.ones(len(self.gap), np.bool_)
            gaps = self._by_triple(self.gap, every)
            of = self._by_triple(np.ones(len(self.gap)), every)
            mean /= unit
            means /= (gaps.sum() - gaps) / np.maximum(of.sum() - of, 1)
        triples = int(np.count_nonzero(counts))
        bounds = SHARE if measure in SHARES else None
        return estimate(mean, parts(means), triples, bounds)

    def _by_triple(self, values: Array, rows: NDArray[np.bool_]) -> Array:
        result: Array = np.bincount(self.triples[rows], values, self.count).astype(np.float64)
        return result


_ORDER = [
    "literal",
    "paraphrase",
    "entailed",
    "category",
    "place",
    "year",
    "date",
    "number",
    "person",
    "relation",
]


def changes(
    scores: Sequence[Array],
    triples: Sequence[int],
    factors: Mapping[str, Sequence[str]],
    noise: float,
) -> Changes:
    """The measures. `scores`: of each query base, twin, control and documents on something else."""
    base, twin, control = (np.array([of[i] for of in scores]) for i in range(3))
    others = np.array([of[3:].mean() for of in scores])
    over_base, over_control = share_won(base, twin, noise), share_won(control, twin, noise)
    values = {
        "base": over_base,
        "control": over_control,
        "last": ((over_base == 1) & (over_control == 1)).astype(np.float64),
        "fact": base - twin,
        "rewording": np.abs(base - control),
        "sensitivity": control - twin,
    }
    gap = (base + control) / 2 - others
    return Changes(values, gap, np.array(triples, np.int64), factors)
