"""Plans against published figures (Klie et al. 2024 and its sources: Duncan's table R, the R package
AcceptanceSampling, Craig 1968), against enumeration, and against played reviews.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binom

from retgen.errors import UsageError
from retgen.statistics.plans import (
    DoublePlan,
    SequentialPlan,
    SinglePlan,
    clopper_pearson,
    double,
    sequential,
    single,
)


@pytest.mark.parametrize(
    ("p1", "p2", "alpha", "beta", "lot", "n", "c"),
    [
        (0.01, 0.08, 0.05, 0.10, None, 65, 2),
        (0.0065, 0.02, 0.05, 0.10, None, 587, 7),
        (0.05, 0.15, 0.05, 0.075, None, 80, 7),
        (0.08, 0.10, 0.05, 0.10, 500, 391, 35),
        (0.05, 0.10, 0.15, 0.075, 1000, 154, 10),
        (0.0065, 0.02, 0.02, 0.10, 6000, 634, 8),
    ],
)
def test_single_plans(p1, p2, alpha, beta, lot, n, c):
    plan = single(p1, p2, alpha, beta, lot)
    assert (plan.n, plan.c) == (n, c)
    assert plan.accept(p1) >= 1 - alpha
    assert plan.accept(p2) <= beta


def test_no_smaller_single_plan_keeps_both_promises():
    n, c = np.arange(1, 65)[:, None], np.arange(65)
    kept = (binom.cdf(c, n, 0.01) >= 0.95) & (binom.cdf(c, n, 0.08) <= 0.10)
    assert not kept.any()


def test_nearly_all_of_a_lot_is_looked_at_where_nothing_less_tells():
    assert single(0.48, 0.52, lot=50) == SinglePlan(49, 24, 50)


@pytest.mark.parametrize(
    ("p1", "p2", "alpha", "beta", "n", "c1", "c2", "average"),
    [  # averages at p1 and p2
        (0.01, 0.05, 0.05, 0.10, 69, 0, 3, (103.155, 104.599)),
        # 40.60 is published for p1: within the 0.1 that their authors allow
        (0.01, 0.09, 0.05, 0.10, 32, 0, 2, (40.673, 44.545)),
        (0.05, 0.10, 0.15, 0.075, 95, 4, 12, (144.137, 172.368)),
        (0.007, 0.02, 0.02, 0.10, 440, 4, 11, (526.993, 776.049)),
    ],
)
def test_double_plans(p1, p2, alpha, beta, n, c1, c2, average):
    plan = double(p1, p2, alpha, beta)
    assert plan == DoublePlan(n, c1, c2)
    assert plan.average([p1, p2]) == pytest.approx(average, abs=6e-4)
    accepted = plan.accept([p1, p2])
    assert accepted[0] >= 1 - alpha
    assert accepted[1] <= beta


def test_a_double_plan_as_it_is_played():
    rng, plan, p = np.random.default_rng(3), DoublePlan(50, 0, 3), 0.05
    errors = rng.random((40_000, 100)) < p
    first, total = errors[:, :50].sum(1), errors.cumsum(1)
    decided = (first <= 0) | (first > 3)
    accepted = (first <= 0) | (~decided & (total[:, -1] <= 3))
    assert accepted.mean() == pytest.approx(plan.accept(p), abs=0.01)
    assert np.where(decided, 50, 100).mean() == pytest.approx(plan.average(p), rel=0.01)


@pytest.mark.parametrize(
    ("p1", "p2", "h1", "h2", "slope", "at_p1", "at_p2"),
    [
        (0.005, 0.02, 1.6064, 2.0624, 0.01084, 244, 185),
        (0.01, 0.05, 1.3639, 1.7510, 0.02499, 81, 58),
        (0.02, 0.04, 3.1541, 4.0495, 0.02889, 314, 300),
    ],
)
def test_sequential_plans(p1, p2, h1, h2, slope, at_p1, at_p2):
    plan = sequential(p1, p2)
    assert (round(plan.h1, 4), round(plan.h2, 4), round(plan.slope, 5)) == (h1, h2, slope)
    assert (round(plan.average(p1)), round(plan.average(p2))) == (at_p1, at_p2)
    assert plan.accept(p1) == pytest.approx(0.95)
    assert plan.accept(p2) == pytest.approx(0.10)
    assert (plan.accept(0.0), plan.accept(1.0)) == (1.0, 0.0)
    near = plan.accept(plan.slope - 1e-7), plan.accept(plan.slope + 1e-7)
    assert near == pytest.approx([plan.h2 / (plan.h1 + plan.h2)] * 2, abs=1e-4)
    assert plan.average(plan.slope) == pytest.approx(plan.average(plan.slope + 1e-6), rel=1e-3)


def test_the_lines_of_a_sequential_plan():  # Duncan, figure 49
    plan = SequentialPlan(0.01, 0.08, 0.05, 0.10)
    numbers = [plan.limits(n) for n in (2, 19, 20, 30, 31, 48, 49, 60, 61, 70)]
    assert numbers == [
        (-1, 2),
        (-1, 2),
        (-1, 3),
        (-1, 3),
        (0, 3),
        (0, 3),
        (0, 4),
        (0, 4),
        (1, 4),
        (1, 4),
    ]


def test_a_sequential_plan_as_it_is_played():
    rng, plan = np.random.default_rng(4), sequential(0.02, 0.10)
    looks = np.arange(1, 2001)
    low, high = np.transpose([plan.limits(n) for n in looks.tolist()])
    for p, wrong in ((0.02, 0.05), (0.10, 0.10)):
        errors = (rng.random((3000, 2000)) < p).cumsum(1)
        accepted, refused = errors <= low, errors >= high
        at = (accepted | refused).argmax(1)
        share = np.take_along_axis(accepted, at[:, None], 1).mean()
        assert (share if p > 0.05 else 1 - share) <= wrong + 0.01
        assert (at + 1).mean() == pytest.approx(plan.average(p), rel=0.25)  # beyond: overshoot


def test_exact_intervals():
    for errors, n in ((0, 149), (3, 40), (40, 40)):
        low = 0.0 if errors == 0 else beta.ppf(0.025, errors, n - errors + 1)
        high = 1.0 if errors == n else beta.ppf(0.975, errors + 1, n - errors)
        assert clopper_pearson(errors, n) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            lambda: single(0.05, 0.02),
            "A plan needs 0 < p1 < p2 < 1, alpha and beta above 0, and alpha + beta below 1; "
            "given: p1 0.05, p2 0.02, alpha 0.05, beta 0.1.",
        ),
        (
            lambda: single(0.5, 0.501, lot=50),
            "No plan tells a rate of 0.5 from 0.501 in 50 items; "
            "give rates that lie further apart, or look at everything.",
        ),
    ],
)
def test_what_cannot_be_planned(what, message):
    with pytest.raises(UsageError) as error:
        what()
    assert str(error.value) == message
