"""Totals of a finite population from its items with the smallest keys, assisted by guesses.

Each item has an independent exponential key whose rate is its weight; the sample is the n items
with the smallest keys, and the next key is the threshold. Given the threshold, item i is in the
sample with probability p_i = 1 - exp(-threshold * weight_i), and with these the Horvitz-Thompson
estimate is unbiased, and terms of two items are uncorrelated (Cohen and Kaplan, "Summarizing data
using bottom-k sketches", PODC 2007; Duffield, Lund and Thorup, "Priority sampling", JACM 54
(2007)). So a sample may be continued at any time: whoever looks at more items takes the next ones.

Guesses of all items cost nothing: their total is known, and the sample corrects it by what they
miss (a difference estimator; with a judge's labels as guesses, prediction-powered inference:
Angelopoulos et al., Science 382 (2023)). What guesses are worth is fitted on the sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retgen.statistics.clustered import Bounds, Estimate, Floats, estimate

# of an error that was not seen: as if so many more of each stratum's items had been one, so that a
# stratum without errors is not taken for one that cannot have any
_UNSEEN = 2.0


@dataclass(frozen=True)
class BottomSample:
    """Labels of the first items of an order.

    `order` (N,): all items by key; `weights`, `keys`: (N,). `labels` (n,): 0 or 1, of order[:n].
    """

    order: NDArray[np.int64]
    keys: Floats
    weights: Floats
    labels: Floats

    @property
    def items(self) -> NDArray[np.int64]:
        """Those of the sample, (n,)."""
        return self.order[: len(self.labels)]

    @property
    def threshold(self) -> float:
        """The key of the first item that is not in the sample; infinite without one."""
        n = len(self.labels)
        return float(self.keys[self.order[n]]) if n < len(self.order) else np.inf

    @property
    def chances(self) -> Floats:
        """Of being in the sample, (n,)."""
        return np.asarray(-np.expm1(-self.threshold * self.weights[self.items]))


@dataclass(frozen=True)
class Corrected:
    """A sample with what is expected of every item. `expected` (N,): labels by the guesses.

    `strata` (N,): numbers from 0; within one, errors are of one direction. `loss`: degrees of
    freedom that fitting took.
    """

    sample: BottomSample
    expected: Floats
    strata: NDArray[np.int64]
    loss: int

    @classmethod
    def of(
        cls, sample: BottomSample, prior: Floats, guesses: Floats, strata: NDArray[np.int64]
    ) -> Corrected:
        """Fit what guesses (N, g) add to the prior expectation of labels (N,)."""
        items, inverse = sample.items, 1 / sample.chances
        columns = guesses[items] * np.sqrt(inverse / inverse.mean())[:, None]
        rest = (sample.labels - prior[items]) * np.sqrt(inverse / inverse.mean())
        ridge = np.eye(guesses.shape[1])  # as if one item more, as expected, had been seen
        weights = np.linalg.solve(columns.T @ columns + ridge, columns.T @ rest)
        expected = np.clip(prior + guesses @ weights, 0, 1)
        return cls(sample, np.asarray(expected), strata, guesses.shape[1])

    def total(self, values: Floats) -> float:
        """Of values (N,) times labels."""
        return float(values @ self.expected + self._terms(values).sum())

    def mean(self, values: Floats, bounds: Bounds, constant: float = 0.0) -> Estimate:
        """`constant` plus a total, with its interval."""
        return self._estimate(constant + self.total(values), values, bounds)

    def ratio(self, above: Floats, below: Floats, bounds: Bounds) -> Estimate | None:
        """A total over another one; None where the latter is nothing. Linearised."""
        divisor = self.total(below)
        if divisor <= 0:
            return None
        value = self.total(above) / divisor
        return self._estimate(value, (above - value * below) / divisor, bounds)

    def half_width(self, values: Floats, looks: int) -> float:
        """Of a mean's interval if as many items had been looked at, by what was seen so far."""
        sample, items = self.sample, self.sample.items
        after = -np.expm1(-_threshold_of(sample.weights, looks) * sample.weights)
        errors = self._errors() ** 2 / sample.chances * values[items] ** 2
        seen = (errors * (1 - after[items]) / after[items]).sum()
        return float(1.96 * np.sqrt(self._factor() * seen))

    def _errors(self) -> Floats:
        return np.asarray(self.sample.labels - self.expected[self.sample.items])

    def _terms(self, values: Floats) -> Floats:
        return np.asarray(values[self.sample.items] * self._errors() / self.sample.chances)

    def _factor(self) -> float:
        n = len(self.sample.labels)
        return n / max(1, n - self.loss)

    def _estimate(self, value: float, values: Floats, bounds: Bounds) -> Estimate:
        sample, left = self.sample, 1 - self.sample.chances
        if not left.any():  # everything was looked at
            return Estimate(value, value, value)
        parts = [self._terms(values) * np.sqrt(left * self._factor())]
        for stratum in np.unique(self.strata):
            of = self.strata[sample.items] == stratum
            if of.any():
                inverse = 1 / sample.chances[of]
                worth = inverse.sum() ** 2 / (inverse**2).sum()  # as many equal chances
                unseen = (values[sample.items[of]] ** 2 * left[of] * inverse**2).sum() / worth
                parts.append(np.array([np.sqrt(_UNSEEN * unseen)]))
        # a few large terms say nothing of skewness: both directions alike
        half = np.concatenate(parts) / np.sqrt(2)
        found = estimate(value, np.concatenate([half, -half]), len(sample.labels), bounds)
        # an unbiased estimate may lie outside
        return found._replace(value=float(np.clip(value, *bounds or (value, value))))


def _threshold_of(weights: Floats, looks: int) -> float:
    """The threshold at which so many items are expected in the sample."""
    low, high = 0.0, 1.0
    while -np.expm1(-high * weights).sum() < looks - 0.5 and high < 1e12:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        enough = -np.expm1(-middle * weights).sum() >= looks
        low, high = (low, middle) if enough else (middle, high)
    return high
