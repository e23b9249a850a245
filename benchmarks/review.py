"""How many looks a review takes, by simulation: in a weighted order against a uniform one.

Until "at most 2% are wrong" is shown or refuted, and until the interval of the rate is within 2
points of its middle; both may be looked at after every verdict. Suspicion tells wrong items from
right ones with a given AUC and has the same spread whatever that is, so at 0.5 it misleads. Savings
and losses are both printed.

    .venv/bin/python benchmarks/review.py [--population 5000] [--reviews 20]
"""

from __future__ import annotations

import time

import numpy as np
from common import options
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm

from retgen.statistics.sequences import (
    SHARE,
    WeightedDraws,
    at_most,
    draws,
    interval,
    weighted_order,
    weights,
)

GOAL, WITHIN = 0.02, 0.02
SPREAD = 1.2  # of the suspicion, in logits: that of a well calibrated one of AUC 0.8
Floats = NDArray[np.float64]


def main() -> None:
    given = options(
        __doc__,
        population=5_000,
        reviews=20,
        shares=[SHARE, 0.25, 0.5],
        rates=[0.0, 0.005, 0.01, 0.05, 0.1],
    )
    shares = sorted({0.0, *given.shares})
    started = time.process_time()
    print(
        f"{given.population:,} items, means of {given.reviews} reviews; share of suspicion in the "
        f"draws: {', '.join(f'{share:g}' for share in shares)} (default {SHARE:g})"
    )
    for what, looks in ((f"settled: at most {GOAL:.0%}", settled), ("within 2 points", narrow)):
        print(f"looks until {what}")
        for rate in given.rates:
            for auc in (0.5, 0.7, 0.9) if rate else (0.5,):
                taken = np.array(
                    [
                        [looks(*review(given.population, rate, auc, share, i)) for share in shares]
                        for i in range(given.reviews)
                    ]
                ).mean(0)
                gains = "  ".join(f"{n:5.0f} ({n / taken[0] - 1:+4.0%})" for n in taken[1:])
                print(f"  {rate:5.1%} wrong, AUC {auc:.1f}: {taken[0]:5.0f}  {gains}")
    print(f"{time.process_time() - started:.0f} s of CPU")


def review(
    n: int, rate: float, auc: float, share: float, seed: int
) -> tuple[Floats, WeightedDraws]:
    """Errors in the order of a review of all n items, and its draws."""
    rng = np.random.default_rng(seed)
    wrong = np.zeros(n)
    wrong[rng.choice(n, round(rate * n), replace=False)] = 1
    scores = rng.standard_normal(n) + wrong * np.sqrt(2) * norm.ppf(auc)
    suspicion = expit(SPREAD * scores - SPREAD**2 / 2 + logit(0.05))
    given = weights(suspicion, share=share)
    order = weighted_order(given, seed)
    return wrong[order], draws(order, given)


def settled(wrong: Floats, found: WeightedDraws) -> int:
    return at_most(wrong, found, GOAL).look or len(wrong)


def narrow(wrong: Floats, found: WeightedDraws) -> int:
    limit = min(len(wrong), 2_500)  # more was never needed
    course = interval(wrong[:limit], found.first(limit))
    enough = course.highs - course.lows <= 2 * WITHIN
    return int(enough.argmax()) + 1 if enough.any() else limit


if __name__ == "__main__":
    main()
