from __future__ import annotations

import numpy as np
import pytest

from retgen.streams import Permutation, Stream


def test_first_words_are_pinned() -> None:
    # a change here changes every data set ever made with a seed
    assert Stream(42, "a").integers(10**6, 4).tolist() == [671947, 608322, 305462, 607169]
    assert Permutation(42, "a", 10**7)(np.arange(4)).tolist() == [
        8338866,
        9972726,
        6928547,
        5075034,
    ]


def test_purposes_and_seeds_are_independent() -> None:
    first = Stream(42, "a").words(0, 8).tolist()
    assert first != Stream(42, "b").words(0, 8).tolist()
    assert first != Stream(43, "a").words(0, 8).tolist()


def test_record_i_is_the_same_in_any_block() -> None:
    bounds = np.array([7, 200, 3, 2**32 - 1, 45] * 5, np.uint64)
    whole = Stream(1, "x").draws(0, 100, bounds)
    assert (Stream(1, "x").draws(37, 61, bounds) == whole[37:61]).all()
    assert whole.shape == (100, 25)
    assert (whole < bounds.astype(np.int64)).all()
    assert (whole >= 0).all()


def test_integers_are_uniform_and_continue() -> None:
    stream = Stream(5, "y")
    values = np.concatenate([stream.integers(7, 3), stream.integers(7, 69_997)])
    counts = np.bincount(values, minlength=7)
    assert counts.sum() == 70_000
    assert abs(counts - 10_000).max() < 500  # five standard deviations


@pytest.mark.parametrize("size", [1, 2, 3, 5, 10, 46, 1000, 99_999])
def test_permutation_is_a_bijection(size: int) -> None:
    images = Permutation(42, "names", size)(np.arange(size))
    assert sorted(images.tolist()) == list(range(size))


def test_permutation_reaches_far_without_a_table() -> None:
    permutation = Permutation(42, "names", 2**60)
    images = permutation(np.array([0, 2**60 - 1]))
    assert ((images >= 0) & (images < 2**60)).all()
    with pytest.raises(ValueError, match=r"size must be in 1\.\."):
        Permutation(42, "names", 0)
