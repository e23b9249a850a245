"""Each measure on scores whose result can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from retgen.evaluation.tasks.niah.measures import (
    auc,
    comparative_ratio,
    effect_size,
    on_depth,
)
from retgen.search.base import share_won


def test_a_tie_is_half_within_the_tolerance() -> None:
    first, second = np.array([1.0, 2.0, 3.0, 0.0]), np.array([2.0, 2.0, 1.0, 0.0])
    assert share_won(first, second, 0.0).tolist() == [0.0, 0.5, 1.0, 0.5]
    assert share_won(np.array([1.0]), np.array([1.0 + 1e-7]), 1e-6).tolist() == [0.5]
    assert share_won(np.array([1.0]), np.array([1.0 + 1e-5]), 1e-6).tolist() == [0.0]
    assert share_won(np.array([-1.0]), np.array([-1.2]), 1e-6).tolist() == [1.0]
    assert comparative_ratio(first, second) == 0.5
    assert (
        comparative_ratio(np.array([3.0, 2.0, 1.0, 4.0]), np.array([1.0, 2.0, 2.0, 1.0])) == 0.625
    )


def test_auc_counts_all_pairs() -> None:
    positives, negatives = np.array([0.9, 0.5, 0.1]), np.array([0.5, 0.3])
    # 0.9 wins two, 0.5 ties one and wins one, 0.1 loses both
    assert auc(positives, negatives) == 3.5 / 6
    assert auc(negatives, positives) == 2.5 / 6
    assert auc(np.zeros(4), np.zeros(3)) == 0.5
    from scipy import stats

    rng = np.random.Generator(np.random.PCG64(5))
    a, b = rng.random(20).round(1), rng.random(22).round(1)
    assert auc(a, b) == pytest.approx(stats.mannwhitneyu(a, b).statistic / (20 * 22))


def test_effect_size_is_in_pooled_deviations() -> None:
    # both vary by 1 around their means 3 and 1: variance 2 / 2 + 2 / 2 over 4 degrees
    assert effect_size(np.array([2.0, 3.0, 4.0]), np.array([0.0, 1.0, 2.0])) == 2.0
    assert effect_size(np.zeros(3), np.zeros(2)) == 0.0
    assert math.isnan(effect_size(np.ones(3), np.zeros(2)))
    assert math.isnan(effect_size(np.ones(1), np.zeros(1)))
    assert effect_size(np.array([1.0, 1.0 + 1e-7]), np.array([1.0, 1.0]), 1e-6) == 0.0


def test_slope_and_correlation_with_depth() -> None:
    depths = np.array([0.0, 0.5, 1.0, 0.0, 0.5, 1.0])
    falling = on_depth(depths, 0.4 - 0.3 * depths)
    assert falling == pytest.approx((-1.0, -0.3))
    bent = on_depth(np.array([0.0, 0.25, 1.0]), np.array([1.0, 4.0, 9.0]))
    assert bent.pearson == pytest.approx(np.corrcoef([0, 0.25, 1], [1, 4, 9])[0, 1])
    flat = on_depth(depths, np.full(6, 0.2))
    assert math.isnan(flat.pearson)
    assert flat.slope == 0.0
    assert all(map(math.isnan, on_depth(np.zeros(4), np.arange(4.0))))
