"""95% intervals and p-values of means over units that vary by themselves: groups, questions, ...

Variance and skewness come from leaving out one unit at a time. Values that share several units, as
queries that are pairs of documents, are counted once for each pair of values that share one
(Fafchamps and Gubert, Journal of Development Economics 83 (2007)), and never below the variance of
independent values. An interval reaches over two: that of Hall's transformation (Journal of the
Royal Statistical Society B 54 (1992)), which holds for skewed values, and where values have bounds
Wilson's with the effective sample size, which holds near them, else Student's. Degrees of freedom
follow the effective number of units.

`benchmarks/intervals.py` counts how often intervals hold the true mean: at least 93 times in 100
from `FEWEST` units on; for fewer there is none.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

FEWEST = 12  # effective units
_OF_A_VALUE = 5  # units for each that a value has, at least
SHARE = (0.0, 1.0)  # bounds of measures
CHANGE = (-1.0, 1.0)  # of their differences


class Spread(NamedTuple):
    """Of estimates (m,): their variance and skewness, and the degrees of freedom."""

    variance: Floats
    skew: Floats
    freedom: float


class Estimate(NamedTuple):
    """A number with its 95% interval, None where there is none."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, value: float, span: Floats) -> Estimate:
        """With an interval (2,), which is NaN where there is none."""
        return cls(value) if np.isnan(span).any() else cls(value, *span.tolist())

    @property
    def span(self) -> tuple[float, float] | None:
        """The interval; None where there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def above(self, level: float) -> bool:
        """Whether it is, by its interval."""
        return self.low is not None and self.low > level

    def below(self, level: float) -> bool:
        """Whether it is, by its interval."""
        return self.high is not None and self.high < level


def too_few(units: float, name: str, needed: int = FEWEST) -> str:
    """Why there is no interval; "" where there is one. `name`: of units, with their number."""
    if units >= needed:
        return ""
    return f"no intervals: too few independent units: {name}, {needed} needed"


class Units:
    """Which units each value has. `of`, `unit`: pairs of a value's and a unit's number.

    `name`: the units in words, with their number. `note`: why there is no interval, or "".
    """

    def __init__(self, of: ArrayLike, unit: ArrayLike, name: str) -> None:
        from scipy.sparse import csr_matrix

        of, unit = np.asarray(of), np.asarray(unit)
        shape = (int(of.max()) + 1, int(unit.max()) + 1)
        self._shares = csr_matrix((np.ones(len(of)), (of, unit)), shape)
        self.name = name
        sizes = np.bincount(unit).astype(np.float64)
        self.count = int(np.count_nonzero(sizes))
        # as many units of equal size would tell as much
        self.effective = float((sizes**2).sum() ** 2 / (sizes**4).sum())
        each = len(of) / shape[0]
        self._freedom = self.effective / each - 1
        if self.effective < self.count - 0.5:
            name += f" of unequal size, worth {self.effective:.1f}"
        self.note = too_few(self.effective, name, max(FEWEST, math.ceil(_OF_A_VALUE * each)))

    def within(self, rows: NDArray[np.int64]) -> Units:
        """Those of some values."""
        of, unit = self._shares[rows].nonzero()
        count = len(np.unique(unit))
        return Units(of, unit, f"{count:,} {self.name.partition(' ')[2]}")

    def interval(self, values: Floats, bounds: tuple[float, float] | None = SHARE) -> Floats:
        """Of the means of values (values, m), (m, 2); NaN where there is none."""
        if self.note:
            return np.full((values.shape[1], 2), np.nan)
        return interval(values.mean(axis=0), self.spread(values), self.count, bounds)

    def p_value(self, values: Floats) -> Floats:
        """Two-sided, that the mean of differences (values, m) is 0; NaN where there is none."""
        if self.note:
            return np.full(values.shape[1], np.nan)
        return _p_value(values.mean(axis=0), self.spread(values), self.count)

    def spread(self, values: Floats) -> Spread:
        """Of the means of values (values, m)."""
        count = len(values)
        rest = values - values.mean(axis=0)
        sizes = np.asarray(self._shares.sum(axis=0)).ravel()
        each = np.asarray(self._shares.sum(axis=1)).ravel()
        left_out = (self._shares.T @ rest) / np.maximum(count - sizes, 1)[:, None]
        left_out *= math.sqrt((self.count - 1) / self.count)
        # a value is in the square of each of its units, but is counted once
        twice = (each - 1) @ rest**2 / count**2
        alone = (rest**2).sum(axis=0) / (count * max(1, count - 1))
        variance = np.maximum((left_out**2).sum(axis=0) - twice, alone)
        return Spread(variance, _skew(left_out, variance), self._freedom)


def left_out(replicates: Floats, units: float) -> Spread:
    """Of an estimate (replicates,), each replicate without one unit."""
    return of_parts(parts(replicates[:, None]), units)


def parts(replicates: Floats) -> Floats:
    """What each unit adds to the deviation of estimates (units, m), whose squares add up."""
    count = len(replicates)
    result: Floats = (replicates.mean(axis=0) - replicates) * math.sqrt((count - 1) / count)
    return result


def of_parts(parts: Floats, units: float) -> Spread:
    """The spread of estimates from what each unit adds, (units, m)."""
    variance = (parts**2).sum(axis=0)
    return Spread(variance, _skew(parts, variance), units - 1)


def estimate(
    value: float,
    spread: Spread,
    units: float,
    bounds: tuple[float, float] | None = SHARE,
    level: float = 0.95,
) -> Estimate:
    """A number with its interval."""
    if units < FEWEST:
        return Estimate(value)
    return Estimate.of(value, interval(np.array([value]), spread, units, bounds, level)[0])


def interval(
    value: Floats,
    spread: Spread,
    units: float,
    bounds: tuple[float, float] | None,
    level: float = 0.95,
) -> Floats:
    """Of values (m,), (m, 2); NaN of differences that are all 0, and without bounds all alike."""
    from scipy.special import stdtrit

    quantile = float(stdtrit(spread.freedom, (1 + level) / 2))
    error = np.sqrt(spread.variance)
    constant = error <= 1e-9 * np.maximum(np.abs(value), 1e-3)
    skew = np.where(np.abs(spread.skew) < 1e-6, 1e-6, spread.skew)  # 0 is its limit
    ends = []
    for sign in (1, -1):
        root = np.cbrt(1 + skew * (sign * quantile - skew / 6))
        ends.append(value - error * 3 / skew * (root - 1))
    low, high = ends
    none = constant
    if bounds is None:
        low, high = (
            np.minimum(low, value - quantile * error),
            np.maximum(high, value + quantile * error),
        )
    else:
        none = constant & (bounds[0] < 0) & (np.abs(value) < 1e-9)
        size = bounds[1] - bounds[0]
        share = (value - bounds[0]) / size
        worth = _worth(share, spread.variance / size**2, units, constant)
        square = quantile**2 / worth
        middle = (share + square / 2) / (1 + square)
        half = np.sqrt(np.maximum(square * share * (1 - share) + square**2 / 4, 0)) / (1 + square)
        low = np.clip(np.minimum(low, bounds[0] + size * (middle - half)), *bounds)
        high = np.clip(np.maximum(high, bounds[0] + size * (middle + half)), *bounds)
    result: Floats = np.where(none[:, None], np.nan, np.stack([low, high], axis=1))
    return result


def _p_value(value: Floats, spread: Spread, units: float) -> Floats:
    """Of differences: the p-value that belongs to the interval."""
    from scipy.special import stdtr

    error = np.sqrt(spread.variance)
    constant = error <= 1e-9 * np.maximum(np.abs(value), 1e-3)
    worth = _worth((value + 1) / 2, spread.variance / 4, units, constant)
    wilson = np.abs(value) * np.sqrt(worth)
    t, skew = value / np.where(constant, 1, error), spread.skew
    hall = np.abs(t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6)
    least = np.where(constant, wilson, np.minimum(wilson, hall))
    result: Floats = np.where(
        constant & (np.abs(value) < 1e-9), 1.0, 2 * stdtr(spread.freedom, -least)
    )
    return result


def _worth(share: Floats, variance: Floats, units: float, constant: NDArray[np.bool_]) -> Floats:
    """As many independent zeros and ones would have the variance; of constants, the units."""
    worth = share * (1 - share) / np.where(constant, 1, variance)
    result: Floats = np.where(constant | (worth <= 0), units, worth)
    return result


def _skew(parts: Floats, variance: Floats) -> Floats:
    result: Floats = (parts**3).sum(axis=0) / np.maximum(variance, 1e-200) ** 1.5
    return result
