"""Acceptance sampling: how many to look at, and with how many errors a data set still passes.

A plan is asked for by two rates: a data set with the acceptable rate p1 is refused with probability
at most alpha, one with the unacceptable rate p2 is accepted with probability at most beta. As Klie,
Haladjian, Kirchner and Nair, "On efficient and statistical quality estimation for data annotation"
(ACL 2024), propose for labels; formulas from Montgomery, "Introduction to statistical quality
control", chapter 15, and Wald, "Sequential analysis" (1947).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgen.errors import UsageError

_MOST = 10_000_000  # looks; a plan that needs more is refused


@dataclass(frozen=True)
class SinglePlan:
    """Look at `n`; accept with at most `c` errors. `lot`: size of the data set; None: unlimited."""

    n: int
    c: int
    lot: int | None = None

    def accept(self, p: ArrayLike) -> NDArray[np.float64]:
        """Operating characteristic: P(acceptance) at the rates p.

        In a lot, the number of errors is p * lot, rounded.
        """
        rates = np.asarray(p, float)
        if self.lot is None:
            return np.asarray(_binomial().cdf(self.c, self.n, rates))
        from scipy.stats import hypergeom

        return np.asarray(hypergeom.cdf(self.c, self.lot, np.rint(rates * self.lot), self.n))


@dataclass(frozen=True)
class DoublePlan:
    """Look at `n`; accept with at most `c1` errors, refuse above `c2`, else look at `n` more.

    Accept then with at most `c2` errors in both samples.
    """

    n: int
    c1: int
    c2: int

    def accept(self, p: ArrayLike) -> NDArray[np.float64]:
        """P(acceptance) at the rates p."""
        first, binom = self._first(p), _binomial()
        second = binom.cdf(self.c2 - self._open(), self.n, _column(p))
        accepted = binom.cdf(self.c1, self.n, np.asarray(p, float))
        return np.asarray(accepted + (first * second).sum(-1))

    def average(self, p: ArrayLike) -> NDArray[np.float64]:
        """Average sample number at the rates p > 0."""
        return np.asarray(self.n * (1 + self._first(p).sum(-1)))

    def _open(self) -> NDArray[np.int64]:
        return np.arange(self.c1 + 1, self.c2 + 1)  # errors after which a second sample is needed

    def _first(self, p: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(_binomial().pmf(self._open(), self.n, _column(p)))


@dataclass(frozen=True)
class SequentialPlan:
    """Wald's sequential probability ratio test, decided after every look.

    After n looks: accept with at most slope * n - h1 errors, refuse with at least slope * n + h2.
    """

    p1: float
    p2: float
    alpha: float
    beta: float

    @property
    def h1(self) -> float:
        return math.log((1 - self.alpha) / self.beta) / self._step

    @property
    def h2(self) -> float:
        return math.log((1 - self.beta) / self.alpha) / self._step

    @property
    def slope(self) -> float:
        return math.log((1 - self.p1) / (1 - self.p2)) / self._step

    @property
    def _step(self) -> float:  # what one error adds to the log likelihood ratio, against none
        return math.log(self.p2 * (1 - self.p1) / (self.p1 * (1 - self.p2)))

    def limits(self, n: int) -> tuple[int, int]:
        """After n looks: accept with at most the first (-1: not yet), refuse with at least the
        second.
        """
        return (
            max(-1, math.floor(self.slope * n - self.h1)),
            math.ceil(self.slope * n + self.h2),
        )

    def accept(self, p: float) -> float:
        """P(acceptance) at the rate p, by Wald's approximation (no overshoot)."""
        if p <= 0 or p >= 1:
            return float(p <= 0)
        power = self._power(p)
        if abs(power) < 1e-9:
            return self.h2 / (self.h1 + self.h2)
        upper = math.log((1 - self.beta) / self.alpha) * power
        lower = math.log(self.beta / (1 - self.alpha)) * power
        if max(upper, lower) > 700:  # beyond floats: certain
            return float(power > 0)
        return math.expm1(upper) / (math.exp(upper) - math.exp(lower))

    def average(self, p: float) -> float:
        """Average sample number at the rate p, by Wald's approximation."""
        drift = p - self.slope  # errors a look beyond the lines'
        if abs(drift) < 1e-9:
            return self.h1 * self.h2 / (p * (1 - p))
        accepted = self.accept(p)
        return ((1 - accepted) * self.h2 - accepted * self.h1) / drift

    def _power(self, p: float) -> float:
        """The power h of the likelihood ratio at which its mean is 1: 1 at p1, -1 at p2."""
        from scipy.optimize import brentq

        error = math.log(self.p2 / self.p1)
        right = math.log((1 - self.p2) / (1 - self.p1))

        def excess(h: float) -> float:  # log of the mean over h: the root at 0 is divided out
            if abs(h) < 1e-9:
                return p * error + (1 - p) * right
            mean = np.logaddexp(math.log(p) + h * error, math.log1p(-p) + h * right)
            return float(mean) / h

        far = 1.0
        while excess(-far) > 0 or excess(far) < 0:
            far *= 2
        return float(brentq(excess, -far, far, xtol=1e-12))


def single(
    p1: float, p2: float, alpha: float = 0.05, beta: float = 0.10, lot: int | None = None
) -> SinglePlan:
    """The single plan of the fewest looks; `lot`: hypergeometric, for a data set of that size."""
    _check(p1, p2, alpha, beta)
    most = _MOST if lot is None else lot
    for c in range(most):
        n = _fewest(lambda n, c=c: float(SinglePlan(n, c, lot).accept(p2)) <= beta, c + 1, most)  # type: ignore[misc]
        if n is None:
            break
        plan = SinglePlan(n, c, lot)
        if plan.accept(p1) >= 1 - alpha:
            return plan
    raise UsageError(
        f"No plan tells a rate of {p1:g} from {p2:g} "
        + (f"in {lot:,} items" if lot else f"within {_MOST:,} looks")
        + "; give rates that lie further apart, or look at everything."
    )


def double(p1: float, p2: float, alpha: float = 0.05, beta: float = 0.10) -> DoublePlan:
    """The double plan with two samples of one size and the lowest average sample number at p1.

    After Luca, Vandercappellen and Claes, Quality Engineering 32 (2020): for each c1 below that of
    the single plan, the smallest c2 that keeps both promises.
    """
    whole = single(p1, p2, alpha, beta)
    plans = []
    for c1 in range(max(1, whole.c)):
        for c2 in range(c1 + 1, 2 * whole.c + 10):
            n = _fewest(
                lambda n, c1=c1, c2=c2: float(DoublePlan(n, c1, c2).accept(p2)) <= beta,  # type: ignore[misc]
                c2 + 1,
                2 * whole.n,
            )
            if n is None:
                break
            plan = DoublePlan(n, c1, c2)
            if plan.accept(p1) >= 1 - alpha:
                plans.append(plan)
                break
    return min(plans, key=lambda plan: float(plan.average(p1)))


def sequential(p1: float, p2: float, alpha: float = 0.05, beta: float = 0.10) -> SequentialPlan:
    """Wald's plan, binomial: careful where the sample is a large part of the data set."""
    _check(p1, p2, alpha, beta)
    return SequentialPlan(p1, p2, alpha, beta)


def clopper_pearson(errors: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a binomial rate."""
    from scipy.stats import binomtest

    low, high = binomtest(errors, n).proportion_ci(level, "exact")
    return float(low), float(high)


def _check(p1: float, p2: float, alpha: float, beta: float) -> None:
    if not (0 < p1 < p2 < 1 and 0 < alpha < 1 - beta < 1):
        raise UsageError(
            "A plan needs 0 < p1 < p2 < 1, alpha and beta above 0, and alpha + beta below 1; "
            f"given: p1 {p1:g}, p2 {p2:g}, alpha {alpha:g}, beta {beta:g}."
        )


def _fewest(enough: Callable[[int], bool], low: int, most: int) -> int | None:
    """The smallest n in low..most that is enough, as all larger ones are; None if none is."""
    high = low
    while not enough(min(high, most)):
        if high >= most:
            return None
        low, high = high + 1, high * 2
    high = min(high, most)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _column(p: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(p, float)[..., None]


def _binomial() -> Any:
    from scipy.stats import binom

    return binom
