"""Measures of agreement against irrCAC 0.4.4 (whose numbers stand here) and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from retgen.statistics.agreement import (
    ONE_CATEGORY,
    ONE_RATING,
    TOO_FEW,
    AgreementMeasure,
    agreement,
)

N = None
FOUR = [  # 30 items, four reviewers, grades 0 to 3
    [N, 2, 2, N],
    [3, N, 3, 1],
    [N, N, N, N],
    [1, 2, 3, 3],
    [N, 1, 1, N],
    [2, 2, 2, 2],
    [2, 2, N, 2],
    [1, 3, 1, 1],
    [3, 3, 3, 3],
    [2, N, 2, N],
    [N, 1, 1, N],
    [N, 1, N, 1],
    [2, N, 2, 2],
    [N, N, 1, 1],
    [3, 0, N, 0],
    [2, N, 3, N],
    [0, 1, 2, N],
    [0, 0, 1, 0],
    [0, 0, 0, N],
    [0, 3, 3, 2],
    [0, 3, 0, 0],
    [2, 1, 1, 2],
    [N, 3, 3, 3],
    [0, N, 0, N],
    [1, 1, 1, 1],
    [N, 0, 1, 1],
    [N, 0, N, 2],
    [N, N, N, N],
    [0, N, 0, N],
    [N, N, 3, 3],
]


def test_many_reviewers_with_missing_verdicts():
    found = agreement(FOUR, grades=4, resamples=200)
    assert round(found["ac1"].value, 5) == 0.57995
    assert round(found["raw"].value, 5) == 0.68452
    assert found["kappa"] == AgreementMeasure(None, reason="it is of two reviewers")
    for name in ("raw", "positive", "alpha", "ac1"):
        assert found[name].low < found[name].value < found[name].high


def test_two_reviewers():
    two = [row[:2] for row in FOUR]
    assert round(agreement(two, grades=4, resamples=0)["kappa"].value, 5) == 0.28906
    both = [row for row in two if N not in row]
    assert round(agreement(both, grades=4, resamples=0)["ac1"].value, 5) == 0.28346


def test_three_reviewers_by_hand():
    found = agreement([[0, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 1]], grades=2, resamples=0)
    assert found["raw"].value == pytest.approx((1 / 3 + 1 + 1 + 1 / 3) / 4)
    assert found["positive"].value == pytest.approx((0 + 3 + 0 + 1) / (1 + 3 + 0 + 2))


def test_the_published_example():
    """Krippendorff, "Computing Krippendorff's alpha-reliability" (2011); AC1 of it in irrCAC."""
    ratings = [
        [1, 1, N, 1],
        [2, 2, 3, 2],
        [3, 3, 3, 3],
        [3, 3, 3, 3],
        [2, 2, 2, 2],
        [1, 2, 3, 4],
        [4, 4, 4, 4],
        [1, 1, 2, 1],
        [2, 2, 2, 2],
        [N, 5, 5, 5],
        [N, N, 1, 1],
        [N, N, 3, N],
    ]
    lower = [[None if grade is None else grade - 1 for grade in row] for row in ratings]
    found = agreement(lower, grades=5, resamples=0)
    assert round(found["alpha"].value, 3) == 0.815
    assert round(found["ac1"].value, 5) == 0.77544
    binary = agreement([[0, 0], [1, 1], [0, 1], [0, 0]], grades=2, resamples=0)
    assert binary["alpha"].value == pytest.approx(1 - 7 * 2 / (2 * 5 * 3))


def test_rare_positives():
    """One pair of 1,000 is relevant to both, one to each alone: kappa is low, AC1 is not."""
    found = agreement([[1, 1], [0, 1], [1, 0]] + [[0, 0]] * 997, grades=2, resamples=100)
    assert found["raw"].value == 0.998
    assert found["positive"].value == pytest.approx(2 / 4)
    assert round(found["kappa"].value, 3) == 0.499
    assert round(found["ac1"].value, 3) == 0.998


def test_nothing_to_compare():
    once = agreement([[1, None], [None, 0]], grades=2)
    assert {measure.reason for measure in once.values()} == {ONE_RATING}
    same = agreement([[0, 0]] * 12, grades=2, resamples=10)
    assert same["raw"] == AgreementMeasure(1, 1, 1)
    assert same["positive"] == AgreementMeasure(None, reason="nothing is judged relevant")
    for name in ("kappa", "alpha"):
        assert same[name] == AgreementMeasure(None, reason=ONE_CATEGORY)
    assert same["ac1"] == AgreementMeasure(1, 1, 1)
    few = agreement([[0, 0]] * 11 + [[1, None]], grades=2, resamples=10)
    assert few["raw"] == AgreementMeasure(1, None, None, TOO_FEW)


def test_a_measure_that_few_resamples_have_is_given_without_an_interval():
    found = agreement([[1, 1]] + [[0, 0]] * 19, grades=2, resamples=200)["positive"]
    # a third of the resamples lack the one positive
    assert found == AgreementMeasure(1.0, reason=TOO_FEW)


@pytest.mark.slow
def test_intervals_hold_the_truth_of_simulated_reviewers():
    """Reviewers right with probability 0.9 on binary items agree on 82%."""
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(60):
        truth = rng.random((150, 1)) < 0.5
        ratings = (truth ^ (rng.random((150, 2)) < 0.1)).astype(int)
        counts = agreement(ratings.tolist(), grades=2, resamples=100)["raw"]
        held += counts.low <= 0.82 <= counts.high
    assert held >= 50
