"""Intervals of means over units that vary by themselves."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from retgen.statistics.clustered import CHANGE, Estimate, Units, estimate, parts, too_few

HITS = np.repeat([1.0, 0.0], [30, 10])[:, None]


def alone(count: int) -> Units:
    return Units(np.arange(count), np.arange(count), f"{count} queries")


def test_independent_hits_have_students_interval_and_a_wider_one_near_a_bound() -> None:
    halves = np.resize([1.0, 0.0], (40, 1))
    error = 2.0227 * halves.std(ddof=1) / np.sqrt(40)
    assert alone(40).interval(halves)[0] == pytest.approx([0.5 - error, 0.5 + error], abs=1e-4)
    error = 2.0227 * HITS.std(ddof=1) / np.sqrt(40)
    low, high = alone(40).interval(HITS)[0]
    assert (low, high) == pytest.approx((0.585, 0.874), abs=1e-3)
    assert low < 0.75 - error < 0.75 + error > high


def test_the_same_twice_in_a_cluster_tells_nothing_more() -> None:
    once = alone(40).interval(HITS)
    twice = Units(np.arange(80), np.repeat(np.arange(40), 2), "40 pairs")
    np.testing.assert_allclose(twice.interval(np.repeat(HITS, 2, axis=0)), once)


def test_pairs_of_documents_are_no_independent_values() -> None:
    """The variance of a mean over pairs is that of their documents' effects."""
    pairs = np.array(list(itertools.combinations(range(46), 2)))
    units = Units(np.repeat(np.arange(len(pairs)), 2), pairs.ravel(), "46 documents")
    assert (units.count, units.effective, units.note) == (46, pytest.approx(46), "")
    effects = np.random.default_rng(0).random(46)
    values = effects[pairs].mean(axis=1)[:, None]
    low, high = units.interval(values)[0]
    error = effects.std(ddof=1) / np.sqrt(46)
    assert (high - low) / 2 == pytest.approx(2.07 * error, rel=0.08)  # t of 22 degrees
    assert high - low > 4 * np.diff(alone(len(pairs)).interval(values)[0])[0]


@pytest.mark.parametrize(
    ("sizes", "each", "note"),
    [
        ([10] * 8, 1, "8 clusters, 12 needed"),
        ([1] * 12, 1, ""),
        ([1] * 15 + [20] * 5, 1, "20 clusters of unequal size, worth 5.1, 12 needed"),
        ([6] * 12, 6, "12 clusters, 30 needed"),
    ],
)
def test_too_few_units_have_the_reason(sizes: list[int], each: int, note: str) -> None:
    unit = np.repeat(np.arange(len(sizes)), sizes)
    of = np.arange(len(unit)) // each
    units = Units(of, unit, f"{len(sizes)} clusters")
    why = f"no intervals: too few independent units: {note}"
    assert units.note == (why if note else "")
    values = np.random.default_rng(0).random((of[-1] + 1, 1))
    given = [*units.interval(values)[0], *units.p_value(values - 0.5)]
    assert np.isnan(given).all() == bool(note)


def test_values_that_are_all_alike() -> None:
    """All hits are as many hits; differences that are all 0 have no interval."""
    units, ones, zeros = alone(20), np.ones((20, 1)), np.zeros((20, 1))
    assert units.interval(ones)[0].tolist() == [pytest.approx(0.820, abs=1e-3), 1.0]
    assert np.isnan(units.interval(zeros, CHANGE)).all()
    assert np.isnan(units.interval(ones, None)).all()
    assert units.p_value(np.hstack([zeros, ones])).tolist() == [
        1.0,
        pytest.approx(0.00026, rel=0.01),
    ]


def test_p_values_belong_to_the_intervals() -> None:
    random = np.random.default_rng(2)
    shift = np.linspace(0, 1, 400)
    changes = np.clip(random.exponential(0.3, (15, 400)) - 0.6 * shift, -1, 1)
    units = alone(15)
    low, high = units.interval(changes, CHANGE).T
    assert 50 < np.count_nonzero((low > 0) | (high < 0)) < 350
    np.testing.assert_array_equal(units.p_value(changes) < 0.05, (low > 0) | (high < 0))
    far = units.p_value(changes / 50 - np.array([[0.5]]))
    assert far.max() < 1e-6


def test_some_of_the_values() -> None:
    within = Units(np.arange(40), np.arange(40), "40 groups of queries").within(np.arange(0, 40, 2))
    assert (within.name, within.count, within.note) == ("20 groups of queries", 20, "")
    np.testing.assert_allclose(within.interval(HITS[::2]), alone(20).interval(HITS[::2]))


def test_numbers_that_are_no_means() -> None:
    """By leaving out a unit at a time; of a mean it is the interval of the mean."""
    values = HITS[:, 0]
    without = (values.sum() - values) / 39
    one = estimate(0.75, parts(without), 40)
    assert one == (0.75, *(pytest.approx(end) for end in alone(40).interval(HITS)[0]))
    assert (one.above(0.5), one.below(0.95), one.above(0.7)) == (True, True, False)
    assert estimate(0.75, parts(without), 11) == Estimate(0.75)
    assert Estimate(0.75).span is None
    assert too_few(11, "11 questions").endswith("11 questions, 12 needed")


def test_ten_systems_on_a_thousand_queries_take_no_time() -> None:
    pairs = np.array(list(itertools.combinations(range(46), 2)))[:1000]
    values = np.random.default_rng(0).random((1000, 45 * 6)) - 0.5
    started = time.process_time()
    units = Units(np.repeat(np.arange(1000), 2), pairs.ravel(), "46 documents")
    units.interval(values, CHANGE)
    units.p_value(values)
    assert time.process_time() - started < 5
