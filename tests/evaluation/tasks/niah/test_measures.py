"""Each measure on scores whose result can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from retgen.evaluation.tasks.niah.measures import (
    auc,
    comparative_ratio,
    detectable,
    effect_size,
    effective_length,
    on_depth,
    position_sensitivity,
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


def test_slope_and_correlations_with_depth() -> None:
    depths = np.array([0.0, 0.5, 1.0, 0.0, 0.5, 1.0])
    falling = on_depth(depths, 0.4 - 0.3 * depths)
    assert falling == pytest.approx((-1.0, -1.0, -0.3))
    bent = on_depth(np.array([0.0, 0.25, 1.0]), np.array([1.0, 4.0, 9.0]))
    assert bent.spearman == pytest.approx(1.0)
    assert bent.pearson == pytest.approx(np.corrcoef([0, 0.25, 1], [1, 4, 9])[0, 1])
    flat = on_depth(depths, np.full(6, 0.2))
    assert math.isnan(flat.pearson)
    assert flat.slope == 0.0
    assert all(map(math.isnan, on_depth(np.zeros(4), np.arange(4.0))))


def test_position_sensitivity_is_the_worst_against_the_best() -> None:
    means = np.array([[0.8, 0.6, 0.4], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0]])
    result = position_sensitivity(means)
    assert result[:2] == pytest.approx([0.5, 0.0])
    assert math.isnan(result[2])


def test_effective_length_is_measured_from_the_best_short_text() -> None:
    lengths = [128, 256, 512, 1024, 2048, 4096, 8192]
    scores = [0.99, 0.8, 0.7, 0.75, 0.68, 0.67, 0.9]
    # 128 is none of the base lengths; 0.85 of 0.8 is 0.68; 8,192 stands behind one below it
    assert effective_length(lengths, scores) == (2048, 0.8, 256, False)
    assert effective_length(lengths, [0.6] * 7) == (8192, 0.6, 256, True)
    assert effective_length(lengths, [0.5, 0.5, 0.9, 0.6, 0.5, 0.5, 0.5]) == (512, 0.9, 512, False)
    assert effective_length([64, 128], [0.7, 0.6]) == (128, 0.6, 128, True)
    assert effective_length([300, 600], [0.7, 0.5]) == (300, 0.7, 300, False)


def test_the_smallest_difference_that_would_be_seen() -> None:
    values = np.array([0.0, 1.0, 0.0, 1.0, np.nan])
    # a standard deviation of 1 / sqrt(3) over 4 values, times 1.96 + 0.84
    assert detectable(values) == pytest.approx(2.8016 / math.sqrt(12), abs=1e-4)
    assert math.isnan(detectable(np.array([0.3, np.nan])))
