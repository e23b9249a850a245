"""Results as rows: values of measures for units, with factors; means by factor with intervals.

A row is (unit, measure, factors, value), of one system on one data set. Units vary independently: a
question, a ladder, a triple. Rows of one *cell*, that is of one measure and one level of each
factor, are held as their sum and number by unit. Every interval comes from `statistics.clustered`,
which leaves out one unit at a time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.results.measurements import Measure
from retgen.statistics.clustered import CHANGE, FEWEST, SHARE, Bounds, Estimate, estimate, parts

Floats = NDArray[np.float64]
Cell = Mapping[str, Hashable]  # "measure" and the factors, each with its level


class Block(NamedTuple):
    """The values of one data set: their sums and their numbers, (units, cells) each."""

    sums: Floats
    counts: Floats

    def mean(self, columns: Sequence[int], even: bool) -> tuple[float, Floats, int]:
        """The mean of some cells, the same without each unit, and how many units have a value.

        `even`: cells weigh the same; otherwise values do.
        """
        sums, counts = self.sums[:, columns], self.counts[:, columns]
        if not even:
            sums, counts = sums.sum(axis=1, keepdims=True), counts.sum(axis=1, keepdims=True)
        total, size = sums.sum(axis=0), counts.sum(axis=0)
        means, rest = total / size, size - counts
        without = np.where(rest > 0, (total - sums) / np.maximum(rest, 1), means)
        known = int(np.count_nonzero(counts, axis=0).min())
        return float(means.mean()), without.mean(axis=1), known


@dataclass(frozen=True)
class Results:
    """Rows of one system. `names`: of all units that were measured, with or without a value.

    `blocks`: a data set each; a mean over several is the unweighted mean of theirs. `change`:
    values are differences of two systems.
    """

    names: Sequence[str]
    cells: Sequence[Cell]
    blocks: Sequence[Block]
    change: bool = False

    @classmethod
    def of(cls, names: Sequence[str], rows: Iterable[tuple[int, Cell, float]]) -> Results:
        """Rows of one data set: (number of the unit, cell, value); NaN is no value."""
        columns: dict[tuple[Any, ...], int] = {}
        cells: list[Cell] = []
        table: list[tuple[int, int, float]] = []
        for unit, cell, value in rows:
            column = columns.setdefault(tuple(cell.items()), len(cells))
            if column == len(cells):
                cells.append(cell)
            table.append((unit, column, value))
        numbers = np.array(table, np.float64).reshape(-1, 3)
        known = numbers[~np.isnan(numbers[:, 2])]
        places = known[:, 0].astype(int), known[:, 1].astype(int)
        sums, counts = np.zeros((2, len(names), len(cells)))
        np.add.at(sums, places, known[:, 2])
        np.add.at(counts, places, 1)
        there = np.flatnonzero(counts.sum(axis=0)).tolist()
        return cls(names, [cells[i] for i in there], [Block(sums[:, there], counts[:, there])])

    @property
    def units(self) -> int:
        """How many there are."""
        return len(self.names)

    @property
    def few(self) -> bool:
        """Whether the units are too few for intervals."""
        return self.units < FEWEST

    @cached_property
    def _index(self) -> dict[tuple[Hashable, str, Hashable], set[int]]:
        """The cells of each measure and level of a factor."""
        result: dict[tuple[Hashable, str, Hashable], set[int]] = {}
        for i, cell in enumerate(self.cells):
            for factor, level in cell.items():
                result.setdefault((cell["measure"], factor, level), set()).add(i)
        return result

    def select(self, measure: str, **where: Any) -> list[int]:
        """The cells of a measure at some levels; a set of levels stands for any of them, and None
        for cells without the factor.
        """
        found = self._index.get((measure, "measure", measure), set())
        for factor, level in where.items():
            levels = level if isinstance(level, set) else (level,)
            if level is None:
                found = {i for i in found if factor not in self.cells[i]}
                continue
            found = found & set[int]().union(
                *(self._index.get((measure, factor, one), ()) for one in levels)
            )
        return sorted(found)

    def levels(self, factor: str, measure: str, **where: Any) -> list[Any]:
        """The levels of a factor, in the order of the rows."""
        return list(dict.fromkeys(self.cells[i][factor] for i in self.select(measure, **where)))

    def count(self, measure: str, **where: Any) -> int:
        """How many values there are."""
        columns = self.select(measure, **where)
        return int(sum(block.counts[:, columns].sum() for block in self.blocks))

    def mean(self, measure: Measure, **where: Any) -> Estimate | None:
        """The mean at some levels with its interval; None where there is no value."""
        per = self.select(measure.per) if measure.per else []
        return self._sum([(1.0, self.select(measure.name, **where))], measure, self.change, per)

    def value(self, measure: Measure, **where: Any) -> float | None:
        """The mean alone, which takes a tenth of the time; of measures that are no ratio."""
        if not (columns := self.select(measure.name, **where)):
            return None
        means = [block.mean(columns, measure.even)[0] for block in self.blocks]
        return float(np.mean(means))

    def difference(
        self, measure: Measure, of: Mapping[str, Any], to: Mapping[str, Any]
    ) -> Estimate | None:
        """The mean at some levels less that at others, paired over units."""
        terms = [(w, self.select(measure.name, **at)) for w, at in ((1.0, of), (-1.0, to))]
        return self._sum(terms, measure, True)

    def _sum(
        self,
        terms: Sequence[tuple[float, Sequence[int]]],
        measure: Measure,
        change: bool,
        per: Sequence[int] = (),
    ) -> Estimate | None:
        """A weighted sum of means. `per`: cells by whose mean it is divided."""
        if not all(columns for _, columns in terms):
            return None
        total, every, units = 0.0, [], 1 - len(self.blocks)
        for block in self.blocks:
            found = [(weight, *block.mean(columns, measure.even)) for weight, columns in terms]
            value = sum(weight * mean for weight, mean, _, _ in found)
            without = np.sum([weight * left for weight, _, left, _ in found], axis=0)
            if measure.per:
                unit, unit_without, _ = block.mean(per, False)
                if unit <= 0:
                    return None
                value, without = value / unit, without / unit_without
            total += value / len(self.blocks)
            every.append(parts(without) / len(self.blocks))
            units += min(known for *_, known in found)
        bounds: Bounds = CHANGE if change and measure.bounds == SHARE else measure.bounds
        return estimate(total, np.concatenate(every), units, bounds)

    def minus(self, other: Results) -> Results:
        """These values less those of another system, where both have one in a cell and unit."""
        place = {tuple(cell.items()): i for i, cell in enumerate(other.cells)}
        mine = [i for i, cell in enumerate(self.cells) if tuple(cell.items()) in place]
        theirs = [place[tuple(self.cells[i].items())] for i in mine]
        blocks = []
        for a, b in zip(self.blocks, other.blocks, strict=True):
            both = (a.counts[:, mine] > 0) & (b.counts[:, theirs] > 0)
            sums = np.where(both, a.sums[:, mine] - b.sums[:, theirs], 0.0)
            blocks.append(Block(sums, np.where(both, a.counts[:, mine], 0.0)))
        return Results(self.names, [self.cells[i] for i in mine], blocks, change=True)

    def by_unit(self, unit: int) -> list[tuple[Cell, float]]:
        """The mean of each cell of one unit, where it has a value; of one data set."""
        (block,) = self.blocks
        return [
            (cell, block.sums[unit, i] / block.counts[unit, i])
            for i, cell in enumerate(self.cells)
            if block.counts[unit, i]
        ]


def over_data_sets(results: Sequence[Results]) -> Results:
    """Several data sets, which weigh the same, in the cells that all of them have."""
    if len(results) == 1:
        return results[0]
    places = [{tuple(cell.items()): i for i, cell in enumerate(one.cells)} for one in results]
    shared = [key for key in places[0] if all(key in place for place in places)]
    blocks = []
    for one, place in zip(results, places, strict=True):
        columns = [place[key] for key in shared]
        blocks += [Block(b.sums[:, columns], b.counts[:, columns]) for b in one.blocks]
    names = [name for one in results for name in one.names]
    return Results(names, [dict(key) for key in shared], blocks)
