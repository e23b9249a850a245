"""The weighted order against the chances it promises."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from retgen.errors import UsageError
from retgen.statistics.sequences import draws, uniform_draws, weighted_order, weights


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
