"""Values question by question, and their means with intervals: the unit of intervals is a question.

Haystacks of a question share needle and filler, so its rows do not vary by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.tasks.niah.haystacks import Composition, HaystackVariant
from retgen.statistics import clustered
from retgen.statistics.clustered import CHANGE, FEWEST, SHARE, Estimate


def too_few(questions: int) -> str:
    """Why there are no intervals; "" where there are."""
    why = clustered.too_few(questions, f"{questions} question{'s' * (questions != 1)}")
    return why and f"{why}; no difference from chance is claimed"


class CellKey(NamedTuple):
    """What a value is of. `part`: an order or a place of the needle, "" for all."""

    measure: str
    query: str
    variant: HaystackVariant
    length: int
    part: str = ""


class HaystackCoverage(NamedTuple):
    """What a system reads of the haystacks of one length.

    `haystacks`: how many there are a question; `truncated`: the share that it does not read whole;
    `seen`: the share whose needle is in what it reads. None: not known.
    """

    haystacks: int
    truncated: float | None
    seen: float | None


_SHARES = ("auc", "ratio")  # measures in 0..1, in which their intervals stay; by first word


def _share(cell: CellKey) -> bool:
    return cell.measure.startswith(_SHARES)


@dataclass(frozen=True)
class SystemCells:
    """One system on one data set. `values`: of each cell one a question, NaN where it has none.

    `reach`, `makes`: by variant and length. `dataset`: its name.
    `cut`: by wording the share of queries that the system does not read whole. `kinds`: of
    controls, the main one first. `change`: values are differences of two systems.
    """

    questions: Sequence[str]
    categories: Sequence[str]
    values: Mapping[CellKey, NDArray[np.float64]]
    reach: Mapping[tuple[HaystackVariant, int], HaystackCoverage]
    dataset: str
    cut: Mapping[str, float] = field(default_factory=dict)
    kinds: Sequence[str] = ("none",)
    makes: Mapping[tuple[HaystackVariant, int], Composition] = field(default_factory=dict)
    change: bool = False

    @property
    def few(self) -> bool:
        """Whether the questions are too few for intervals."""
        return len(self.questions) < FEWEST

    @property
    def variants(self) -> list[HaystackVariant]:
        return list(dict.fromkeys(variant for variant, _ in self.reach))

    def lengths(self, variant: HaystackVariant) -> list[int]:
        """In rising order."""
        return sorted({length for of, length in self.reach if of == variant})

    @property
    def queries(self) -> list[str]:
        return list(dict.fromkeys(cell.query for cell in self.values))

    def parts(self, measure: str, variant: HaystackVariant, length: int) -> list[str]:
        """Orders or places that a measure is there for."""
        return [
            cell.part
            for cell in self.values
            if (cell.measure, cell.variant, cell.length) == (measure, variant, length) and cell.part
        ]

    def mean(self, cell: CellKey, category: str | None = None) -> float | None:
        """Over all questions that have a value, or those of a category."""
        values = self.values.get(cell)
        if values is None:
            return None
        if category is not None:
            values = values[[one == category for one in self.categories]]
        there = values[~np.isnan(values)]
        return float(there.mean()) if len(there) else None

    def estimate(self, cell: CellKey) -> Estimate | None:
        """The mean with its interval; None where no question has a value."""
        bounds = CHANGE if self.change else SHARE
        return self._combined([cell], [1], bounds if _share(cell) else None)

    def difference(self, first: CellKey, second: CellKey) -> Estimate | None:
        """The mean of a cell less that of another."""
        return self._combined([first, second], [1, -1], CHANGE if _share(first) else None)

    def _combined(
        self, cells: Sequence[CellKey], weights: Sequence[int], bounds: clustered.Bounds
    ) -> Estimate | None:
        """A weighted sum of means, with its interval by leaving out a question at a time.

        None where a cell is not there.
        """
        value = float(self._means(cells) @ weights)
        if np.isnan(value):
            return None
        known = int(min(np.count_nonzero(~np.isnan(self.values[cell])) for cell in cells))
        replicates = self._left_out(cells) @ weights
        return clustered.estimate(value, clustered.parts(replicates), known, bounds)

    def _means(self, cells: Sequence[CellKey]) -> NDArray[np.float64]:
        """(cells,), NaN where nothing is there."""
        means = [self.mean(cell) for cell in cells]
        return np.array([np.nan if mean is None else mean for mean in means])

    def _left_out(self, cells: Sequence[CellKey]) -> NDArray[np.float64]:
        """The means without each question, (questions, cells)."""
        none = np.full(len(self.questions), np.nan)
        values = np.stack([self.values.get(cell, none) for cell in cells], axis=1)
        known = ~np.isnan(values)
        values = np.where(known, values, 0.0)
        count = known.sum(axis=0) - known
        means = (values.sum(axis=0) - values) / np.maximum(count, 1)
        return np.where(count > 0, means, self._means(cells))

    def paired(self, other: SystemCells) -> SystemCells:
        """Another system on the same questions less this one, question by question."""
        values = {
            cell: theirs - self.values[cell]
            for cell, theirs in other.values.items()
            if cell in self.values
        }
        return replace(self, values=values, change=True)
