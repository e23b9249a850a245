"""Whole reviews, played many times: intervals and certificates fail no more often than they promise.

Each review is looked at after every verdict, and stopped at whatever look is worst for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from retgen.statistics.rates import (
    ReviewerRates,
    certified_upper,
    correct_rate,
    ppi_mean,
)
from retgen.statistics.sequences import (
    WeightedDraws,
    at_most,
    draws,
    independent_draws,
    rules_out_above,
    rules_out_at_most,
    weighted_order,
    weights,
)
from tests.statistics.test_rates import sample_rate

ALPHA = 0.05
SUSPICIONS = {  # of the items, by whether they are wrong
    "uniform": lambda rng, wrong: np.ones(len(wrong)),
    "informative": lambda rng, wrong: np.exp(rng.standard_normal(len(wrong)) + 2 * wrong),
    "misleading": lambda rng, wrong: np.exp(rng.standard_normal(len(wrong)) - 2 * wrong),
}


def reviews(
    count: int, items: int, rate: float, kind: str, looks: int = 1000
) -> Iterator[tuple[np.ndarray, WeightedDraws, float]]:
    """Errors in the order drawn, their draws, and the true rate."""
    rng = np.random.default_rng([items, round(1000 * rate), len(kind)])
    for seed in range(count):
        wrong = np.zeros(items)
        wrong[rng.choice(items, max(1, round(rate * items)), replace=False)] = 1
        given = weights(SUSPICIONS[kind](rng, wrong), share=0.5)
        order = weighted_order(given, seed, kind)
        looks = min(looks, items)
        yield wrong[order[:looks]], draws(order, given, looks), wrong.mean()


def ever_wrong(count: int, items: int, rate: float, kind: str) -> tuple[int, int]:
    """In how many reviews an end passed the true rate at any look: the upper, the lower one."""
    above = below = 0
    for values, found, true in reviews(count, items, rate, kind):
        above += rules_out_above(values, found, true - 1e-8, ALPHA).any()
        below += rules_out_at_most(values, found, true + 1e-8, ALPHA).any()
    return above, below


def at_most_promised(failures: int, count: int) -> bool:
    """Not above ALPHA by more than chance would do once in 1,000 such tests."""
    return failures <= ALPHA * count + 3.1 * np.sqrt(count * ALPHA * (1 - ALPHA))


@pytest.mark.parametrize("kind", SUSPICIONS)
def test_ends_hold_at_every_look(kind):
    assert all(at_most_promised(wrong, 250) for wrong in ever_wrong(250, 600, 0.03, kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", SUSPICIONS)
@pytest.mark.parametrize(
    ("items", "rate"),
    [
        (200, 0.005),
        (200, 0.05),
        (200, 0.2),
        (2_000, 0.01),
        (2_000, 0.1),
        (20_000, 0.005),
        (20_000, 0.02),
    ],
)
def test_ends_hold_at_every_look_of_2000_reviews(kind, items, rate):
    upper, lower = ever_wrong(2_000, items, rate, kind)
    print(
        f"{kind}, {items:,} items, {rate:.1%} wrong: passed {upper / 2000:.2%}, {lower / 2000:.2%}"
    )
    assert at_most_promised(upper, 2_000)
    assert at_most_promised(lower, 2_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SUSPICIONS)
@pytest.mark.parametrize("rate", [0.0225, 0.03])
def test_a_goal_that_is_missed_is_certified_no_more_than_promised(kind, rate):
    states = [at_most(v, d, 0.02).state for v, d, _ in reviews(2_000, 2_000, rate, kind)]
    print(f"{kind}, {rate:.2%} wrong: 'at most 2%' claimed in {states.count('holds') / 2000:.2%}")
    assert at_most_promised(states.count("holds"), 2_000)
    assert states.count("refuted") > 0


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("items", "looks", "sensitivity"), [(300, 300, 0.8), (3_000, 400, 0.9)])
def test_a_certified_rate_holds_though_reviewers_miss_errors(count, items, looks, sensitivity):
    """With planted errors beside, seen as likely as the others: at the end, and half way."""
    rng, failed = np.random.default_rng(8), 0
    for values, found, true in reviews(count, items, 0.04, "informative", looks):
        seen = values * (rng.random(len(values)) < sensitivity)
        missed = (rng.random(50) >= sensitivity).astype(float)
        half = len(values) // 2
        failed += (
            certified_upper(seen, found, missed) < true
            or certified_upper(seen[:half], found, missed[:25]) < true
        )
    print(f"{items:,} items, sensitivity {sensitivity}: failed in {failed / count:.2%}")
    assert at_most_promised(failed, count)


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity", "looks", "planted", "clean"),
    [(0.02, 0.9, 0.99, 500, 50, 100), (0.1, 0.8, 0.95, 300, 50, 50), (0.05, 0.9, 1, 400, 30, 0)],
)
def test_corrected_intervals_hold_the_truth(
    count, rate, sensitivity, specificity, looks, planted, clean
):
    rng, held = np.random.default_rng(9), 0
    for _ in range(count):
        reported = rng.binomial(looks, rate * sensitivity + (1 - rate) * (1 - specificity))
        measured = ReviewerRates(
            rng.binomial(planted, sensitivity), planted, rng.binomial(clean, specificity), clean
        )
        found = correct_rate(sample_rate(reported, looks), measured)
        held += found.low <= rate <= found.high
    print(f"{rate:.0%} wrong, {looks} looks, {planted} planted: held {held / count:.1%}")
    assert held / count >= (0.93 if count > 1000 else 0.88)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SUSPICIONS)
@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_prediction_powered_intervals_hold_the_truth(kind, rate):
    """A judge who is wrong about 10% of the items; people see 400 of 4,000."""
    rng, held, width = np.random.default_rng(10), 0, 0.0
    for values, found, true in reviews(2_000, 4_000, rate, kind, 4_000):
        judge = np.where(rng.random(4_000) < 0.1, 1 - values, values)
        estimate = ppi_mean(values[:400], judge, found)
        held += estimate.low <= true <= estimate.high
        width += (estimate.high - estimate.low) / 2 / estimate.alone / 2_000
    print(f"{kind}, {rate:.0%}: held {held / 2000:.1%}, {width:.2f} of the width without a judge")
    assert 0.92 <= held / 2_000 <= 0.98


def test_outcomes_of_planted_errors_are_draws_without_end():
    failed = 0
    rng = np.random.default_rng(12)
    for _ in range(200):
        outcomes = (rng.random(200) < 0.1).astype(float)
        failed += rules_out_above(outcomes, independent_draws(200), 0.1, ALPHA).any()
    assert at_most_promised(failed, 200)
