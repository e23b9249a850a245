"""Prediction-powered means against ppi-python 0.2.3, whose numbers stand here, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from retgen.errors import UsageError
from retgen.statistics.rates import ppi_mean
from retgen.statistics.sequences import draws, uniform_draws, weighted_order, weights


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
