"""Confidence sequences: exact against enumeration and the hypergeometric distribution; held at every
look in simulated reviews (many more of these in test_simulations). The weighted order of looks
against the chances it promises.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import hypergeom

from retgen.errors import UsageError
from retgen.statistics.sequences import (
    SequenceDecision,
    at_most,
    betting_wealth,
    draws,
    interval,
    looks_needed,
    lower,
    uniform_draws,
    upper,
    weighted_order,
    weights,
)


@pytest.mark.parametrize("values", [[0, 1, 0, 0, 1], [0.2, 1, 0, 0.7, 0.4]])
@pytest.mark.parametrize("chances", [[1, 1, 1, 1, 1], [0.5, 2, 1, 0.6, 0.9]])
def test_the_wealth_at_the_true_mean_is_a_martingale_from_one(values, chances):
    """Its expectation over all 120 orders is 1 after every look, for each single bet."""
    f, given = np.array(values, float), np.array(chances, float)
    for ratios in ([r] for r in (0.0, 0.3, 0.95, 1.04, 3.0, 20.0)):
        expected = np.zeros(5)
        for order in permutations(range(5)):
            found = draws(order, given)
            wealth = betting_wealth(f[list(order)], found, f.mean(), np.array(ratios), np.ones(1))
            expected += found.probability.prod() * wealth
        # where what is left is all 0 or all 1, a bet may lose, never gain
        assert expected[:3] == pytest.approx(np.ones(3))
        assert (expected <= 1 + 1e-6).all()


def test_the_interval_fails_no_more_than_promised_in_all_orders():
    """120 orders of five items with their exact chances, each looked at after every draw."""
    f, given = np.array([1, 0, 0, 0.5, 0]), np.array([0.5, 2, 0.6, 0.9, 1.0])
    failed = {0.5: 0.0, 0.8: 0.0}
    for order in permutations(range(5)):
        found = draws(order, given)
        for level in failed:
            kept = interval(f[list(order)], found, level)
            if not (kept.lows <= 0.3 + 1e-9).all() or not (kept.highs >= 0.3 - 1e-9).all():
                failed[level] += found.probability.prod()
    assert 0 < failed[0.5] <= 0.5
    assert failed[0.8] <= 0.2


def test_without_errors_the_bet_on_none_is_the_hypergeometric_test():
    found = uniform_draws(1000, 200)
    wealth = betting_wealth(np.zeros(200), found, 0.02, np.zeros(1), np.ones(1))
    looks = np.arange(1, 201)
    assert 1 / wealth == pytest.approx(hypergeom.pmf(0, 1000, 20, looks))


def test_a_bet_is_a_likelihood_ratio():
    """Of draws without replacement at r times the rate of what is left, against that rate."""
    values, ratio, mean, wealth = [0, 1, 0, 0, 1, 0], 1.5, 0.3, 1.0
    for t, value in enumerate(values):
        left = (mean * 20 - sum(values[:t])) / (20 - t)
        wealth *= ratio if value else (1 - ratio * left) / (1 - left)
    found = betting_wealth(
        np.array(values, float), uniform_draws(20, 6), mean, np.array([ratio]), np.ones(1)
    )
    assert found[-1] == pytest.approx(wealth)


def reviewed(population=3000, looks=400, rate=0.03, seed=0):
    rng = np.random.default_rng(seed)
    wrong = (rng.random(population) < rate).astype(float)
    given = weights(rng.random(population) + wrong)
    order = weighted_order(given, seed)
    return wrong[order][:looks], draws(order, given, looks), wrong.mean()


def test_a_course_is_what_each_look_alone_would_say():
    values, found, _ = reviewed()
    whole = interval(values, found)
    assert (np.diff(whole.highs) <= 0).all()
    assert (np.diff(whole.lows) >= 0).all()
    for looks in (1, 10, 57, 200, 399, 400):
        alone = interval(values[:looks], found.first(looks))
        low, high = whole.lows[looks - 1], whole.highs[looks - 1]
        assert alone.high <= high + 1e-8 <= alone.high * 1.021 + 2e-5
        assert alone.low >= low - 1e-8 >= alone.low * 0.979 - 2e-5
    assert (whole.low, whole.high) == (whole.lows[-1], whole.highs[-1])
    assert whole.looked == 400


def test_one_sided_ends_are_tighter_and_decisions_are_theirs():
    values, found, mean = reviewed()
    both, most, least = interval(values, found), upper(values, found), lower(values, found)
    assert both.low < least.low < mean < most.high < both.high
    assert (most.low, least.high) == (0, 1)
    shown = at_most(values, found, most.high + 1e-6)
    assert shown.state == "holds"
    assert shown.look == int(np.argmax(most.highs <= most.high + 1e-6)) + 1
    assert at_most(values, found, most.high - 1e-6).state == "open"
    refuted = at_most(values, found, least.low - 1e-6)
    assert refuted.state == "refuted"
    assert at_most(values, found, least.low + 1e-6).state == "open"


def test_looks_needed_are_the_looks_that_show_it():
    whole = uniform_draws(10_000)
    assert looks_needed([], whole, 0.02) == 169  # a sample of a size fixed beforehand: 148
    assert looks_needed(np.zeros(100), whole, 0.02) == 69
    assert looks_needed(np.zeros(169), whole, 0.02) == 0
    assert looks_needed(np.r_[np.zeros(99), 1], whole, 0.02) == 280  # and these 100
    assert at_most(np.zeros(168), whole, 0.02).state == "open"
    assert at_most(np.zeros(169), whole, 0.02) == SequenceDecision("holds", 169)
    assert looks_needed([1], uniform_draws(20), 0.02) is None


def test_all_looked_at_is_known():
    values, found, mean = reviewed(300, 300, 0.05)
    both = interval(values, found)
    assert (both.low, both.high) == pytest.approx((mean, mean))
    assert at_most(values, found, mean).state == "holds"
    assert at_most(values, found, mean - 1 / 300).state == "refuted"


@pytest.mark.parametrize("errors", [7, 29, 57])  # 0.29 * 100 is not 29 in floats
def test_a_goal_that_is_just_reached_holds(errors):
    values = np.random.default_rng(2).permutation(np.arange(100) < errors).astype(float)
    assert at_most(values, uniform_draws(100), errors / 100, 0.9999).state == "holds"
    assert at_most(values, uniform_draws(100), (errors - 1) / 100, 0.9999).state == "refuted"


def test_what_nobody_can_tell_counts_against_both_ends():
    found = uniform_draws(50)
    bounds = np.zeros((50, 2))
    bounds[[4, 20], 1] = 1
    bounds[30] = 1
    both = interval(bounds, found)
    assert (both.low, both.high) == pytest.approx((0.02, 0.06))
    some = uniform_draws(50, 40)
    assert interval(bounds[:40], some).high == interval(bounds[:40, 1], some).high
    assert interval(bounds[:40], some).low == interval(bounds[:40, 0], some).low


def test_nothing_looked_at_says_nothing():
    none = interval([], uniform_draws(100))
    assert (none.low, none.high, none.looked) == (0, 1, 0)
    assert at_most([], uniform_draws(100), 0.02) == SequenceDecision("open")


@pytest.mark.parametrize(
    ("values", "level", "message"),
    [
        ([0.5, 1.5], 0.95, "Values are in [0, 1], a lower bound first."),
        ([[1, 0]], 0.95, "Values are in [0, 1], a lower bound first."),
        ([np.nan], 0.95, "Values are in [0, 1], a lower bound first."),
        ([0] * 11, 0.95, "There are 11 values of 10 draws."),
        ([0], 95, "A confidence level is in (0, 1), not 95."),
        ([[0, 0, 1]], 0.95, "Values are (n,), or bounds (n, 2), in the order drawn."),
    ],
)
def test_what_cannot_be_bounded(values, level, message):
    with pytest.raises(UsageError) as error:
        interval(values, uniform_draws(10), level)
    assert str(error.value) == message


def test_an_order_that_was_not_drawn_makes_no_interval_that_is_empty_or_impossible():
    values = np.r_[np.ones(20), np.zeros(180)]  # all errors first: not by chance
    both = interval(values, uniform_draws(200))
    assert (both.lows <= both.highs).all()
    assert (both.low, both.high) == pytest.approx((0.1, 0.1))


# --- the order of looks ---------------------------------------------------------------------------


def test_weights_mix_suspicion_with_chance():
    assert weights([0, 1, 3], share=0.5).tolist() == [0.5, 0.875, 1.625]
    assert weights([0, 1, 3], share=0).tolist() == [1, 1, 1]
    assert weights([0, 0]).tolist() == [1, 1]
    assert weights(None, 3).tolist() == [1, 1, 1]
    for wrong in ([-1.0, 2.0], [np.nan], [[1.0]]):
        with pytest.raises(UsageError, match="Suspicion is one finite number a record, 0 or more"):
            weights(wrong)
    with pytest.raises(UsageError, match=r"in \[0, 1\), not 1\.$"):
        weights([1.0], share=1)


def test_each_order_comes_as_often_as_its_draws_say():
    given = weights([0.0, 1.0, 2.0, 5.0], share=0.8)
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(6000):
        order = tuple(weighted_order(given, seed).tolist())
        counts[order] = counts.get(order, 0) + 1
    distance = 0.0
    for order in permutations(range(4)):
        expected = 6000 * draws(order, given).probability.prod()
        distance += (counts.get(order, 0) - expected) ** 2 / expected
    assert distance < 49.7  # chi-squared, 23 degrees of freedom: above it once in 1,000


def test_the_order_is_a_function_of_seed_and_purpose():
    given = weights(np.arange(1000))
    order = weighted_order(given, 7)
    assert sorted(order.tolist()) == list(range(1000))
    assert order[:5].tolist() == weighted_order(given, 7)[:5].tolist()
    assert order.tolist() != weighted_order(given, 8).tolist()
    assert order.tolist() != weighted_order(given, 7, "omissions").tolist()


def test_draws_one_by_one():
    given, order = np.array([0.5, 1.0, 1.5, 3.0]), [3, 0, 2, 1]
    found = draws(order, given)
    assert found.probability.tolist() == pytest.approx([3 / 6, 0.5 / 3, 1.5 / 2.5, 1])
    assert found.bound.tolist() == pytest.approx([6 / 0.5 / 4, 3 / 0.5 / 4, 2.5 / 4, 1 / 4])
    assert (found.population, len(found.first(2)), found.uniform) == (4, 2, False)
    same = draws([2, 0, 1], np.ones(3), 2)
    assert same.uniform
    assert same.probability.tolist() == uniform_draws(3, 2).probability.tolist()
    assert same.bound.tolist() == uniform_draws(3, 2).bound.tolist()


def test_a_stratum_is_drawn_as_a_population_of_its_own():
    """Of all orders of 4 items, those of items 1 and 3 come as their weights alone say."""
    given = np.array([4.0, 1.0, 2.0, 3.0])
    first = sum(
        draws(order, given).probability.prod()
        for order in permutations(range(4))
        if order.index(1) < order.index(3)
    )
    assert first == pytest.approx(draws([0, 1], given[[1, 3]]).probability[0]) == 0.25
