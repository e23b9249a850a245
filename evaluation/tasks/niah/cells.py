"""Values question by question, and their means with intervals: questions are what is drawn.

What hangs together is a question: its haystacks share needle and filler. So the bootstrap draws
questions (the cluster bootstrap), never rows, and every system sees the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.tasks.niah.haystacks import Arm, Make
from retgen.evaluation.tasks.niah.measures import detectable
from retgen.streams import Stream

REPLICATES = 2000
FEWEST = 10  # questions of an interval: over fewer, a nominal 95% holds the mean in under 90%


def too_few(questions: int) -> str:
    """A warning; "" where the questions are enough for intervals."""
    if questions >= FEWEST:
        return ""
    return (
        f"{questions} question{'s are' if questions > 1 else ' is'} too few for intervals: those "
        f"of a bootstrap over fewer than {FEWEST} are too narrow, as a nominal 95% holds the true "
        "mean in less than 90% of cases. None are printed, and nothing is told from chance"
    )


class Cell(NamedTuple):
    """What a value is of. `part`: an order, a place or a third of the text, "" for all."""

    measure: str
    query: str
    arm: Arm
    length: int
    part: str = ""


class Estimate(NamedTuple):
    """A number with its 95% interval, which is None where fewer than `FEWEST` questions say it."""

    value: float
    low: float | None
    high: float | None

    def above(self, level: float) -> bool:
        """Whether it is, by its interval."""
        return self.low is not None and self.low > level

    def below(self, level: float) -> bool:
        """Whether it is, by its interval."""
        return self.high is not None and self.high < level


class Reach(NamedTuple):
    """What a system reads of the haystacks of one length.

    `haystacks`: how many there are a question; `truncated`: the share that it does not read whole;
    `seen`: the share whose needle is in what it reads. None: not known.
    """

    haystacks: int
    truncated: float | None
    seen: float | None


@dataclass(frozen=True)
class Cells:
    """One system on one data set. `values`: of each cell one a question, NaN where it has none.

    `reach`, `makes`: by arm and length. `purpose`: names the draws; another data set, other draws.
    `cut`: by wording the share of queries that the system does not read whole. `kinds`: of
    controls, the main one first.
    """

    questions: Sequence[str]
    categories: Sequence[str]
    values: Mapping[Cell, NDArray[np.float64]]
    reach: Mapping[tuple[Arm, int], Reach]
    purpose: str
    cut: Mapping[str, float] = field(default_factory=dict)
    kinds: Sequence[str] = ("none",)
    makes: Mapping[tuple[Arm, int], Make] = field(default_factory=dict)

    @property
    def few(self) -> bool:
        """Whether the questions are too few for intervals."""
        return len(self.questions) < FEWEST

    @property
    def arms(self) -> list[Arm]:
        return list(dict.fromkeys(arm for arm, _ in self.reach))

    def lengths(self, arm: Arm) -> list[int]:
        """In rising order."""
        return sorted({length for of, length in self.reach if of == arm})

    @property
    def queries(self) -> list[str]:
        return list(dict.fromkeys(cell.query for cell in self.values))

    def parts(self, measure: str, arm: Arm, length: int) -> list[str]:
        """Orders, places or thirds that a measure is there for."""
        return [
            cell.part
            for cell in self.values
            if (cell.measure, cell.arm, cell.length) == (measure, arm, length) and cell.part
        ]

    def mean(self, cell: Cell, category: str | None = None) -> float | None:
        """Over all questions that have a value, or those of a category."""
        values = self.values.get(cell)
        if values is None:
            return None
        if category is not None:
            values = values[[one == category for one in self.categories]]
        there = values[~np.isnan(values)]
        return float(there.mean()) if len(there) else None

    def estimate(self, cell: Cell, level: float = 0.95) -> Estimate | None:
        """The mean with its interval; None where no question has a value."""
        return self.of([cell], lambda means: means[..., 0], level)

    def difference(self, first: Cell, second: Cell) -> Estimate | None:
        """The mean of a cell less that of another."""
        return self.of([first, second], lambda means: means[..., 0] - means[..., 1])

    def of(
        self,
        cells: Sequence[Cell],
        function: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        level: float = 0.95,
    ) -> Estimate | None:
        """A function of means (..., cells), taken of the means of some cells and of each draw's.

        None where a cell is not there, or the function gives no number.
        """
        value = float(function(self.means(cells)))
        if np.isnan(value):
            return None
        if min(np.count_nonzero(~np.isnan(self.values[cell])) for cell in cells) < FEWEST:
            return Estimate(value, None, None)
        draws = function(self.drawn(cells))
        draws = draws[~np.isnan(draws)]
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
        return Estimate(value, float(low), float(high))

    def means(self, cells: Sequence[Cell]) -> NDArray[np.float64]:
        """(cells,), NaN where nothing is there."""
        means = [self.mean(cell) for cell in cells]
        return np.array([np.nan if mean is None else mean for mean in means])

    def drawn(self, cells: Sequence[Cell]) -> NDArray[np.float64]:
        """The means of each draw, (replicates, cells)."""
        none = np.full(len(self.questions), np.nan)
        values = np.stack([self.values.get(cell, none) for cell in cells], axis=1)
        there = ~np.isnan(values)
        count = self._weights @ there
        # a draw without any question of a cell says of it what all questions say
        sums = self._weights @ np.where(there, values, 0.0)
        return np.where(count > 0, sums / np.maximum(count, 1), self.means(cells))

    def paired(self, other: Cells) -> Cells:
        """Another system on the same questions less this one, question by question."""
        values = {
            cell: theirs - self.values[cell]
            for cell, theirs in other.values.items()
            if cell in self.values
        }
        return replace(self, values=values)

    def detectable(self, cell: Cell) -> float | None:
        """The smallest difference of the mean that so many questions would show; None: too few."""
        if self.few:
            return None
        result = detectable(self.values[cell])
        return None if np.isnan(result) else result

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        """How often each question is drawn, (replicates, questions)."""
        n = len(self.questions)
        stream = Stream(42, f"evaluation/haystacks/{self.purpose}")
        drawn = stream.integers(n, REPLICATES * n).reshape(REPLICATES, n)
        drawn += np.arange(REPLICATES)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=drawn.size)
        return counts.reshape(REPLICATES, n).astype(np.float64)
