"""Totals of a finite population from its items with the smallest keys, assisted by guesses.

Each item has an independent exponential key whose rate is its weight; the sample is the n items
with the smallest keys, and the next key is the threshold. Given the threshold, item i is in the
sample with probability p_i = 1 - exp(-threshold * weight_i), and with these the Horvitz-Thompson
estimate is unbiased, and terms of two items are uncorrelated (Cohen and Kaplan, "Summarizing data
using bottom-k sketches", PODC 2007; Duffield, Lund and Thorup, "Priority sampling", JACM 54
(2007)). So a sample may be continued at any time: whoever looks at more items takes the next ones.

Guesses of all items cost nothing: their total is known, and the sample corrects it by what they
miss (a difference estimator). What guesses are worth is fitted on the sample. A judge's labels cost
less than people's: the judge labels more items of the same order, and people's sample corrects it
(prediction-powered inference: Angelopoulos et al., Science 382 (2023); where the judge has not
labelled all, two phases: Sarndal, Swensson and Wretman, "Model Assisted Survey Sampling", ch. 9).

What a few large errors say of their variance is little, and less than none where a sample happens
to miss them: the variance is taken where half the square of the quantile more errors had been seen
(Agresti and Coull, The American Statistician 52 (1998)), and Student's quantile has the degrees of
freedom that the terms' fourth powers leave (Satterthwaite, Biometrics Bulletin 2 (1946)).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from retgen.statistics.clustered import FEWEST, Bounds, Estimate, Floats


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

    @cached_property
    def chances(self) -> Floats:
        """Of being in the sample, (N,)."""
        return self.chances_of(len(self.labels))

    def chances_of(self, count: int) -> Floats:
        """Of being among the first `count` items, (N,)."""
        last = count >= len(self.order)  # then all are
        threshold = np.inf if last else float(self.keys[self.order[count]])
        return np.asarray(-np.expm1(-threshold * self.weights))


@dataclass(frozen=True)
class JudgeLabels:
    """A judge's labels. `labels` (N,): 0 or 1, NaN where it gave none; only those of the first
    `count` items of the order are used, which are at least those that people labelled. `guesses`
    (N, g): what else is fitted once labels are known.
    """

    labels: Floats
    count: int
    guesses: Floats


@dataclass(frozen=True)
class CorrectedSample:
    """A sample with what is expected of every item.

    `before`, `expected` (N,): labels by the guesses, without and with a judge's where it gave one.
    `asked` (N,): chances that it was asked; 1 without a judge. `loss`: degrees of freedom that
    fitting took.
    """

    sample: BottomSample
    before: Floats
    expected: Floats
    asked: Floats
    loss: int

    @classmethod
    def of(
        cls, sample: BottomSample, prior: Floats, guesses: Floats, judge: JudgeLabels | None = None
    ) -> CorrectedSample:
        """Fit what guesses (N, g) add to the prior expectation of labels (N,).

        Without labels of people a judge is taken at its word.
        """
        before = _fitted(sample, prior, guesses)
        if judge is None:
            return cls(sample, before, before, np.ones(len(prior)), guesses.shape[1])
        known = np.zeros(len(prior), bool)
        known[sample.order[: judge.count]] = True
        known &= ~np.isnan(judge.labels)
        columns = np.hstack([guesses, np.where(known[:, None], judge.guesses, 0)])
        after = _fitted(sample, np.where(known, judge.labels, prior), columns)
        asked = sample.chances_of(judge.count)
        return cls(sample, before, np.where(known, after, before), asked, columns.shape[1])

    def total(self, values: Floats) -> float:
        """Of values (N,) times labels."""
        items = self.sample.items
        errors = (self.sample.labels - self.expected[items]) / self.sample.chances[items]
        guessed = self.before + (self.expected - self.before) / self.asked
        return float(values @ guessed + values[items] @ errors)

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
        from scipy.special import stdtrit

        sample, items, n = self.sample, self.sample.items, len(self.sample.labels)
        chances = sample.chances if looks == n else _expected_chances(sample.weights, looks)
        more = 1 / chances - 1  # of items like this one, for each that is seen
        once = 1 / self.asked[items] - 1  # those that no judge was asked about either
        before, error = sample.labels - self.before[items], sample.labels - self.expected[items]
        squares = before**2 * once + error**2 * np.maximum(more[items] - once, 0)
        squares *= values[items] ** 2 / sample.chances[items] * n / max(1, n - self.loss)
        t, unseen = float(stdtrit(looks - 1, 0.975)), 0.0
        for group in (self.expected < 0.5, self.expected >= 0.5):  # errors of one direction each
            if group.any():
                each = (values[group] ** 2 * more[group]).mean()
                unseen += t**2 / 2 * more[group].mean() * each
        variance = squares.sum() + unseen
        freedom = 2 * variance**2 / max((squares**2).sum(), 1e-300)
        return float(stdtrit(np.clip(freedom, 1, looks - 1), 0.975) * np.sqrt(variance))

    def _estimate(self, value: float, values: Floats, bounds: Bounds) -> Estimate:
        looks = len(self.sample.labels)
        least, most = bounds or (-np.inf, np.inf)  # an unbiased estimate may lie outside
        within = float(np.clip(value, least, most))
        if looks == len(self.sample.order):
            return Estimate(within, within, within)
        if looks < FEWEST:
            return Estimate(within)
        half = self.half_width(values, looks)
        return Estimate(within, max(value - half, least), min(value + half, most))


def _fitted(sample: BottomSample, prior: Floats, guesses: Floats) -> Floats:
    """Expectations (N,): prior and guesses, fitted to the sample."""
    items = sample.items
    if not len(items):
        return prior
    inverse = 1 / sample.chances[items]
    scale = np.sqrt(inverse / inverse.mean())
    columns, rest = guesses[items] * scale[:, None], (sample.labels - prior[items]) * scale
    ridge = np.eye(guesses.shape[1])  # as if one item more, as expected, had been seen
    weights = np.linalg.solve(columns.T @ columns + ridge, columns.T @ rest)
    return np.asarray(np.clip(prior + guesses @ weights, 0, 1))


def _expected_chances(weights: Floats, looks: int) -> Floats:
    """Chances (N,) with which so many items are expected in a sample."""
    low, high = 0.0, 1.0
    while -np.expm1(-high * weights).sum() < looks - 0.5 and high < 1e12:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        enough = -np.expm1(-middle * weights).sum() >= looks
        low, high = (low, middle) if enough else (middle, high)
    return np.asarray(-np.expm1(-high * weights))
