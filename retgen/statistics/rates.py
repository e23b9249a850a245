"""Error rates of what was looked at, by stratum, and corrected for what reviewers miss.

A reviewer is measured with control items: of those that are wrong, `caught` were seen
(sensitivity); of those that are right, `passed` (specificity).

Prediction-powered means: a judge's labels on everything, people's on a sample. The judge's mean
over all items is corrected by the mean difference that people found on the sample; as much of the
judge is used as shortens the interval. After Angelopoulos, Duchi and Zrnic, "PPI++: efficient
prediction-powered inference" (2023). Ours: the mean is that of the data set, which is finite and
known to the judge as a whole, so the interval shrinks to nothing as people see all of it; and the
sample may be drawn with unequal chances.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgen.errors import UsageError
from retgen.statistics.sequences import (
    WeightedDraws,
    draws,
    independent_draws,
    interval,
    looks_needed,
    upper,
)

Floats = NDArray[np.float64]

# of 1 - level in `certified_upper`: for the sample, for the sensitivity, for what chance lets pass
_PARTS = (0.7, 0.2, 0.1)
FEWEST = 10  # disagreements of judge and people: below that a normal interval would be made up


@dataclass(frozen=True)
class ErrorRate:
    """A rate of errors in `population` items, of which `looked` were seen, with `errors` among
    them.

    `estimate`: None before the first look that could tell. [low, high]: at `level`, by `method` (in
    words). `unsure`: looks that could not tell; they count for both ends of the interval, and are
    left out of the estimate. `worth`: as many simple random looks would tell the estimate as well.
    """

    estimate: float | None
    low: float
    high: float
    level: float
    looked: int
    errors: float
    unsure: int
    population: int
    method: str
    worth: float


@dataclass(frozen=True)
class ReviewerRates:
    """Of `planted` errors `caught` were seen; of `clean` items `passed`. None shown: 0."""

    caught: int
    planted: int
    passed: int = 0
    clean: int = 0

    def __post_init__(self) -> None:
        if not (0 <= self.caught <= self.planted and 0 <= self.passed <= self.clean):
            raise UsageError(f"No reviewer catches or passes more than was shown: {self}.")

    @property
    def sensitivity(self) -> float | None:
        return self.caught / self.planted if self.planted else None

    @property
    def specificity(self) -> float | None:
        return self.passed / self.clean if self.clean else None


def rate(values: ArrayLike, draws: WeightedDraws, level: float = 0.95) -> ErrorRate:
    """Of values in the order drawn, or bounds, as in `sequences`; holds at every look."""
    given = np.asarray(values, float)
    bounds = interval(given, draws, level)
    two = given if given.ndim == 2 else np.stack([given, given], axis=1)
    told = two[:, 0] == two[:, 1] if len(two) else np.zeros(0, bool)
    found = two[told, 0]
    estimate, worth = None, 0.0
    if told.any():
        errors = mean_terms(np.where(told, two.min(1, initial=1), 0), draws)
        share = float(
            errors.mean() / max(1 - mean_terms((~told).astype(float), draws).mean(), 1e-9)
        )
        estimate = min(max(share, bounds.low), bounds.high)
        spread = float(errors.var())
        # without an error nothing is known of the spread: as if it were where it is largest
        binomial = estimate * (1 - estimate)
        each = binomial / spread if binomial > 0 and spread > 0 else 1 / float(draws.bound[0])
        worth = float(len(found)) if draws.uniform else len(found) * each
    return ErrorRate(
        estimate,
        bounds.low,
        bounds.high,
        level,
        len(two),
        float(found.sum()),
        int((~told).sum()),
        draws.population,
        "all looked at"
        if len(two) == draws.population
        else f"confidence sequence, {'simple random' if draws.uniform else 'weighted'} draws",
        worth,
    )


def by_stratum(
    strata: Sequence[Hashable],
    order: ArrayLike,
    weights: ArrayLike,
    values: ArrayLike,
    level: float = 0.95,
) -> dict[Hashable, ErrorRate]:
    """The rate of each stratum, in the order of their first items; each interval alone at `level`.

    `strata` (N,): of the items. `values`: of order[:n]. Within a stratum the order is one of its
    own.
    """
    permutation, given = np.asarray(order, np.int64), np.asarray(values, float)
    names = list(dict.fromkeys(strata))
    number = {name: i for i, name in enumerate(names)}
    codes = np.array([number[name] for name in strata])[permutation]
    drawn = np.asarray(weights, float)[permutation]
    found = {}
    for name, code in number.items():
        inside = codes == code
        looked = given[inside[: len(given)]]
        chances = drawn[inside]
        found[name] = rate(looked, draws(np.arange(chances.size), chances, len(looked)), level)
    return found


def correct_rate(rate: ErrorRate, measured: ReviewerRates) -> ErrorRate:
    """What the rate would be if reviewers saw everything: Rogan and Gladen (1978).

    The interval carries the uncertainty of sample, sensitivity and specificity (Lang and Reiczigel,
    Preventive Veterinary Medicine 113, 2014): approximate, and of this look alone. Without clean
    items every error that was reported is taken for one. Without planted ones there is nothing to
    correct by.
    """
    if rate.estimate is None or not measured.planted:
        raise UsageError("A rate is corrected by control errors; none were judged yet.")
    from scipy.stats import norm

    alarm = 1 - measured.passed / measured.clean if measured.clean else 0.0
    youden = measured.caught / measured.planted - alarm
    if youden <= 0:
        return replace(rate, estimate=None, low=0.0, high=1.0, method="reviewers at chance")
    z = float(norm.isf((1 - rate.level) / 2))
    looks, seen, shown = rate.worth + z * z, measured.planted + 2, measured.clean + 2
    apparent = (rate.worth * rate.estimate + z * z / 2) / looks
    sensitivity = (measured.caught + 1) / seen
    specificity = (measured.passed + 1) / shown if measured.clean else 1.0
    informed = sensitivity + specificity - 1  # above 0, as that of the counts is
    true = (apparent + specificity - 1) / informed
    missed = sensitivity * (1 - sensitivity) / seen
    alarms = specificity * (1 - specificity) / shown
    shift = 2 * z * z * (true * missed - (1 - true) * alarms)
    spread = apparent * (1 - apparent) / looks + true**2 * missed + (1 - true) ** 2 * alarms
    half = z * math.sqrt(spread) / informed
    point = (rate.estimate - alarm) / youden
    return replace(
        rate,
        estimate=min(max(point, 0.0), 1.0),
        low=min(max(true + shift - half, 0.0), 1.0),
        high=min(max(true + shift + half, 0.0), 1.0),
        method="Rogan-Gladen with Lang and Reiczigel's interval",
    )


def certified_upper(
    values: ArrayLike, draws: WeightedDraws, missed: ArrayLike, level: float = 0.95
) -> float:
    """The true rate is at most this, at every look, although reviewers miss errors.

    `missed` (planted,): in the order judged, 1 where a planted error was not seen, else 0. Planted
    errors must be as hard to see as others; then each error of the data is missed as likely, and
    independently. 1 - level is shared out: the rate that reviewers would find in all items, their
    sensitivity, and how many errors they would happen to miss in a data set with K of them. The
    bound is the largest K that all three allow. False alarms only make it larger.
    """
    from scipy.stats import binom

    chance, items = _PARTS[2] * (1 - level), draws.population
    seen = _seen(missed, level)
    reported = math.floor(upper(values, draws, 1 - _PARTS[0] * (1 - level)).high * items + 1e-9)
    low, high = reported, items  # the first is possible, the last is to be seen
    while low < high:
        middle = (low + high + 1) // 2
        possible = binom.cdf(reported, middle, seen) > chance
        low, high = (middle, high) if possible else (low, middle - 1)
    return low / items if items else 1.0


def certified_looks(
    values: ArrayLike, draws: WeightedDraws, missed: ArrayLike, goal: float, level: float = 0.95
) -> int | None:
    """How many more looks bring `certified_upper` to at most `goal` if none of them finds an error.

    `draws`: of all items in their order. None: not even all of them would.
    """
    from scipy.stats import binom

    chance, items = _PARTS[2] * (1 - level), draws.population
    seen, most = _seen(missed, level), math.floor(goal * items + 1e-9)
    low, high = -1, most  # the first number that are reported shows the goal, the last may not
    while low < high:
        middle = (low + high + 1) // 2
        shown = middle == items or binom.cdf(middle, most + 1, seen) <= chance
        low, high = (middle, high) if shown else (low, middle - 1)
    if low < 0:
        return None
    below = (low + 1 - 1e-5) / items  # numbers are whole
    return looks_needed(values, draws, below, 1 - _PARTS[0] * (1 - level))


def _seen(missed: ArrayLike, level: float) -> float:
    """The share of errors that reviewers see at least, by their part of 1 - level."""
    outcomes = np.asarray(missed, float)
    draws = independent_draws(len(outcomes))
    return 1 - upper(outcomes, draws, 1 - _PARTS[1] * (1 - level)).high


def missing_rate(others: float, pool: int, wrong: float, positives: int) -> float:
    """The share of relevant pairs that have no positive label.

    `others`: share of relevant ones among `pool` pairs without one; `wrong`: share of `positives`
    that are not relevant. Grows with both, so upper bounds of both (each with half of 1 - level)
    give one.
    """
    unlabelled, labelled = others * pool, (1 - wrong) * positives
    return unlabelled / (unlabelled + labelled) if unlabelled + labelled else 0.0


def mean_terms(values: Floats, draws: WeightedDraws) -> Floats:
    """(n,) unbiased estimates of the mean of the population, one a look; their mean is the
    estimate.

    Of weighted draws: what was seen before, and the draw over its probability (Des Raj, 1956); they
    are uncorrelated, so that their spread gives the error of their mean. Of simple random ones: the
    values.
    """
    if draws.uniform:
        return values
    first = draws.first(len(values))
    seen = np.cumsum(values) - values
    return np.asarray((seen + values / first.probability) / draws.population)


@dataclass(frozen=True)
class PpiEstimate:
    """A mean with its interval, approximate and of this look alone: no certificate.

    `tuning`: how much of the judge is used (0: nothing). `low`, `high` are None where `reason` says
    why. `alone`: half the interval's width from people's labels alone.
    """

    value: float
    low: float | None
    high: float | None
    tuning: float
    alone: float
    level: float
    reason: str = ""


def ppi_mean(
    labels: ArrayLike, judged: ArrayLike, draws: WeightedDraws, level: float = 0.95
) -> PpiEstimate:
    """The mean of people's labels over all N items.

    `labels` (n,): people's, in the order drawn. `judged` (N,): the judge's of all items, those with
    people's labels first and in their order.
    """
    from scipy.stats import norm

    people, judge = np.asarray(labels, float), np.asarray(judged, float)
    n, items = len(people), draws.population
    if len(judge) != items or not 2 <= n <= min(len(draws), items):
        raise UsageError(
            f"A judge's labels on all {items:,} items and two or more of people's are needed; "
            f"there are {len(judge):,} and {n:,}."
        )
    truth, guess = mean_terms(people, draws), mean_terms(judge[:n], draws)
    spread = float(np.var(judge if draws.uniform else guess))
    tuning = float(np.cov(truth, guess, ddof=0)[0, 1]) / spread if spread > 0 else 0.0
    tuning = min(max(tuning, 0.0), 1.0)
    unseen = 1 - n / items if draws.uniform else 1.0  # the finite population's correction
    z = float(norm.isf((1 - level) / 2)) * math.sqrt(unseen / n)
    value = tuning * float(judge.mean()) + float((truth - tuning * guess).mean())
    alone = z * float(truth.std())
    differ = int((people != judge[:n]).sum())
    if differ < FEWEST and n < items:
        reason = f"judge and people differ on {differ} of {n:,}: too few for an interval"
        return PpiEstimate(value, None, None, tuning, alone, level, reason)
    half = z * float((truth - tuning * guess).std())
    return PpiEstimate(value, value - half, value + half, tuning, alone, level)
