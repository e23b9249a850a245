"""Prediction-powered means: a judge's labels on everything, people's on a sample.

The judge's mean over all items, corrected by the mean difference that people found on the sample;
as much of the judge is used as shortens the interval. After Angelopoulos, Duchi and Zrnic, "PPI++:
efficient prediction-powered inference" (2023). Ours: the mean is that of the data set, which is
finite and known to the judge as a whole, so the interval shrinks to nothing as people see all of
it; and the sample may be drawn with unequal chances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from retgen.errors import UsageError
from retgen.statistics.order import WeightedDraws
from retgen.statistics.rates import terms

FEWEST = 10  # disagreements of judge and people: below that a normal interval would be made up


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


def mean(
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
    truth, guess = terms(people, draws), terms(judge[:n], draws)
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
