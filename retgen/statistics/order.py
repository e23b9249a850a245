"""What is looked at next: an order drawn with unequal chances, so that its beginning is a sample.

Items that look wrong come first more often, and never surely: at each look, item i of those left is
drawn with probability w_i over the sum of what is left. Exponential keys give the whole order at
once (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006): the smallest of
independent exponentials with rates w is item i with just that probability.
"""

from __future__ import annotations

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
    given = np.asarray(weights, float)
    words = Stream(seed, f"order/{purpose}").words(0, given.size)
    uniform = ((words >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53  # in (0, 1)
    return np.argsort(-np.log(uniform) / given, kind="stable").astype(np.int64)


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
