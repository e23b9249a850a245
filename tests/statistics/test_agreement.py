"""Measures of agreement against irrCAC 0.4.4 (whose numbers stand here) and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from retgen.errors import UsageError
from retgen.statistics.agreement import (
    ONE_CATEGORY,
    ONE_RATING,
    TOO_FEW,
    AgreementMeasure,
    ac1,
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
    found = agreement(FOUR, resamples=200)
    assert round(found["ac1"].value, 5) == 0.57995
    assert round(found["raw"].value, 5) == 0.68452
    assert round(found["krippendorff"].value, 5) == 0.54392
    assert found["cohen"] == AgreementMeasure(None, reason="it is of two reviewers")
    assert found["fleiss"] == AgreementMeasure(
        None, reason="not all items are judged equally often"
    )
    for name in ("raw", "positive", "krippendorff", "ac1"):
        assert found[name].low < found[name].value < found[name].high


def test_two_reviewers():
    found = agreement([row[:2] for row in FOUR], resamples=0)
    assert round(found["cohen"].value, 5) == 0.28906
    both = [row[:2] for row in FOUR if N not in row[:2]]
    assert round(agreement(both, resamples=0)["ac1"].value, 5) == 0.28346


def test_fleiss_by_hand():
    found = agreement([[0, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 1]], resamples=0)
    equal = (1 / 3 + 1 + 1 + 1 / 3) / 4
    assert found["fleiss"].value == pytest.approx((equal - 0.5) / 0.5)
    assert found["raw"].value == pytest.approx(equal)
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
    nominal, ordinal = (agreement(ratings, ordinal=o, resamples=0) for o in (False, True))
    assert round(nominal["krippendorff"].value, 3) == 0.743
    assert round(ordinal["krippendorff"].value, 3) == 0.815
    assert round(nominal["ac1"].value, 5) == 0.77544


def test_rare_positives():
    """One pair of 1,000 is relevant to both, one to each alone: the kappas are low, AC1 is not."""
    found = agreement([[1, 1], [0, 1], [1, 0]] + [[0, 0]] * 997, resamples=100)
    assert found["raw"].value == 0.998
    assert found["positive"].value == pytest.approx(2 / 4)
    assert round(found["cohen"].value, 3) == 0.499
    assert round(found["ac1"].value, 3) == 0.998


def test_nothing_to_compare():
    once = agreement([[1, None], [None, 0]])
    assert {measure.reason for measure in once.values()} == {ONE_RATING}
    assert agreement([])["raw"] == AgreementMeasure(None, reason=ONE_RATING)
    same = agreement([[0, 0]] * 12, resamples=10)
    assert same["raw"] == AgreementMeasure(1, 1, 1)
    assert same["positive"] == AgreementMeasure(None, reason="nothing is judged relevant")
    for name in ("cohen", "fleiss", "krippendorff", "ac1"):
        assert same[name] == AgreementMeasure(None, reason=ONE_CATEGORY)
    assert agreement([[0, 0]] * 12, categories=(0, 1), resamples=10)["ac1"] == AgreementMeasure(
        1, 1, 1
    )
    few = agreement([[0, 0]] * 11 + [[1, None]], resamples=10)
    assert few["raw"] == AgreementMeasure(1, None, None, TOO_FEW)


def test_a_measure_that_few_resamples_have_is_given_without_an_interval():
    found = agreement([[1, 1]] + [[0, 0]] * 19, resamples=200)["positive"]
    assert found == AgreementMeasure(
        1.0, reason=TOO_FEW
    )  # a third of the resamples lack the one positive


def test_patterns_stand_for_as_many_items():
    patterns = np.array([[2, 0], [1, 1], [0, 2]], float)
    times = np.array([90.0, 6, 4])
    assert ac1(patterns, times) == pytest.approx(ac1(patterns.repeat([90, 6, 4], 0)))


def test_intervals_are_functions_of_the_seed():
    first, again, other = (agreement(FOUR, resamples=50, seed=s)["ac1"] for s in (1, 1, 2))
    assert first == again != other


@pytest.mark.slow
def test_intervals_hold_the_truth_of_simulated_reviewers():
    """Reviewers right with probability 0.9 on binary items agree on 82%."""
    rng = np.random.default_rng(6)
    held = 0
    for seed in range(60):
        truth = rng.random((150, 1)) < 0.5
        ratings = (truth ^ (rng.random((150, 2)) < 0.1)).astype(float)
        counts = agreement(ratings.tolist(), resamples=100, seed=seed)["raw"]
        held += counts.low <= 0.82 <= counts.high
    assert held >= 50


def test_what_cannot_be_compared():
    with pytest.raises(
        UsageError, match=r"^Not all ratings are among the categories \[0\.0, 1\.0\]\.$"
    ):
        agreement([[0, 2]], categories=(0, 1))
    with pytest.raises(UsageError, match="a row an item, a column a reviewer"):
        agreement([0, 1])
