"""Error rates, by stratum and corrected, against enumeration, published formulas and hand counts."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import binom

from retgen.errors import UsageError
from retgen.statistics.rates import (
    ErrorRate,
    ReviewerRates,
    by_stratum,
    certified_looks,
    certified_upper,
    correct_rate,
    mean_terms,
    missing_rate,
    ppi_mean,
    rate,
)
from retgen.statistics.sequences import (
    draws,
    interval,
    uniform_draws,
    upper,
    weighted_order,
    weights,
)


def sample_rate(errors, looked):
    """Of a simple random sample from a large population; its own interval does not matter."""
    return ErrorRate(errors / looked, 0, 1, 0.95, looked, errors, 0, 10**6, "", looked)


def test_each_term_is_unbiased_and_two_are_uncorrelated():
    """Over all 24 orders of four items, with their exact chances."""
    f, given = np.array([1, 0, 0.5, 1]), np.array([0.5, 2.0, 1.0, 0.6])
    mean, product = np.zeros(4), 0.0
    for order in permutations(range(4)):
        found = draws(order, given)
        each = mean_terms(f[list(order)], found)
        mean += found.probability.prod() * each
        product += found.probability.prod() * each[0] * each[2]
    assert mean == pytest.approx(np.full(4, f.mean()))
    assert product == pytest.approx(f.mean() ** 2)


def test_a_simple_random_sample():
    values = np.tile(np.r_[np.zeros(19), 1], 5)
    found, sure = rate(values, uniform_draws(1000)), interval(values, uniform_draws(1000))
    assert (found.estimate, found.low, found.high) == (0.05, sure.low, sure.high)
    assert (found.looked, found.errors, found.unsure, found.population) == (100, 5, 0, 1000)
    assert found.method == "confidence sequence, simple random draws"
    assert found.worth == pytest.approx(100)


@pytest.mark.slow
def test_a_weighted_sample_estimates_the_whole():
    """Nearly half of what is seen is wrong, as suspicion says; of the population it is a tenth."""
    rng = np.random.default_rng(1)
    wrong = (rng.random(4000) < 0.1).astype(float)
    given = weights(0.1 + wrong, share=0.8)
    estimates, seen, worth = [], [], []
    for seed in range(150):
        order = weighted_order(given, seed)[:150]
        found = rate(wrong[order], draws(weighted_order(given, seed), given))
        estimates.append(found.estimate)
        seen.append(found.errors / 150)
        worth.append(found.worth)
        assert found.low <= found.estimate <= found.high
        assert found.method == "confidence sequence, weighted draws"
    assert np.mean(seen) > 0.3
    assert np.mean(estimates) == pytest.approx(wrong.mean(), rel=0.03)
    # as many simple random looks as `worth` says would scatter as much
    scatter = np.sqrt(wrong.mean() * (1 - wrong.mean()) / np.mean(worth))
    assert np.std(estimates) == pytest.approx(scatter, rel=0.1)


def test_what_nobody_can_tell_is_left_out_of_the_estimate_alone():
    bounds = np.zeros((40, 2))
    bounds[5::10] = 1
    bounds[9::10, 1] = 1
    found = rate(bounds, uniform_draws(40))
    assert found.estimate == pytest.approx(4 / 36)
    assert (found.low, found.high) == pytest.approx((0.1, 0.2))
    assert (found.errors, found.unsure, found.method) == (4, 4, "all looked at")
    nobody = rate([[0, 1]], uniform_draws(40))
    assert (nobody.estimate, nobody.errors, nobody.unsure) == (None, 0, 1)
    assert rate([], uniform_draws(40)).estimate is None


def test_strata():
    strata = ["one needle", "two needles"] * 300
    wrong = np.array([0.0, 0.0] * 250 + [0.0, 1.0] * 50)
    given = weights(0.5 + wrong)
    order = weighted_order(given, 3)
    found = by_stratum(strata, order, given, wrong[order][:400])
    assert list(found) == ["one needle", "two needles"]
    one, two = found.values()
    assert one.looked + two.looked == 400
    assert (one.population, two.population) == (300, 300)
    assert (one.estimate, one.errors) == (0, 0)
    assert two.low <= 1 / 6 <= two.high
    assert two.estimate == pytest.approx(1 / 6, abs=0.05)
    whole = by_stratum(["all"] * 600, order, given, wrong[order][:400])["all"]
    assert whole == rate(wrong[order][:400], draws(order, given))
    nothing = by_stratum(strata, order, given, [])["one needle"]
    assert (nothing.looked, nothing.low, nothing.high) == (0, 0, 1)


def test_correction_by_the_published_formula():
    """Lang and Reiczigel's equations 2, 7, 16 and 17, written out for 20 of 200 reported,
    45 of 50 planted errors caught, 97 of 100 clean items passed.
    """
    found = correct_rate(sample_rate(20, 200), ReviewerRates(45, 50, 97, 100))
    assert found.estimate == pytest.approx((0.1 + 0.97 - 1) / (0.9 + 0.97 - 1))
    z = 1.959964
    n, ap = 200 + z**2, (20 + z**2 / 2) / (200 + z**2)
    se, sp = 46 / 52, 98 / 102
    p = (ap + sp - 1) / (se + sp - 1)
    shift = 2 * z**2 * (p * se * (1 - se) / 52 - (1 - p) * sp * (1 - sp) / 102)
    variance = ap * (1 - ap) / n + p**2 * se * (1 - se) / 52 + (1 - p) ** 2 * sp * (1 - sp) / 102
    half = z * np.sqrt(variance) / (se + sp - 1)
    assert (found.low, found.high) == pytest.approx((p + shift - half, p + shift + half), abs=1e-6)
    assert found.method == "Rogan-Gladen with Lang and Reiczigel's interval"


def test_a_correction_needs_reviewers_who_tell():
    apparent = sample_rate(5, 100)
    chance = correct_rate(apparent, ReviewerRates(5, 50, 10, 50))
    assert (chance.estimate, chance.low, chance.high) == (None, 0, 1)
    assert chance.method == "reviewers at chance"
    with pytest.raises(UsageError, match="corrected by control errors; none were judged yet"):
        correct_rate(apparent, ReviewerRates(0, 0))
    with pytest.raises(UsageError, match="No reviewer catches or passes more than was shown"):
        ReviewerRates(3, 2)
    assert (ReviewerRates(9, 10).sensitivity, ReviewerRates(9, 10).specificity) == (0.9, None)
    assert (ReviewerRates(0, 0).sensitivity, ReviewerRates(1, 1, 0, 4).specificity) == (None, 0)


def test_the_certified_rate_is_above_the_seen_one():
    found = uniform_draws(10_000, 300)
    seen = upper(np.zeros(300), found).high
    of_50, of_500 = (certified_upper(np.zeros(300), found, np.zeros(n)) for n in (50, 500))
    assert seen < of_500 < of_50 < 1.5 * seen
    some = np.zeros(50)
    some[10:20] = 1
    assert certified_upper(np.zeros(300), found, some) > of_50
    assert certified_upper(np.zeros(300), found, []) == 1.0
    assert certified_upper(np.zeros(300), found, np.ones(5)) == 1.0


def test_all_looked_at_and_none_found_still_leaves_what_was_missed():
    """With K errors, none is found with probability (1 - sensitivity) ** K."""
    missed = np.zeros(100)
    found = certified_upper(np.zeros(200), uniform_draws(200), missed)
    sensitivity = 1 - upper_of_misses(missed)
    most = round(found * 200)
    assert binom.cdf(0, most, sensitivity) > 0.005 >= binom.cdf(0, most + 1, sensitivity)


def upper_of_misses(missed):
    from retgen.statistics.sequences import independent_draws

    return upper(missed, independent_draws(len(missed)), 0.99).high


def test_the_share_of_relevant_pairs_without_a_label():
    assert missing_rate(0.01, 10_000, 0.1, 1000) == pytest.approx(100 / (100 + 900))
    assert missing_rate(0.01, 10_000, 1.0, 1000) == 1  # all positives are wrong
    assert missing_rate(0.01, 10_000, 0.0, 0) == 1  # there are none
    assert missing_rate(0.0, 10_000, 0.5, 1000) == 0
    assert missing_rate(0.0, 0, 1.0, 10) == 0


def test_looks_until_the_certified_rate_is_low_enough() -> None:
    drawn, nothing = uniform_draws(1000), np.zeros(30)
    found = np.zeros(40)
    found[7] = 1
    more = certified_looks(found, drawn, nothing, 0.03)
    assert more is not None
    values = np.r_[found, np.zeros(more)]
    assert certified_upper(values, drawn.first(len(values)), nothing, 0.95) <= 0.03
    assert certified_upper(values[:-1], drawn.first(len(values) - 1), nothing, 0.95) > 0.03
    # who overlooks all planted errors, or was shown none, shows nothing with any number of looks
    assert certified_looks(found, drawn, np.ones(30), 0.03) is None
    assert certified_looks(found, drawn, [], 0.03) is None


# --- prediction-powered means, against ppi-python 0.2.3 -------------------------------------------


def judged(items=4000, seed=11):
    """Labels of which 20% are 1, and a judge who is wrong about 15%."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(items) < 0.2).astype(float)
    return truth, np.where(rng.random(items) < 0.15, 1 - truth, truth)


def test_as_ppi_python_says():
    truth, judge = judged()
    found = ppi_mean(truth[:200], judge, uniform_draws(4000))
    assert found.value == pytest.approx(0.25228247, abs=1e-5)
    # theirs is of a population beyond the data set: it adds the spread of the judge's other labels,
    # and does not shrink as the sample nears the whole
    theirs = (0.29248197 - 0.21208297) / 2
    beyond = 1.959964 * found.tuning * 0.95 * judge[200:].std() / np.sqrt(3800)
    ours = (found.high - found.low) / 2 / np.sqrt(1 - 200 / 4000)
    assert np.hypot(ours, beyond) == pytest.approx(theirs, rel=0.003)
    assert ours < found.alone


def test_few_disagreements_give_no_interval():
    truth, judge = judged()
    found = ppi_mean(truth[:100], judge, uniform_draws(4000))
    assert found.value == pytest.approx(0.27019618, abs=1e-4)
    assert (found.low, found.high) == (None, None)
    assert found.reason == "judge and people differ on 8 of 100: too few for an interval"


def test_a_judge_of_no_use_is_not_used():
    truth, _ = judged()
    for judge in (np.zeros(4000), 1 - truth):
        found = ppi_mean(truth[:400], judge, uniform_draws(4000))
        assert (found.tuning, found.value) == (0, truth[:400].mean())


def test_people_who_saw_everything_know_the_mean():
    truth, judge = judged(300)
    found = ppi_mean(truth, judge, uniform_draws(300))
    assert (found.low, found.high) == pytest.approx((truth.mean(), truth.mean()))


@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_hold_the_truth_and_are_shorter(weighted):
    truth, judge = judged(2000)
    given = weights(0.2 + judge) if weighted else weights(None, 2000)
    held, shorter = 0, 0
    for seed in range(400):
        order = weighted_order(given, seed)
        found = ppi_mean(truth[order][:200], judge[order], draws(order, given))
        held += found.low <= truth.mean() <= found.high
        shorter += (found.high - found.low) / 2 < found.alone
    assert 0.92 <= held / 400 <= 0.98
    assert shorter / 400 > 0.95


def test_what_cannot_be_averaged():
    message = "A judge's labels on all 10 items and two or more of people's are needed; there are "
    with pytest.raises(UsageError) as error:
        ppi_mean([1, 0], np.zeros(9), uniform_draws(10))
    assert str(error.value) == message + "9 and 2."
    with pytest.raises(UsageError) as error:
        ppi_mean([1], np.zeros(10), uniform_draws(10))
    assert str(error.value) == message + "10 and 1."
