"""Totals from the items with the smallest keys: unbiased, with intervals that hold."""

from __future__ import annotations

import numpy as np
import pytest

from retgen.statistics.bottom import BottomSample, CorrectedSample, JudgeLabels
from retgen.statistics.clustered import SHARE
from retgen.statistics.sequences import weighted_keys

ITEMS = 2000
LABELS = (np.arange(ITEMS) % 10 < 3).astype(float)
WEIGHTS = 0.2 + (np.arange(ITEMS) % 7)


def sampled(looks: int, seed: int, guess: float = 0.0) -> CorrectedSample:
    """`guess`: how far guesses go with the labels."""
    keys = weighted_keys(WEIGHTS, seed, "test")
    order = np.argsort(keys, kind="stable")
    sample = BottomSample(order, keys, WEIGHTS, LABELS[order[:looks]])
    guesses = np.stack([np.ones(ITEMS), guess * (LABELS - 0.5)], axis=1)
    return CorrectedSample.of(sample, np.full(ITEMS, 0.5), guesses)


def test_totals_are_unbiased_and_intervals_hold() -> None:
    share = np.full(ITEMS, 1 / ITEMS)
    found = [sampled(150, seed).mean(share, SHARE) for seed in range(200)]
    assert np.mean([one.value for one in found]) == pytest.approx(0.3, abs=0.01)
    held = sum(one.low <= 0.3 <= one.high for one in found if None not in one)  # type: ignore[operator]
    assert held >= 186


def test_guesses_shorten_the_interval() -> None:
    share = np.full(ITEMS, 1 / ITEMS)
    alone, guessed = (sampled(600, 1, guess).mean(share, SHARE) for guess in (0.0, 1.0))
    assert alone.high is not None
    assert alone.low is not None
    assert guessed.high is not None
    assert guessed.low is not None
    assert guessed.high - guessed.low < (alone.high - alone.low) / 2


def test_all_items_leave_nothing_open() -> None:
    fit = sampled(ITEMS, 1)
    assert fit.mean(np.full(ITEMS, 1 / ITEMS), SHARE) == pytest.approx((0.3, 0.3, 0.3))
    assert fit.ratio(LABELS, np.ones(ITEMS), SHARE) == pytest.approx((1, 1, 1))
    assert fit.ratio(LABELS, np.zeros(ITEMS), SHARE) is None


def test_how_many_looks_would_do() -> None:
    share, fit = np.full(ITEMS, 1 / ITEMS), sampled(150, 1)
    halves = [fit.half_width(share, looks) for looks in (150, 600, 1500, ITEMS)]
    assert halves == sorted(halves, reverse=True)
    assert halves[-1] < 0.005


def judged(labels: int, seed: int, count: int) -> CorrectedSample:
    """A judge that is right of 8 in 10 labels the first `count`, people fewer."""
    keys = weighted_keys(WEIGHTS, seed, "test")
    order = np.argsort(keys, kind="stable")
    word = np.where(np.random.default_rng(seed).random(ITEMS) < 0.2, 1 - LABELS, LABELS)
    sample, ones = BottomSample(order, keys, WEIGHTS, LABELS[order[:labels]]), np.ones((ITEMS, 1))
    judge = JudgeLabels(word, count, word[:, None] - 0.5)
    return CorrectedSample.of(sample, np.full(ITEMS, 0.5), ones, judge)


@pytest.mark.parametrize("count", [600, ITEMS])
def test_a_judge_of_more_items_is_corrected_by_people(count: int) -> None:
    share = np.full(ITEMS, 1 / ITEMS)
    found = [judged(150, seed, count).mean(share, SHARE) for seed in range(200)]
    assert np.mean([one.value for one in found]) == pytest.approx(0.3, abs=0.01)
    held = sum(one.low <= 0.3 <= one.high for one in found if None not in one)  # type: ignore[operator]
    assert held >= 186


def test_without_people_a_judge_is_taken_at_its_word() -> None:
    one = judged(0, 1, ITEMS).mean(np.full(ITEMS, 1 / ITEMS), SHARE)
    assert one == (pytest.approx(0.3 * 0.8 + 0.7 * 0.2, abs=0.03), None, None)
