"""What chance explains: tests that several rules share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def excess_p(result: int, expected: float, trials: int) -> float:
    """A bound on the chance that of independent trials so many succeed, `expected` on average.

    Chernoff's, which is exact where all happen, and holds for events of different chances.
    """
    if not trials or result <= expected:
        return 1.0
    share, chance = result / trials, expected / trials
    if not chance:
        return 0.0
    exponent = share * math.log(share / chance)
    if share < 1:
        exponent += (1 - share) * math.log((1 - share) / (1 - chance))
    return math.exp(-trials * exponent)


def ks_p_value(places: NDArray[np.float64]) -> float:
    """Two-sided Kolmogorov-Smirnov p-value of values (n,) in [0, 1] against the uniform law.

    Kolmogorov's asymptotic series at (sqrt(n) + 0.12 + 0.11 / sqrt(n)) D (Stephens, 1970).
    """
    n = len(places)
    ordered = np.sort(places)
    steps = np.arange(n + 1) / n
    distance = max(float((steps[1:] - ordered).max()), float((ordered - steps[:-1]).max()))
    x = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * distance
    if x < 0.2:
        return 1.0
    terms = ((-1.0) ** (j - 1) * math.exp(-2 * (j * x) ** 2) for j in range(1, 101))
    return min(1.0, max(0.0, 2 * sum(terms)))


def spearman(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Spearman's rank correlation of two columns (n,), ties at their mean rank; 0 if constant."""
    ra, rb = _mean_ranks(a), _mean_ranks(b)
    ra -= ra.mean()
    rb -= rb.mean()
    scale: float = math.sqrt(float(ra @ ra) * float(rb @ rb))
    return float(ra @ rb) / scale if scale else 0.0


def _mean_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle: NDArray[np.float64] = last - (counts - 1) / 2.0
    return middle[inverse]


def count_spread(values: NDArray[np.int64]) -> dict[str, Any]:
    """Counts (n,) in keys of `gen validate`: least, mean, most, and how often each."""
    if not len(values):
        return {"min": 0, "mean": 0.0, "max": 0, "histogram": {}}
    distinct, number = np.unique(values, return_counts=True)
    return {
        "min": int(distinct[0]),
        "mean": round(float(np.mean(values)), 4),
        "max": int(distinct[-1]),
        "histogram": dict(zip(map(str, distinct.tolist()), number.tolist(), strict=True)),
    }
