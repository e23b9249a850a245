"""Win rates with intervals: ladders are drawn with replacement, domains weigh the same.

What hangs together is a ladder: its queries share conditions, its documents nearly all their words.
So ladders are what the bootstrap draws (the cluster bootstrap), within each domain, and every
system sees the same draws. Over domains rates are averaged without weights, as the paper does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.tasks.multiconir.pairs import Cell, Counts
from retgen.streams import Stream

_AT_ONCE = 20_000_000  # replicates x ladders held in memory


class Estimate(NamedTuple):
    """A number with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Rates:
    """Cells of one system. `values` (cells,), `draws` (replicates, cells): the same of each draw.

    `tied`, `tied_draws`: the shares that tie, so are lost. `ladders`: how many were measured.
    """

    cells: list[Cell]
    values: NDArray[np.float64]
    draws: NDArray[np.float64]
    tied: NDArray[np.float64]
    tied_draws: NDArray[np.float64]
    ladders: int

    def where(self, *begin: str | int) -> list[Cell]:
        """The cells whose names begin so."""
        return [cell for cell in self.cells if cell[: len(begin)] == begin]

    def mean(self, cells: Iterable[Cell]) -> Estimate | None:
        """The unweighted mean of some cells, of those that are there; None where none is."""
        columns = self._columns(cells)
        if not columns:
            return None
        return _estimate(self.values[columns].mean(), self.draws[:, columns].mean(axis=1))

    def halved(self, cells: Iterable[Cell]) -> Estimate | None:
        """The same mean, where a tie is no loss but half a win."""
        columns = self._columns(cells)
        if not columns:
            return None
        values = self.values[columns] + self.tied[columns] / 2
        draws = self.draws[:, columns] + self.tied_draws[:, columns] / 2
        return _estimate(values.mean(), draws.mean(axis=1))

    def difference(self, first: Iterable[Cell], second: Iterable[Cell]) -> Estimate | None:
        """The mean of some cells less that of others."""
        one, two = self._columns(first), self._columns(second)
        if not one or not two:
            return None
        change = self.draws[:, one].mean(axis=1) - self.draws[:, two].mean(axis=1)
        return _estimate(self.values[one].mean() - self.values[two].mean(), change)

    def _columns(self, cells: Iterable[Cell]) -> list[int]:
        return [self.index[cell] for cell in cells if cell in self.index]

    @cached_property
    def index(self) -> dict[Cell, int]:
        """The column of each cell."""
        return {cell: i for i, cell in enumerate(self.cells)}


def _estimate(value: float, draws: NDArray[np.float64]) -> Estimate:
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(float(value), float(low), float(high))


def measured(counts: Counts, rows: Sequence[int], purpose: str, replicates: int = 2000) -> Rates:
    """The rates of the ladders `rows`. `purpose`: names the draws; another domain, other draws."""
    won, pairs, ties = counts.won[rows], counts.pairs[rows], counts.ties[rows]
    there = np.flatnonzero(pairs.sum(axis=0) > 0)
    won, pairs, ties = won[:, there], pairs[:, there], ties[:, there]
    every = pairs.sum(axis=0)
    values, tied = won.sum(axis=0) / every, ties.sum(axis=0) / every
    stream = Stream(42, f"evaluation/ladders/{purpose}")
    draws = np.empty((replicates, len(there)))
    tied_draws = np.empty_like(draws)
    step = max(1, _AT_ONCE // len(rows))
    for start in range(0, replicates, step):
        count = min(step, replicates - start)
        drawn = stream.integers(len(rows), count * len(rows)).reshape(count, len(rows))
        drawn += np.arange(count)[:, None] * len(rows)
        weights = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        weights = weights.astype(np.float64)
        of = weights @ pairs
        # a draw without any pair of a cell says of it what all ladders say
        for result, counted, whole in ((draws, won, values), (tied_draws, ties, tied)):
            shares = np.where(of > 0, weights @ counted / np.maximum(of, 1), whole)
            result[start : start + count] = shares
    return Rates([counts.cells[i] for i in there], values, draws, tied, tied_draws, len(rows))


def over_domains(domains: Sequence[Rates]) -> Rates:
    """The unweighted mean over domains, of the cells that all of them have."""
    shared = [cell for cell in domains[0].cells if all(cell in rates.index for rates in domains)]
    columns = [[rates.index[cell] for cell in shared] for rates in domains]

    def mean(of: Callable[[Rates], NDArray[np.float64]]) -> NDArray[np.float64]:
        each = zip(domains, columns, strict=True)
        return np.asarray(np.mean([of(rates)[..., chosen] for rates, chosen in each], axis=0))

    return Rates(
        shared,
        mean(lambda rates: rates.values), mean(lambda rates: rates.draws),
        mean(lambda rates: rates.tied), mean(lambda rates: rates.tied_draws),
        sum(rates.ladders for rates in domains),
    )  # fmt: skip
