"""Intervals for the mean of a finite population that hold at every look, so looking early is free.

The order of looks is drawn with unequal chances, so that its beginning is a sample. Items that look
wrong come first more often, and never surely: at each look, item i of those left is drawn with
probability w_i over the sum of what is left. Exponential keys give the whole order at once
(Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006): the smallest of
independent exponentials with rates w is item i with just that probability.

Each look multiplies, for every mean m that may be the true one, the wealth of a bettor who plays
against m: by 1 + bet * (Z - mu), where Z = f / (N q) is what the item drawn says of the total, q
its probability, and mu = m - (what was seen) / N the expectation of Z if m is true. At the true
mean the wealth is a non-negative martingale from 1, so that it ever reaches 1 / alpha with
probability at most alpha (Ville): means whose wealth did are left out, for good.

After Shekhar, Xu, Lipton, Liang and Ramdas, "Risk-limiting financial audits via weighted sampling
without replacement" (UAI 2023); with equal probabilities that is Waudby-Smith and Ramdas,
"Estimating means of bounded random variables by betting" (2024), section 5. Ours: the bets. Each
stands for a ratio r of the true rate to m: (r - 1) / (B - mu), with B the largest Z of what is
left, is the likelihood ratio of r * mu against mu where all errors count as B does. The wealth is
the mean over a fixed grid of ratios; half of it is on r = 0, with which a simple random sample
without errors says all that the hypergeometric distribution lets it say. Every bet's wealth is
monotone in m, hence the mean's is: the means left are an interval, and its ends are found by
bisection. The grid is made for rates below one half: let the values be errors, not successes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgen.errors import UsageError
from retgen.streams import Stream

# of suspicion in the draws; the rest is uniform. A tenth brings much of what good suspicion can
# save, and costs a ninth more looks where nothing is wrong (`make bench-review`)
SHARE = 0.1


@dataclass(frozen=True)
class WeightedDraws:
    """How likely each look was, in the order drawn; n looks of a population of N items.

    `probability` (n,): of the item drawn, among those left. `bound` (n,): the largest 1 / (N q(i))
    over the items i left, which is what one error can add at most to an estimate.
    """

    population: int
    probability: NDArray[np.float64]
    bound: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.probability)

    def first(self, looks: int) -> WeightedDraws:
        return WeightedDraws(self.population, self.probability[:looks], self.bound[:looks])

    @cached_property
    def uniform(self) -> bool:
        """Whether each look was a simple random draw from what was left."""
        left = self.population - np.arange(len(self))
        return bool(np.allclose(self.probability * left, 1, rtol=1e-9))


def weights(
    suspicion: ArrayLike | None, population: int | None = None, share: float = SHARE
) -> NDArray[np.float64]:
    """Chances of items, (N,) with mean 1: 1 - share for each, and its part of the suspicion.

    `suspicion` (N,): 0 or more, in any unit: what is twice as likely to be wrong has twice as much.
    None, with `population`: uniform. No item's chance falls below 1 - share of a uniform one, which
    keeps what it may add to an interval within 1 / (1 - share).
    """
    if suspicion is None:
        return np.ones(population or 0)
    given = np.asarray(suspicion, float)
    if given.ndim != 1 or not np.isfinite(given).all() or (given < 0).any():
        raise UsageError("Suspicion is one finite number a record, 0 or more.")
    if not 0 <= share < 1:
        raise UsageError(f"The share of suspicion in the draws is in [0, 1), not {share:g}.")
    mean = given.mean() if given.size else 0.0
    return (1 - share) + share * given / mean if mean > 0 else np.ones(given.size)


def weighted_order(weights: ArrayLike, seed: int, purpose: str = "review") -> NDArray[np.int64]:
    """The items in the order to look at them, int64 (N,): a function of weights, seed, purpose."""
    return np.argsort(weighted_keys(weights, seed, purpose), kind="stable").astype(np.int64)


def weighted_keys(weights: ArrayLike, seed: int, purpose: str = "review") -> NDArray[np.float64]:
    """Independent exponentials with the weights as rates, (N,): the smallest is looked at first."""
    given = np.asarray(weights, float)
    words = Stream(seed, f"order/{purpose}").words(0, given.size)
    uniform = ((words >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53  # in (0, 1)
    return np.asarray(-np.log(uniform) / given)


def draws(order: ArrayLike, weights: ArrayLike, count: int | None = None) -> WeightedDraws:
    """How likely the first `count` items of `order` were; all of them by default.

    Of a stratum: the order and the weights of its items alone. Which of them comes next does not
    depend on the others, so the stratum is a population of its own.
    """
    drawn = np.asarray(weights, float)[np.asarray(order, np.int64)]
    left = np.cumsum(drawn[::-1])[::-1]
    least = np.minimum.accumulate(drawn[::-1])[::-1]
    n = slice(count)
    return WeightedDraws(drawn.size, (drawn / left)[n], (left / least)[n] / max(drawn.size, 1))


def uniform_draws(population: int, count: int | None = None) -> WeightedDraws:
    """A simple random sample without replacement, in order."""
    left = population - np.arange(population if count is None else min(count, population))
    return WeightedDraws(population, 1 / left, left / population)


def independent_draws(count: int) -> WeightedDraws:
    """Draws from a population without end, as outcomes of a reviewer on planted errors are."""
    endless = 2**53
    return WeightedDraws(endless, np.full(count, 1 / endless), np.ones(count))


Floats = NDArray[np.float64]

# ratios of the rate to the mean that is bet against, and the share of the wealth on each
_BELOW = np.array([0.0, 0.05, 0.15, 0.3, 0.45, 0.6, 0.75, 0.87, 0.95])
_BELOW_SHARE = np.r_[0.5, np.full(8, 0.5 / 8)]
_ABOVE = np.array([1.04, 1.12, 1.25, 1.5, 2.0, 3.0, 6.0, 20.0])
_ABOVE_SHARE = np.full(8, 1 / 8)
_NEAR = 1e-9  # mu keeps this distance, in parts of its range, from where a bet has no bound
_EXACT = 1e-9  # means that differ by less are equal: 0.29 * 100 is not 29
_STEP = 0.02  # between points of a course, in parts of the mean or of its distance from 1
_FINEST = 1e-5  # but no less


@dataclass(frozen=True)
class ConfidenceSequence:
    """The mean of the population is in [low, high], with confidence `level` at all looks at once.

    `lows`, `highs` (looked,): the interval after each look, never wider than before; its points
    stand up to 2% apart, rounded outwards, but the last, which are `low` and `high`.
    """

    population: int
    level: float
    low: float
    high: float
    lows: Floats
    highs: Floats

    @property
    def looked(self) -> int:
        return len(self.highs)


@dataclass(frozen=True)
class SequenceDecision:
    """Whether the mean is at most a goal: "holds", "refuted", "open"; the look that settled it."""

    state: str
    look: int | None = None


def interval(values: ArrayLike, draws: WeightedDraws, level: float = 0.95) -> ConfidenceSequence:
    """Both ends, each with half of 1 - level.

    `values` (n,): in [0, 1], in the order drawn; or (n, 2), bounds of what is not known, as (0, 1)
    of an item that nobody can tell. The interval is of the mean over all items, seen or not; when
    all are seen, it is that mean (with bounds: those of it).
    """
    low, high, draws = _checked(values, draws, level)
    alpha = (1 - level) / 2
    lows, highs = _lows(low, draws, alpha), _highs(high, draws, alpha)
    # ends that crossed (the one case in 1 / alpha, or draws that were no draws) say nothing
    return _sequence(draws.population, level, lows, np.maximum(lows, highs))


def upper(values: ArrayLike, draws: WeightedDraws, level: float = 0.95) -> ConfidenceSequence:
    """The upper end alone, with all of 1 - level: for "at most"; `low` is 0. See `interval`."""
    _, high, draws = _checked(values, draws, level)
    return _sequence(draws.population, level, np.zeros(len(high)), _highs(high, draws, 1 - level))


def lower(values: ArrayLike, draws: WeightedDraws, level: float = 0.95) -> ConfidenceSequence:
    """The lower end alone, with all of 1 - level; `high` is 1. See `interval`."""
    low, _, draws = _checked(values, draws, level)
    return _sequence(draws.population, level, _lows(low, draws, 1 - level), np.ones(len(low)))


def at_most(
    values: ArrayLike, draws: WeightedDraws, goal: float, level: float = 0.95
) -> SequenceDecision:
    """Whether the mean is at most `goal`: the first look at which it is shown, or shown not to be.

    Each of the two answers is wrong with probability at most 1 - level.
    """
    low, high, draws = _checked(values, draws, level)
    holds = _first(rules_out_above(high, draws, goal, 1 - level))
    refuted = _first(rules_out_at_most(low, draws, goal, 1 - level))
    if holds is None and refuted is None:
        return SequenceDecision("open")
    if refuted is None or (holds is not None and holds < refuted):
        return SequenceDecision("holds", holds)
    return SequenceDecision("refuted", refuted)


def looks_needed(
    values: ArrayLike, draws: WeightedDraws, goal: float, level: float = 0.95
) -> int | None:
    """How many more looks show a mean of at most `goal` if none of them finds an error.

    `draws`: of all items in their order. 0: it is shown already. None: not even all of them would.
    """
    given = np.asarray(values, float)
    _, high, _ = _checked(given, draws.first(len(given)), level)
    rest = np.zeros(len(draws) - len(high))
    look = _first(rules_out_above(np.r_[high, rest], draws, goal, 1 - level))
    return None if look is None else max(0, look - len(high))


def _checked(
    values: ArrayLike, draws: WeightedDraws, level: float
) -> tuple[Floats, Floats, WeightedDraws]:
    given = np.asarray(values, float)
    if given.ndim == 1:
        given = np.stack([given, given], axis=1)
    if given.size == 0:
        given = np.zeros((0, 2))
    if given.ndim != 2 or given.shape[1] != 2:
        raise UsageError("Values are (n,), or bounds (n, 2), in the order drawn.")
    low, high = given[:, 0], given[:, 1]
    if not ((low >= 0) & (low <= high) & (high <= 1)).all():
        raise UsageError("Values are in [0, 1], a lower bound first.")
    if len(given) > len(draws):
        raise UsageError(f"There are {len(given):,} values of {len(draws):,} draws.")
    if not 0 < level < 1:
        raise UsageError(f"A confidence level is in (0, 1), not {level:g}.")
    return low, high, draws.first(len(given))


def _sequence(population: int, level: float, lows: Floats, highs: Floats) -> ConfidenceSequence:
    low, high = (float(lows[-1]), float(highs[-1])) if len(lows) else (0.0, 1.0)
    return ConfidenceSequence(population, level, low, high, lows, highs)


def _highs(values: Floats, draws: WeightedDraws, alpha: float) -> Floats:
    """After each look (n,), the least mean that is ruled out as too high; 1 while there is none."""
    highs = _course(lambda mean: _first(rules_out_above(values, draws, mean, alpha)), len(values))
    return _possible(np.minimum.accumulate(highs), values, draws)


def _lows(values: Floats, draws: WeightedDraws, alpha: float) -> Floats:
    """After each look (n,), the greatest mean that is ruled out as too low; 0: none is."""
    gaps = _course(
        lambda gap: _first(rules_out_at_most(values, draws, 1 - gap, alpha)), len(values)
    )
    return _possible(np.maximum.accumulate(1 - gaps), values, draws)


def _possible(ends: Floats, values: Floats, draws: WeightedDraws) -> Floats:
    """`ends` within what was seen over N, and that with all that is left counted as 1."""
    seen = np.cumsum(values) / draws.population
    left = 1 - np.arange(1, len(values) + 1) / draws.population
    return np.asarray(np.clip(ends, seen, seen + left))


def rules_out_above(
    values: Floats, draws: WeightedDraws, mean: float, alpha: float
) -> NDArray[np.bool_]:
    """At which looks (n,) "the mean is above `mean`" stands refuted."""
    left = draws.population - np.arange(1, len(values) + 1)
    certain = np.cumsum(values) + left <= (mean + _EXACT) * draws.population
    return certain | (betting_wealth(values, draws, mean, _BELOW, _BELOW_SHARE) >= 1 / alpha)


def rules_out_at_most(
    values: Floats, draws: WeightedDraws, mean: float, alpha: float
) -> NDArray[np.bool_]:
    """At which looks (n,) "the mean is `mean` or less" stands refuted."""
    certain = np.cumsum(values) > (mean + _EXACT) * draws.population
    return certain | (betting_wealth(values, draws, mean, _ABOVE, _ABOVE_SHARE) >= 1 / alpha)


def betting_wealth(
    values: Floats, draws: WeightedDraws, mean: float, ratios: Floats, shares: Floats
) -> Floats:
    """After each look (n,): the mean wealth of the bets against `mean`, from 1."""
    seen = (np.cumsum(values) - values) / draws.population  # before each look
    z = values / (draws.population * draws.probability)
    # a clipped mu only makes a bet more careful, or stands for a mean that what was seen rules out
    mu = np.clip(mean - seen, _NEAR * draws.bound, (1 - _NEAR) * draws.bound)
    bets = np.minimum((ratios - 1)[:, None] / (draws.bound - mu), 1 / mu)  # (bets, n)
    with np.errstate(over="ignore", invalid="ignore"):  # long past any threshold
        return np.asarray(shares @ np.cumprod(np.maximum(1 + bets * (z - mu), 0), axis=1))


def _course(first: Callable[[float], int | None], looks: int) -> Floats:
    """After each look, the least x in (0, 1] with first(x) no later; 1 where there is none.

    first(x), the look (from 1) at which x is ruled out, falls with x or stays. The last is exact to
    1e-9; those before it lie on points about `_STEP` apart, rounded up.
    """
    course = np.ones(looks)
    if looks == 0:
        return course
    low, high, at = 0.0, 1.0, first(1.0)
    while high - low > 1e-9:
        middle = (low + high) / 2
        look = first(middle)
        low, high, at = (middle, high, at) if look is None else (low, middle, look)
    if at is None:
        return course
    ends = [(high, at, 1.0, first(1.0) or looks)]
    while ends:
        low, late, high, early = ends.pop()
        course[late - 1 :] = np.minimum(course[late - 1 :], low)
        if early < late and high - low > max(_STEP * min(high, 1 - low), _FINEST):
            middle = (low + high) / 2
            look = first(middle) or late
            ends += [(low, late, middle, look), (middle, look, high, early)]
    return course


def _first(passed: NDArray[np.bool_]) -> int | None:
    return int(passed.argmax()) + 1 if passed.any() else None
