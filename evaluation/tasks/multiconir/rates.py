"""Win rates with intervals over ladders; domains weigh the same.

The resampling unit is a ladder: its queries share conditions, its documents nearly all their words.
Over domains rates are averaged without weights, as the paper does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.tasks.multiconir.pairs import Cell, WinCounts
from retgen.statistics.clustered import CHANGE, SHARE, Estimate, estimate, parts


@dataclass(frozen=True)
class Rates:
    """Cells of one system. `values` (cells,), `parts` (ladders, cells): what each ladder adds.

    `tied`, `tied_parts`: the shares that tie, so are lost. `known`: ladders of each cell, less one
    for each domain beyond the first. `ladders`: how many were measured.
    """

    cells: list[Cell]
    values: NDArray[np.float64]
    parts: NDArray[np.float64]
    tied: NDArray[np.float64]
    tied_parts: NDArray[np.float64]
    known: NDArray[np.int64]
    ladders: int

    def where(self, *begin: str | int) -> list[Cell]:
        """The cells whose names begin so."""
        return [cell for cell in self.cells if cell[: len(begin)] == begin]

    def mean(self, cells: Iterable[Cell]) -> Estimate | None:
        """The unweighted mean of some cells, of those that are there; None where none is."""
        columns = self._columns(cells)
        if not columns:
            return None
        return self._estimate(self.values[columns].mean(), self.parts, columns)

    def halved(self, cells: Iterable[Cell]) -> Estimate | None:
        """The same mean, where a tie is no loss but half a win."""
        columns = self._columns(cells)
        if not columns:
            return None
        values = self.values[columns] + self.tied[columns] / 2
        return self._estimate(values.mean(), self.parts + self.tied_parts / 2, columns)

    def difference(self, first: Iterable[Cell], second: Iterable[Cell]) -> Estimate | None:
        """The mean of some cells less that of others."""
        one, two = self._columns(first), self._columns(second)
        if not one or not two:
            return None
        change = self.parts[:, one].mean(axis=1) - self.parts[:, two].mean(axis=1)
        value = self.values[one].mean() - self.values[two].mean()
        units = int(self.known[one + two].min())
        return estimate(float(value), change, units, CHANGE)

    def _estimate(
        self,
        value: float,
        parts: NDArray[np.float64],
        columns: list[int],
    ) -> Estimate:
        of, units = parts[:, columns].mean(axis=1), int(self.known[columns].min())
        return estimate(float(value), of, units, SHARE)

    def _columns(self, cells: Iterable[Cell]) -> list[int]:
        return [self.index[cell] for cell in cells if cell in self.index]

    @cached_property
    def index(self) -> dict[Cell, int]:
        """The column of each cell."""
        return {cell: i for i, cell in enumerate(self.cells)}


def rates_of(counts: WinCounts, rows: Sequence[int]) -> Rates:
    """The rates of the ladders `rows`."""
    won, pairs, ties = counts.won[rows], counts.pairs[rows], counts.ties[rows]
    there = np.flatnonzero(pairs.sum(axis=0) > 0)
    won, pairs, ties = won[:, there], pairs[:, there], ties[:, there]
    every = pairs.sum(axis=0)
    values, tied = won.sum(axis=0) / every, ties.sum(axis=0) / every
    left = every - pairs

    def each(counted: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = (counted.sum(axis=0) - counted) / np.maximum(left, 1)
        return parts(np.where(left > 0, shares, whole))

    return Rates(
        [counts.cells[i] for i in there],
        values,
        each(won, values),
        tied,
        each(ties, tied),
        np.count_nonzero(pairs, axis=0),
        len(rows),
    )


def over_domains(domains: Sequence[Rates]) -> Rates:
    """The unweighted mean over domains, of the cells that all of them have."""
    shared = [cell for cell in domains[0].cells if all(cell in rates.index for rates in domains)]
    columns = [[rates.index[cell] for cell in shared] for rates in domains]

    def chosen(of: Callable[[Rates], NDArray[Any]]) -> list[NDArray[Any]]:
        each = zip(domains, columns, strict=True)
        return [of(rates)[..., mine] for rates, mine in each]

    count = len(domains)
    return Rates(
        shared,
        np.mean(chosen(lambda rates: rates.values), axis=0),
        np.concatenate(chosen(lambda rates: rates.parts)) / count,
        np.mean(chosen(lambda rates: rates.tied), axis=0),
        np.concatenate(chosen(lambda rates: rates.tied_parts)) / count,
        np.sum(chosen(lambda rates: rates.known), axis=0) - count + 1,
        sum(rates.ladders for rates in domains),
    )
